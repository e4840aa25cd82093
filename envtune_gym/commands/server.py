"""The flags that say which model is asked and how, the same for every command that asks one."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["BaseUrl", "KeyVariable", "MaxTokens", "ModelName", "Retries", "Temperature", "Timeout"]

ModelName = Annotated[str, typer.Option("--model", metavar="NAME", help="The model's name at the server.")]
BaseUrl = Annotated[str, typer.Option("--base-url", metavar="URL", help="An OpenAI-compatible server.")]
KeyVariable = Annotated[
    str, typer.Option("--api-key-env", metavar="NAME", help="The environment variable that holds the key, if any.")
]
Temperature = Annotated[float | None, typer.Option(min=0, help="Of the sampling; the server's default.")]
MaxTokens = Annotated[int, typer.Option(min=1, metavar="N", help="Longest reply.")]
Timeout = Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="How long a reply may take.")]
Retries = Annotated[int, typer.Option(min=0, metavar="N", help="How often a failed request is tried again.")]

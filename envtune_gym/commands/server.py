"""Which model is asked, and how: the flags, the same for every command that asks one, and a look at the server."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["BaseUrl", "KeyVariable", "MaxTokens", "ModelName", "Retries", "Temperature", "Timeout", "check_server"]

ModelName = Annotated[str, typer.Option("--model", metavar="NAME", help="The model's name at the server.")]
BaseUrl = Annotated[str, typer.Option("--base-url", metavar="URL", help="An OpenAI-compatible server.")]
KeyVariable = Annotated[
    str, typer.Option("--api-key-env", metavar="NAME", help="The environment variable that holds the key, if any.")
]
Temperature = Annotated[float | None, typer.Option(min=0, help="Of the sampling; the server's default.")]
MaxTokens = Annotated[int, typer.Option(min=1, metavar="N", help="Longest reply.")]
Timeout = Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="How long a reply may take.")]
Retries = Annotated[int, typer.Option(min=0, metavar="N", help="How often a failed request is tried again.")]


def check_server(base_url: str) -> None:
    """Refuse to begin where there is no server.

    Raises:
        ServerError: If it takes no connections.
    """
    from envtune_gym.evaluation.models import check_reachable

    check_reachable(base_url)

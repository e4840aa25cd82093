"""`envtune mcp` and `envtune mcp-proxy`: the Model Context Protocol, from both sides."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from envtune_gym.commands.output import examples
from envtune_gym.commands.selection import Source
from envtune_gym.errors import ConfigurationError
from envtune_gym.feedback import FeedbackLevel, HintBook
from envtune_gym.feedback.automatic import ToolGraph
from envtune_gym.tasks import load_tasks

__all__ = ["PROXY_EXAMPLES", "PROXY_SETTINGS", "SERVER_EXAMPLES", "proxy_command", "server_command"]

SERVER_EXAMPLES = examples(
    "envtune mcp --domain TravelAPI",
    "envtune mcp --task multi_turn_base_7 --tasks bfcl --feedback actionable",
    "envtune mcp --domain TicketAPI --domain MathAPI --transport http --port 8000",
)
PROXY_EXAMPLES = examples(
    "envtune mcp-proxy -- uvx mcp-server-git",
    "envtune mcp-proxy --hints hints.yaml -- python my_server.py --verbose",
    "envtune mcp-proxy -- envtune mcp --domain TravelAPI",
)
# What follows the server's name belongs to the server, with and without the two dashes.
PROXY_SETTINGS = {"allow_interspersed_args": False}

_SDK = ("mcp", "mcp_types", "uvicorn", "starlette", "anyio")


def server_command(
    domain: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Serve this domain in its default state; repeatable.")
    ] = None,
    task: Annotated[str | None, typer.Option(metavar="ID", help="Serve the world of this task instead.")] = None,
    tasks: Source = "generated",
    transport: Annotated[Literal["stdio", "http"], typer.Option(help="How clients connect.")] = "stdio",
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address for http; there is no authentication.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port for http; 0 takes a free one.")] = 8000,
    feedback: Annotated[FeedbackLevel, typer.Option(help="What failing calls say beyond the official text.")] = "off",
) -> None:
    """Serve the tools of a world over MCP; each client session has a world of its own.

    Over stdio the client starts this command and ends it by closing stdin. Over http clients connect to
    http://ADDRESS:PORT/mcp; the URL is printed on stderr.
    """
    if bool(domain) == bool(task):
        raise ConfigurationError("name what to serve: either --domain (once or more) or --task")
    with _sdk_needed():
        from envtune_gym.integrations import mcp_server as server
    chosen = load_tasks(tasks).get(task) if task else server.domain_task(*domain or ())
    if transport == "stdio":
        server.serve_stdio(chosen, feedback)
    else:
        server.serve_http(chosen, feedback, host, port, lambda url: _note(f"serving at {url}; stop with Ctrl-C"))


def proxy_command(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND", help="Command line of a stdio MCP server.")],
    level: Annotated[FeedbackLevel, typer.Option(help="What hints say; with 'off' every byte passes as it is.")] = (
        "actionable"
    ),
    hints: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Hint book (YAML) whose general hints are tried first.")
    ] = None,
    graph: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What comes before what in successful runs of the server's tools (JSON), as hints graph --from "
            "chats.jsonl --out FILE mines it.",
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Longest wait for an answer or progress; 0: for ever.")
    ] = 300,
) -> None:
    """Run an MCP server, and add a hint to each tool result that tells of a failure.

    To be named in a client's configuration in place of the server. Hints are made from the server's own schemas and
    from what has passed so far. Everything else passes as it is: tools, resources, prompts, notifications, and
    whatever future protocol versions bring.
    """
    book = None if hints is None else HintBook.from_file(hints)
    mined = None if graph is None else ToolGraph.from_file(graph)
    with _sdk_needed():
        from envtune_gym.integrations.mcp_hints import ServerHints
        from envtune_gym.integrations.mcp_proxy import run_proxy
    run_proxy(command, ServerHints(level, book, mined), timeout=timeout, report=_note)


@contextmanager
def _sdk_needed() -> Iterator[None]:
    """Say how to add the SDK where importing a module that needs it fails.

    Raises:
        ConfigurationError: If it is missing, or too old to have what the module imports.
    """
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _SDK:
            raise
        raise ConfigurationError(
            'this needs the official MCP SDK, mcp 2.2 or newer; run: pip install "envtune-gym[mcp]"'
        ) from None


def _note(line: str) -> None:
    sys.stderr.write(f"envtune: {line}\n")
    sys.stderr.flush()

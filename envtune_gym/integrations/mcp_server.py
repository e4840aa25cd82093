"""A world of this package as an MCP server, over stdio or streamable HTTP, with the official `mcp` SDK.

Each client session has a world of its own. Over stdio a process serves one client, so the process is the session.
Over HTTP a session begins with the protocol's handshake; protocol version 2026-07-28 knows no sessions over HTTP, and
a world without memory would be none, so there the server offers the older versions, to which clients fall back.
"""

from __future__ import annotations

import signal
import socket
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import uvicorn
from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from envtune_gym import __version__
from envtune_gym.calls import Reply
from envtune_gym.callsyntax import Call
from envtune_gym.env import Episode, Offer
from envtune_gym.errors import ConfigurationError
from envtune_gym.feedback import FeedbackLevel, default_book
from envtune_gym.feedback.levels import check_level
from envtune_gym.feedback.render import attach, result_hints
from envtune_gym.scoring import EpisodeScorer
from envtune_gym.tasks import Task
from envtune_gym.tooldocs import offered_names, tool_schemas

__all__ = ["domain_task", "make_server", "serve_http", "serve_stdio"]

MAX_SESSIONS = 1_000
"""Most HTTP sessions at a time; another client is refused until one ends. A session ends after 30 idle minutes."""
_GRACE_SECONDS = 1

_Context = ServerRequestContext["_Worlds", Any]


def domain_task(*domains: str) -> Task:
    """Return a task that only says which domains there are, each in its default state.

    Raises:
        TaskError: If a domain is unknown or named twice.
    """
    return Task(id="mcp", category="base", domains=domains, turns=("-",), ground_truth=((),))


def make_server(task: Task, level: FeedbackLevel = "off") -> Server[_Worlds]:
    """Make an MCP server of the tools and the world of a task.

    The tools on offer are those of the task's last turn: nothing is withheld any more. A failing call gives a result
    with `isError` and the official text, and with a hint beside it at any other level than `off`.

    Args:
        task: The task; each session starts in its initial state.
        level: Level of the feedback; `diagnostic` adds nothing here, for there are no turns.

    Raises:
        ConfigurationError: If the level is unknown.
        TaskError: If the task's world cannot be built.
    """
    worlds = _Worlds(task, check_level(level))

    @asynccontextmanager
    async def lifespan(_: Server[_Worlds]) -> AsyncIterator[_Worlds]:
        yield worlds

    server = Server(
        f"envtune {' '.join(task.domains)}",
        version=__version__,
        lifespan=lifespan,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
    )
    server.middleware.append(_refuse_without_session)
    return server


def serve_stdio(task: Task, level: FeedbackLevel = "off") -> None:
    """Serve one client over stdin and stdout until it closes stdin.

    Args:
        task: What to serve, as for `make_server`.
        level: Level of the feedback.

    Raises:
        ConfigurationError: As `make_server` does.
        TaskError: As `make_server` does.
    """
    server = make_server(task, level)

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    # The SDK reads stdin in a thread that waits for the next line whatever happens; there is nothing to tidy up, so
    # an interruption may simply end the process.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        anyio.run(serve)
    finally:
        signal.signal(signal.SIGINT, before)


def serve_http(
    task: Task, level: FeedbackLevel, host: str, port: int, announce: Callable[[str], object] = lambda url: None
) -> None:
    """Serve any number of clients over streamable HTTP until the process is interrupted.

    There is no authentication, so bind to the loopback address only, where the SDK checks the `Host` header too.

    Args:
        task: What to serve, as for `make_server`.
        level: Level of the feedback.
        host: Address to bind to.
        port: Port to bind to; 0 takes a free one.
        announce: Called with the URL once clients can connect.

    Raises:
        ConfigurationError: If the address cannot be bound, and as `make_server` does.
        TaskError: As `make_server` does.
    """
    app = make_server(task, level).streamable_http_app(host=host, max_sessions=MAX_SESSIONS)
    try:
        listener = socket.create_server((host, port))
    except (OSError, OverflowError) as error:
        raise ConfigurationError(f"cannot listen on {host}:{port}: {error}; choose another --port") from None
    with listener:
        # Clients hold streams open for as long as they live: shutting down does not wait for them.
        config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=_GRACE_SECONDS)
        announce(f"http://{host}:{listener.getsockname()[1]}/mcp")
        uvicorn.Server(config).run(sockets=[listener])


class _Worlds:
    """The worlds of a server's sessions."""

    def __init__(self, task: Task, level: FeedbackLevel) -> None:
        self.level = level
        self._task = task
        self._schemas = tool_schemas(task)
        self._own = self._start()
        self._by_client: dict[int, Episode] = {}

    def tools(self) -> list[types.Tool]:
        """Return the tools on offer."""
        functions = [self._schemas[name]["function"] for name in self._own.offered]
        return [
            types.Tool(name=function["name"], description=function["description"], input_schema=function["parameters"])
            for function in functions
        ]

    def of(self, context: _Context) -> Episode:
        """Return the running world of the session that a request belongs to."""
        if context.request is None:
            return self._own
        # Made at the session's handshake, and dropped with the session.
        client = context.session.client_params
        if client is None:
            raise MCPError(code=types.INVALID_REQUEST, message="begin the session with initialize")
        key = id(client)
        if key not in self._by_client:
            self._by_client[key] = self._start()
            weakref.finalize(client, self._by_client.pop, key, None)
        return self._by_client[key]

    def _start(self) -> Episode:
        scorer = EpisodeScorer(self._task)
        offer: Offer = "official" if self._task.source == "bfcl" else "strict"
        offered = offered_names(self._task, self._task.num_turns - 1, offer)
        return Episode(self._task, scorer.new_world(), scorer, offer, offered=offered)


async def _list_tools(context: _Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=context.lifespan_context.tools())


async def _call_tool(context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    worlds = context.lifespan_context
    episode = worlds.of(context)
    call = Call(params.name, params.arguments or {})
    result = episode.world.run(call, frozenset(episode.offered))
    episode.reply, episode.results = Reply((call,), None, None, True, {}), [result]
    [hint] = result_hints(episode, default_book(), worlds.level)
    text = types.TextContent(text=attach(result.content, hint))
    return types.CallToolResult(content=[text], is_error=result.error is not None)


async def _refuse_without_session(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Turn clients over HTTP to the protocol versions that have sessions."""
    has_session = ctx.request is None or ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS
    if has_session or ctx.method == "tools/list":  # the SDK itself lists the tools to check a call's headers
        return await call_next(ctx)
    versions = {"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": ctx.protocol_version}
    message = "a world needs a session, which this protocol version lacks over HTTP; begin with initialize"
    raise MCPError(code=UNSUPPORTED_PROTOCOL_VERSION, message=message, data=versions)

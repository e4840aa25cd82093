"""What the tests of the MCP server and of the proxy share."""

import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

SERVERS = Path(__file__).parent / "mcp_servers"
ENVTUNE = (sys.executable, "-c", "import sys; from envtune_gym.cli import main; sys.exit(main())")
PATIENCE = 60


def run(test):
    """Run an asynchronous test; one that hangs fails."""

    async def bounded():
        with anyio.fail_after(PATIENCE):
            await test()

    anyio.run(bounded)


@asynccontextmanager
async def connected(*command, mode="auto", **options):
    """Start a server with the SDK's own client; its stderr is dropped."""
    with open("/dev/null", "w") as nowhere:
        transport = stdio_client(StdioServerParameters(command=command[0], args=list(command[1:])), errlog=nowhere)
        async with Client(transport, mode=mode, **options) as client:
            yield client


def texts(result):
    """Return the text blocks of a result."""
    return [block.text for block in result.content]


def message(request_id=None, method=None, **rest):
    """Return a JSON-RPC message as a line."""
    data = {"jsonrpc": "2.0", "id": request_id, "method": method, **rest}
    return (json.dumps({key: value for key, value in data.items() if value is not None}) + "\n").encode()


def call(request_id, name, **arguments):
    """Return a line that calls a tool."""
    return message(request_id, "tools/call", params={"name": name, "arguments": arguments})

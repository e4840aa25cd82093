import ast
import json
import signal
import subprocess
from contextlib import contextmanager

import anyio
import pytest

pytest.importorskip("mcp")

from mcp import Client
from mcp.shared.exceptions import MCPError

from envtune_gym import World
from envtune_gym.tasks import save_jsonl

from .mcp_tools import ENVTUNE, connected, message, run, texts

TRAVEL = (*ENVTUNE, "mcp", "--domain", "TravelAPI")


@contextmanager
def http_server(*words):
    """Serve over HTTP on a free port; yield the URL."""
    command = (*ENVTUNE, "mcp", *words, "--transport", "http", "--port", "0")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stderr.readline()
            yield line.split(" at ")[1].split(";")[0]
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
            assert process.stderr.read() == ""


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_sees_the_tools_and_the_official_results(mode):
    world = World(["TravelAPI"], {})

    async def test():
        async with connected(*TRAVEL, mode=mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == list(world.tools)
            schema = world.tools["get_flight_cost"].schema["function"]
            assert tools["get_flight_cost"].input_schema == schema["parameters"]
            assert tools["get_flight_cost"].description == schema["description"]
            for name, arguments in (
                ("list_all_airports", {}),
                ("set_budget_limit", {"access_token": "none", "budget_limit": 5}),
                ("get_nearest_airport_by_city", {"location": "Atlantis"}),
                ("get_flight_cost", {"travel_from": "SFO"}),
            ):
                expected = world.call(name, arguments)
                result = await client.call_tool(name, arguments)
                assert texts(result) == [expected.content]
                assert result.is_error == (expected.error is not None)

    run(test)


def test_state_lasts_for_the_session_and_no_longer():
    async def test():
        for _ in range(2):
            async with connected(*ENVTUNE, "mcp", "--domain", "TicketAPI", "--domain", "MathAPI") as client:
                assert (await client.call_tool("create_ticket", {"title": "Lamp"})).is_error
                await client.call_tool("ticket_login", {"username": "ann", "password": "x"})
                created = await client.call_tool("create_ticket", {"title": "Lamp"})
                assert json.loads(texts(created)[0])["id"] == 1
                assert texts(await client.call_tool("add", {"a": 2, "b": 3})) == ['{"result": 5}']

    run(test)


def test_a_task_is_served_with_all_its_tools_but_the_excluded(tmp_path, withheld_task):
    save_jsonl([withheld_task], tmp_path / "tasks.jsonl")

    async def test():
        words = ("mcp", "--task", "withheld", "--tasks", str(tmp_path / "tasks.jsonl"), "--feedback", "actionable")
        async with connected(*ENVTUNE, *words) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "close_ticket" in names
            assert "get_ticket" not in names
            created = await client.call_tool("create_ticket", {"title": "Lamp"})
            assert json.loads(texts(created)[0])["id"] == 7
            refused = await client.call_tool("get_ticket", {"ticket_id": 7})
            assert refused.is_error
            official, hint = texts(refused)[0].split("\n")
            assert official == "Error during execution: name 'get_ticket' is not defined"
            assert hint.startswith("Hint: ")

    run(test)


HOSTILE_NAMES = [
    "",
    " ",
    "__class__",
    "__init__",
    "state",
    "eval",
    "list_all_airports()",
    "list_all_airports\n",
    "é\0🛫",
]
HOSTILE_ARGUMENTS = [
    {"self": 1},
    {"__class__": {}},
    {"": None},
    {"location": 10**400},
    {"location": "x" * 10**6},
    {"location": ["[" * 1000] * 1000},
    {"location": {"a": [{"b": [None, True, -1.5e300]}]}},
    {"location": "__import__('os').system('true')"},
    {f"argument{index}": index for index in range(10_000)},
]


def test_hostile_names_and_arguments_come_to_nothing():
    world = World(["TravelAPI"], {})

    async def test():
        async with connected(*TRAVEL) as client:
            for name in [*HOSTILE_NAMES, "n" * 10**5]:
                result = await client.call_tool(name, {"x": "y"})
                assert result.is_error
                assert texts(result) == [f"Error during execution: name '{name}' is not defined"]
            for arguments in HOSTILE_ARGUMENTS:
                result = await client.call_tool("get_nearest_airport_by_city", arguments)
                assert texts(result) == [world.call("get_nearest_airport_by_city", arguments).content]
            airports = await client.call_tool("list_all_airports", {})
            assert texts(airports) == [world.call("list_all_airports", {}).content]

    run(test)


def test_sessions_over_http_do_not_see_each_other():
    sessions, tickets = 10, 3

    async def session(url, number, seen):
        async with Client(url) as client:
            await client.call_tool("ticket_login", {"username": f"user{number}", "password": "x"})
            for index in range(tickets):
                created = await client.call_tool("create_ticket", {"title": f"{number}/{index}"})
                assert json.loads(texts(created)[0])["id"] == 1 + index
                # Nobody goes on before all others are as far.
                seen[index] += 1
                while seen[index] < sessions:
                    await anyio.lowlevel.checkpoint()
            mine = ast.literal_eval(texts(await client.call_tool("get_user_tickets", {}))[0])
            assert [ticket["title"] for ticket in mine] == [f"{number}/{index}" for index in range(tickets)]
            assert {ticket["created_by"] for ticket in mine} == {f"user{number}"}

    async def test():
        with http_server("--domain", "TicketAPI") as url:
            seen = [0] * tickets
            async with anyio.create_task_group() as group:
                for number in range(sessions):
                    group.start_soon(session, url, number, seen)
            async with Client(url) as client:
                assert "error" in texts(await client.call_tool("get_user_tickets", {}))[0]

    run(test)


def test_a_protocol_without_sessions_is_refused_over_http():
    async def test():
        with http_server("--domain", "TicketAPI") as url:
            async with Client(url) as client:
                assert client.session.protocol_version < "2026"
                assert (await client.call_tool("get_user_tickets", {})).is_error  # nobody has logged in
            async with Client(url, mode="2026-07-28") as client:
                with pytest.raises(MCPError, match="needs a session"):
                    await client.call_tool("ticket_login", {"username": "ann", "password": "x"})

    run(test)


@pytest.mark.parametrize(("sign", "code"), [(None, 0), (signal.SIGINT, -signal.SIGINT)])
def test_stdio_ends_with_the_client_or_an_interruption(sign, code):
    with subprocess.Popen(TRAVEL, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        process.stdin.write(message(1, "initialize", params=client))
        process.stdin.flush()
        assert b'"serverInfo"' in process.stdout.readline()
        if sign is None:
            process.stdin.close()
        else:
            process.send_signal(sign)
        assert process.wait(30) == code
        assert process.stderr.read() == b""


def test_a_taken_port_is_told_in_one_line():
    with http_server("--domain", "MathAPI") as url:
        port = url.split(":")[2].split("/")[0]
        command = (*ENVTUNE, "mcp", "--domain", "MathAPI", "--transport", "http", "--port", port)
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: cannot listen on 127.0.0.1:{port}: ")
    assert done.stderr.count("\n") == 1

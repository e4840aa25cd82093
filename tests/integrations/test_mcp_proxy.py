import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

pytest.importorskip("mcp")

from mcp.shared.exceptions import MCPError

from envtune_gym.cli import main

from .mcp_tools import ENVTUNE, SERVERS, call, connected, message, run, texts
from .test_mcp_traffic import FAILED, ODD_LINES, TOOL

SHOP = (sys.executable, str(SERVERS / "shop.py"))
PROXY = (*ENVTUNE, "mcp-proxy")
OFFICIAL = "Error during execution: "


@pytest.fixture
def scripted(tmp_path):
    """Return the command line of a server that answers each line with the next piece of a script."""

    def command(*pieces):
        path = tmp_path / "script.json"
        path.write_text(json.dumps(pieces))
        return sys.executable, str(SERVERS / "scripted.py"), str(path)

    return command


@contextmanager
def proxied(*command, options=()):
    """Start the proxy before a server; yield the process."""
    with subprocess.Popen(
        (*PROXY, *options, "--", *command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ask(process, line):
    process.stdin.write(line)
    process.stdin.flush()
    return process.stdout.readline()


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_everything_but_failing_tools_is_as_without_the_proxy(mode):
    async def seen(*command):
        progress, outcome = [], []
        async with connected(*command, mode=mode) as client:

            async def note(*values):
                progress.append(values)

            outcome += [client.session.protocol_version, client.server_info, client.server_capabilities]
            outcome += [await client.list_tools(), await client.list_resources(), await client.list_prompts()]
            outcome += [await client.read_resource("shop://hours"), await client.get_prompt("greet", {"name": "Ann"})]
            outcome += [await client.call_tool("order", {"item": "lamp", "count": count}) for count in (1, 2)]
            outcome += [await client.call_tool("pack", {"boxes": 3}, progress_callback=note)]
            with pytest.raises(MCPError) as refused:
                await client.read_resource("shop://nowhere")
            outcome += [refused.value.error, progress]
        return outcome

    async def test():
        assert await seen(*PROXY, "--", *SHOP) == await seen(*SHOP)

    run(test)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("ordr", {"item": "lamp"}, "`order`"),
        ("order", {"count": 1}, "'item'"),
        ("order", {"item": "lamp", "count": "two"}, "'integer'"),
        ("cancel", {"order_id": "O-17"}, "lower case"),
        ("order", {"item": "a lamp that is blue and green"}, "do not repeat the call unchanged"),
    ],
)
def test_a_failing_tool_gets_a_hint_beside_its_own_text(shop_results, name, arguments, said):
    official, hinted = shop_results(name, arguments)
    assert official.is_error
    assert hinted.is_error
    *own, hint = texts(hinted)
    assert own == texts(official)
    assert hint.startswith("Hint: ")
    assert said.strip("'") in hint


@pytest.fixture(scope="module")
def shop_results():
    """Return the results of a call without and with the proxy, of one session each."""
    calls = [
        ("ordr", {"item": "lamp"}),
        ("order", {"count": 1}),
        ("order", {"item": "lamp", "count": "two"}),
        ("cancel", {"order_id": "O-17"}),
        ("order", {"item": "a lamp that is blue and green"}),
    ]
    results = {}

    async def test():
        for command in (SHOP, (*PROXY, "--", *SHOP)):
            async with connected(*command) as client:
                await client.list_tools()
                await client.call_tool("order", {"item": "lamp"})
                for name, arguments in calls:
                    result = await client.call_tool(name, arguments)
                    results.setdefault((name, str(arguments)), []).append(result)

    run(test)
    return lambda name, arguments: results[name, str(arguments)]


def test_a_world_of_ours_behind_the_proxy():
    async def test():
        async with connected(*PROXY, "--", *ENVTUNE, "mcp", "--domain", "TravelAPI") as client:
            await client.list_tools()
            [airports] = texts(await client.call_tool("list_all_airports", {}))
            assert airports.startswith("['RMS', 'SBK'")
            official, hint = texts(await client.call_tool("book_flights", {}))
            assert official == f"{OFFICIAL}name 'book_flights' is not defined"
            assert "`book_flight`" in hint
            official, hint = texts(await client.call_tool("get_flight_cost", {"travel_from": "SFO"}))
            assert official.startswith(f"{OFFICIAL}TravelAPI.get_flight_cost() missing 3 required")
            assert "travel_to" in hint
            for name in ("", "__class__", "list_all_airports\n", "n" * 10**5):
                official, hint = texts(await client.call_tool(name, {"é\0🛫": [{}] * 1000}))
                assert official == f"{OFFICIAL}name '{name}' is not defined"
                assert hint.startswith("Hint: ")

    run(test)


LISTED = message(0, result={"tools": [TOOL]}).decode()
GARBAGE = ["Listening on stdio\n", "\xff\xfe\x00\n", "[[[[\n"]


@pytest.mark.parametrize("level", ["off", "actionable"])
def test_bytes_pass_as_they_are(scripted, level):
    failed = [message(1, result=FAILED).decode()] if level == "off" else []
    answers = failed + GARBAGE + [line.decode("latin-1") for line in ODD_LINES]
    lines = message(0, "tools/list") + call(1, "order", item="lamp") * len(answers)
    done = subprocess.run(
        (*PROXY, "--level", level, "--", *scripted(LISTED, *answers)), input=lines, capture_output=True, timeout=60
    )
    assert done.returncode == 0
    assert done.stdout == "".join([LISTED, *answers]).encode("latin-1")
    [report] = done.stderr.decode().splitlines()
    assert "'Listening on stdio'" in report
    assert "stderr" in report


def test_a_hint_book_is_used(scripted, tmp_path):
    book = tmp_path / "hints.yaml"
    book.write_text(BOOK)
    lines = message(0, "tools/list") + call(1, "order", item="lamp")
    command = scripted(LISTED, message(1, result=FAILED).decode())
    done = subprocess.run((*PROXY, "--hints", book, "--", *command), input=lines, capture_output=True, timeout=60)
    assert done.stderr == b""
    assert (
        json.loads(done.stdout.splitlines()[1])["result"]["content"][1]["text"]
        == "Hint: The shop does not sell this. See the price list."
    )


def test_a_mined_graph_is_used(scripted, tmp_path):
    chats, graph = tmp_path / "chats.jsonl", tmp_path / "graph.json"
    chats.write_text("".join(json.dumps({"messages": chat(city)}) + "\n" for city in ("Rome", "Oslo")))
    assert main(["hints", "graph", "--from", str(chats), "--out", str(graph)]) == 0
    tools = message(0, result={"tools": [TOOL, {**TOOL, "name": "open_shop"}]}).decode()
    lines = message(0, "tools/list") + call(1, "order", item="lamp")
    command = (*PROXY, "--graph", graph, "--", *scripted(tools, message(1, result=FAILED).decode()))
    done = subprocess.run(command, input=lines, capture_output=True, timeout=60)
    assert done.stderr == b""
    hint = json.loads(done.stdout.splitlines()[1])["result"]["content"][1]["text"]
    assert "`open_shop` usually comes before `order`" in hint


def test_a_broken_graph_is_refused(tmp_path, capsys):
    graph = tmp_path / "graph.json"
    for text, said in (("[", "cannot read the graph"), ("[]", "not a graph of tools")):
        graph.write_text(text)
        assert main(["mcp-proxy", "--graph", str(graph), "--", "server"]) == 2
        assert said in capsys.readouterr().err


def chat(city):
    """A chat in which the shop is opened before anything is ordered in it."""

    def done(name, **arguments):
        function = {"name": name, "arguments": json.dumps(arguments)}
        calls = [{"id": name, "type": "function", "function": function}]
        return [{"role": "assistant", "tool_calls": calls}, {"role": "tool", "tool_call_id": name, "content": "ok"}]

    request = {"role": "user", "content": f"Open the shop in {city} and order a lamp."}
    return [request, *done("open_shop", city=city), *done("order", item="lamp", to=city)]


BOOK = """
version: 1
hints:
- cause: {domain: general, code: failed, tool: order}
  status: approved
  hint:
    category: parameter_constraint
    augmentation: clarify_constraint
    need: to know the items
    error: The shop does not sell this.
    actionable: [See the price list.]
  proposed_by: {model: ann, host: ""}
  judged_by: {model: ann, host: ""}
  decided_at: 2026-01-01T00:00:00Z
  failures: 1
  example: {task: shop, call: "order(item='lamp')", result: no such item}
"""


def test_a_server_that_dies_is_told_to_the_client_and_to_the_user(scripted):
    with proxied(*scripted(LISTED, 3)) as process:
        assert ask(process, message(0, "tools/list")).decode() == LISTED
        answer = json.loads(ask(process, call(7, "order")))
        assert process.wait(30) == 2
        error = process.stderr.read().decode()
    assert answer["id"] == 7
    assert "ended with exit code 3" in answer["error"]["message"]
    assert error.startswith("error: the MCP server ended with exit code 3")
    assert "scripted.py" in error
    assert error.count("\n") == 1


def test_a_server_that_dies_is_told_to_a_client_that_has_said_all(scripted):
    done = subprocess.run((*PROXY, *scripted(3)), input=call(7, "order"), capture_output=True, timeout=60)
    assert done.returncode == 2
    assert json.loads(done.stdout)["id"] == 7
    assert done.stderr.startswith(b"error: the MCP server ended with exit code 3")


def test_a_slow_server_is_told_to_the_client_and_to_the_user(scripted):
    with proxied(*scripted(None, None, LISTED), options=("--timeout", "0.2")) as process:
        answer = json.loads(ask(process, call(7, "order")))
        assert answer["id"] == 7
        assert "--timeout" in answer["error"]["message"]
        # The second piece answered the notification that the call is cancelled.
        assert ask(process, message(0, "tools/list")).decode() == LISTED
        process.stdin.close()
        assert process.wait(30) == 0
        [report] = process.stderr.read().decode().splitlines()
    assert report == f"envtune: {answer['error']['message']}"


@pytest.mark.parametrize(
    ("piece", "sign"), [("PID", None), ("PID", signal.SIGINT), ("STAY", None), ("STAY", signal.SIGTERM)]
)
def test_nothing_is_left_running(scripted, piece, sign):
    with proxied(*scripted(piece)) as process:
        pid = json.loads(ask(process, message(0, "tools/list")))["params"]["pid"]
        assert is_running(pid)
        if sign is None:
            process.stdin.close()
        else:
            process.send_signal(sign)
        assert process.wait(30) == (0 if sign is None else 130)
        assert not is_running(pid)
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("mcp", "--domain"),
        ("mcp --domain TravelAPI --task x", "either --domain"),
        ("mcp --domain Nowhere", "TravelAPI"),
        ("mcp --task nobody --tasks generated", "nobody"),
        ("mcp --domain MathAPI --transport carrier-pigeon", "stdio"),
        ("mcp-proxy", "COMMAND"),
        ("mcp-proxy -- /nowhere/server --port 1", "'/nowhere/server'"),
        ("mcp-proxy /nowhere/server --port 1", "'/nowhere/server'"),
        ("mcp-proxy --hints /nowhere.yaml -- server", "/nowhere.yaml"),
        ("mcp-proxy --level loud -- server", "actionable"),
    ],
)
def test_a_mistake_is_told_in_one_line(words, said, capsys):
    assert main(words.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert said in captured.err


@pytest.mark.parametrize("words", ["mcp --domain MathAPI", "mcp-proxy -- server"])
def test_without_the_sdk_the_command_says_how_to_add_it(words):
    code = f"import sys; sys.modules['mcp'] = None; from envtune_gym.cli import main; sys.exit(main({words.split()}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert 'pip install "envtune-gym[mcp]"' in done.stderr
    assert done.stderr.count("\n") == 1

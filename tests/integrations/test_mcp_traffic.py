import json

import pytest

pytest.importorskip("mcp")

from envtune_gym.integrations.mcp_hints import ServerHints
from envtune_gym.integrations.mcp_traffic import Traffic

from .mcp_tools import call, message

TOOL = {"name": "order", "inputSchema": {"type": "object", "properties": {"item": {"type": "string"}}}}


class Session:
    """One session's traffic, with a clock that stands until it is told to go on."""

    def __init__(self, level="actionable"):
        self.now = 0.0
        self.reports = []
        self.traffic = Traffic(ServerHints(level), lambda: self.now, self.reports.append)

    def list_tools(self, *pages):
        for index, names in enumerate(pages):
            self.traffic.from_client(message(f"list{index}", "tools/list", params={"cursor": "c"} if index else {}))
            result = {"tools": [{**TOOL, "name": name} for name in names]}
            if index + 1 < len(pages):
                result["nextCursor"] = "c"
            line = message(f"list{index}", result=result)
            assert self.traffic.from_server(line) == line

    def answer(self, line, name="order", request_id=1, **arguments):
        self.traffic.from_client(call(request_id, name, **arguments))
        return self.traffic.from_server(line)


FAILED = {"content": [{"type": "text", "text": "no such item"}], "isError": True, "structuredContent": {"x": 1.5}}


def hint_of(line):
    return json.loads(line)["result"]["content"][-1]["text"]


def test_a_failing_result_gains_a_block_and_keeps_the_rest():
    session = Session()
    session.list_tools(["order"])
    changed = json.loads(session.answer(message(1, result=FAILED), item="lamp"))
    assert changed["result"]["content"].pop()["text"].startswith("Hint: ")
    assert changed == {"jsonrpc": "2.0", "id": 1, "result": FAILED}


def test_a_protocol_error_gains_a_line():
    session = Session()
    session.list_tools(["order"])
    error = {"code": -32602, "message": "Unknown tool: ordr", "data": [1]}
    changed = json.loads(session.answer(message(1, error=error), name="ordr"))
    official, hint = changed["error"].pop("message").split("\n")
    assert (official, hint) == (
        "Unknown tool: ordr",
        "Hint: 'ordr' is not a tool on offer. Tools of a similar name: `order`.",
    )
    assert changed["error"] == {"code": -32602, "data": [1]}


ODD_LINES = [
    b'{ "jsonrpc":"2.0" ,"id":1,"result":{"content":[{"type":"text","text":"\\u00e9\\ud800"}],"n":[1e400,1E5,1.0]}}\n',
    b'{"id":1,"jsonrpc":"2.0","result":{"content":[],"isError":false,"new":{"a":1,"a":2}}}\r\n',
    b'{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{}}}\n',
    b'{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":"of a shape that the protocol does not know"}}\n',
    b'{"jsonrpc":"2.0","id":1,"result":null}\n',
    b'{"jsonrpc":"2.0","id":1,"error":"text"}\n',
    b'{"jsonrpc":"2.0","id":1.0,"result":{"isError":true,"content":[]}}\n',
    b'{"jsonrpc":"2.0","id":"1","result":{"isError":true,"content":[]}}\n',
    b'{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[],"number":1e999}}\n',
    b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}\n',
    b'[{"jsonrpc":"2.0","id":1,"result":{"content":[]}}]\n',
    b"\n",
    b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}',
]


@pytest.mark.parametrize("line", ODD_LINES)
def test_what_is_no_failing_result_passes_byte_for_byte(line):
    session = Session()
    session.list_tools(["order"])
    assert session.answer(line, item="lamp") == line
    assert session.reports == []


@pytest.mark.parametrize(
    "line", [message(1, result=FAILED), b'{"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}}\n']
)
def test_at_level_off_failing_results_pass_byte_for_byte(line):
    session = Session("off")
    session.list_tools(["order"])
    assert session.answer(line, name="ordr") == line


@pytest.mark.parametrize(
    "line", [b"Listening on stdio\n", b"\xff\xfe\n", b"[" * 10**6 + b"\n", b"9" * 5000 + b"\n", b'{"level":"info"}\n']
)
def test_garbage_passes_and_is_reported_once(line):
    session = Session()
    assert [session.traffic.from_server(line) for _ in range(2)] == [line, line]
    [report] = session.reports
    assert "stderr" in report
    assert "\n" not in report


def test_a_batch_is_changed_where_it_tells_of_a_failure():
    session = Session()
    session.list_tools(["order"])
    session.traffic.from_client(
        b"[" + call(1, "order", item="x").strip() + b"," + call("1", "order", item="y").strip() + b"]\n"
    )
    fine = {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
    first, second = json.loads(
        session.traffic.from_server(json.dumps([fine, {**fine, "id": "1", "result": FAILED}]).encode())
    )
    assert first == fine
    assert second["result"]["content"][1]["text"].startswith("Hint: ")


def test_tools_are_known_once_the_last_page_has_come():
    session = Session()
    line = message(1, result=FAILED)
    assert session.answer(line, name="cancel") == line
    session.list_tools(["order", "cancel"], ["ship"])
    assert "not a tool on offer" not in hint_of(session.answer(line, name="ship"))
    session.list_tools(["order"])
    assert "not a tool on offer" in hint_of(session.answer(line, name="ship"))


def test_a_request_without_an_answer_is_given_up_and_its_late_answer_dropped():
    session = Session()
    session.traffic.from_client(message(1, "tools/list"))
    session.traffic.from_client(message("s", "subscriptions/listen"))
    session.now = 4.0
    session.traffic.from_client(message(2, "tools/call", params={"name": "order", "_meta": {"progressToken": "p"}}))
    assert session.traffic.expire(10.0) == ([], 6.0)
    session.now = 9.0
    session.traffic.from_server(message(None, "notifications/progress", params={"progressToken": "p", "progress": 1}))
    session.now = 14.0
    assert session.traffic.expire(10.0) == ([(1, "tools/list")], 5.0)
    assert session.traffic.from_server(message(1, result={"tools": []})) == b""
    answer = message(2, result={"content": []})
    assert session.traffic.from_server(answer) == answer
    assert session.traffic.close() == ["s"]


def test_a_cancelled_request_is_not_waited_for():
    session = Session()
    session.traffic.from_client(call(1, "order"))
    session.traffic.from_client(message(None, "notifications/cancelled", params={"requestId": 1}))
    assert session.traffic.close() == []

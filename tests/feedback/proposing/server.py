"""An OpenAI-compatible server that says what a test has written down."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROPOSAL = {
    "need": "To know where ids come from.",
    "category": "dependency_missing",
    "augmentation": "explain_dependency",
    "error": "There is no ticket {value}: an id is given when a ticket is created.",
    "actionable": ["Look the tickets up with `get_user_tickets`.", "Use the id that creating the ticket returned."],
}
APPROVAL = {
    "leaks_solution": False,
    "leaves_exploration_open": True,
    "is_actionable": True,
    "teaches_rule": True,
    "reasons": ["It says where ids come from."],
}
DROP = object()
"""In place of a reply: the connection is closed in the middle of the answer."""


def proposal(**changes):
    return json.dumps({**PROPOSAL, **changes})


def judgement(**changes):
    return json.dumps({**APPROVAL, **changes})


def status(code, **headers):
    """A failure of the server; the client is told to come back at once."""
    return code, {"retry-after-ms": "1", **headers}


def approve(request):
    """What the generator and the judge are told when all goes well."""
    return judgement() if request["messages"][0]["content"].startswith("You decide") else proposal()


class ScriptedServer:
    """Answers requests in their order: a text, a failure, raw bytes, `DROP`, or a function that gives one of these.

    When the script is over it answers as `otherwise` says; by default it approves: a proposal to the generator, an
    approval to the judge.
    """

    def __init__(self, otherwise=None):
        self.otherwise = otherwise or approve
        self.script = []
        self.requests = []
        self.keys = []
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self._http.shutdown()
        self._http.server_close()

    def asked(self, who):
        """The requests to the `generator` or the `judge`."""
        start = {"generator": "You write", "judge": "You decide"}[who]
        return [request for request in self.requests if request["messages"][0]["content"].startswith(start)]

    def _next(self, request, key):
        with self._lock:
            self.requests.append(request)
            self.keys.append(key)
            answer = self.script.pop(0) if self.script else None
        if callable(answer):
            answer = answer(request)
        return self.otherwise(request) if answer is None else answer

    def _handler(self):
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                answer = server._next(json.loads(body), self.headers["authorization"])
                if answer is DROP:
                    self._send(200, b'{"id": "x"', length=1_000)
                elif isinstance(answer, bytes):
                    self._send(200, answer)
                elif isinstance(answer, tuple):
                    self._send(answer[0], b'{"error": {"message": "not now"}}', **answer[1])
                else:
                    message = {"role": "assistant", "content": answer}
                    choice = {"index": 0, "message": message, "finish_reason": "stop"}
                    data = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
                    self._send(200, json.dumps(data).encode())

            def _send(self, code, body, length=None, **headers):
                self.send_response(code)
                for name, value in {"content-type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(length or len(body)))
                self.end_headers()
                self.wfile.write(body)
                if length:
                    self.close_connection = True

            def log_message(self, *_):
                pass

        return Handler

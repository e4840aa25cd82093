"""A server for tests that passes requests on, keeps what was answered, and can be made to fail on the way.

What stands behind it is another server, or a function from a request to the message that answers it. The same request
is answered from what was kept: a run through faults then sees the very replies of the run before.
"""

import json
import random
import socket
import struct
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAULTS = ("delay", "429", "503", "reset", "truncated", "dropped", "empty", "html")


def completion(message, **changes):
    """The body of an answer."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    answer = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
    return json.dumps({**answer, **changes}).encode()


class Proxy:
    """Stands before a server.

    Args:
        behind: The server's address, or a function from a request to a message or to the body of an answer.
        faults: A fault for each request in turn (see `FAULTS`); None is none. After them all goes well.
    """

    def __init__(self, behind, faults=()):
        self.behind = behind
        self.faults = list(faults)
        self.requests = []
        self.kept = {}
        self.release = threading.Event()
        self._lock = threading.Lock()
        self._http = _Server(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release.set()
        self._http.shutdown()
        self._http.server_close()

    def fail(self, share, seed):
        """Let this share of the next ten thousand requests fail, in all ways there are."""
        rng = random.Random(seed)
        self.faults = [rng.choice(FAULTS) if rng.random() < share else None for _ in range(10_000)]

    def answer(self, request):
        key = json.dumps(request, sort_keys=True)
        if key not in self.kept:
            self.kept[key] = self._ask(request)
        return self.kept[key]

    def _ask(self, request):
        if callable(self.behind):
            answer = self.behind(request)
            return answer if isinstance(answer, bytes) else completion(answer)
        forwarded = urllib.request.Request(
            f"{self.behind}/chat/completions", json.dumps(request).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(forwarded, timeout=600) as answer:
            return answer.read()

    def _next_fault(self, request):
        with self._lock:
            self.requests.append(request)
            return self.faults.pop(0) if self.faults else None

    def _handler(self):
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                fault = proxy._next_fault(request)
                getattr(self, f"fail_{fault}")(request) if fault else self.send(proxy.answer(request))

            def send(self, body, status=200, length=None, **headers):
                self.send_response(status)
                for name, value in {"content-type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(length or len(body)))
                self.end_headers()
                self.wfile.write(body)

            def fail_delay(self, request):
                """The answer comes, but only after the one who asked has given up."""
                proxy.release.wait(0.5)
                self.send(proxy.answer(request))

            def fail_429(self, request):
                self.send(b'{"error": {"message": "too many"}}', 429, **{"retry-after-ms": "1"})

            def fail_503(self, request):
                self.send(b"no server is ready", 503, **{"retry-after": "0.001"})

            def fail_400(self, request):
                self.send(b'{"error": {"message": "maximum context length is 8192 tokens"}}', 400)

            def fail_401(self, request):
                self.send(b'{"error": {"message": "wrong key"}}', 401)

            def fail_later(self, request):
                self.send(b"", 429, **{"retry-after": "50"})

            def fail_hang(self, request):
                proxy.release.wait(60)

            def fail_drip(self, request):
                """A byte now and then: none comes late, and the answer never ends."""
                self.send(b"{", length=1_000_000)
                while not proxy.release.wait(0.02):
                    self.wfile.write(b" ")

            def fail_endless(self, request):
                self.send(b"{", length=1 << 40)
                while not proxy.release.is_set():
                    self.wfile.write(b" " * 65_536)

            def fail_endless_error(self, request):
                self.send(b"{", 500, length=1 << 40)
                while not proxy.release.is_set():
                    self.wfile.write(b" " * 65_536)

            def fail_reset(self, request):
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.connection.close()
                self.rfile = self.wfile = _Nothing()

            def fail_dropped(self, request):
                body = proxy.answer(request)
                self.send(body[: len(body) // 2], length=len(body))
                self.close_connection = True

            def fail_truncated(self, request):
                body = proxy.answer(request)
                self.send(body[: len(body) // 2])

            def fail_empty(self, request):
                self.send(completion({"content": ""}, usage=None))

            def fail_html(self, request):
                self.send(b"<html>sign in</html>")

            def fail_moved(self, request):
                self.send(b"", 307, location="http://127.0.0.1:1/elsewhere")

            def log_message(self, *_):
                pass

        return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """The one who asked has gone away: that is what is tested."""


class _Nothing:
    closed = True

    def flush(self):
        pass

    def close(self):
        pass

"""A server that stands in for a model, and for nothing else: it answers in OpenAI's form with messages written before.

Which message comes next follows from the conversation alone, so any number of episodes may ask at once.
"""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from envtune_gym.evaluation.oracle import Oracle

MODEL = "scripted"


def oracle_script(tasks, action_format="tool_call"):
    """Return the messages that solve each task, by the request that opens it."""
    scripts = {task.turns[0]: Oracle(action_format).messages(task) for task in tasks}
    assert len(scripts) == len(tasks), "two tasks open alike, so the server could not tell them apart"
    return scripts


@contextmanager
def scripted_model(scripts):
    """Serve the scripts on a free port; yield the address and the conversations that were sent."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            messages = request["messages"]
            seen.append(messages)
            opening = next(message["content"] for message in messages if message["role"] == "user")
            done = sum(message["role"] == "assistant" for message in messages)
            body = json.dumps(_completion(scripts[opening][done])).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _completion(text):
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }

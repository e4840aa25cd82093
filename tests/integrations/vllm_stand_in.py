"""A stand-in for vLLM's server, which needs a GPU: the endpoints that the engine uses, as they are in vLLM 0.24.

It samples with this package's own engine from weights that it reads from a folder when it is told to. What it is not
told it takes from where vLLM would (the model's end tokens, a filter of its generation configuration), and a NaN keeps
an answer from being written, as there.
"""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import torch
from transformers import AutoModelForCausalLM

from envtune_gym.integrations.engine import TransformersEngine
from envtune_gym.integrations.vllm_server import VllmServer

UNFILTERED = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}


class StandIn(ThreadingHTTPServer):
    """The server.

    Attributes:
        development: Whether the endpoints are there that take new weights.
        mode: Which log-probabilities are answered, by vLLM's names.
        longest: The most tokens of a conversation.
        stubborn: Whether the weights that are asked for are not loaded, as if another folder was seen.
        faults: What is done to the next requests for replies: a status, or None for a connection that breaks.
        answers: The answers to the next requests for replies, whatever they are.
        refusal: What is said with a status among the faults.
        body: What is answered as it stands, where it is not None.
        key: The key that is wanted.
        prompts: The prompts, in the order in which they came.
        most_open: The most requests for replies that were open at a time.
        loads: How often weights were loaded.
        resets: How often what was cached was dropped.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, model):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model
        self.development = True
        self.mode = "processed_logprobs"
        self.longest = 16_384
        self.stubborn = False
        self.faults = []
        self.answers = []
        self.refusal = "fault"
        self.body = None
        self.key = ""
        self.prompts = []
        self.open = self.most_open = 0
        self.loads = self.resets = 0
        self.lock = threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """Keep broken connections out of the tests' output."""

    def complete(self, asked):
        filtered = {name: asked.get(name) for name in UNFILTERED}
        assert filtered == UNFILTERED, "the generation configuration would filter the tokens"
        assert asked["return_token_ids"], "there would be no token ids"
        assert asked["return_tokens_as_token_ids"], "there is no tokenizer"
        assert asked["logprobs"] == 0
        ends = set(asked["stop_token_ids"])
        if not asked["ignore_eos"]:
            ends.add(self.model.config.eos_token_id)
        prompt, limit, temperature = asked["prompt"], asked["max_tokens"], asked["temperature"]
        if len(prompt) + limit > self.longest:
            return 400, refusal(f"This model's maximum context length is {self.longest} tokens.")
        with self.lock, torch.random.fork_rng():
            self.prompts.append(prompt)
            torch.manual_seed(asked["seed"])
            (reply,) = TransformersEngine(self.model, ends, temperature).generate([prompt], [limit])
            ids = reply.ids or [0]
            logprobs = self.logprobs(prompt, ids, temperature)
        choice = {
            "index": 0,
            "text": "",
            "finish_reason": "stop" if ids[-1] in ends else "length",
            "prompt_token_ids": prompt,
            "token_ids": ids,
            "logprobs": {
                "text_offset": [0] * len(ids),
                "tokens": [f"token_id:{token}" for token in ids],
                "token_logprobs": [max(logprob, -9999.0) for logprob in logprobs],
            },
        }
        return 200, {"object": "text_completion", "model": asked["model"], "choices": [choice]}

    def logprobs(self, prompt, ids, temperature):
        """Log-probabilities by a forward pass over the whole; at temperature 0 vLLM gives those of the logits."""
        with torch.no_grad():
            logits = self.model(torch.tensor([[*prompt, *ids]])).logits[0, len(prompt) - 1 : -1]
        if self.mode == "processed_logprobs":
            logits = logits / (temperature or 1.0)
        return logits.log_softmax(-1).gather(1, torch.tensor(ids)[:, None])[:, 0].tolist()

    def load(self, asked):
        assert asked["method"] == "reload_weights"
        folder = asked["kwargs"]["weights_path"]
        try:
            loaded = AutoModelForCausalLM.from_pretrained(folder).eval()
        except OSError as error:
            return 500, refusal(str(error))
        if loaded.config.hidden_size != self.model.config.hidden_size:
            return 500, refusal("shape mismatch")
        if not self.stubborn:
            self.model = loaded
        self.loads += 1
        return 200, {"results": [None]}


def refusal(message):
    return {"error": {"message": message, "type": "BadRequestError", "param": None, "code": 400}}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if urlsplit(self.path).path == "/v1/models":
            card = {"id": "/weights", "object": "model", "root": "/weights", "max_model_len": self.server.longest}
            self.answer(200, {"object": "list", "data": [card]})
        else:
            self.answer(404, {"detail": "Not Found"})

    def do_POST(self):
        server = self.server
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        parts = urlsplit(self.path)
        if parts.path == "/v1/completions":
            self.complete(asked)
        elif parts.path == "/collective_rpc" and server.development:
            self.answer(*server.load(asked))
        elif parts.path == "/reset_prefix_cache" and server.development:
            assert parts.query == "reset_running_requests=true"
            server.resets += 1
            self.answer(200, None)
        else:
            self.answer(404, {"detail": "Not Found"})

    def complete(self, asked):
        server = self.server
        if server.faults:
            fault = server.faults.pop(0)
            if fault is not None:
                self.answer(fault, refusal(server.refusal))
            return  # without an answer, the connection breaks
        if server.answers:
            self.answer(200, server.answers.pop(0))
            return
        with server.lock:
            server.open += 1
            server.most_open = max(server.most_open, server.open)
        status, data = server.complete(asked)
        with server.lock:
            server.open -= 1  # before the client can know of it
        self.answer(status, data)

    def answer(self, status, data):
        if self.server.key and self.headers.get("Authorization") != f"Bearer {self.server.key}":
            status, data = 401, {"error": "Unauthorized"}
        try:
            body = b"" if data is None else json.dumps(data, allow_nan=False).encode()
        except ValueError as error:
            status, body = 400, json.dumps(refusal(str(error))).encode()
        if self.server.body is not None:
            body = self.server.body
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def stand_in(model):
    """Serve a model until the block ends."""
    with StandIn(model) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def place(server, tmp_path):
    return VllmServer(server.url, str(tmp_path / "weights"))

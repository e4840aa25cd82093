"""An engine over a `vllm serve` process, on this GPU or another machine; vLLM need not be installed here.

Each row is a request of token ids to `/v1/completions`, and its answer is read as token ids and numbers. When the
weights have changed, they are written to a folder, loaded there by the server (`/collective_rpc` with
`reload_weights`, which takes the folder), and what it had cached for the old ones goes (`/reset_prefix_cache`); the
server has both endpoints in development mode only. Endpoints and fields are those of vLLM 0.24, as read in its source;
a server stays for one run at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from envtune_gym.errors import ConfigurationError, ServerError
from envtune_gym.integrations.engine import Generated, OnReply
from envtune_gym.integrations.kept_slots import weights_mark
from envtune_gym.integrations.probe import PROBE_TEMPERATURE, PROBE_TOKENS, probe, probe_prompt
from envtune_gym.integrations.vllm_server import RefusedError, VllmServer, ask
from envtune_gym.integrations.weights_folder import write_weights

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["VllmServerEngine"]

_NO_FILTER = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
"""Said in each request: a server takes others from the model's generation configuration."""
_COOLEST = 0.01
"""vLLM raises temperatures between 0 and this one to it."""
_LOWEST = -9999.0
"""Stands in vLLM's answers for a log-probability that is not finite."""
_UNSPEAKABLE = "not JSON compliant"
"""What vLLM says instead of an answer that holds a NaN."""
_GIVEN_UP = "abort"
"""Why a reply has ended that somebody had the server stop."""
_NOT_FOUND = 404


class VllmServerEngine:
    """Samples with a vLLM server, from the same weights as the trainer's model.

    The folder of the weights is written before the server is looked for: where none answers, the error says the command
    that starts one on that folder. What the server computes is held against the model once.

    Args:
        model: The model; its weights are handed over at `generate` if they have changed since.
        server: Where the server is.
        end_ids: Tokens that end a reply.
        temperature: As in `TransformersEngine`.
        batch_size: Requests that are open at a time.
        dtype: What the weights are handed over in; None is the model's own.

    Raises:
        ConfigurationError: If a number makes no sense, the model has adapters, there is no vLLM server in development
            mode, or it computes something else than the model.
        ServerError: If the server cannot load the weights, or refuses a request.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        server: VllmServer,
        end_ids: Iterable[int],
        temperature: float = 1.0,
        batch_size: int = 256,
        dtype: torch.dtype | None = None,
    ) -> None:
        if not (temperature == 0 or temperature >= _COOLEST) or batch_size < 1:
            raise ConfigurationError(f"temperature must be 0 or from {_COOLEST} on, batch_size at least 1")
        if any("lora_" in name for name, _ in model.named_parameters()):
            raise ConfigurationError("the engine 'vllm-server' takes full weights; train LoRA with the engine 'auto'")
        self._model = model
        self._server = server
        self._vocabulary: int = model.get_input_embeddings().num_embeddings
        self._end_ids = sorted(set(end_ids))
        self._temperature = temperature
        self._batch_size = batch_size
        self._dtype = dtype or model.dtype
        self._command = server.command(str(self._dtype).removeprefix("torch."))
        self._mark = weights_mark(model)
        write_weights(model, Path(server.folder), self._dtype)
        self._name, self._longest = self._served()
        self._load_weights()
        self._compare()

    def generate(
        self, prompts: Sequence[Sequence[int]], limits: Sequence[int], on_reply: OnReply | None = None
    ) -> list[Generated]:
        """Sample one reply to each prompt (see `Engine.generate`); draws in vLLM, seeded from torch's generator.

        Conversations go on within the call, each as soon as it can.
        """
        for prompt, limit in zip(prompts, limits, strict=True):
            self._check_length(prompt, limit)
        self._hand_over_weights()
        seeds = torch.randint(2**31, (len(prompts),)).tolist()
        replies = [Generated() for _ in prompts]
        asked: dict[Future[Generated], int] = {}
        with ThreadPoolExecutor(self._batch_size) as pool:

            def ask_for(row: int, prompt: Sequence[int], limit: int) -> None:
                asked[pool.submit(self._sample, prompt, limit, seeds[row], self._temperature)] = row

            try:
                for row, (prompt, limit) in enumerate(zip(prompts, limits, strict=True)):
                    ask_for(row, prompt, limit)
                while asked:
                    for done in wait(asked, return_when=FIRST_COMPLETED).done:
                        row = asked.pop(done)
                        replies[row] = done.result()
                        following = None if on_reply is None else on_reply(row, replies[row])
                        if following is not None:
                            self._check_length(*following)
                            seeds[row] = (seeds[row] + 1) % 2**31  # what is drawn hangs on no order of the answers
                            ask_for(row, *following)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)  # what is not under way is of no use
                raise
        return replies

    def _check_length(self, prompt: Sequence[int], limit: int) -> None:
        """Refuse what is too long for the server.

        Raises:
            ConfigurationError: With what to do.
        """
        longest = len(prompt) + limit
        if longest > self._longest:
            raise ConfigurationError(
                f"a prompt and its reply may take {longest} tokens, and the vLLM server at {self._server.url} takes "
                f"{self._longest}; start it with --max-model-len {longest}, or lower the limits"
            )

    def _hand_over_weights(self) -> None:
        """Have the server load the model's weights if they have changed."""
        mark = weights_mark(self._model)
        if mark != self._mark:
            write_weights(self._model, Path(self._server.folder), self._dtype)
            self._load_weights()
            self._mark = mark

    def _load_weights(self) -> None:
        """Have the server load what is in the folder, and forget what it has computed before."""
        try:
            body = {"method": "reload_weights", "kwargs": {"weights_path": self._server.folder}}
            ask(self._server, "/collective_rpc", body)
            ask(self._server, "/reset_prefix_cache?reset_running_requests=true", {})
        except RefusedError as error:
            if error.status == _NOT_FOUND:
                raise ConfigurationError(
                    f"the vLLM server at {self._server.url} takes no new weights, as it is not in development mode; "
                    f"start it so: {self._command}"
                ) from None
            raise ServerError(
                f"the vLLM server at {self._server.url} cannot load the weights in {self._server.folder} "
                f"({error.reason}); it must see the folder under this path, and serve the model that is trained"
            ) from None

    def _served(self) -> tuple[str, int]:
        """Return the name of the model at the server, and the most tokens of a conversation.

        Raises:
            ConfigurationError: If there is no server, or one of another kind.
            ServerError: If it wants a key.
        """
        url = self._server.url
        another = ConfigurationError(f"what answers at {url} is no vLLM server; start one: {self._command}")
        try:
            answer = ask(self._server, "/v1/models", retries=0)
        except RefusedError as error:
            if error.status != _NOT_FOUND:
                raise
            raise another from None
        except ServerError as error:
            raise ConfigurationError(f"{error}; start one: {self._command}") from None
        try:
            served = answer["data"][0]
            return str(served["id"]), int(served["max_model_len"])
        except (LookupError, TypeError, ValueError, OverflowError):
            raise another from None

    def _sample(self, prompt: Sequence[int], limit: int, seed: int, temperature: float) -> Generated:
        """Return a reply to one prompt.

        Raises:
            ServerError: If the server does not answer, refuses the request, or answers something else.
        """
        body = {
            "model": self._name,
            "prompt": list(prompt),
            "max_tokens": limit,
            "temperature": temperature,
            "seed": seed,
            "stop_token_ids": self._end_ids,
            "ignore_eos": True,  # what ends a reply, the engine is told
            "logprobs": 0,  # those of the drawn tokens alone
            "return_token_ids": True,
            "return_tokens_as_token_ids": True,  # a token in place of its text, which nobody needs
            **_NO_FILTER,
        }
        try:
            return self._reply(ask(self._server, "/v1/completions", body), limit, temperature)
        except RefusedError as error:
            if _UNSPEAKABLE in error.reason:
                return _not_finite()
            raise

    def _reply(self, answer: Any, limit: int, temperature: float) -> Generated:
        try:
            choice = answer["choices"][0]
            if choice.get("finish_reason") == _GIVEN_UP:
                return Generated(error="the server gave the reply up")
            ids, logprobs = choice["token_ids"], choice["logprobs"]["token_logprobs"]
            is_whole = 0 < len(ids) == len(logprobs) <= limit and all(map(self._is_token, ids))
            finite = all(logprob is not None and _LOWEST < logprob < math.inf for logprob in logprobs)
        except (LookupError, TypeError, AttributeError):
            is_whole = False
        if not is_whole:
            raise ServerError(
                f"the vLLM server at {self._server.url} answers without token ids and their log-probabilities, at most "
                f"{limit} and all in the model's vocabulary; the engine is written for vLLM 0.24"
            )
        if not finite:
            return _not_finite()
        return Generated(ids, [0.0] * len(ids) if temperature == 0 else logprobs)

    def _is_token(self, token: Any) -> bool:
        return type(token) is int and 0 <= token < self._vocabulary

    def _compare(self) -> None:
        """Hold the server's log-probabilities of a few tokens against the model's.

        Raises:
            ConfigurationError: If they are those of another model, or those before the temperature.
        """
        prompt = probe_prompt(self._longest)
        reply = self._sample(prompt, PROBE_TOKENS, 0, PROBE_TEMPERATURE)
        if reply.error:
            return  # a model that has diverged: its rows will say so
        found = probe(self._model, prompt, reply.ids, reply.logprobs)
        if found.is_the_model:
            return
        if found.is_before_the_temperature:
            raise ConfigurationError(
                f"the vLLM server at {self._server.url} gives log-probabilities before the temperature; "
                f"start it so: {self._command}"
            )
        raise ConfigurationError(
            f"the vLLM server at {self._server.url} computes another model than the one that is trained (its "
            f"log-probabilities are off by {found.off:.2f} on average); start it so: {self._command}"
        )


def _not_finite() -> Generated:
    return Generated(error="the model's logits are not finite")

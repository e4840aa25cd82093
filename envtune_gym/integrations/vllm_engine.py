"""An engine over vLLM in this process, with prefix caching; the weights are handed over when they have changed.

It is written against vLLM 0.24 as TRL 1.16 drives it, for one GPU and full weights.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import torch

from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.engine import Generated, OnReply
from envtune_gym.integrations.kept_slots import weights_mark
from envtune_gym.integrations.probe import PROBE_TEMPERATURE, PROBE_TOKENS, probe, probe_prompt

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["VllmEngine", "check_vllm"]

_MEMORY_SHARE = 0.3
"""Of the GPU's memory; the trainer needs the rest."""


def check_vllm() -> None:
    """Refuse to go on where vLLM is not installed.

    Raises:
        ConfigurationError: With what to do.
    """
    if find_spec("vllm") is None:
        raise ConfigurationError(
            "the engine 'vllm' needs vLLM, which is not installed: pip install vllm; or use the engine 'auto'"
        )


class VllmEngine:
    """Samples with vLLM, from the same weights as the trainer's model.

    Args:
        model: The model; its weights are read at `generate` if they have changed since.
        end_ids: Tokens that end a reply.
        temperature: As in `TransformersEngine`.
        batch_size: Rows sampled together.
        dtype: What to compute in; None is the model's own.

    Raises:
        ConfigurationError: If vLLM is not installed, computes something else than the model, or the model has adapters.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        end_ids: Iterable[int],
        temperature: float = 1.0,
        batch_size: int = 256,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_vllm()
        if any("lora_" in name for name, _ in model.named_parameters()):
            raise ConfigurationError("the engine 'vllm' takes full weights; train LoRA with the engine 'auto'")
        self._model = model
        self._end_ids = sorted(set(end_ids))
        self._temperature = temperature
        self._mark: list[float] | None = None
        with self._own_precision():
            self._llm = _start(model, batch_size, dtype or model.dtype)
        self._compare()

    def generate(
        self, prompts: Sequence[Sequence[int]], limits: Sequence[int], on_reply: OnReply | None = None
    ) -> list[Generated]:
        """Sample one reply to each prompt (see `Engine.generate`); draws from vLLM's generator, seeded from torch's."""
        return self._sample(prompts, limits, self._temperature)

    def _sample(self, prompts: Sequence[Sequence[int]], limits: Sequence[int], temperature: float) -> list[Generated]:
        with self._own_precision():
            self._hand_over_weights()
            outputs = self._llm.generate(*self._requests(prompts, limits, temperature), use_tqdm=False)
        return [_reply(output.outputs[0]) for output in outputs]

    def _compare(self) -> None:
        """Hold vLLM's log-probabilities of a few tokens against the model's.

        Raises:
            ConfigurationError: If they are those of another model.
        """
        prompt = probe_prompt(getattr(self._model.config, "max_position_embeddings", None) or 2 * PROBE_TOKENS)
        (reply,) = self._sample([prompt], [PROBE_TOKENS], PROBE_TEMPERATURE)
        if reply.error:
            return  # a model that has diverged: its rows will say so
        found = probe(self._model, prompt, reply.ids, reply.logprobs)
        if not found.is_the_model:
            raise ConfigurationError(
                "vLLM computes another model than the one that is trained (its log-probabilities are off by "
                f"{found.off:.2f} on average); this engine is written for vLLM 0.24; use the engine 'auto'"
            )

    def _own_precision(self) -> torch.autocast:
        """Switch autocast off, in which a trainer samples.

        vLLM begins with a table of rotations by position and frequency, whose `einsum` a GPU's autocast computes in
        half precision: positions from some hundreds on are no longer told apart, and the model forgets what it knows.
        """
        return torch.autocast(self._model.device.type, enabled=False)

    def _requests(
        self, prompts: Sequence[Sequence[int]], limits: Sequence[int], temperature: float
    ) -> tuple[list[dict[str, list[int]]], list[Any]]:
        """Return what vLLM is asked for, and how it is to sample each reply."""
        from vllm import SamplingParams

        parameters = [
            SamplingParams(
                temperature=temperature,
                max_tokens=limit,
                logprobs=0,
                stop_token_ids=self._end_ids,
                detokenize=False,
                seed=int(torch.randint(2**31, ())),
            )
            for limit in limits
        ]
        return [{"prompt_token_ids": list(prompt)} for prompt in prompts], parameters

    def _hand_over_weights(self) -> None:
        """Load the model's weights if they have changed; what is cached for the old ones goes."""
        mark = weights_mark(self._model)
        if mark == self._mark:
            return
        self._llm.llm_engine.model_executor.driver_worker.model_runner.model.load_weights(
            (name, parameter.data) for name, parameter in self._model.named_parameters()
        )
        self._llm.reset_prefix_cache()
        self._mark = mark


def _start(model: PreTrainedModel, batch_size: int, dtype: torch.dtype) -> Any:
    """Start vLLM with a model of this shape; the weights follow later, so that none need to be on the disk."""
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # its model must be in this process
    from vllm import LLM

    model.config.architectures = [type(model).__name__]
    with tempfile.TemporaryDirectory() as directory:
        model.config.save_pretrained(directory)
        return LLM(
            model=directory,
            load_format="dummy",
            skip_tokenizer_init=True,
            dtype=str(dtype).removeprefix("torch."),
            enable_prefix_caching=True,
            max_num_seqs=batch_size,
            gpu_memory_utilization=_MEMORY_SHARE,
            logprobs_mode="processed_logprobs",  # after the temperature, as the loss computes them
        )


def _reply(output: Any) -> Generated:
    ids = list(output.token_ids)
    logprobs = [chances[token].logprob for token, chances in zip(ids, output.logprobs, strict=True)]
    if any(logprob != logprob for logprob in logprobs):
        return Generated(error="the model's logits are not finite")
    return Generated(ids, logprobs)

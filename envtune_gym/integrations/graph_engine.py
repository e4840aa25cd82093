"""An engine for small models on a GPU: static key-value slots, and a decode step replayed as one CUDA graph.

A small model's decode step is bound by the host, which launches hundreds of kernels for it. Here all of them are
recorded once for a number of rows and a length, and replayed. Prompts are read in packs of similar length, each
distinct one once, so the rollouts of a group share that work. When half of the rows have ended, the others move
together and go on under a smaller graph.

On the CPU the same code runs without graphs; it is tested there, token for token, against `generate`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.engine import Generated, cache_argument
from envtune_gym.integrations.slots import ATTENTION, STEPS, Slots, SlotView, attend_slots

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["GraphEngine"]

_LENGTHS = 256
"""The lengths of graphs are multiples of it."""
_WARM_UP = 3
"""Runs before recording, in which libraries allocate what they need."""

_Drawn = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""For each row the token, its log-probability, and whether the logits were finite."""


class GraphEngine:
    """Samples from a decoder-only transformers model whose layers all attend to everything.

    Args:
        model: The model; its weights are read at each call of `generate`, so it may be trained in between.
        end_ids: Tokens that end a reply.
        temperature: Divides the logits, as in `TransformersEngine`.
        batch_size: Rows decoded together; bounds the memory of the slots.
        dtype: What to compute in; None is the model's own. For another one a copy of the weights is kept.
        prefill_tokens: The most tokens that are read in one pass.

    Raises:
        ConfigurationError: If a number is not positive, or the model has layers of another kind.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        end_ids: Iterable[int],
        temperature: float = 1.0,
        batch_size: int = 256,
        dtype: torch.dtype | None = None,
        prefill_tokens: int = 131_072,
    ) -> None:
        if not temperature > 0 or batch_size < 1 or prefill_tokens < 1:
            raise ConfigurationError("temperature, batch_size and prefill_tokens must be positive")
        _check_layers(model)
        _register_attention()
        self._source = model
        self._model = model if dtype in (None, model.dtype) else copy.deepcopy(model).to(dtype)
        self._end_ids = frozenset(end_ids)
        self._temperature = temperature
        self._batch_size = batch_size
        self._prefill_tokens = prefill_tokens
        self._cache_name = cache_argument(model)
        self._slots: Slots | None = None
        self._steps: dict[tuple[int, int], Callable[[], None]] = {}
        self._pool: Any = None

    def generate(self, prompts: Sequence[Sequence[int]], limits: Sequence[int]) -> list[Generated]:
        """Sample one reply to each prompt (see `Engine.generate`); draws from torch's global generator."""
        replies = [Generated() for _ in prompts]
        order = sorted(range(len(prompts)), key=lambda row: len(prompts[row]) + limits[row])
        training = self._source.training
        self._source.eval()
        self._model.eval()
        try:
            # Computes in its own precision: the casts that autocast keeps must not be recorded.
            with torch.no_grad(), torch.autocast(self._model.device.type, enabled=False):
                self._read_weights()
                longest = max((len(prompt) + limit for prompt, limit in zip(prompts, limits, strict=True)), default=0)
                self._slots_for(_length(longest))
                for start in range(0, len(order), self._batch_size):
                    rows = order[start : start + self._batch_size]
                    self._run([prompts[r] for r in rows], [limits[r] for r in rows], [replies[r] for r in rows])
        finally:
            self._source.train(training)
        return replies

    def _read_weights(self) -> None:
        """Bring the copy of the weights, if there is one, up to date."""
        if self._model is not self._source:
            torch._foreach_copy_(list(self._model.parameters()), list(self._source.parameters()))

    def _run(self, prompts: list[Sequence[int]], limits: list[int], replies: list[Generated]) -> None:
        """Continue the rows of one batch until each has ended, writing into `replies`."""
        longest = max(len(prompt) + limit for prompt, limit in zip(prompts, limits, strict=True))
        length = _length(longest)
        size = _bucket(len(prompts))
        slots = self._slots_for(length)
        step = self._step_for(slots, size, length)
        self._prefill(slots, prompts, length)
        places = {row: row for row in range(len(prompts))}  # where the reply of a row stands, while it goes on
        steps = 1
        while True:
            tokens, logprobs, finite = slots.look(steps)
            places = {
                row: place
                for row, place in places.items()
                if _extend(replies[row], limits[row], self._end_ids, tokens[place], logprobs[place], finite[place])
            }
            if not places:
                return
            if _bucket(len(places)) < size:
                size = _bucket(len(places))
                step = self._step_for(slots, size, length)
                slots.move_together(list(places.values()), length)
                places = {row: place for place, row in enumerate(places)}
            steps = STEPS
            for _ in range(steps):
                step()

    def _prefill(self, slots: Slots, prompts: list[Sequence[int]], length: int) -> None:
        """Read the prompts into the slots, each distinct one once, and draw the first token of each reply."""
        device = self._model.device
        rows_of: dict[tuple[int, ...], list[int]] = {}
        for row, prompt in enumerate(prompts):
            rows_of.setdefault(tuple(prompt), []).append(row)
        logits = torch.empty(len(prompts), self._model.config.vocab_size, device=device)
        for pack in _packs(sorted(rows_of, key=len), self._prefill_tokens):
            width = len(pack[-1])
            lengths = torch.tensor([len(prompt) for prompt in pack], device=device)
            # Padding stands on the right, where causal attention never looks, so no mask is needed.
            ids = torch.tensor([[*prompt, *[0] * (width - len(prompt))] for prompt in pack], device=device)
            cache = _dynamic_cache()
            hidden = self._hidden(ids, torch.arange(width, device=device).expand(len(pack), -1), cache)
            last = self._logits(hidden[torch.arange(len(pack), device=device), lengths - 1])
            rows = [row for prompt in pack for row in rows_of[prompt]]
            source = [index for index, prompt in enumerate(pack) for _ in rows_of[prompt]]
            slots.fill(cache, rows, source, lengths)
            logits[rows] = last[source]
        slots.put(len(prompts), length, *self._draw(logits))

    def _hidden(self, ids: torch.Tensor, positions: torch.Tensor, cache: Any, **options: Any) -> torch.Tensor:
        """Return the output of the last layer; logits are computed where they are wanted."""
        output = self._model.get_decoder()(
            input_ids=ids, position_ids=positions, use_cache=True, **{self._cache_name: cache}, **options
        )
        hidden: torch.Tensor = output.last_hidden_state
        return hidden

    @contextmanager
    def _attending_to_slots(self) -> Iterator[None]:
        config = self._model.config
        usual = config._attn_implementation
        config._attn_implementation = ATTENTION
        try:
            yield
        finally:
            config._attn_implementation = usual

    def _logits(self, hidden: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self._model.get_output_embeddings()(hidden)
        return logits.float() / self._temperature

    def _draw(self, logits: torch.Tensor) -> _Drawn:
        finite = torch.isfinite(logits.logsumexp(-1))
        logprobs = torch.where(finite[:, None], logits, torch.zeros_like(logits)).log_softmax(-1)
        # The first of exponential clocks with these rates: what `multinomial` draws too, but this can be recorded.
        tokens = (logprobs.exp() / torch.empty_like(logprobs).exponential_()).argmax(-1)
        return tokens, logprobs.gather(1, tokens[:, None])[:, 0], finite

    def _slots_for(self, length: int) -> Slots:
        """Return slots with room for a length; longer ones than before make all that was recorded useless."""
        if self._slots is None or self._slots.length < length:
            self._steps.clear()
            self._pool = None  # a pool is gone with the last of its graphs
            self._slots = None  # its memory goes first
            self._slots = Slots(self._model, _bucket(self._batch_size), length)
        return self._slots

    def _step_for(self, slots: Slots, size: int, length: int) -> Callable[[], None]:
        """Return what decodes one token in each of the first rows."""
        if (size, length) not in self._steps:
            view = SlotView(slots, size, length)

            def step() -> None:
                with self._attending_to_slots():
                    hidden = self._hidden(view.tokens[:, None], view.positions[:, None], view, slots=view)
                slots.put(size, length, *self._draw(self._logits(hidden[:, -1])))

            self._steps[size, length] = (
                self._recorded(slots, step, length) if self._model.device.type == "cuda" else step
            )
        return self._steps[size, length]

    def _recorded(self, slots: Slots, step: Callable[[], None], length: int) -> Callable[[], None]:
        """Record a step, and return what replays it."""
        kept = [(state, state.clone()) for state in slots.state]
        slots.positions.fill_(length - 1)  # what the trials write there is overwritten before anyone looks at it
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UP):
                slots.rewind()
                step()
        torch.cuda.current_stream().wait_stream(stream)
        slots.rewind()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            step()
        self._pool = graph.pool()
        for state, before in kept:
            state.copy_(before)

        def replay(recorded: Callable[[], None] = step) -> None:
            # The graph knows tensors by address alone: what it reads lives as long as the step that it was made of.
            graph.replay()

        return replay


def _extend(
    reply: Generated,
    limit: int,
    end_ids: frozenset[int],
    tokens: Sequence[int],
    logprobs: Sequence[float],
    finite: Sequence[bool],
) -> bool:
    """Add what was drawn to a reply, up to its end; tell whether it goes on."""
    for token, logprob, is_finite in zip(tokens, logprobs, finite, strict=True):
        if not is_finite:
            reply.error = "the model's logits are not finite"
            return False
        reply.ids.append(token)
        reply.logprobs.append(logprob)
        if token in end_ids or len(reply.ids) == limit:
            return False
    return True


def _packs(prompts: Sequence[tuple[int, ...]], most: int) -> Iterator[list[tuple[int, ...]]]:
    """Yield prompts, sorted by length, in packs that have at most so many tokens when padded (or one prompt)."""
    pack: list[tuple[int, ...]] = []
    for prompt in prompts:
        if pack and (len(pack) + 1) * len(prompt) > most:
            yield pack
            pack = []
        pack.append(prompt)
    if pack:
        yield pack


def _length(tokens: int) -> int:
    """Return the next length of a graph."""
    return -(-tokens // _LENGTHS) * _LENGTHS


def _bucket(number: int) -> int:
    """Return the next power of two, from 8 on: the number of rows of a graph."""
    return max(8, 1 << (number - 1).bit_length())


def _dynamic_cache() -> Any:
    from transformers import DynamicCache

    return DynamicCache()


def _register_attention() -> None:
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION, attend_slots)


def _check_layers(model: PreTrainedModel) -> None:
    """Refuse models whose layers do not all attend to everything before them.

    Raises:
        ConfigurationError: With the engine to use instead.
    """
    config = model.config
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    if kinds != {"full_attention"} or getattr(config, "final_logit_softcapping", None) or config.is_encoder_decoder:
        raise ConfigurationError(
            f"the graph engine decodes models with full attention only, not {type(model).__name__} with "
            f"{', '.join(sorted(kinds))}; use the engine 'transformers'"
        )

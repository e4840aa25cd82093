"""An engine for small models on a GPU: static key-value slots, and a decode step replayed as one CUDA graph.

A small model's decode step is bound by the host, which launches hundreds of kernels for it. Here the layers are
compiled, which leaves far fewer, and all are recorded once for a number of rows and a length, and replayed.
When half of the rows have ended, the others move together and go on under a smaller graph.

What has been read is not read again: equal prompts are read once, so the rollouts of a group share that work, and a
conversation stays in its slot between calls, so that the next one reads only what it has grown by, as long as the
weights are the same. Rows that begin with the same tokens attend to those together (`shared_prefixes`).

Conversations do not wait for each other: while the device decodes for some, what others go on with is made and read;
at the next look they are decoded with them.

On the CPU the same code runs without graphs; it is tested there, token for token, against `generate`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.attention import layer_kinds
from envtune_gym.integrations.compiled_layers import CompiledLayers
from envtune_gym.integrations.decode_batch import DecodeBatch
from envtune_gym.integrations.engine import Generated, OnReply, cache_argument
from envtune_gym.integrations.idle_time import IdleTime
from envtune_gym.integrations.kept_slots import KeptSlots, Seat, joined_weights, tensors_mark, weights_mark
from envtune_gym.integrations.slot_views import ATTENTION, DecodeView, Part, ReadView, register_attention
from envtune_gym.integrations.slots import STEPS, Prefix, Slots

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

    A prompt that extends the conversation of an earlier call, token by token, goes on where that one left off, if its
    slot has not been given to another row since: as many conversations are kept as fit into a batch. Weights that have
    changed in whatever way are noticed. Other changes of what the model computes, such as adapters switched on or off,
    are not: `forget` is for them.

    Args:
        model: The model; its weights are read at each call of `generate`, so it may be trained in between.
        end_ids: Tokens that end a reply.
        temperature: Divides the logits, or is 0, as in `TransformersEngine`.
        batch_size: Rows decoded together, and conversations kept; bounds the memory of the slots.
        dtype: What to compute in; None is the model's own. For another one a copy of the weights is kept.
        prefill_tokens: The most tokens that are read in one pass, counted as if padded to the longest part.

    Raises:
        ConfigurationError: If a number makes no sense, or the model has layers of another kind or cannot be decoded so.
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
        if not temperature >= 0 or batch_size < 1 or prefill_tokens < 1:
            raise ConfigurationError("temperature must be 0 or more, batch_size and prefill_tokens at least 1")
        _check_layers(model)
        register_attention()
        self._source = model
        self._model = model if dtype in (None, model.dtype) else copy.deepcopy(model).to(dtype)
        self._copied = None if self._model is model else joined_weights(self._model)
        self._end_ids = frozenset(end_ids)
        self._temperature = temperature
        self._batch_size = batch_size
        self._prefill_tokens = prefill_tokens
        self._cache_name = cache_argument(model)
        self._slots: Slots | None = None
        self._kept = KeptSlots(_bucket(batch_size))
        self._mark: list[float] = []
        self._layers = CompiledLayers(self._model)
        self._steps: dict[tuple[int, int], Callable[[], None]] = {}
        self._pool: Any = None
        self._idle = IdleTime(model.get_input_embeddings().weight.device)
        self._try_out()

    @property
    def idle_seconds(self) -> float:
        """How long the device has stood still for what was done with replies (see `Engine`)."""
        return self._idle.seconds

    def generate(
        self, prompts: Sequence[Sequence[int]], limits: Sequence[int], on_reply: OnReply | None = None
    ) -> list[Generated]:
        """Sample one reply to each prompt (see `Engine.generate`); draws from torch's global generator.

        Conversations go on within the call, each as soon as it can.
        """
        replies = [Generated() for _ in prompts]
        order = sorted(range(len(prompts)), key=lambda row: len(prompts[row]) + limits[row])
        with self._computing():
            self._read_weights()
            longest = max((len(prompt) + limit for prompt, limit in zip(prompts, limits, strict=True)), default=0)
            self._slots_for(self._length(longest))
            for start in range(0, len(order), self._batch_size):
                rows = order[start : start + self._batch_size]
                self._run(DecodeBatch(rows, prompts, limits, replies, on_reply))
        return replies

    def forget(self) -> None:
        """Read everything anew in the next call."""
        self._kept.forget()

    def _try_out(self) -> None:
        """Read a token, as far as a model lets it: some hand down no view, or ask of a cache what a view cannot say.

        Raises:
            ConfigurationError: If this is one of them.
        """
        slots = Slots(self._model, 1, 1)
        try:
            with self._computing():
                view = ReadView(slots, [Part(0, [0], 0)])
                with self._attending_to_slots():
                    self._hidden(view.ids, view.positions, view, slots=view)
        except (TypeError, AttributeError) as error:
            raise ConfigurationError(
                f"the graph engine cannot decode {type(self._model).__name__} ({error}); use the engine 'transformers'"
            ) from error

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """Compute without gradients, as a model does that is not being trained."""
        training = self._source.training
        self._source.eval()
        self._model.eval()
        try:
            # Computes in its own precision: the casts that autocast keeps must not be recorded.
            with torch.no_grad(), torch.autocast(self._model.device.type, enabled=False):
                yield
        finally:
            self._source.train(training)

    def _read_weights(self) -> None:
        """Bring the copy of the weights, if there is one, up to date; what others have computed is of no use."""
        if self._model is not self._source:
            torch._foreach_copy_(list(self._model.parameters()), list(self._source.parameters()))
        mark = weights_mark(self._model) if self._copied is None else tensors_mark([self._copied])
        if mark != self._mark:
            self.forget()
        self._mark = mark

    def _run(self, batch: DecodeBatch) -> None:
        """Sample for the conversations of one batch until none goes on.

        While the device draws tokens for some, replies that are whole are passed on, and what conversations go on with
        is read. Once the device is done, those are decoded with the others.
        """
        slots = self._slots_for(self._length(batch.longest(range(len(batch.prompts)))))
        claimed: dict[int, int] = {}  # the slots of the rows that are decoded or read
        joined = self._join(batch, range(len(batch.prompts)), claimed)
        places: dict[int, int] = {}  # where rows are decoded
        size, step = 0, _nothing
        self._idle.begin()
        while joined.rows or places:
            rows = [*places, *joined.rows]
            going = [row for row, drawn in _drawn(slots, places, joined) if batch.extend(row, self._end_ids, *drawn)]
            self._idle.settle()
            if going and (joined.rows or _bucket(len(going)) < size):
                size = _bucket(len(going))
                step = self._step_for(slots, size, self._length(batch.longest(going)))
                places = _seat(slots, batch, going, claimed, size)
            else:
                places = {row: places[row] for row in going}
            with self._idle.device_works():
                for _ in range(STEPS if going else 0):
                    step()  # on a GPU it only begins here
            ended = [row for row in rows if row not in places]
            for row in ended:
                slot = claimed.pop(row)
                if not batch.reply(row).error:
                    self._kept.keep(slot, batch.read(row))
            with self._idle.host_works():
                following = batch.pass_on(ended)
            joined = self._join(batch, following, claimed)
        self._idle.settle()

    def _join(self, batch: DecodeBatch, rows: Sequence[int], claimed: dict[int, int]) -> _Joined:
        """Read the prompts of rows into slots of their own, and draw their first tokens."""
        if not rows:
            return _Joined([], [])
        slots = self._slots_for(self._length(batch.longest(rows)))
        seats = self._kept.claim([batch.packed[row] for row in rows], busy=claimed.values())
        logits = self._read(slots, [batch.prompts[row] for row in rows], seats)
        claimed.update(zip(rows, (seat.slot for seat in seats), strict=True))
        joined = _Joined(rows, self._draw(logits))
        batch.arrange(claimed)
        return joined

    def _read(self, slots: Slots, prompts: list[Sequence[int]], seats: list[Seat]) -> torch.Tensor:
        """Read prompts into their slots, as far as these do not hold them; return the logits of what follows."""
        logits = torch.empty(len(prompts), self._model.config.vocab_size, device=self._model.device)
        parts = {row: Part(seat.slot, prompts[row], seat.known) for row, seat in enumerate(seats) if seat.like == row}
        for rows in _packs({row: part.size for row, part in parts.items()}, self._prefill_tokens):
            view = ReadView(slots, [parts[row] for row in rows])
            with self._attending_to_slots():
                hidden = self._hidden(view.ids, view.positions, view, slots=view)
            logits[rows] = self._logits(hidden[0, view.last])
        alike = [row for row, seat in enumerate(seats) if seat.like != row]
        if alike:
            like = [seats[row].like for row in alike]
            longest = max(len(prompts[row]) for row in alike)
            slots.copy([seats[row].slot for row in alike], [seats[row].slot for row in like], longest)
            logits[alike] = logits[like]
        return logits

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
        return logits.float() / (self._temperature or 1.0)

    def _draw(self, logits: torch.Tensor) -> _Drawn:
        finite = torch.isfinite(logits.logsumexp(-1))
        if self._temperature == 0:
            return logits.argmax(-1), torch.zeros_like(logits[:, 0]), finite
        logprobs = torch.where(finite[:, None], logits, torch.zeros_like(logits)).log_softmax(-1)
        # The first of exponential clocks with these rates: what `multinomial` draws too, but this can be recorded.
        tokens = (logprobs.exp() / torch.empty_like(logprobs).exponential_()).argmax(-1)
        return tokens, logprobs.gather(1, tokens[:, None])[:, 0], finite

    def _length(self, tokens: int) -> int:
        """Return the next length of a graph, no further than the model has positions if the rows go no further.

        Rows that have ended are decoded on up to there, and some models look positions up in a table.
        """
        positions = getattr(self._model.config, "max_position_embeddings", None) or math.inf
        return int(max(tokens, min(-(-tokens // _LENGTHS) * _LENGTHS, positions)))

    def _slots_for(self, length: int) -> Slots:
        """Return slots with room for a length; longer ones than before make all that was recorded useless."""
        if self._slots is not None and self._slots.length >= length:
            return self._slots
        if self._steps:
            self._idle.wait()  # for what may still be running
        self._steps.clear()
        self._pool = None  # a pool is gone with the last of its graphs
        slots, self._slots = self._slots, None  # growing may fail for want of memory, half-way
        if slots is None:
            self.forget()
            slots = Slots(self._model, _bucket(self._batch_size), length)
        else:
            slots.grow(length)
        self._slots = slots
        return slots

    def _step_for(self, slots: Slots, size: int, length: int) -> Callable[[], None]:
        """Return what decodes one token in each of the first rows."""
        if (size, length) not in self._steps:
            view = DecodeView(slots, size, length)

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
        slots.seat([], [], [], [], 0)  # the trials write into the slot that belongs to no row
        slots.positions.fill_(length - 1)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UP):
                slots.rewind()
                self._layers.run(step)
        torch.cuda.current_stream().wait_stream(stream)
        slots.rewind()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            self._layers.run(step)
        self._pool = graph.pool()
        for state, before in kept:
            state.copy_(before)

        def replay(recorded: Callable[[], None] = step) -> None:
            # The graph knows tensors by address alone: what it reads lives as long as the step that it was made of.
            graph.replay()

        return replay


class _Joined(NamedTuple):
    """Rows whose prompts are being read.

    Attributes:
        rows: Their numbers.
        drawn: Of each, the first token, its log-probability, and whether the logits were finite.
    """

    rows: Sequence[int]
    drawn: Sequence[torch.Tensor]


def _drawn(slots: Slots, places: Mapping[int, int], joined: _Joined) -> Iterator[tuple[int, list[list[Any]]]]:
    """Wait for the device, and yield what was drawn for each row: tokens, log-probabilities and finiteness."""
    latest = slots.look(STEPS) if places else ()
    first = [one.tolist() for one in joined.drawn]
    for row, place in places.items():
        yield row, [one[place] for one in latest]
    for number, row in enumerate(joined.rows):
        yield row, [[one[number]] for one in first]


def _seat(
    slots: Slots, batch: DecodeBatch, going: Iterable[int], claimed: Mapping[int, int], size: int
) -> dict[int, int]:
    """Give places to the rows that go on, those that share much side by side; return them."""
    chosen = set(going)
    order: list[int] = []
    prefixes: list[Prefix | None] = []
    for group in batch.groups:
        rows = [row for row in group.rows if row in chosen]
        order += rows
        # Read from the slot of one that goes on: that of another may be given away.
        prefixes += [Prefix(claimed[rows[0]], group.length) if len(rows) > 1 else None] * len(rows)
    tokens = [batch.reply(row).ids[-1] for row in order]
    lengths = [len(batch.prompts[row]) + len(batch.reply(row).ids) - 1 for row in order]
    slots.seat([claimed[row] for row in order], tokens, lengths, prefixes, size)
    return {row: place for place, row in enumerate(order)}


def _nothing() -> None:
    """Stands for a step as long as there is none."""


def _packs(sizes: Mapping[int, int], most: int) -> Iterator[list[int]]:
    """Yield rows by size in packs that have at most so many tokens when padded (or one row)."""
    pack: list[int] = []
    for row in sorted(sizes, key=lambda row: sizes[row]):
        if pack and (len(pack) + 1) * sizes[row] > most:
            yield pack
            pack = []
        pack.append(row)
    if pack:
        yield pack


def _bucket(number: int) -> int:
    """Return the next power of two, from 8 on: the number of rows of a graph."""
    return max(8, 1 << (number - 1).bit_length())


def _check_layers(model: PreTrainedModel) -> None:
    """Refuse models whose layers do not all attend to everything before them, or that read more than text.

    Raises:
        ConfigurationError: With the engine to use instead.
    """
    config = model.config
    kinds = layer_kinds(config)
    has_other_layers = kinds != {"full_attention"} or getattr(config, "final_logit_softcapping", None)
    if has_other_layers or config.is_encoder_decoder or config.get_text_config(decoder=True) is not config:
        raise ConfigurationError(
            f"the graph engine decodes models of text with full attention only, not {type(model).__name__} with "
            f"{', '.join(sorted(kinds))}; use the engine 'transformers'"
        )

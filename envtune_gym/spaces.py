"""The text space of observations and actions, and its place in the shared memory of `AsyncVectorEnv`."""

from __future__ import annotations

import ctypes
import multiprocessing
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Text
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory

__all__ = ["UnicodeText"]

_CHARSET = "".join(map(chr, range(32, 127))) + "\n\tàéßñЖδ漢字😀"
_LONGEST_SAMPLE = 256
_BYTES_PER_CHARACTER = 4
_LENGTH_BYTES = 8


class UnicodeText(Text):
    r"""Every Unicode string of at most `max_length` characters, the empty one included.

    `gymnasium.spaces.Text` admits only the characters of its charset; model text may hold any. Samples are
    short strings over a fixed, ordered charset, so that a seed gives the same sample in every process.

    Args:
        max_length: Characters of the longest string.
        seed: Seed of the samples.

    Example:
        >>> space = UnicodeText(10)
        >>> "" in space, "naïve\\n" in space, "x" * 11 in space
        (True, True, False)
    """

    def __init__(self, max_length: int, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=0, charset=_CHARSET, seed=seed)

    def contains(self, x: Any) -> bool:
        """Tell whether `x` is a string that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Return a random string of at most 256 characters; `mask` and `probability` work as in `Text`."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        length = int(self.np_random.integers(0, min(self.max_length, _LONGEST_SAMPLE) + 1))
        return "".join(_CHARSET[i] for i in self.np_random.integers(0, len(_CHARSET), size=length))

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnicodeText) and self.max_length == other.max_length

    __hash__ = None  # type: ignore[assignment]  # as every Gymnasium space


class _SharedStrings(Sequence[str]):
    """The strings in a shared buffer, read anew at each access: `AsyncVectorEnv` keeps the view it was given.

    Each slot holds the length in bytes and then UTF-8 in which lone surrogates are let through. A deep copy is
    the tuple of strings, which is what `AsyncVectorEnv` hands to its user.
    """

    def __init__(self, buffer: Any, slots: int, slot_size: int) -> None:
        self._bytes = memoryview(buffer.get_obj()).cast("B")
        self._slots = slots
        self._slot_size = slot_size

    def __len__(self) -> int:
        return self._slots

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(self._slots)))
        start = range(self._slots)[index] * self._slot_size
        length = int.from_bytes(self._bytes[start : start + _LENGTH_BYTES], "little")
        text = self._bytes[start + _LENGTH_BYTES : start + _LENGTH_BYTES + length]
        return bytes(text).decode("utf-8", "surrogatepass")

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)


def _slot_size(space: UnicodeText) -> int:
    return _LENGTH_BYTES + _BYTES_PER_CHARACTER * space.max_length


@create_shared_memory.register(UnicodeText)
def _create(space: UnicodeText, n: int = 1, ctx: Any = multiprocessing) -> Any:
    return ctx.Array(ctypes.c_uint8, n * _slot_size(space))


@read_from_shared_memory.register(UnicodeText)
def _read(space: UnicodeText, shared_memory: Any, n: int = 1) -> _SharedStrings:
    return _SharedStrings(shared_memory, n, _slot_size(space))


@write_to_shared_memory.register(UnicodeText)
def _write(space: UnicodeText, index: int, values: str, shared_memory: Any) -> None:
    if not space.contains(values):
        raise ValueError(f"the observation is not a string of at most {space.max_length} characters")
    encoded = values.encode("utf-8", "surrogatepass")
    start = index * _slot_size(space)
    view = memoryview(shared_memory.get_obj()).cast("B")
    view[start : start + _LENGTH_BYTES] = len(encoded).to_bytes(_LENGTH_BYTES, "little")
    view[start + _LENGTH_BYTES : start + _LENGTH_BYTES + len(encoded)] = encoded

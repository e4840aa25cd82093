"""The official backends and checker, run so that what they answer depends on nothing but the question.

Officially a world lives for ever in a module's globals, worlds share what they alter in the long-context filler and
in default arguments, number libraries keep the precision of the last call, and one tool reads the clock. Here every
world gets a name of its own and is removed afterwards, what is shared is put back before each world, and the clock
stands still on the date that this package uses.

This stands outside of the package, which never runs official code. The parity tests and the second proof share it.
"""

from __future__ import annotations

import copy
import datetime
import decimal
import itertools
import os
import pickle
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from envtune_gym.errors import DataError
from envtune_gym.official import INSTALL_COMMAND

__all__ = ["Instances", "WorldCopy", "checker", "files", "fills", "is_nameable", "isolated", "run", "use_utc"]

try:
    import mpmath
    from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_checker as checker
    from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_utils as _utils
    from bfcl_eval.eval_checker.multi_turn_eval.func_source_code import gorilla_file_system as files
    from bfcl_eval.eval_checker.multi_turn_eval.func_source_code import long_context as _filler
    from bfcl_eval.eval_checker.multi_turn_eval.func_source_code import posting_api as _posting
    from bfcl_eval.eval_checker.multi_turn_eval.func_source_code import travel_booking as _travel
except ImportError as error:
    raise DataError(
        f"the official package cannot be run ({error}); run: {INSTALL_COMMAND}, pip install mpmath"
    ) from None

Instances = dict[str, Any]
"""The official objects of a world, by domain."""

_ALTERED_CONSTANTS = ("CREDIT_CARD_EXTENSION", "BOOKING_RECORD_EXTENSION", "LONG_WEATHER_EXTENSION")
_PRISTINE = {name: copy.deepcopy(getattr(_filler, name)) for name in _ALTERED_CONSTANTS}
_COPY = "official_copy"
_numbers = itertools.count()


class _StoppedClock(datetime.datetime):
    @classmethod
    def today(cls) -> _StoppedClock:
        return cls(2026, 3, 23)


_travel.datetime = _StoppedClock


@contextmanager
def isolated() -> Iterator[str]:
    """Yield a model name that nothing else uses, with all shared state as in a fresh process."""
    name = f"official{next(_numbers)}"
    for constant, value in _PRISTINE.items():
        shared = getattr(_filler, constant)
        shared.clear()
        shared.update(copy.deepcopy(value))
    _posting.TwitterAPI.post_tweet.__defaults__ = ([], [])
    mpmath.mp.dps = 15
    decimal.setcontext(decimal.Context())
    try:
        yield name
    finally:
        kept = vars(_utils)
        for key in [key for key in kept if key.startswith(f"{name}_")]:
            del kept[key]


def run(
    calls: Sequence[str], domains: Sequence[str], config: dict[str, Any], filled: bool, name: str, entry_id: str
) -> tuple[list[str], Instances]:
    """Run calls in the world that a model's name and an entry's id stand for, which the first time builds it.

    Args:
        calls: Call strings.
        domains: Names of the domains involved.
        config: The raw configuration by domain.
        filled: Whether the official filler is loaded.
        name: A name from `isolated`.
        entry_id: The id.
    """
    found: tuple[list[str], Instances] = _utils.execute_multi_turn_func_call(
        list(calls), config, list(domains), name, entry_id, long_context=filled
    )
    return found


class WorldCopy:
    """A world that can be pickled, copied and run on by the official executor.

    Tweets may hold the very lists that are a function's defaults, so those belong to the world.

    Args:
        instances: The objects of a world that is running.
    """

    def __init__(self, instances: Instances) -> None:
        self.instances = instances
        self._defaults = _posting.TwitterAPI.post_tweet.__defaults__

    @classmethod
    def load(cls, pickled: bytes) -> WorldCopy:
        """Return a world from what `dump` gave."""
        copied: WorldCopy = pickle.loads(pickled)  # noqa: S301 - bytes of this process
        return copied

    def dump(self) -> bytes:
        """Return the world as it is now."""
        return pickle.dumps(self)

    def run(self, calls: Sequence[str]) -> list[str]:
        """Run calls and return their results."""
        for domain, instance in self.instances.items():
            setattr(_utils, f"{_COPY}_world_{domain}_instance", instance)
        _posting.TwitterAPI.post_tweet.__defaults__ = self._defaults
        return run(calls, list(self.instances), {}, False, _COPY, "world")[0]

    def random_states(self) -> dict[str, Any]:
        """Return where the random generators of the domains are."""
        return {name: one._random.getstate() for name, one in self.instances.items() if hasattr(one, "_random")}

    def working_directory(self) -> Any:
        """Return the directory that the file system is in; None without a file system."""
        return getattr(self.instances.get("GorillaFileSystem"), "_current_dir", None)

    def same(self, other: WorldCopy) -> bool:
        """Tell whether two worlds are alike in all that later calls may depend on, private attributes included."""
        return self.random_states() == other.random_states() and self._attributes() == other._attributes()

    def _attributes(self) -> dict[str, dict[str, Any]]:
        return {
            domain: {key: value for key, value in vars(one).items() if key != "_random"}
            for domain, one in self.instances.items()
        }


def fills(entry_id: str) -> bool:
    """Tell whether the official checker loads its filler for an id."""
    category = entry_id.rsplit("_", 1)[0]
    return "long_context" in category or "composite" in category


def is_nameable(entry_id: str) -> bool:
    """Tell whether the official executor, which makes a variable's name of it, can run calls under an id."""
    return f"model_{re.sub('[-./:]', '_', entry_id)}".isidentifier()


def use_utc() -> None:
    """Put the process into UTC: the official backends format times in the host's zone."""
    os.environ["TZ"] = "UTC"
    time.tzset()

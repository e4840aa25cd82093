"""The official backends and checker as an oracle: what it answers depends on nothing but the question.

Officially a world lives for ever in a module's globals, worlds share what they alter in the long-context filler and
in default arguments, number libraries keep the precision of the last call, one tool reads the clock, and three texts
vary with Python's hash seed or with the depth of the caller's stack. Here every world gets a name of its own and is
removed afterwards, what is shared is put back before each world, the clock stands still on the date that this package
uses, and the varying texts are brought to one form.
"""

import copy
import datetime
import decimal
import itertools
import re
from contextlib import contextmanager

import pytest

_REASON = "needs the official package: pip install --no-deps bfcl-eval==2026.3.23 mpmath==1.3.0"
_EVAL = "bfcl_eval.eval_checker.multi_turn_eval"

mpmath = pytest.importorskip("mpmath", reason=_REASON)
_utils = pytest.importorskip(f"{_EVAL}.multi_turn_utils", reason=_REASON)
_checker = pytest.importorskip(f"{_EVAL}.multi_turn_checker", reason=_REASON)
_filler = pytest.importorskip(f"{_EVAL}.func_source_code.long_context", reason=_REASON)
_files = pytest.importorskip(f"{_EVAL}.func_source_code.gorilla_file_system", reason=_REASON)
_posting = pytest.importorskip(f"{_EVAL}.func_source_code.posting_api", reason=_REASON)
_travel = pytest.importorskip(f"{_EVAL}.func_source_code.travel_booking", reason=_REASON)

FORCE_TERMINATED = "multi_turn:force_terminated"

_ALTERED_CONSTANTS = ("CREDIT_CARD_EXTENSION", "BOOKING_RECORD_EXTENSION", "LONG_WEATHER_EXTENSION")
_PRISTINE = {name: copy.deepcopy(getattr(_filler, name)) for name in _ALTERED_CONSTANTS}
_numbers = itertools.count()


class _StoppedClock(datetime.datetime):
    @classmethod
    def today(cls):
        return cls(2026, 3, 23)


_travel.datetime = _StoppedClock


@contextmanager
def _isolated():
    """Yield a model name that nothing else uses, with all shared state as in a fresh process."""
    name = f"oracle{next(_numbers)}"
    for constant, value in _PRISTINE.items():
        shared = getattr(_filler, constant)
        shared.clear()
        shared.update(copy.deepcopy(value))
    for default in _posting.TwitterAPI.post_tweet.__defaults__:
        default.clear()
    mpmath.mp.dps = 15
    decimal.setcontext(decimal.Context())
    try:
        yield name
    finally:
        kept = vars(_utils)
        for key in [key for key in kept if key.startswith(f"{name}_")]:
            del kept[key]


class OfficialWorld:
    """One world of the official backends. Only one at a time: the next one resets what they share.

    Args:
        domains: Names of the domains involved.
        config: The raw configuration by domain.
        long_context: Whether the official filler is loaded.
        model_name: A name from `official_world`.
    """

    def __init__(self, domains, config, long_context, model_name):
        self._arguments = {
            "initial_config": config,
            "involved_classes": list(domains),
            "model_name": model_name,
            "test_entry_id": "world",
            "long_context": long_context,
        }
        _, self._instances = _utils.execute_multi_turn_func_call([], **self._arguments)

    def execute(self, *calls):
        """Return the results of calls in Python syntax."""
        return [_settled(text) for text in _utils.execute_multi_turn_func_call(list(calls), **self._arguments)[0]]

    def state(self):
        """Return the public attributes in the form of `World.state`."""
        return {
            name: {key: _plain(value) for key, value in vars(instance).items() if key[0] != "_"}
            for name, instance in self._instances.items()
        }


@contextmanager
def official_world(domains, config, long_context=False):
    """Yield an `OfficialWorld` that leaves nothing behind."""
    with _isolated() as name:
        yield OfficialWorld(domains, config, long_context, name)


def assert_same_state(theirs, ours):
    """Compare an official world's state with ours strictly: types and the order of keys count, and nan equals nan."""
    official, found = theirs.state(), ours.state()
    assert found.keys() == official.keys()
    for domain, attributes in official.items():
        assert found[domain].keys() == attributes.keys(), domain
        for name, value in attributes.items():
            assert repr(found[domain][name]) == repr(value), f"{domain}.{name}"


def official_verdict(entry, ground_truth, steps_per_turn):
    """Return (valid, error type) by the official checker, and by the runner's rule on the number of turns before it.

    Args:
        entry: The official test entry.
        ground_truth: Call strings by turn.
        steps_per_turn: For each turn the steps, for each step its call strings.
    """
    if len(steps_per_turn) != len(ground_truth):
        return False, FORCE_TERMINATED
    with _isolated() as name:
        result = _checker.multi_turn_checker(steps_per_turn, ground_truth, entry, entry["id"], name)
    return result["valid"], result.get("error_type")


def official_class(domain):
    """Return the backend class of a domain."""
    with official_world([domain], {}) as world:
        return type(world._instances[domain])


def _settled(text):
    """Return a result with the names of a printed set in order, and one text for a full stack."""
    text = re.sub(r"(?<=Must be one of \{)[^}]*", lambda found: _in_order(found[0]), text)
    text = re.sub(r"(?<=Invalid fields for update: )[^\"]*", lambda found: _in_order(found[0]), text)
    return re.sub(r"(?<=maximum recursion depth exceeded)( (while|in) [\w ]+)?", " while calling a Python object", text)


def _in_order(names):
    return ", ".join(sorted(names.split(", ")))


def _plain(value, inside=()):
    if isinstance(value, _files.Directory):
        contents = {} if id(value) in inside else _plain(value.contents, (*inside, id(value)))
        return {"name": _key(value.name), "directory": contents}
    if isinstance(value, _files.File):
        return {"name": _key(value.name), "file": _plain(value.content)}
    if isinstance(value, dict):
        return {_key(key): _plain(item, inside) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(item) for item in value), key=lambda item: (str(type(item)), str(item)))
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)


def _key(value):
    return value if isinstance(value, (str, int)) else str(value)

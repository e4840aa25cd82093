"""The official backends and checker as an oracle: what it answers depends on nothing but the question.

How the worlds are kept apart stands in `benchmarks/official_worlds.py`. Here, besides, three texts that vary with
Python's hash seed or with the depth of the caller's stack are brought to one form.
"""

import re
from contextlib import contextmanager

import pytest

_REASON = "needs the official package: pip install --no-deps bfcl-eval==2026.3.23 mpmath==1.3.0"

pytest.importorskip("mpmath", reason=_REASON)
pytest.importorskip("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker", reason=_REASON)

from official_worlds import checker, files, isolated, run  # noqa: E402

FORCE_TERMINATED = "multi_turn:force_terminated"


class OfficialWorld:
    """One world of the official backends. Only one at a time: the next one resets what they share.

    Args:
        domains: Names of the domains involved.
        config: The raw configuration by domain.
        long_context: Whether the official filler is loaded.
        model_name: A name from `official_world`.
    """

    def __init__(self, domains, config, long_context, model_name):
        self._arguments = (domains, config, long_context, model_name, "world")
        _, self._instances = run([], *self._arguments)

    def execute(self, *calls):
        """Return the results of calls in Python syntax."""
        return [_settled(text) for text in run(calls, *self._arguments)[0]]

    def state(self):
        """Return the public attributes in the form of `World.state`."""
        return {
            name: {key: _plain(value) for key, value in vars(instance).items() if key[0] != "_"}
            for name, instance in self._instances.items()
        }


@contextmanager
def official_world(domains, config, long_context=False):
    """Yield an `OfficialWorld` that leaves nothing behind."""
    with isolated() as name:
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
    with isolated() as name:
        result = checker.multi_turn_checker(steps_per_turn, ground_truth, entry, entry["id"], name)
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
    if isinstance(value, files.Directory):
        contents = {} if id(value) in inside else _plain(value.contents, (*inside, id(value)))
        return {"name": _key(value.name), "directory": contents}
    if isinstance(value, files.File):
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

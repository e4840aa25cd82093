"""Ground-truth calls made wrong on purpose, in ways that agents get them wrong, to see what feedback repairs.

A kind is a pure function of a place in a task and a random generator. The kinds come in two halves of like
variety: an agent or hints may be developed on `DEVELOPMENT`, and are measured once on `HELD_OUT`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from random import Random
from typing import Any

from envtune_gym.calls import render_calls
from envtune_gym.callsyntax import Call
from envtune_gym.evaluation.learner import Draft, Plan
from envtune_gym.evaluation.scenes import Effect, Scene, effect
from envtune_gym.tasks import Task
from envtune_gym.tooldocs import tool_schemas

__all__ = ["DEVELOPMENT", "HELD_OUT", "KINDS", "Corruption", "corrupt"]

Kind = Callable[[Scene, Random], Plan | None]


@dataclass(frozen=True)
class Corruption:
    """A plan for the first turns of a task in which something is wrong.

    Attributes:
        kind: How it was made.
        task: The task.
        plan: The steps of each turn, up to the turn in which the mistake shows.
        effect: How it shows.
        unsolvable: Whether the last turn cannot be solved yet, so that the right thing is to say so.
    """

    kind: str
    task: Task
    plan: Plan
    effect: Effect
    unsolvable: bool = False


def corrupt(scene: Scene, kind: str, rng: Random) -> Corruption | None:
    """Make a mistake at a place.

    Args:
        scene: The place.
        kind: A name of `KINDS`.
        rng: Where the choices come from.

    Returns:
        The corruption; None where the kind does not apply or what it makes comes to the same as the ground truth.
    """
    plan = KINDS[kind](scene, rng)
    if plan is None:
        return None
    shown = effect(scene.task, plan)
    return None if shown is None else Corruption(kind, scene.task, plan, shown, kind in _UNSOLVABLE)


# ---- Names ----------------------------------------------------------------------------------------------------------


def _misspelt_tool(scene: Scene, rng: Random) -> Plan | None:
    name = _misspelt(scene.call.name, rng)
    return None if name is None else scene.calling(name)


def _recased_tool(scene: Scene, rng: Random) -> Plan | None:
    name = _recased(scene.call.name)
    return None if name is None else scene.calling(name)


def _misspelt_argument(scene: Scene, rng: Random) -> Plan | None:
    old = _choice(list(scene.call.kwargs), rng)
    return None if old is None else _renamed(scene, old, _misspelt(old, rng))


def _shortened_argument(scene: Scene, rng: Random) -> Plan | None:
    old = _choice([name for name in scene.call.kwargs if len(_words(name)) > 1], rng)
    return None if old is None else _renamed(scene, old, rng.choice((_words(old)[0], _words(old)[-1])).lower())


# ---- Which arguments there are --------------------------------------------------------------------------------------


def _missing_argument(scene: Scene, rng: Random) -> Plan | None:
    left_out = _choice(list(scene.call.kwargs), rng)
    if left_out is None:
        return None
    kept = {name: value for name, value in scene.call.kwargs.items() if name != left_out}
    return scene.replaced(Call(scene.call.name, kept))


def _swapped_values(scene: Scene, rng: Random) -> Plan | None:
    texts = scene.values(str)
    if len(texts) < 2:
        return None
    (one, first), (other, second) = rng.sample(texts, 2)
    return scene.giving(**{one: second, other: first})


def _unknown_argument(scene: Scene, rng: Random) -> Plan | None:
    extra = {"verbose": True, "format": "json", "timeout": 30, "confirm": True}
    name = _choice([name for name in extra if name not in scene.properties], rng)
    return None if name is None else scene.giving(**{name: extra[name]})


def _nested_arguments(scene: Scene, rng: Random) -> Plan | None:
    if not scene.call.kwargs:
        return None
    return scene.replaced(Call(scene.call.name, {rng.choice(("input", "params")): dict(scene.call.kwargs)}))


# ---- Types and units ------------------------------------------------------------------------------------------------


def _number_as_text(scene: Scene, rng: Random) -> Plan | None:
    return _changed(scene, rng, (int, float), str)


def _list_as_text(scene: Scene, rng: Random) -> Plan | None:
    return _changed(scene, rng, list, lambda items: ", ".join(map(str, items)))


def _number_scaled(scene: Scene, rng: Random) -> Plan | None:
    return _changed(scene, rng, (int, float), lambda number: number * 100, lambda name, _: not _is_id(name))


def _number_with_unit(scene: Scene, rng: Random) -> Plan | None:
    unit = rng.choice(("units", "USD", "%"))
    return _changed(scene, rng, (int, float), lambda number: f"{number} {unit}", lambda name, _: not _is_id(name))


# ---- Values ---------------------------------------------------------------------------------------------------------


def _wrong_case(scene: Scene, rng: Random) -> Plan | None:
    def recase(text: str) -> str:
        return text.lower() if text != text.lower() else text.upper()

    return _changed(scene, rng, str, recase, lambda _, text: re.fullmatch(r"\S{1,30}", text) is not None)


def _other_date_format(scene: Scene, rng: Random) -> Plan | None:
    form = rng.choice(("%d/%m/%Y", "%B %d, %Y", "%m-%d-%Y"))
    return _changed(
        scene, rng, str, lambda text: date.fromisoformat(text).strftime(form), lambda _, text: _is_date(text)
    )


def _name_for_code(scene: Scene, rng: Random) -> Plan | None:
    """Give what the user calls a thing in place of its code, where some tool translates the one into the other."""
    found = _choice([pair for pair in scene.values(str) if re.fullmatch(r"[A-Z]{2,5}", pair[1])], rng)
    if found is None:
        return None
    name, code = found
    phrases = sorted(set(re.findall(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*", scene.said)))
    known = [phrase for phrase in phrases if code in _lookups(scene, phrase) and code not in _lookups(scene, "?")]
    return scene.giving(**{name: rng.choice(known)}) if known else None


def _wrong_option(scene: Scene, rng: Random) -> Plan | None:
    def listed(name: str, value: str) -> bool:
        schema = scene.properties.get(name, {})
        return (
            value in schema.get("enum", ())
            or re.search(rf"\b{re.escape(value)}\b", schema.get("description", "")) is not None
        )

    near = rng.choice(("{} mode", "{}_type", "{}ed"))
    return _changed(scene, rng, str, lambda text: near.format(text), listed)


def _id_off_by_one(scene: Scene, rng: Random) -> Plan | None:
    def next_id(value: int | str) -> int | str:
        return (
            value + 1
            if isinstance(value, int)
            else re.sub(r"\d+$", lambda digits: str(int(digits[0]) + 1).zfill(len(digits[0])), value)
        )

    return _changed(scene, rng, (int, str), next_id, lambda name, value: _is_id(name) and str(value)[-1:].isdecimal())


def _placeholder_id(scene: Scene, rng: Random) -> Plan | None:
    ids = [pair for pair in scene.values((int, str)) if _is_id(pair[0])]
    found = _choice(ids, rng)
    if found is None:
        return None
    name, value = found
    made_up = rng.choice((0, 123456) if isinstance(value, int) else (f"<{name}>", "unknown"))
    return scene.giving(**{name: made_up})


def _path_for_name(scene: Scene, rng: Random) -> Plan | None:
    folder = rng.choice(("./", "/home/user/", "files/"))
    return _changed(scene, rng, str, lambda text: folder + text, lambda _, text: _is_file(text))


def _extension_left_out(scene: Scene, rng: Random) -> Plan | None:
    return _changed(scene, rng, str, lambda text: text.rpartition(".")[0], lambda _, text: _is_file(text))


# ---- Order ----------------------------------------------------------------------------------------------------------


def _prerequisite_left_out(scene: Scene, rng: Random) -> Plan | None:
    calls = scene.turns[scene.turn]
    return scene.with_turn(calls[: scene.index] + calls[scene.index + 1 :]) if len(calls) > 1 else None


def _earlier_turn_left_out(scene: Scene, rng: Random) -> Plan | None:
    """Leave out a call of an earlier turn, and end with the call at hand, in which that is to show."""
    if scene.turn == 0 or scene.index:
        return None
    earlier = [(turn, index) for turn in range(scene.turn) for index in range(len(scene.turns[turn]))]
    place = _choice(earlier, rng)
    if place is None:
        return None
    turns = [list(calls) for calls in scene.turns]
    del turns[place[0]][place[1]]
    plan = tuple(map(tuple, turns))
    return plan if effect(scene.task, plan[:-1]) in (None, "unseen") else None


def _neighbours_swapped(scene: Scene, rng: Random) -> Plan | None:
    calls = list(scene.turns[scene.turn])
    if scene.index + 1 >= len(calls):
        return None
    calls[scene.index : scene.index + 2] = calls[scene.index + 1], calls[scene.index]
    return scene.with_turn(calls)


def _last_call_first(scene: Scene, rng: Random) -> Plan | None:
    calls = scene.turns[scene.turn]
    return scene.with_turn((calls[-1], *calls[:-1])) if scene.index == 0 and len(calls) > 2 else None


def _withheld_tool(scene: Scene, rng: Random) -> Plan | None:
    """Call a tool that is not on offer yet, in the turn that wants it."""
    back = scene.call.name in scene.task.missed_functions.get(scene.turn, ())
    return (*scene.turns[: scene.turn - 1], (scene.call,)) if back and not scene.turns[scene.turn - 1] else None


def _guessed_value(scene: Scene, rng: Random) -> Plan | None:
    """Make up the value that the user has not given yet, in the turn that wants it."""
    if "miss_param" not in scene.task.category or scene.turn == 0 or scene.turns[scene.turn - 1]:
        return None
    before = "\n".join(scene.task.turns[: scene.turn]).lower()
    now = scene.task.turns[scene.turn].lower()
    new = [
        name
        for name, value in scene.values((str, int, float))
        if str(value).lower() in now and str(value).lower() not in before
    ]
    name = _choice(new, rng)
    if name is None:
        return None
    made_up = "unknown" if isinstance(scene.call.kwargs[name], str) else 0
    return (*scene.turns[: scene.turn - 1], (Call(scene.call.name, {**scene.call.kwargs, name: made_up}),))


# ---- Text -----------------------------------------------------------------------------------------------------------


def _list_unclosed(scene: Scene, rng: Random) -> Plan | None:
    return _draft(scene, _written(scene.call).replace("]</tool_call>", "</tool_call>"))


def _arguments_as_text(scene: Scene, rng: Random) -> Plan | None:
    listed = json.dumps([{"name": scene.call.name, "arguments": json.dumps(dict(scene.call.kwargs))}])
    return _draft(scene, f"<tool_call>{listed}</tool_call>")


def _python_syntax(scene: Scene, rng: Random) -> Plan | None:
    return _draft(scene, f"<tool_call>[{scene.call.source()}]</tool_call>")


def _single_quotes(scene: Scene, rng: Random) -> Plan | None:
    listed = [{"name": scene.call.name, "arguments": dict(scene.call.kwargs)}]
    return _draft(scene, f"<tool_call>{listed!r}</tool_call>")


# ---- Parts ----------------------------------------------------------------------------------------------------------


def _choice(options: Sequence[Any], rng: Random) -> Any:
    return rng.choice(options) if options else None


def _changed(
    scene: Scene,
    rng: Random,
    kind: type | tuple[type, ...],
    change: Callable[[Any], Any],
    test: Callable[[str, Any], bool] = lambda name, value: True,
) -> Plan | None:
    """Change one argument of a type that passes a test."""
    found = _choice([pair for pair in scene.values(kind) if test(*pair)], rng)
    return None if found is None else scene.giving(**{found[0]: change(found[1])})


def _renamed(scene: Scene, old: str, new: str | None) -> Plan | None:
    if new is None or new in scene.properties:
        return None
    return scene.replaced(Call(scene.call.name, {new if n == old else n: v for n, v in scene.call.kwargs.items()}))


def _misspelt(name: str, rng: Random) -> str | None:
    """Swap two neighbouring letters, or leave one out."""
    if len(name) < 4:
        return None
    at = rng.randrange(1, len(name) - 1)
    swapped = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    return rng.choice((swapped, name[:at] + name[at + 1 :]))


def _recased(name: str) -> str | None:
    first, *others = _words(name)
    if not others:
        return None
    return first + "".join(map(str.capitalize, others)) if "_" in name else "_".join((first, *others)).lower()


def _words(name: str) -> list[str]:
    return re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)


def _is_id(name: str) -> bool:
    return _words(name)[-1].lower() in ("id", "token", "number")


def _is_date(text: str) -> bool:
    return re.fullmatch(r"\d{4}-\d\d-\d\d", text) is not None


def _is_file(text: str) -> bool:
    return re.fullmatch(r"[\w-]+\.\w{2,4}", text) is not None


def _lookups(scene: Scene, phrase: str) -> str:
    """Return what the tools say that take nothing but a text."""
    said: list[str] = []
    for name, schema in tool_schemas(scene.task).items():
        properties = schema["function"]["parameters"]["properties"]
        if [argument["type"] for argument in properties.values()] == ["string"]:
            said.append(scene.before.fork().call(name, {next(iter(properties)): phrase}).content)
    return "\n".join(said)


def _written(call: Call) -> str:
    return render_calls([call], "tool_call")


def _draft(scene: Scene, text: str) -> Plan:
    return scene.replaced(Draft(scene.call, text))


_UNSOLVABLE = frozenset(("withheld_tool", "guessed_value"))
_DEVELOPMENT: dict[str, Kind] = {
    "misspelt_tool": _misspelt_tool,
    "misspelt_argument": _misspelt_argument,
    "missing_argument": _missing_argument,
    "unknown_argument": _unknown_argument,
    "number_as_text": _number_as_text,
    "number_scaled": _number_scaled,
    "wrong_case": _wrong_case,
    "name_for_code": _name_for_code,
    "id_off_by_one": _id_off_by_one,
    "path_for_name": _path_for_name,
    "prerequisite_left_out": _prerequisite_left_out,
    "neighbours_swapped": _neighbours_swapped,
    "withheld_tool": _withheld_tool,
    "list_unclosed": _list_unclosed,
    "python_syntax": _python_syntax,
}
_HELD_OUT: dict[str, Kind] = {
    "recased_tool": _recased_tool,
    "shortened_argument": _shortened_argument,
    "swapped_values": _swapped_values,
    "nested_arguments": _nested_arguments,
    "list_as_text": _list_as_text,
    "number_with_unit": _number_with_unit,
    "wrong_option": _wrong_option,
    "other_date_format": _other_date_format,
    "placeholder_id": _placeholder_id,
    "extension_left_out": _extension_left_out,
    "earlier_turn_left_out": _earlier_turn_left_out,
    "last_call_first": _last_call_first,
    "guessed_value": _guessed_value,
    "arguments_as_text": _arguments_as_text,
    "single_quotes": _single_quotes,
}
KINDS: Mapping[str, Kind] = {**_DEVELOPMENT, **_HELD_OUT}
"""All kinds of corruption, by name."""
DEVELOPMENT = tuple(_DEVELOPMENT)
"""Kinds that a learner and hints may be developed on."""
HELD_OUT = tuple(_HELD_OUT)
"""Kinds kept for the final measurement."""

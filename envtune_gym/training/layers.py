"""Settings from layers: presets, a YAML file, single assignments, each over the one before; and settings printed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.tasks import CATEGORIES
from envtune_gym.training.presets import preset_layers
from envtune_gym.training.settings import GROUPS, Settings

__all__ = ["assign", "file_layers", "make_settings", "settings_table", "to_yaml"]

_EXPONENT = re.compile(r"[+-]?\d+[eE][+-]?\d+")


def make_settings(layers: Sequence[Mapping[str, Any]], name: str = "settings") -> Settings:
    """Return the settings of several layers, later ones over earlier ones.

    Args:
        layers: Settings as plain data; within a group of settings (`validation`, say) they are laid over one by one.
        name: What messages call the whole.

    Raises:
        ConfigurationError: If a setting is unknown or has no meaning; the message names it.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        merged = _laid_over(merged, layer)
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        raise ConfigurationError(f"{name}: {_first_fault(error)}") from None


def assign(assignment: str) -> dict[str, Any]:
    """Return what `name=value` sets, as plain data; dots lead into groups, and the value is read as YAML.

    Raises:
        ConfigurationError: If it is no assignment.
    """
    name, equals, text = assignment.partition("=")
    if not equals or not name.strip():
        raise ConfigurationError(f"--set takes name=value, such as learning_rate=1e-5, not {assignment!r}")
    value: Any = _numbers(_parse_yaml(text, f"--set {name}"))
    for part in reversed(name.strip().split(".")):
        value = {part: value}
    return dict(value)


def file_layers(file: Path) -> list[dict[str, Any]]:
    """Return the settings in a YAML file, unchecked; its entry `preset` names presets that stand below them.

    Raises:
        DataError: If it cannot be read.
        ConfigurationError: If it is not YAML, no mapping, or names an unknown preset.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from error
    data = _parse_yaml(text, str(file))
    if not isinstance(data, dict):
        raise ConfigurationError(f"{file}: settings are a mapping of names to values")
    presets = data.pop("preset", None) or []
    return [*preset_layers([presets] if isinstance(presets, str) else presets), _numbers(data)]


def to_yaml(settings: Settings) -> str:
    """Return settings as YAML, each with its documentation."""
    import yaml

    lines = []
    for name, value in settings.model_dump(mode="json").items():
        style = None if isinstance(value, (dict, list)) else False  # what is innermost on one line, but not the whole
        text = yaml.safe_dump({name: value}, sort_keys=False, allow_unicode=True, default_flow_style=style, width=120)
        lines += [f"# {Settings.model_fields[name].description}", text.rstrip()]
    return "\n".join(lines) + "\n"


def settings_table() -> str:
    """Return all settings as Markdown tables, one a group."""
    parts = []
    for group in GROUPS:
        rows = [
            f"| `{name}` | {_default(group, name)} | {field.description} |"
            for name, field in group.model_fields.items()
        ]
        parts.append("\n".join((f"**{(group.__doc__ or '').splitlines()[0]}**\n", "| | default | |", "|-|-|-|", *rows)))
    return "\n\n".join(parts) + "\n"


def _default(group: type[BaseModel], name: str) -> str:
    field = group.model_fields[name]
    if field.is_required():
        return ""
    default = field.default
    if default is None:
        return "null"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, tuple):
        return "all" if default == CATEGORIES else "none" if not default else "below"
    return "below" if isinstance(default, BaseModel) else f"`{default}`"


def _laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in above.items():
        old = merged.get(name)
        if isinstance(value, Mapping) and isinstance(old, (list, tuple)):
            if "source" in value and value["source"] not in map(_source, old):
                merged[name] = [value]  # other tasks: what was said of those before does not concern them,
                merged["validation"] = {key: one for key, one in merged.get("validation", {}).items() if key != "tasks"}
                continue
            is_placed = all(str(key).isdigit() for key in value)
            merged[name] = _with_entries(name, old, value if is_placed else {"0": value})
        else:
            merged[name] = _laid_over(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def _source(tasks: Any) -> Any:
    """Return which source a choice of tasks is of; its name alone stands for all of it."""
    return tasks.get("source") if isinstance(tasks, Mapping) else tasks


def _with_entries(name: str, entries: Sequence[Any], changes: Mapping[str, Any]) -> list[Any]:
    """Return a list with some entries, named by their place, laid over; what names no place is for the only entry."""
    changed = list(entries)
    for key, value in changes.items():
        place = int(key)
        if place >= len(changed):
            raise ConfigurationError(f"{name}.{place}: there are {len(changed)} entries, counted from 0")
        old = changed[place]
        changed[place] = _laid_over(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return changed


def _parse_yaml(text: str, name: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{name}: not YAML: {' '.join(str(error).split())}") from None


def _numbers(value: Any) -> Any:
    """Read 1e-5 as a number, which YAML 1.1 takes for text for want of a point."""
    if isinstance(value, dict):
        return {name: _numbers(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_numbers(one) for one in value]
    return float(value) if isinstance(value, str) and _EXPONENT.fullmatch(value) else value


def _first_fault(error: ValidationError) -> str:
    """Return what is wrong with the first bad setting, and its name."""
    fault = error.errors()[0]
    path = ".".join(str(part) for part in fault["loc"] if part not in _TYPE_TAGS)
    if fault["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(fault["loc"][-1]), _ALL_NAMES, n=1)
        return f"{path}: no such setting" + (f"; similar: {near[0]}" if near else "")
    message = fault["msg"].removeprefix("Value error, ")
    given = "" if fault["type"] in ("value_error", "missing") else f", not {fault['input']!r}"
    return f"{path}: {message}{given}" if path else message


_TYPE_TAGS = ("tuple[str, ...]", "literal['all-linear']")
_ALL_NAMES = sorted({name for group in GROUPS for name in group.model_fields})

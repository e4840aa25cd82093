"""Which tools a task shows at a turn, and with what documentation: the official one for official tasks, else ours."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from envtune_gym.domains import BUILTIN_DOMAINS, domain_class
from envtune_gym.domains.base import copy_plain
from envtune_gym.official import load_tool_docs
from envtune_gym.tasks.task import Task

__all__ = ["SYNTAX_REMARK", "Schemas", "ShownTools", "offered_names", "tool_schemas"]

Schemas = dict[str, dict[str, Any]]

_JSON_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
# The benchmark adds these two to its documentation (the second in function-calling mode only).
SYNTAX_REMARK = " Note that the provided function is in Python 3 syntax."
_FLOAT_REMARK = " This is a float type value."

_SCHEMAS_KEPT = 256
"""Sets of tools whose documentation is kept: more than the tasks of a batch have."""


def tool_schemas(task: Task, *, float_remark: bool = False) -> Schemas:
    """Return the OpenAI function schemas of all tools of a task's domains, by name, whether on offer or not.

    Args:
        task: The task; official tasks get the official documentation.
        float_remark: Whether official documentation remarks on float parameters, as in function-calling mode.

    Returns:
        Schemas that are shared: copy before changing or handing out.
    """
    return _schemas_of(task.domains, task.source == "bfcl", float_remark)


@dataclass(frozen=True, slots=True)
class ShownTools:
    """Some tools with their documentation; hashable, so that what is made of it can be kept.

    Attributes:
        names: Their names, in order.
        domains: The domains that have them.
        official: Whether they have the official documentation.
        float_remark: As in `tool_schemas`.
    """

    names: tuple[str, ...]
    domains: tuple[str, ...]
    official: bool
    float_remark: bool = False

    def schemas(self) -> list[dict[str, Any]]:
        """Return their OpenAI function schemas, which are the caller's own."""
        schemas: list[dict[str, Any]] = pickle.loads(_pickled_schemas(self))  # noqa: S301 (pickled here)
        return schemas


@lru_cache(maxsize=_SCHEMAS_KEPT)
def _pickled_schemas(tools: ShownTools) -> bytes:
    """Return schemas in the form of which copies are made fastest; many episodes begin with the same ones."""
    schemas = _schemas_of(tools.domains, tools.official, tools.float_remark)
    return pickle.dumps([schemas[name] for name in tools.names])


def offered_names(task: Task, turn: int, offer: str) -> tuple[str, ...]:
    """Return the names of the tools on offer at a turn, those that have returned last.

    Args:
        task: The task.
        turn: Index of the turn.
        offer: `"official"` (excluded tools are on offer) or `"strict"` (they are not).
    """
    withheld = [name for names in task.missed_functions.values() for name in names]
    returned = [name for start, names in sorted(task.missed_functions.items()) if start <= turn for name in names]
    excluded = task.excluded_functions if offer == "strict" else ()
    absent = {*withheld, *excluded}
    names = [name for domain in task.domains for name in domain_class(domain).tools if name not in absent]
    return (*names, *(name for name in returned if name not in excluded))


def _schemas_of(domains: tuple[str, ...], official: bool, float_remark: bool) -> Schemas:
    schemas: Schemas = {}
    for domain in domains:
        schemas.update(_official_schemas(domain, float_remark) if official else _own_schemas(domain))
    return schemas


@lru_cache(maxsize=64)
def _own_schemas(domain: str) -> Schemas:
    return {name: tool.schema for name, tool in domain_class(domain).tools.items()}


@lru_cache(maxsize=2 * len(BUILTIN_DOMAINS))
def _official_schemas(domain: str, float_remark: bool) -> Schemas:
    return {doc["name"]: _official_schema(doc, float_remark) for doc in load_tool_docs(domain)}


def _official_schema(doc: dict[str, Any], float_remark: bool) -> dict[str, Any]:
    """Translate one entry of the official documentation into an OpenAI function schema."""
    return {
        "type": "function",
        "function": {
            "name": doc["name"],
            "description": doc["description"] + SYNTAX_REMARK,
            "parameters": _json_schema(copy_plain(doc["parameters"]), float_remark),
        },
    }


def _json_schema(node: dict[str, Any], float_remark: bool) -> dict[str, Any]:
    kind = node.get("type", "string")
    node["type"] = _JSON_TYPES.get(kind, kind)
    if kind == "float" and float_remark and "description" in node:
        node["description"] += _FLOAT_REMARK
    for child in node.get("properties", {}).values():
        _json_schema(child, float_remark)
    if "items" in node:
        _json_schema(node["items"], float_remark)
    return node

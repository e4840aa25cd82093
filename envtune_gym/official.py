"""The installed `bfcl-eval` package as a folder of data: tasks, tool documentation, filler, prompts.

Its code is never imported. Data of another version than the one that the domains were checked against is
refused, for results would silently differ.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from envtune_gym.errors import DataError
from envtune_gym.rendering import register_constants

__all__ = [
    "BFCL_VERSION",
    "INSTALL_COMMAND",
    "data_folder",
    "load_filler",
    "load_prompts",
    "load_tool_docs",
    "read_jsonl",
]

BFCL_VERSION = "2026.3.23"
"""The version of `bfcl-eval` whose data and behaviour this package reproduces."""
INSTALL_COMMAND = f"pip install --no-deps bfcl-eval=={BFCL_VERSION}"

_DOC_FILES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
_BACKENDS = "eval_checker/multi_turn_eval/func_source_code"


def data_folder() -> Path:
    """Return the folder of the installed official package.

    Raises:
        DataError: If it is missing, of another version, or of several versions at once.
    """
    spec = importlib.util.find_spec("bfcl_eval")
    if spec is None or not spec.submodule_search_locations:
        raise DataError(f"the official BFCL data is not installed; run: {INSTALL_COMMAND}")
    versions = {d.version for d in importlib.metadata.distributions(name="bfcl-eval")}
    if versions != {BFCL_VERSION}:
        found = " and ".join(sorted(versions)) or "no recorded version"
        raise DataError(f"bfcl-eval {BFCL_VERSION} is needed, found {found}; run: {INSTALL_COMMAND}")
    return Path(next(iter(spec.submodule_search_locations)))


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON-lines file of the official package.

    Raises:
        DataError: If the file is missing or a line does not parse.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path.name} of bfcl-eval cannot be read ({error}); run: {INSTALL_COMMAND} --force-reinstall"
        ) from error


@lru_cache(maxsize=1)
def load_filler() -> Mapping[str, Any]:
    """Return the constants that fill the domains in long_context tasks, by name; never change them.

    Raises:
        DataError: As `data_folder` does.
    """
    constants = _literals(data_folder() / _BACKENDS / "long_context.py")
    register_constants(constants.values())
    return constants


@lru_cache(maxsize=1)
def load_prompts() -> Mapping[str, Any]:
    """Return the literals of the official prompts, by name.

    Raises:
        DataError: As `data_folder` does.
    """
    return _literals(data_folder() / "constants/default_prompts.py")


@lru_cache(maxsize=len(_DOC_FILES))
def load_tool_docs(domain: str) -> tuple[dict[str, Any], ...]:
    """Return the official documentation of a domain's tools, as in the file; never change it.

    Raises:
        DataError: As `data_folder` does.
        KeyError: If the domain is not an official one.
    """
    return tuple(read_jsonl(data_folder() / "data/multi_turn_func_doc" / f"{_DOC_FILES[domain]}.json"))


def _literals(path: Path) -> dict[str, Any]:
    """Return the module-level assignments of literals in a Python file, which is read and not run."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError) as error:
        raise DataError(
            f"{path.name} of bfcl-eval cannot be read ({error}); run: {INSTALL_COMMAND} --force-reinstall"
        ) from error
    literals: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                literals[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue  # computed from others: not a literal
    return literals

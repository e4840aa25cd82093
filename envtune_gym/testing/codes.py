"""The codes of the failures that a domain can raise, read from its source."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Sequence

from envtune_gym.domains import base, schema
from envtune_gym.domains.base import Domain

__all__ = ["raised_codes"]

_RAISERS = {"ToolFailure": 0}
_OWN = (base.__name__, schema.__name__)


def raised_codes(cls: type[Domain]) -> set[str]:
    """Return what is passed as `code` to a failure, or to a function that hands it on, in the modules of a domain.

    Raises:
        TypeError: If a code is not a constant, a choice of constants, or a name that such are assigned to.
    """
    nodes = [node for tree in _sources(cls.__module__) for node in ast.walk(tree)]
    takers: dict[str, int | None] = {**_RAISERS, **_subclasses(nodes)}
    codes: set[str] = set()
    for function in (node for node in nodes if isinstance(node, ast.FunctionDef) and node.name != "__init__"):
        names = [argument.arg for argument in function.args.args if argument.arg != "self"]
        if "code" in names:
            takers[function.name] = names.index("code")
        for argument, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
            if argument.arg == "code":
                takers[function.name] = None
                codes |= set() if default is None else _constants(default, nodes)
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        name = getattr(call.func, "attr", getattr(call.func, "id", None))
        if name in takers:
            position = takers[name]
            given = [keyword.value for keyword in call.keywords if keyword.arg == "code"]
            if position is not None and len(call.args) > position:
                given.append(call.args[position])
            codes |= {code for value in given for code in _constants(value, nodes)}
    return codes


def _sources(module: str) -> list[ast.Module]:
    """Return the syntax trees of a module and of the modules beside it that it is made of."""
    package = module.rpartition(".")[0]
    pending, trees = [module], {}
    while pending:
        name = pending.pop()
        if name in trees or name in _OWN:
            continue
        trees[name] = ast.parse(inspect.getsource(importlib.import_module(name)))
        pending += [
            node.module
            for node in ast.walk(trees[name])
            if isinstance(node, ast.ImportFrom) and package and (node.module or "").startswith(f"{package}.")
            if node.module
        ]
    return list(trees.values())


def _subclasses(nodes: Sequence[ast.AST]) -> dict[str, int]:
    """Return the failures that the modules define themselves; they take a code first, too."""
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    return {node.name: 0 for node in classes if any(getattr(one, "id", None) in _RAISERS for one in node.bases)}


def _constants(value: ast.expr, nodes: Sequence[ast.AST]) -> set[str]:
    """Return the strings that an expression can be; a name stands for all that is assigned to it anywhere."""
    if isinstance(value, ast.Constant):
        return {str(value.value)}
    if isinstance(value, ast.IfExp):
        return _constants(value.body, nodes) | _constants(value.orelse, nodes)
    if not isinstance(value, ast.Name):
        raise TypeError(f"cannot tell the code of a failure from {ast.unparse(value)}")
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Assign):
            targets, values = node.targets[0], node.value
            pairs = [(targets, values)]
            if isinstance(targets, ast.Tuple) and isinstance(values, ast.Tuple):
                pairs = list(zip(targets.elts, values.elts, strict=True))
            for target, assigned in pairs:
                if isinstance(target, ast.Name) and target.id == value.id:
                    found |= _constants(assigned, nodes)
    return found

"""Command-line arguments from a dataclass with a line of documentation under each field."""

from __future__ import annotations

import ast
import inspect
import textwrap
from argparse import RawDescriptionHelpFormatter
from dataclasses import fields
from itertools import pairwise
from typing import TypeVar

from transformers import HfArgumentParser

T = TypeVar("T")


def parse_arguments(cls: type[T], description: str, arguments: list[str] | None = None) -> T:
    """Return an instance of a dataclass, filled from the command line.

    Args:
        cls: A dataclass; the string under a field is its help.
        description: What the program does, with examples.
        arguments: The arguments; None takes those of the process.
    """
    documentation = _documentation(cls)
    for field in fields(cls):
        field.metadata = {"help": documentation[field.name].replace("%", "%%")}
    parser = HfArgumentParser(cls, description=description, formatter_class=RawDescriptionHelpFormatter)
    parsed, unknown = parser.parse_args_into_dataclasses(arguments, return_remaining_strings=True)
    if unknown:
        parser.error(f"unknown argument {unknown[0]}")
    return parsed


def _documentation(cls: type) -> dict[str, str]:
    """Return the string that stands under each field of a class, by the field's name."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    return {
        field.target.id: " ".join(ast.literal_eval(text.value).split())
        for field, text in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr)
    }

"""What the variants of a task have in common: they are alike, so that intervals must not count them as independent."""

from __future__ import annotations

import re

__all__ = ["scenario_of"]

_OFFICIAL = re.compile(r"multi_turn_\w+_(\d+)", re.ASCII)
_GENERATED = re.compile(r"gen-(?P<domain>.+)-[\w.]+-(?P<shape>t\d+g\d+d\d+)(?:f\d+)?-(?P<split>\w+)-(?P<number>\d+)")


def scenario_of(task_id: str, source: str) -> str:
    """Return the name of a task's scenario: one for all categories that it comes in.

    Args:
        task_id: The task's id.
        source: Its source, with or without a version: the number of an official task is its scenario, and of a
            generated one domain, shape, split and number together. Any other task is its own.

    Example:
        >>> scenario_of("multi_turn_miss_func_49", "bfcl")
        '49'
        >>> scenario_of("gen-TravelAPI-long_context-t3g2d1f8-train-17", "generated 2")
        'TravelAPI t3g2d1 train 17'
    """
    origin = source.partition(" ")[0]
    if origin == "bfcl" and (official := _OFFICIAL.fullmatch(task_id)):
        return official[1]
    if origin == "generated" and (generated := _GENERATED.fullmatch(task_id)):
        return " ".join(generated.groups())
    return task_id

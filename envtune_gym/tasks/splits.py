"""The benchmark's scenarios in training, validation and test parts, so that no variant of one crosses over.

The parts are those of *Environment Tuning* (arXiv 2510.10197): 100 scenarios to train on, 25 to validate, 75 to
test. A scenario is the number at the end of an official task id; its four variants, one a category, share it.
"""

from __future__ import annotations

from envtune_gym.errors import ConfigurationError

__all__ = ["NUM_SCENARIOS", "SPLITS", "check_split", "split_of"]

SPLITS = ("train", "val", "test")
"""Names of the parts; `"all"` stands for the three together."""
NUM_SCENARIOS = 200
"""Scenarios of the benchmark."""

# fmt: off
_TRAIN = frozenset({
    0, 2, 3, 5, 10, 12, 13, 14, 15, 16, 18, 19, 27, 30, 32, 33, 36, 37, 38, 42, 43, 44, 45, 46, 47, 51, 52, 54,
    60, 61, 63, 64, 65, 66, 69, 72, 73, 76, 78, 79, 80, 83, 84, 85, 95, 100, 101, 102, 103, 104, 105, 106, 109,
    110, 111, 112, 113, 115, 118, 121, 122, 123, 125, 126, 128, 130, 133, 135, 136, 140, 142, 144, 145, 146,
    148, 153, 155, 156, 158, 159, 160, 161, 162, 165, 167, 170, 171, 172, 175, 176, 177, 179, 184, 186, 187,
    192, 193, 194, 195, 196,
})
_VALIDATION = frozenset({
    4, 9, 21, 29, 34, 48, 77, 81, 82, 98, 99, 120, 124, 127, 131, 132, 134, 138, 149, 164, 169, 174, 178, 183,
    198,
})
# fmt: on


def split_of(scenario: int) -> str:
    """Return the part that a scenario belongs to."""
    if scenario in _TRAIN:
        return "train"
    return "val" if scenario in _VALIDATION else "test"


def check_split(name: str) -> str:
    """Return the name of a part, or `"all"`, unchanged.

    Raises:
        ConfigurationError: If there is none of that name.
    """
    if name not in (*SPLITS, "all"):
        raise ConfigurationError(f"unknown split {name!r}; known: {', '.join(SPLITS)}, all")
    return name

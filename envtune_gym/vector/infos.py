"""The `info` of many environments as one: an array for each key, and a mask of those that have it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["column", "stack_infos"]


def stack_infos(infos: Iterable[tuple[int, Mapping[str, Any]]], num_envs: int) -> dict[str, Any]:
    """Return the infos of some environments as that of a vector environment.

    The result is that of Gymnasium's own vector environments: `key` holds an array with a place for each environment
    and `_key` the mask of the places that are filled; dictionaries are merged key by key. Where Gymnasium takes the
    type of the array from the first value, and so fails or alters values of another type, it is an array of objects
    here. It is put together key by key, not value by value, which takes a fraction of the time.

    Args:
        infos: Index and info of each environment that has one, in the order of the indices.
        num_envs: The number of all environments.

    Example:
        >>> stack_infos([(0, {"turn": 2}), (2, {"turn": 1, "success": True})], 3)["turn"]
        array([2, 0, 1])
    """
    found: dict[str, tuple[list[int], list[Any]]] = {}
    for index, info in infos:
        for key, value in info.items():
            place = found.get(key)
            if place is None:
                found[key] = ([index], [value])
            else:
                place[0].append(index)
                place[1].append(value)
    stacked: dict[str, Any] = {}
    for key, (indices, values) in found.items():
        mask = np.zeros(num_envs, dtype=np.bool_)
        mask[indices] = True
        stacked[key] = _merged(indices, values, num_envs)
        stacked[f"_{key}"] = mask
    return stacked


def column(indices: Sequence[int], values: Sequence[Any], num_envs: int) -> np.ndarray[Any, Any]:
    """Return an array of objects with some places filled, and None in the others."""
    array = np.full(num_envs, None, dtype=object)
    for index, value in zip(indices, values, strict=True):
        array[index] = value  # one by one: of a list of lists, numpy would make a table
    return array


def _merged(indices: list[int], values: list[Any], num_envs: int) -> Any:
    """Return the values of one key: a dictionary of what is in them, or an array."""
    kinds = set(map(type, values))
    if all(issubclass(kind, dict) for kind in kinds):
        return stack_infos(zip(indices, values, strict=True), num_envs)
    if len(kinds) > 1:
        return column(indices, values, num_envs)
    (kind,) = kinds
    if kind in (int, float, bool) or issubclass(kind, np.number):
        shape, dtype = (), np.dtype(kind)
    elif kind is np.ndarray and len({(value.shape, value.dtype) for value in values}) == 1:
        shape, dtype = values[0].shape, values[0].dtype
    else:
        return column(indices, values, num_envs)
    array = np.zeros((num_envs, *shape), dtype=dtype)
    array[indices] = values
    return array

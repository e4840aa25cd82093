"""Task families, one module a domain, and the look-up of those that involve some domains."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from envtune_gym.domains import BUILTIN_DOMAINS, domain_class
from envtune_gym.tasks.families.base import MAX_TURNS, REGISTRY, Draft, DraftTurn, Family, family

__all__ = ["MAX_TURNS", "Draft", "DraftTurn", "Family", "families", "family"]

_MODULES = (
    "gorilla_file_system",
    "math_api",
    "message_api",
    "ticket_api",
    "trading_bot",
    "travel_api",
    "twitter_api",
    "vehicle_control_api",
)


def families(domains: Iterable[str] | None = None) -> list[Family]:
    """Return the families that involve any of some domains, by name; all of the built-in domains by default.

    An outside package registers its families where it defines its domain; they count only when that domain is
    asked for, so that the default stream is the same whatever is installed.
    """
    for module in _MODULES:
        importlib.import_module(f"envtune_gym.tasks.families.{module}")
    wanted = BUILTIN_DOMAINS if domains is None else tuple(domains)
    for name in wanted:
        if name not in BUILTIN_DOMAINS:
            domain_class(name)  # its module registers the families
    found = [REGISTRY[name] for name in sorted(REGISTRY)]
    if domains is None:
        return [one for one in found if set(one.domains) <= set(BUILTIN_DOMAINS)]
    return [one for one in found if not set(wanted).isdisjoint(one.domains)]

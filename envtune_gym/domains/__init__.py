"""The eight API domains, each with its state and tools, and the place where outside packages add theirs.

An outside package registers a subclass of `Domain` in the entry-point group `envtune_gym.domains`, under the
class's own name.
"""

from __future__ import annotations

import importlib
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points

from envtune_gym.domains.base import Domain
from envtune_gym.errors import ConfigurationError

__all__ = ["BUILTIN_DOMAINS", "Domain", "domain_class", "domain_names"]

_MODULES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "twitter_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_api",
    "VehicleControlAPI": "vehicle_control_api",
}
BUILTIN_DOMAINS = tuple(_MODULES)


@lru_cache(maxsize=1)
def _outside() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group="envtune_gym.domains")}


def domain_names() -> tuple[str, ...]:
    """Return the names of all domains: the eight, then those of installed outside packages."""
    return (*BUILTIN_DOMAINS, *(name for name in _outside() if name not in _MODULES))


@cache
def domain_class(name: str) -> type[Domain]:
    """Return a domain's class, loading its module.

    Raises:
        ConfigurationError: If no domain has that name, or an entry point gives something else than a domain.
    """
    if name in _MODULES:
        module = importlib.import_module(f"envtune_gym.domains.{_MODULES[name]}")
        return getattr(module, name)  # type: ignore[no-any-return]
    if name not in _outside():
        raise ConfigurationError(f"unknown domain {name!r}; known: {', '.join(domain_names())}")
    loaded = _outside()[name].load()
    if not (isinstance(loaded, type) and issubclass(loaded, Domain) and loaded.__name__ == name):
        raise ConfigurationError(f"the entry point {name!r} of envtune_gym.domains is not a Domain subclass {name}")
    return loaded

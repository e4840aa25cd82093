"""The hint book: all rules by domain, those of this package, of outside packages and of the user.

The hints of a domain of this package are the `RULES` of the module here that is named as the domain's own module.
An outside package gives the hints of its domain by an entry point in the group `envtune_gym.hints`, under the
domain's name, that loads a sequence of `HintRule`.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any, NamedTuple

from typing_extensions import Self

from envtune_gym.domains import BUILTIN_DOMAINS, domain_class, domain_names
from envtune_gym.domains.base import ToolError
from envtune_gym.errors import ConfigurationError
from envtune_gym.feedback import general
from envtune_gym.feedback.rules import HintRule

__all__ = ["GENERAL", "Hint", "HintBook", "default_book", "domain_rules"]

GENERAL = "general"
"""Under this name, in place of a domain's, stand the rules for what goes wrong outside a tool."""


class Hint(NamedTuple):
    """A text for an error, and where it comes from.

    Attributes:
        text: The text.
        rule: The rule that it was made by.
        error: The error that it is about, with what the documentation adds to it.
    """

    text: str
    rule: HintRule
    error: ToolError


class HintBook:
    """Hint rules by domain; the first rule of a domain that applies is used, then the first general one.

    A rule applies if it is about such an error, and if the error has the values that its text speaks of.

    Args:
        rules: The rules by the name of their domain, or by `"general"`.

    Raises:
        ConfigurationError: If a name is not a domain's.
    """

    def __init__(self, rules: Mapping[str, Iterable[HintRule]]) -> None:
        known = (*domain_names(), GENERAL)
        for name in rules:
            if name not in known:
                raise ConfigurationError(f"hints for an unknown domain {name!r}; known: {', '.join(known)}")
        self.rules: dict[str, tuple[HintRule, ...]] = {name: tuple(own) for name, own in rules.items()}
        self._by_code = {name: _by_code(own) for name, own in self.rules.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make a book from plain data: for each domain a list of rules, each as `HintRule.to_dict` gives it.

        Raises:
            ConfigurationError: If it is anything else.
        """
        for name, rules in data.items():
            if not isinstance(rules, (list, tuple)) or not all(isinstance(rule, Mapping) for rule in rules):
                raise ConfigurationError(f"hints for {name!r} must be a list of rules, each a mapping of its fields")
        return cls({name: [HintRule.from_dict(rule) for rule in rules] for name, rules in data.items()})

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> HintBook:
        """Return the approved hints of a YAML hint book, as `envtune hints propose` writes it.

        Raises:
            DataError: If it cannot be read or is broken; the message names the line and the field.
            ConfigurationError: If it has hints for an unknown domain, or PyYAML is missing.
        """
        from envtune_gym.feedback.proposing.bookfile import load_entries, to_hint_book

        return to_hint_book(load_entries(path))

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """Return the book as plain data."""
        return {name: [rule.to_dict() for rule in rules] for name, rules in self.rules.items()}

    def over(self, other: HintBook) -> HintBook:
        """Return both books as one, in which the rules of this one are tried first."""
        names = dict.fromkeys((*self.rules, *other.rules))
        return HintBook({name: (*self.rules.get(name, ()), *other.rules.get(name, ())) for name in names})

    def find(self, domain: str | None, error: ToolError) -> HintRule | None:
        """Return the first rule about an error in a domain, or None if there is none."""
        return next((rule for rule in self._about(domain, error) if rule.applies_to(error)), None)

    def explain(
        self, domain: str | None, error: ToolError, offered: Collection[str], *, advise: bool = True
    ) -> Hint | None:
        """Return what to say about an error, or None if no rule applies.

        Args:
            domain: The domain of the tool that was called; None if there is no such tool.
            error: What went wrong.
            offered: Names of the tools on offer, the only ones that the text may name.
            advise: Whether to say, too, what kind of step resolves it.
        """
        for rule in self._about(domain, error):
            if rule.applies_to(error):
                text = rule.text(error, offered, advise=advise)
                if text is not None:
                    return Hint(text, rule, error)
        return None

    def _about(self, domain: str | None, error: ToolError) -> tuple[HintRule, ...]:
        """Return the rules with the code of an error, those of the domain first."""
        own = self._by_code.get(domain, {}).get(error.code, ()) if domain is not None else ()
        return own + self._by_code.get(GENERAL, {}).get(error.code, ())


def _by_code(rules: Iterable[HintRule]) -> dict[str, tuple[HintRule, ...]]:
    found: dict[str, tuple[HintRule, ...]] = {}
    for rule in rules:
        found[rule.code] = (*found.get(rule.code, ()), rule)
    return found


@lru_cache(maxsize=1)
def default_book() -> HintBook:
    """Return the rules of this package and of installed outside packages."""
    rules = {name: domain_rules(name) for name in domain_names()}
    return HintBook({**rules, GENERAL: general.RULES})


def domain_rules(domain: str) -> tuple[HintRule, ...]:
    """Return the installed rules of a domain; none if nobody has written any.

    Raises:
        ConfigurationError: If an entry point gives something else than rules.
    """
    if domain in BUILTIN_DOMAINS:
        module = f"{__package__}.{domain_class(domain).__module__.rpartition('.')[2]}"
        if find_spec(module) is not None:
            return tuple(importlib.import_module(module).RULES)
    if domain not in _outside():
        return ()
    rules = _outside()[domain].load()
    if not isinstance(rules, (list, tuple)) or not all(isinstance(rule, HintRule) for rule in rules):
        raise ConfigurationError(f"the entry point {domain!r} of envtune_gym.hints is not a sequence of HintRule")
    return tuple(rules)


def _outside() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group="envtune_gym.hints")}

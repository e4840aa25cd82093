"""Schemas: what a model is told of the tools is complete and true to their signatures."""

from __future__ import annotations

import inspect
import json
from typing import Any

import jsonschema

from envtune_gym.domains import domain_class, domain_names
from envtune_gym.domains.base import Domain
from envtune_gym.testing.base import Suite

__all__ = ["SchemaSuite"]

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class SchemaSuite(Suite):
    """Each tool has a documented JSON schema that comes from its signature; so has the class what it says of them."""

    def test_the_domain_is_documented_and_found_by_its_name(self) -> None:
        """Its class docstring is its page of the documentation."""
        cls = self.domain_class()
        assert self.domain in domain_names()
        assert cls.__name__ == self.domain
        assert (inspect.getdoc(cls) or "") != (inspect.getdoc(Domain) or ""), "the class has no docstring of its own"

    def test_tools_have_names_of_their_own(self) -> None:
        """A task may join any domains, so a tool's name must not occur in another."""
        cls = self.domain_class()
        assert cls.tools, "mark at least one method with @tool"
        for other in domain_names():
            if other != self.domain:
                assert not set(cls.tools) & set(domain_class(other).tools), f"{other} has tools of the same name"
        for name in cls.tools:
            assert not name.startswith("_")
            assert not hasattr(Domain, name), f"{name} is a method of every domain; rename the tool"

    def test_what_the_class_says_of_its_tools_and_state_is_there(self) -> None:
        """Tools and attributes that are named exist."""
        cls = self.domain_class()
        assert cls.random_tools <= set(cls.tools)
        assert cls.moving_tools <= set(cls.tools)
        for config in self.configs:
            domain = cls(config)
            assert list(domain.state()) == list(cls.state_fields)
            for name in cls.hidden_fields:
                assert hasattr(domain, name), f"hidden_fields names {name}, which __init__ does not set"

    def test_schemas_are_valid_and_documented(self) -> None:
        """Every tool, argument and field is described, and the schema is JSON Schema."""
        for name, tool in self.domain_class().tools.items():
            schema = tool.schema
            json.dumps(schema)
            assert schema["type"] == "function"
            assert schema["function"]["name"] == name
            assert schema["function"]["description"], f"{name} has no docstring"
            jsonschema.Draft202012Validator.check_schema(schema["function"]["parameters"])
            for place, inner in _described(schema["function"]["parameters"], name):
                assert inner.get("description"), f"{place} is not described"

    def test_schemas_are_those_of_the_signatures(self) -> None:
        """Arguments can be given by name; those without default are required, and a default is of its type."""
        for name, tool in self.domain_class().tools.items():
            parameters = tool.signature.parameters
            schema = tool.schema["function"]["parameters"]
            assert all(parameter.kind in _NAMED for parameter in parameters.values()), f"{name}: no *args, no **kwargs"
            assert list(schema["properties"]) == list(parameters)
            bare = [key for key, parameter in parameters.items() if parameter.default is parameter.empty]
            assert schema["required"] == bare
            for inner in schema["properties"].values():
                if "default" in inner:
                    jsonschema.validate(inner["default"], inner)


def _described(schema: dict[str, Any], place: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the arguments of a tool with their places, and the fields of those that are objects."""
    found: list[tuple[str, dict[str, Any]]] = []
    for name, inner in schema.get("properties", {}).items():
        found += [(f"{place}.{name}", inner), *_described(inner, f"{place}.{name}")]
    return found

"""The tools' interface is the official one; the words that describe it are not."""

import inspect

import pytest

from envtune_gym.domains import BUILTIN_DOMAINS, domain_class
from envtune_gym.official import load_tool_docs

from .oracle import official_class

TOOLS = {
    "GorillaFileSystem": 18,
    "MathAPI": 17,
    "MessageAPI": 10,
    "TwitterAPI": 14,
    "TicketAPI": 9,
    "TradingBot": 20,
    "TravelAPI": 18,
    "VehicleControlAPI": 22,
}
JSON_TYPES = {"dict": "object", "float": "number"}


def interface(schema):
    """Return what a schema demands, without its descriptions and in JSON schema's own names of the types."""
    found = {"type": JSON_TYPES.get(schema["type"], schema["type"])}
    if schema.get("default", "None") != "None":  # the official documents write a default of None as that string
        found["default"] = schema["default"]
    if "items" in schema:
        found["items"] = interface(schema["items"])
    if "properties" in schema:
        found["properties"] = {name: interface(inner) for name, inner in schema["properties"].items()}
    if "required" in schema:
        found["required"] = sorted(schema["required"])
    return found


def descriptions(schema):
    yield schema["description"]
    for inner in [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]:
        if "description" in inner:
            yield from descriptions(inner)


def words(text):
    return " ".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def test_the_domains_are_the_eight_of_the_benchmark():
    assert set(BUILTIN_DOMAINS) == set(TOOLS)


@pytest.mark.parametrize("domain", TOOLS)
def test_names_types_and_defaults_equal_the_official_documentation(domain):
    ours = {name: tool.schema["function"] for name, tool in domain_class(domain).tools.items()}
    official = {doc["name"]: doc for doc in load_tool_docs(domain)}
    assert len(ours) == TOOLS[domain]
    assert ours.keys() == official.keys()
    for name, doc in official.items():
        assert interface(ours[name]["parameters"]) == interface(doc["parameters"]), name


@pytest.mark.parametrize("domain", TOOLS)
def test_positional_arguments_mean_the_same(domain):
    backend = official_class(domain)
    for name, tool in domain_class(domain).tools.items():
        official = list(inspect.signature(getattr(backend, name)).parameters.values())[1:]
        found = [(p.name, p.kind, p.default) for p in tool.signature.parameters.values()]
        expected = [(p.name, p.kind, p.default) for p in official]
        assert found == expected, name


@pytest.mark.parametrize("domain", TOOLS)
def test_descriptions_are_our_own(domain):
    official = set()
    for doc in load_tool_docs(domain):
        official.add(words(doc["description"].split("Tool description:")[-1]))
        for schema in doc["parameters"]["properties"].values():
            official.update(map(words, descriptions(schema)))
    for name, tool in domain_class(domain).tools.items():
        function = tool.schema["function"]
        written = [function["description"]]
        for schema in function["parameters"]["properties"].values():
            written += descriptions(schema)
        copied = [text for text in written if words(text) in official]
        assert not copied, f"{name}: {copied}"

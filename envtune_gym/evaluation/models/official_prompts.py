"""The benchmark's prompts, put together from its installed files: instructions, tools that return, results."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from envtune_gym.official import load_prompts, load_tool_docs
from envtune_gym.tooldocs import SYNTAX_REMARK

__all__ = ["function_schemas", "results_message", "returned_tools_message", "system_message"]

_TEMPLATES = {"plaintext": "_PLAINTEXT_SYSTEM_PROMPT_TEMPLATE", "markdown": "_MARKDOWN_SYSTEM_PROMPT_TEMPLATE"}


def system_message(domains: Iterable[str], names: Collection[str]) -> str:
    """Return the instructions of the prompting mode.

    Args:
        domains: The domains of the task.
        names: The tools on offer.

    Raises:
        DataError: If the benchmark's files are not installed.
    """
    prompts = load_prompts()
    settings = dict(setting.split("=") for setting in prompts["DEFAULT_SYSTEM_PROMPT_FORMAT"].split("&"))
    style, language = prompts["PROMPT_STYLE_TEMPLATES"][settings["style"]], settings["ret_fmt"]
    documents = [
        {**document, "description": document["description"] + SYNTAX_REMARK}
        for document in _documents(domains)
        if document["name"] in names
    ]
    template: str = prompts[_TEMPLATES[settings["prompt_fmt"]]]
    return template.format(
        persona=style["persona"],
        task=style["task"],
        tool_call_format=style["tool_call_no_tag"].format(
            output_format=prompts["OUTPUT_FORMAT_MAPPING"][language],
            param_types=prompts["PARAM_TYPE_MAPPING"][language],
        ),
        multiturn_behavior=style["multiturn_behavior"],
        available_tools=style["available_tools"].format(
            format=settings["func_doc_fmt"], functions=json.dumps(documents, indent=4)
        ),
    )


def returned_tools_message(domains: Iterable[str], names: Sequence[str], request: str) -> str:
    """Return the user's message that brings tools back in the prompting mode.

    Args:
        domains: The domains of the task.
        names: The tools that return. Unlike those on offer from the beginning, they lack the remark on their syntax.
        request: The benchmark's fixed message.
    """
    found = {document["name"]: document for document in _documents(domains)}
    return f"{[found[name] for name in names]}\n{request}"


def results_message(results: Iterable[tuple[str, str]]) -> str:
    """Return the message that shows results in the prompting mode.

    Args:
        results: Each call as the executor was given it, and its result.
    """
    return repr([{"role": "tool", "name": call, "content": content} for call, content in results])


def function_schemas(
    domains: Iterable[str], tools: Iterable[Mapping[str, Any]], returned: Collection[str]
) -> list[dict[str, Any]]:
    """Return function schemas as the benchmark sends them: in its order, those of returned tools last.

    Beyond the environment's schemas they have what the tools return, and a format of floats; those of returned tools
    lack the remark on their syntax.

    Args:
        domains: The domains of the task.
        tools: The environment's schemas of the tools on offer.
        returned: Names of those that were not on offer from the beginning.
    """
    functions = {tool["function"]["name"]: tool["function"] for tool in tools}
    documents = {document["name"]: document for document in _documents(domains)}
    first = [name for name in documents if name in functions and name not in returned]
    last = [name for name in functions if name in returned]
    schemas = [_function_schema(functions[name], documents[name]) for name in (*first, *last)]
    for schema in schemas[len(first) :]:
        schema["description"] = schema["description"].removesuffix(SYNTAX_REMARK)
    return [{"type": "function", "function": schema} for schema in schemas]


def _function_schema(function: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    parameters = _with_formats(function["parameters"], document["parameters"])
    return {**function, "parameters": parameters, "response": document["response"]}


def _with_formats(schema: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema in which each property that the documentation calls a float has that as its format."""
    written = dict(schema)
    if "properties" in schema:
        documents = document["properties"]
        written["properties"] = {
            name: _with_formats(inner, documents[name])
            | ({"format": "float"} if documents[name].get("type") == "float" else {})
            for name, inner in schema["properties"].items()
        }
    if "items" in schema:
        written["items"] = _with_formats(schema["items"], document["items"])
    return written


def _documents(domains: Iterable[str]) -> list[dict[str, Any]]:
    return [document for domain in domains for document in load_tool_docs(domain)]

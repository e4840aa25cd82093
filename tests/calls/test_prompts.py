import json

import pytest

from envtune_gym.calls import describe_tools, parse_action, system_prompt
from envtune_gym.calls.prompts import EXAMPLE_ANSWER, EXAMPLE_CALLS, example_answer, example_calls
from envtune_gym.errors import ConfigurationError

from .texts import FORMATS

TOOL = {
    "type": "function",
    "function": {
        "name": "book",
        "description": "Book a flight. It costs\nmoney.",
        "parameters": {
            "type": "object",
            "properties": {
                "card": {"type": "string", "description": "Card."},
                "stops": {"type": "array", "items": {"type": "integer"}, "description": "Stops."},
                "seat": {"type": "string", "enum": ["aisle", "window"], "default": "aisle", "description": "Seat."},
                "extra": {"type": "object", "properties": {"bags": {"type": "number"}}, "description": "Extra."},
                "flag": {"type": "boolean", "default": False, "description": "Flag."},
            },
            "required": ["card", "stops"],
        },
    },
}
SIGNATURE = (
    "book(card: str, stops: list[int], seat: 'aisle' | 'window' = 'aisle', extra: {'bags': float} = None, "
    "flag: bool = False)  # Book a flight."
)


@pytest.mark.parametrize("style", ["full", "compact"])
@pytest.mark.parametrize("action_format", ["tool_call", "python"])
def test_the_example_of_the_prompt_is_read_as_meant(action_format, style):
    prompt = system_prompt(action_format, [TOOL], style=style)
    calls, answer = example_calls(action_format), example_answer(action_format)
    assert calls in prompt
    assert answer in prompt
    assert parse_action(calls, action_format, strict=True).calls == EXAMPLE_CALLS
    assert parse_action(answer, action_format, strict=True).answer == EXAMPLE_ANSWER
    assert prompt.endswith(describe_tools(action_format, [TOOL], style=style))


def test_tools_in_full_are_one_schema_a_line():
    lines = describe_tools("tool_call", [TOOL, TOOL]).splitlines()
    assert [json.loads(line) for line in lines] == [TOOL["function"]] * 2


def test_compact_tools_are_signatures():
    assert describe_tools("python", [TOOL, TOOL], style="compact") == f"{SIGNATURE}\n{SIGNATURE}"


def test_openai_tools_travel_apart():
    assert describe_tools("openai", [TOOL]) == ""
    assert "book" not in system_prompt("openai", [TOOL])


@pytest.mark.parametrize("function", [system_prompt, describe_tools])
def test_unknown_names_are_errors_that_name_the_known(function):
    with pytest.raises(ConfigurationError, match=", ".join(FORMATS)):
        function("xml", [])
    with pytest.raises(ConfigurationError, match="full, compact"):
        function("python", [], style="short")


def test_compact_signatures_of_official_tools_say_what_the_tool_does():
    description = "This tool belongs to the file system. Tool description: List a folder. More words."
    tool = {"type": "function", "function": {"name": "ls", "description": description, "parameters": {}}}
    assert describe_tools("python", [tool], style="compact") == "ls()  # List a folder."

import json

import pytest

from envtune_gym.asking.completion import UnreadableAnswerError, read_completion


def body(message=None, usage=None, **choice):
    answer = {"choices": [{"message": message, **choice}], "usage": usage}
    return json.dumps(answer).encode()


def test_a_reply_is_taken_apart():
    calls = [{"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]
    message = {"role": "assistant", "content": "look", "tool_calls": calls, "reasoning_content": "hm"}
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    completion = read_completion(body(message, usage, finish_reason="tool_calls"))
    assert (completion.text, completion.tool_calls, completion.reasoning) == ("look", calls, "hm")
    assert (completion.prompt_tokens, completion.completion_tokens) == (7, 3)
    assert completion.is_finished
    assert not completion.is_empty


def test_the_texts_of_a_list_of_parts_are_joined():
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, 5, {"type": "text", "text": "b"}, {"text": 1}]
    assert read_completion(body({"content": parts})).text == "ab"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"<html>",
        b"[]",
        b"null",
        b"{}",
        b'{"choices": null}',
        b'{"choices": []}',
        b'{"choices": {"0": 1}}',
        b'{"choices": [7]}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": ["x"]}]}',
        b'{"choices": [{"message": {"content": "x"}}',
        b"\xff\xfe\x00",
        b"[" * 200_000,
        b'{"choices": ' + b"9" * 10_000 + b"}",
    ],
)
def test_what_holds_no_message_is_unreadable(answer):
    with pytest.raises(UnreadableAnswerError):
        read_completion(answer)


@pytest.mark.parametrize("message", [{}, {"content": None}, {"content": 5, "tool_calls": []}, {"content": " \n"}])
def test_a_message_without_anything_is_empty(message):
    assert read_completion(body(message)).is_empty


@pytest.mark.parametrize(
    "usage", [None, [], "7", {}, {"prompt_tokens": "7"}, {"prompt_tokens": -1}, {"prompt_tokens": True},
              {"prompt_tokens": 1e3}, {"prompt_tokens": 10**30}]
)  # fmt: skip
def test_tokens_that_are_no_count_are_none(usage):
    completion = read_completion(body({"content": "x"}, usage, finish_reason="stop"))
    assert (completion.prompt_tokens, completion.completion_tokens, completion.is_finished) == (0, 0, False)

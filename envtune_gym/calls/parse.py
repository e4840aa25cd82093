"""Model text to calls, an answer, or a parse error, for each action format. Total and bounded: any string will do."""

from __future__ import annotations

from envtune_gym.calls import openai, python, tool_call
from envtune_gym.calls.reply import (
    ACTION_FORMATS,
    MAX_CALLS,
    ActionFormat,
    Decoder,
    Meaning,
    ParseError,
    RefusedError,
    Reply,
    readable,
    refusal,
)
from envtune_gym.callsyntax import MAX_LENGTH
from envtune_gym.errors import ConfigurationError

__all__ = ["parse_action"]


def parse_action(
    text: str, action_format: ActionFormat, *, decoder: Decoder = "correct", strict: bool = False
) -> Reply:
    """Read an assistant message.

    Args:
        text: The message, whatever it holds.
        action_format: The format it is to be read in; the modules of that name say what each takes.
        decoder: How calls are decoded in the python and openai formats; the tool_call format knows but one way.
        strict: Whether a message that breaks the letter of its format is a parse error, as in the paper, instead of
            being taken for what it means.

    Returns:
        What it means. A message of more than `MAX_LENGTH` characters or `MAX_CALLS` calls is a parse error in every
        format.

    Raises:
        ConfigurationError: If the format or the decoder is unknown.
    """
    if decoder not in ("correct", "official"):
        raise ConfigurationError(f"unknown decoder {decoder!r}; known: correct, official")
    if len(text) > MAX_LENGTH:
        error = ParseError(f"message of more than {MAX_LENGTH:,} characters", MAX_LENGTH)
        return _refused(text[:MAX_LENGTH], error)
    try:
        meaning = _parse(text, action_format, decoder)
        if len(meaning.calls) > MAX_CALLS:
            raise RefusedError(refusal(text, 0, f"more than {MAX_CALLS} calls", f"at most {MAX_CALLS} calls"))
    except RefusedError as refused:
        return _refused(text, refused.error)
    if strict and meaning.breach is not None:
        return _refused(text, meaning.breach)
    message = meaning.message or {"role": "assistant", "content": readable(text)}
    answer = None if meaning.calls else meaning.answer
    return Reply(tuple(meaning.calls), answer, None, meaning.breach is None, message)


def _parse(text: str, action_format: ActionFormat, decoder: Decoder) -> Meaning:
    if action_format == "tool_call":
        return tool_call.parse(text)
    if action_format == "python":
        return python.parse(text, decoder)
    if action_format == "openai":
        return openai.parse(text, decoder)
    raise ConfigurationError(f"unknown action format {action_format!r}; known: {', '.join(ACTION_FORMATS)}")


def _refused(text: str, error: ParseError) -> Reply:
    return Reply((), None, error, False, {"role": "assistant", "content": readable(text)})

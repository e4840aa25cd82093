"""Model text to calls and back: the three action formats, their decoders, and the prompts that explain them."""

from __future__ import annotations

from envtune_gym.calls.parse import parse_action
from envtune_gym.calls.prompts import describe_tools, system_prompt
from envtune_gym.calls.render import render_answer, render_calls
from envtune_gym.calls.reply import MAX_CALLS, ActionFormat, Decoder, DocStyle, ParseError, Reply

__all__ = [
    "MAX_CALLS",
    "ActionFormat",
    "Decoder",
    "DocStyle",
    "ParseError",
    "Reply",
    "describe_tools",
    "parse_action",
    "render_answer",
    "render_calls",
    "system_prompt",
]

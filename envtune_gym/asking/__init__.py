"""Asking a language model many things: the server, many questions at once, replies as data, and what is done already.

Used by whatever asks a model for texts (hints, paraphrases). `chat` is the server, `crowd` keeps several questions in
work, `reply` reads a JSON object out of what a model writes, `journal` is what a run that was killed goes on from.
"""

from __future__ import annotations

from envtune_gym.asking.chat import ChatModel, Message, ModelSettings, RefusedAccessError, RefusedRequestError, Writer
from envtune_gym.asking.completion import Completion
from envtune_gym.asking.crowd import Outcome, ask_all
from envtune_gym.asking.journal import JournalFile
from envtune_gym.asking.reply import MalformedReplyError, cut, read_reply

__all__ = [
    "ChatModel",
    "Completion",
    "JournalFile",
    "MalformedReplyError",
    "Message",
    "ModelSettings",
    "Outcome",
    "RefusedAccessError",
    "RefusedRequestError",
    "Writer",
    "ask_all",
    "cut",
    "read_reply",
]

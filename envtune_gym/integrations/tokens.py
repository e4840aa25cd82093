"""A conversation as tokens: what the model read and wrote, which of it is its own, and at what probability.

Text is never decoded and tokenised again. The model's tokens are kept as they were sampled; the tokens of what the
environment adds come from the chat template, as the part by which its rendering of the conversation has grown. That
holds only for templates under which a conversation's rendering begins with the rendering of its beginning, so each
step checks it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from envtune_gym.errors import ConfigurationError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["ChatTemplate", "ChatTemplateError", "Conversation", "Message", "ToolRole"]

Message = dict[str, Any]
ToolRole = Literal["auto", "tool", "user"]

_PROBES = ("done", '<think>look first</think>\n<tool_call>[{"name": "ls", "arguments": {}}]</tool_call>')
"""Replies that a template must leave alone: some drop or reformat the thinking part of earlier turns."""


_OPENINGS = 64
"""First prompts that are kept: more than the groups of a batch."""


class ChatTemplateError(ConfigurationError):
    """A chat template that cannot carry a growing conversation."""


class ChatTemplate:
    """The tokenizer's chat template as a function from a conversation to the tokens that each addition brings.

    Args:
        tokenizer: A tokenizer with a chat template and an end token that closes the assistant's messages.
        tool_role: How tool results are shown. `"tool"`: one message of that role for each call. `"user"`: one user
            message with the environment's observation. `"auto"`: `"tool"` if the template names that role, else
            `"user"`, since a model whose template ignores the role was not trained to read it.

    Raises:
        ChatTemplateError: If the template fails on a tool conversation, rewrites earlier messages, or closes the
            assistant's messages otherwise than with an end token of the tokenizer.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, tool_role: ToolRole = "auto") -> None:
        if tokenizer.chat_template is None or tokenizer.eos_token_id is None:
            raise ChatTemplateError("the tokenizer needs a chat template and an end token (eos_token)")
        self._tokenizer = tokenizer
        named = "tool" if "tool" in tokenizer.get_chat_template() else "user"
        self.tool_role = named if tool_role == "auto" else tool_role
        self.end_id = int(tokenizer.eos_token_id)
        self._opening = lru_cache(_OPENINGS)(self._make_opening)
        self._check()

    def render(self, messages: Sequence[Message]) -> str:
        """Return the text of a conversation, up to where the assistant is to write.

        Raises:
            ChatTemplateError: If the template refuses the conversation.
        """
        try:
            return str(self._tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True))
        except Exception as error:  # a template is a program of its own and may raise anything
            hint = '; tool_role="user" may help' if self.tool_role == "tool" else ""
            raise ChatTemplateError(f"the chat template refuses the conversation: {error}{hint}") from error

    def encode(self, text: str) -> list[int]:
        """Return the tokens of rendered text; the template has put in all special tokens itself."""
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def opening(self, messages: Sequence[Message]) -> tuple[str, list[int]]:
        """Return the text and the tokens of a first prompt; all rollouts of a group have the same one, which is long.

        Raises:
            ChatTemplateError: If the template refuses the conversation.
        """
        text, ids = self._opening(json.dumps(messages), date.today())
        return text, list(ids)

    def _make_opening(self, messages: str, _: date) -> tuple[str, tuple[int, ...]]:
        # Some templates write the date, and a prompt of yesterday is not the beginning of today's conversation.
        text = self.render(json.loads(messages))
        return text, tuple(self.encode(text))

    def decode(self, ids: Sequence[int]) -> str:
        """Return what the model wrote, without special tokens."""
        return str(self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def added(self, messages: Sequence[Message], observation: str) -> list[Message]:
        """Return the messages that the environment added in a step, in roles that the template renders.

        Args:
            messages: The step's `info["messages"]`; the assistant's own, which it opens with, is left out.
            observation: The step's observation, which has the same content as one text.
        """
        new = [message for message in messages if message["role"] != "assistant"]
        if self.tool_role == "user" and any(message["role"] == "tool" for message in new):
            return [{"role": "user", "content": observation}]
        return new

    def continuation(self, before: str, reply: str, after: str) -> list[int]:
        """Return the tokens by which a rendering grew, less those of the reply: its end token and what follows.

        Args:
            before: The rendering that the model replied to.
            reply: What it wrote.
            after: The rendering with the reply and the messages that followed.

        Raises:
            ChatTemplateError: If `before` and the reply are not the beginning of `after`.
        """
        grown = after[len(before) :].lstrip()
        body = reply.strip()  # templates may trim a message; the model's own tokens are kept as sampled
        if not after.startswith(before) or not grown.startswith(body):
            raise ChatTemplateError(
                "the chat template rewrites earlier messages when new ones are added, so the tokens sampled so far "
                "would no longer be the conversation; use a template that only appends"
            )
        ids = self.encode(grown[len(body) :].lstrip())
        if ids[:1] != [self.end_id]:
            raise ChatTemplateError(
                "the chat template does not close the assistant's message with the tokenizer's end token "
                f"{self._tokenizer.eos_token!r}; set tokenizer.eos_token to the one that it uses"
            )
        return ids

    def _check(self) -> None:
        """Play a conversation of three turns through the template."""
        result = {"role": "tool", "name": "ls", "content": "[]"}
        additions = ([result], [{"role": "user", "content": "go on"}], [result])
        for reply in _PROBES:
            messages: list[Message] = [{"role": "system", "content": "rules"}, {"role": "user", "content": "begin"}]
            before = self.render(messages)
            for new in additions:
                messages += [{"role": "assistant", "content": reply}, *self.added(new, "[]")]
                after = self.render(messages)
                self.continuation(before, reply, after)
                before = after


class Conversation:
    """One episode as tokens; `completion_ids`, `mask` and `logprobs` have one length at every moment.

    The completion is all that follows the first prompt. Its mask is 1 on the tokens that the model wrote, the end
    token included, and 0 on what the template and the environment added; their log-probability is 0.0.

    Args:
        template: The chat template.
    """

    def __init__(self, template: ChatTemplate) -> None:
        self._template = template
        self._messages: list[Message] = []
        self._rendered = ""
        self._reply = ""
        self.prompt_ids: list[int] = []
        self.completion_ids: list[int] = []
        self.mask: list[int] = []
        self.logprobs: list[float] = []

    def open(self, messages: Sequence[Message]) -> None:
        """Make the first prompt.

        Args:
            messages: What the model is to reply to first.

        Raises:
            ChatTemplateError: If the template refuses the conversation.
        """
        self._rendered, self.prompt_ids = self._template.opening(messages)
        self._messages = list(messages)

    @property
    def ids(self) -> list[int]:
        """All tokens so far: what the model reads next."""
        return self.prompt_ids + self.completion_ids

    def add_reply(self, ids: Sequence[int], logprobs: Sequence[float]) -> str:
        """Add what the model wrote; return it as text."""
        self._extend(ids, 1, logprobs)
        self._reply = self._template.decode(ids)
        return self._reply

    def add_messages(self, messages: Sequence[Message], observation: str, room: int) -> bool:
        """Add what the environment says to the last reply, if its tokens fit.

        A reply that stopped at a length limit, without the end token, gets it here, with mask 0.

        Args:
            messages: The step's `info["messages"]`.
            observation: The step's observation.
            room: The most tokens that may be added.

        Returns:
            Whether they fitted; if not, nothing is added.

        Raises:
            ChatTemplateError: If the new rendering does not begin with the old one.
        """
        new = [{"role": "assistant", "content": self._reply}, *self._template.added(messages, observation)]
        rendered = self._template.render([*self._messages, *new])
        ids = self._template.continuation(self._rendered, self._reply, rendered)
        if self.completion_ids[-1:] == [self._template.end_id]:
            del ids[0]
        if len(ids) > room:
            return False
        self._extend(ids, 0, [0.0] * len(ids))
        self._messages += new
        self._rendered = rendered
        return True

    def _extend(self, ids: Sequence[int], mask: int, logprobs: Sequence[float]) -> None:
        if len(ids) != len(logprobs):
            raise ValueError(f"{len(ids)} tokens came with {len(logprobs)} log-probabilities")
        self.completion_ids += ids
        self.mask += [mask] * len(ids)
        self.logprobs += logprobs

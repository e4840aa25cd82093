"""A conversation as tokens: what the model read and wrote, which of it is its own, and at what probability.

Text is never decoded and tokenised again. The model's tokens are kept as they were sampled; the tokens of what the
environment adds come from the chat template, as the part by which its rendering of the conversation has grown. That
holds only for templates under which a conversation's rendering begins with the rendering of its beginning, so each
step checks it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakValueDictionary

from envtune_gym.errors import ConfigurationError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["ChatTemplate", "ChatTemplateError", "Conversation", "Message", "Prompt", "ToolRole"]

Message = dict[str, Any]
ToolRole = Literal["auto", "tool", "user"]

_PROBES = ("done", '<think>look first</think>\n<tool_call>[{"name": "ls", "arguments": {}}]</tool_call>')
"""Replies that a template must leave alone: some drop or reformat the thinking part of earlier turns."""


class ChatTemplateError(ConfigurationError):
    """A chat template that cannot carry a growing conversation."""


@dataclass(eq=False)
class Prompt:
    """What the model is to reply to; conversations that have gone alike share one, which is never changed.

    Attributes:
        messages: The conversation; nothing in it is an environment's.
        text: Its rendering.
        ids: The tokens of a first prompt; of a later one, those that follow the reply: its end token and the rest.
        next: The prompts that have come of it, by what was replied and added, as long as a conversation is there.
    """

    messages: list[Message]
    text: str
    ids: tuple[int, ...]
    next: WeakValueDictionary[tuple[str, str, date], Prompt] = field(default_factory=WeakValueDictionary)


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
        self.empty = Prompt([], "", ())
        # Some templates write the date, and a prompt of yesterday is not the beginning of today's conversation.
        self._openings: WeakValueDictionary[tuple[str, date], Prompt] = WeakValueDictionary()
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

    def opening(self, messages: Sequence[Message]) -> Prompt:
        """Return a first prompt; it is long, and all rollouts of a group have the same one.

        Raises:
            ChatTemplateError: If the template refuses the conversation.
        """
        key = json.dumps(messages), date.today()
        prompt = self._openings.get(key)
        if prompt is None:
            text = self.render(messages)
            prompt = self._openings[key] = Prompt(json.loads(key[0]), text, tuple(self.encode(text)))
        return prompt

    def read_ahead(self, openings: Iterable[Sequence[Message]]) -> list[Prompt]:
        """Return first prompts that are made together, for a tokenizer reads many texts on all cores.

        As long as they are kept, `opening` finds them. If one cannot be made, none is: there each fails for itself.

        Args:
            openings: The conversations.
        """
        made: dict[tuple[str, date], str] = {}
        try:
            for messages in openings:
                key = json.dumps(messages), date.today()
                if key not in made:
                    made[key] = self.render(messages)
            tokens = self._tokenizer(list(made.values()), add_special_tokens=False)["input_ids"] if made else []
            prompts = [
                Prompt(json.loads(messages), text, tuple(ids))
                for ((messages, _), text), ids in zip(made.items(), tokens, strict=True)
            ]
        except Exception:  # a template, and a tokenizer of somebody's own, may raise anything
            return []
        self._openings.update(zip(made, prompts, strict=True))
        return prompts

    def following(self, prompt: Prompt, reply: str, messages: Sequence[Message], observation: str) -> Prompt:
        """Return what the model is to reply to next; where rollouts of a group go alike, it is made once.

        Args:
            prompt: What it replied to.
            reply: What it wrote.
            messages: The step's `info["messages"]`, plain data.
            observation: The step's observation.

        Raises:
            ChatTemplateError: If the new rendering does not begin with the old one.
        """
        new = json.dumps(self.added(messages, observation))
        key = reply, new, date.today()
        following = prompt.next.get(key)
        if following is None:
            conversation = [*prompt.messages, {"role": "assistant", "content": reply}, *json.loads(new)]
            text = self.render(conversation)
            ids = tuple(self.continuation(prompt.text, reply, text))
            following = prompt.next[key] = Prompt(conversation, text, ids)
        return following

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
        self._prompt = template.empty
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
        self._begin(self._template.opening(messages))

    def open_like(self, other: Conversation) -> None:
        """Begin with the first prompt of another conversation, which has not gone on."""
        self._begin(other._prompt)

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
        prompt = self._template.following(self._prompt, self._reply, messages, observation)
        ids = prompt.ids
        if self.completion_ids[-1:] == [self._template.end_id]:
            ids = ids[1:]
        if len(ids) > room:
            return False
        self._extend(ids, 0, [0.0] * len(ids))
        self._prompt = prompt
        return True

    def _begin(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self.prompt_ids = list(prompt.ids)

    def _extend(self, ids: Sequence[int], mask: int, logprobs: Sequence[float]) -> None:
        if len(ids) != len(logprobs):
            raise ValueError(f"{len(ids)} tokens came with {len(logprobs)} log-probabilities")
        self.completion_ids += ids
        self.mask += [mask] * len(ids)
        self.logprobs += logprobs

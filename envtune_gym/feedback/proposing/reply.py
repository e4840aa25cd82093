"""What the generator and the judge are to reply, and how it is read from what they write."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from envtune_gym.feedback.rules import MAX_TEXT, Augmentation, ErrorCategory

__all__ = ["Judgement", "MalformedReplyError", "Proposal", "read_reply"]

R = TypeVar("R", bound=BaseModel)

_LONGEST_REPLY = 20_000
_MOST_STARTS = 200


def _on_one_line(text: Any) -> Any:
    """Return a text with blanks for the line breaks, which a model puts where it likes."""
    return " ".join(text.split()) if isinstance(text, str) else text


Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT), BeforeValidator(_on_one_line)]
Remark = Annotated[str, StringConstraints(min_length=1, max_length=2_000), BeforeValidator(_on_one_line)]


class MalformedReplyError(ValueError):
    """A reply that is not what was asked for; the message says why, for the model to read."""


class Proposal(BaseModel):
    """A hint as the generator proposes it.

    Attributes:
        need: What the agent has to understand or find out.
        category: What kind of error it is.
        augmentation: What kind of help the hint gives.
        error: The text of level `error`: what went wrong, and the rule behind it.
        actionable: The texts that level `actionable` adds, the preferred one first; the last one names no tool.
    """

    model_config = ConfigDict(frozen=True)

    need: Remark
    category: ErrorCategory
    augmentation: Augmentation
    error: Text
    actionable: Annotated[tuple[Text, ...], Field(min_length=1, max_length=4)]


class Judgement(BaseModel):
    """What the judge says of a proposal, question by question.

    Attributes:
        leaks_solution: Whether it gives away a call, a value or the sequence of calls.
        leaves_exploration_open: Whether finding the right step is left to the agent.
        is_actionable: Whether it says what kind of step helps.
        teaches_rule: Whether it states the rule behind the error.
        reasons: Why.
    """

    model_config = ConfigDict(frozen=True)

    leaks_solution: bool
    leaves_exploration_open: bool
    is_actionable: bool
    teaches_rule: bool
    reasons: Annotated[tuple[Remark, ...], Field(min_length=1)]

    @property
    def approved(self) -> bool:
        """Whether nothing speaks against the proposal."""
        return not self.leaks_solution and self.leaves_exploration_open and self.is_actionable and self.teaches_rule


def read_reply(text: str, kind: type[R]) -> R:
    """Return the reply that a text holds: its last JSON object, whatever stands before and after it.

    Raises:
        MalformedReplyError: If there is no JSON object, or it is not of that kind.
    """
    found = _last_object(text[-_LONGEST_REPLY:])
    if found is None:
        raise MalformedReplyError("the reply holds no JSON object")
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        raise MalformedReplyError("; ".join(_described(fault) for fault in faults[:5])) from None


def _last_object(text: str) -> dict[str, Any] | None:
    """Return the last JSON object that stands in a text, not within another one."""
    decoder = json.JSONDecoder()
    last: dict[str, Any] | None = None
    position = text.find("{")
    for _ in range(_MOST_STARTS):
        if position < 0:
            break
        try:
            last, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        position = text.find("{", end)
    return last


def _described(fault: Any) -> str:
    field = ".".join(map(str, fault["loc"]))
    return f"{field}: {fault['msg']}" if field else str(fault["msg"])

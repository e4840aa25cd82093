"""What the generator and the judge are to reply."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from envtune_gym.feedback.rules import MAX_TEXT, Augmentation, ErrorCategory

__all__ = ["Judgement", "Proposal"]


def _on_one_line(text: Any) -> Any:
    """Return a text with blanks for the line breaks, which a model puts where it likes."""
    return " ".join(text.split()) if isinstance(text, str) else text


Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT), BeforeValidator(_on_one_line)]
Remark = Annotated[str, StringConstraints(min_length=1, max_length=2_000), BeforeValidator(_on_one_line)]


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

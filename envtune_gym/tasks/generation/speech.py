"""How a user talks: a manner for the whole task, courtesies around a request, and several requests in one message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from envtune_gym.tasks.generation.rng import Rng
from envtune_gym.tasks.generation.small_talk import aside
from envtune_gym.tasks.goals.people import FIRST_NAMES

__all__ = ["MANNERS", "Manner", "say"]


@dataclass(frozen=True, slots=True)
class Manner:
    """A way of talking.

    Attributes:
        name: What it is called.
        openers: Beginnings of the first message.
        links: Beginnings of later messages.
        closers: Ends of a message.
        courtesy: How often a message has an opener, link or closer.
        asides: How often it has a sentence of small talk before the request.
    """

    name: str
    openers: tuple[str, ...]
    links: tuple[str, ...]
    closers: tuple[str, ...]
    courtesy: float
    asides: float


MANNERS = (
    Manner("terse", ("Quick one:", "First:"), ("Next:", "Now:", "Also:"), ("Thx.", "That's it."), 0.15, 0.0),
    Manner(
        "plain",
        ("I could use a hand.", "I need some help.", "Let's get going."),
        ("One more thing.", "Next.", "All right.", "Good.", "Now for something else."),
        ("Thanks.", "Thank you."),
        0.3,
        0.1,
    ),
    Manner(
        "friendly",
        ("Hi!", "Hello there!", "Hey, hope you're well.", "Morning!"),
        ("Great.", "Lovely, thank you.", "You're a star.", "Perfect!", "Nice one."),
        ("Thanks a lot!", "That would help a lot.", "Cheers!"),
        0.5,
        0.35,
    ),
    Manner(
        "formal",
        ("Good morning.", "Good afternoon.", "Good day, I would like your assistance."),
        ("Very well.", "Thank you.", "Understood.", "I appreciate it.", "That is noted."),
        ("Much obliged.", "Kind regards.", "Thank you for your help."),
        0.5,
        0.15,
    ),
    Manner(
        "rambling",
        ("So, it's been one of those days.", "Hi, busy afternoon here.", "Hello, let me think where to start."),
        ("Okay, where were we?", "Right, that's off my list.", "One thing while you are here.", "Oh, before I forget."),
        ("No rush, but today would be good.", "I think that's all for this one.", "Hope that makes sense."),
        0.4,
        0.75,
    ),
)  # fmt: skip
"""The manners; a task keeps one throughout."""

_JOINTS = (
    (" Then: ", " And last: "),
    (" After that: ", " Finally: "),
    (" Another thing: ", " And one more: "),
    (" When you have that: ", " Last of all: "),
    (" Next: ", " Then there is this: "),
)
"""What stands before the second and the third request of a message."""
_KEPT = frozenset(("I", "Id", "Im", "Ill", "Ive", *FIRST_NAMES))
"""Words that have a capital letter everywhere, apostrophes left out."""


def say(rng: Rng, manner: Manner, requests: Sequence[str], first: bool) -> str:
    """Return one user message made of one to three requests, in their order.

    Args:
        rng: What to draw from.
        manner: The task's manner.
        requests: The requests.
        first: Whether the message opens the conversation.
    """
    joints = rng.pick(_JOINTS) if len(requests) > 1 else ()
    text = "".join([requests[0], *(joint + _lowered(more) for joint, more in zip(joints, requests[1:], strict=False))])
    before = rng.pick(manner.openers if first else manner.links) if rng.chance(manner.courtesy) else ""
    after = rng.pick(manner.closers) if rng.chance(manner.courtesy / 2) else ""
    between = aside(rng) if rng.chance(manner.asides) else ""
    if before.endswith(":"):
        text = _lowered(text)
    return " ".join(part for part in (before, between, text, after) if part)


def _lowered(text: str) -> str:
    """Return a text with a small first letter, if its first word is an ordinary one."""
    first = text.split(" ", 1)[0].strip(",.!?").replace("'", "")
    if first in _KEPT or not first.isalpha() or not first[1:].islower():
        return text
    return text[0].lower() + text[1:]

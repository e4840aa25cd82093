"""What the model is told; messages stand in it as JSON strings, so that none can pass for an instruction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from envtune_gym.asking import Message, cut

__all__ = ["MANNERS", "rejection", "request"]

MANNERS = (
    "brief and direct",
    "plain and neutral",
    "friendly and relaxed",
    "formal and polite",
    "like someone who thinks aloud",
)
"""Ways of talking; a task keeps one throughout."""

_SYSTEM = """\
You put what a user says to an assistant into other words. The assistant will work from your words alone, so they must
ask for exactly the same.

Rules:
- Change wording and sentence structure; keep the meaning, each single request, and the order of the requests.
- Keep numbers, ids, dates, file names, names and quoted texts letter by letter, quoted texts in quotation marks.
- Add no fact, value, name or example. What the user leaves unsaid stays unsaid.
- Write as the user, to the assistant. Do not answer the request and do not comment on it.

Reply with one JSON object and nothing else:
{"message": "the user's message in other words"}"""


def request(original: str, earlier: Sequence[str], kept: Iterable[str], manner: str, bound: int) -> list[Message]:
    """Return the conversation that asks for a paraphrase.

    Args:
        original: The message to be put into other words.
        earlier: The user's messages before it.
        kept: What must stay letter by letter.
        manner: The way of talking.
        bound: The most characters.
    """
    parts = [f"Earlier messages of the user, to be left as they are: {_quoted(list(earlier))}"] if earlier else []
    parts += [
        f"The message: {_quoted(original)}",
        f"Texts that must stand in it letter by letter: {_quoted(list(kept))}",
        f"Manner: {manner}. At most {bound} characters.",
    ]
    return [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": "\n".join(parts)}]


def rejection(reply: str, reasons: Iterable[str]) -> list[Message]:
    """Return the messages that ask again after a reply that was refused."""
    listed = "\n".join(f"- {cut(reason, 300)}" for reason in reasons)
    return [
        {"role": "assistant", "content": cut(reply, 2_000) or "(empty)"},
        {"role": "user", "content": f"That was refused:\n{listed}\nReply with a better one, as one JSON object."},
    ]


def _quoted(value: str | list[str]) -> str:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()

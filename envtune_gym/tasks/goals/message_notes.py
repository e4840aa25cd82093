"""What goals of MessageAPI keep in mind: the users and whose ids have been seen, and what has been sent to whom."""

from __future__ import annotations

from dataclasses import dataclass

from envtune_gym.tasks.goals.plan import Plan, Thing, Unfit

__all__ = [
    "TOPICS",
    "WELCOME",
    "Workspace",
    "check_apart",
    "check_new_to",
    "deliver",
    "join",
    "look_up_tools",
    "pick_colleague",
    "reach",
    "sent",
    "workspace_in_use",
]

# fmt: off
TOPICS = (
    "budget review", "design workshop", "client call", "fire drill", "release party", "team breakfast",
    "warehouse visit", "board lunch", "safety briefing", "product demo", "hiring panel", "photo shoot",
    "planning session", "town hall", "supplier audit", "network upgrade", "office move", "charity run",
    "summer picnic", "stock count", "press release", "first aid course", "furniture order", "salary round",
    "night shift plan", "museum tour",
)
_TEXTS = (
    "The {topic} starts at nine.", "Could you take over the {topic}?", "I will be late for the {topic}.",
    "Please bring your notes to the {topic}.", "The {topic} has moved to Thursday.", "Nothing new on the {topic} yet.",
    "Who else is coming to the {topic}?", "Thanks for your help with the {topic}!", "We are two short for the {topic}.",
    "Tell me what you think of the {topic}.", "The {topic} is called off.", "Room 12 is booked for the {topic}.",
    "My part of the {topic} is done.", "Shall we share a car to the {topic}?", "The {topic} will be online only.",
)
# fmt: on
WELCOME = "welcome"
"""What greetings are about: they greet one person by name, and other goals leave them alone."""


@dataclass(slots=True)
class Workspace:
    """What goals know about the workspace.

    Attributes:
        me: Name of the user who makes the requests.
        my_id: That user's id.
        names: Names of all users in the order in which they are listed.
        logged_in: Whether the user is logged in.
        topics: Matters that no message is about so far.
        newcomers: Names that nobody in the workspace has.
    """

    me: str
    my_id: str
    names: list[str]
    logged_in: bool
    topics: list[str]
    newcomers: list[str]

    def text(self, plan: Plan) -> tuple[str, str]:
        """Return a new matter and a message about it."""
        if not self.topics:
            raise Unfit("all topics are used")
        topic = self.topics.pop()
        return topic, plan.rng.pick(_TEXTS).format(topic=topic)


def join(plan: Plan, name: str, user_id: str, known: bool) -> Thing:
    """Let goals be about a user; `latest` is the latest message to them."""
    return plan.give("colleague", name, known=known, id=user_id, latest=None)


def sent(plan: Plan, colleague: Thing, topic: str, text: str, known: bool) -> Thing:
    """Leave a message behind; `earlier` is the one to that receiver before it, as only the latest can be deleted."""
    message = plan.give(
        "message",
        f"the message to {colleague.label} about the {topic}",
        ("that message", "this message"),
        known=known,
        to=colleague,
        topic=topic,
        text=text,
        earlier=colleague["latest"],
    )
    colleague["latest"] = message
    return message


def workspace_in_use(plan: Plan) -> Workspace:
    """Return the workspace.

    Raises:
        Unfit: If the user is not logged in.
    """
    book = plan.book(Workspace)
    if not book.logged_in:
        raise Unfit("not logged in")
    return book


def pick_colleague(plan: Plan) -> Thing:
    """Return a colleague to write to.

    Raises:
        Unfit: If the last call took back a message to that colleague: what is sent has to come after it.
    """
    colleague = plan.rng.pick(plan.things("colleague"))
    check_apart(plan, colleague, "delete_message")
    return colleague


def check_apart(plan: Plan, colleague: Thing, tool: str) -> None:
    """Keep sending and deleting apart: in one turn their order would matter, and their results would not show it."""
    if plan.just_called(tool, receiver_id=colleague["id"]):
        raise Unfit("sending and deleting side by side")


def check_new_to(colleague: Thing, topic: str) -> None:
    """Keep apart two messages to one colleague on one matter: they could not be told from each other.

    Raises:
        Unfit: If the colleague got one on the matter.
    """
    message = colleague["latest"]
    while message is not None:
        if message["topic"] == topic:
            raise Unfit("the colleague got that already")
        message = message["earlier"]


def reach(plan: Plan, colleague: Thing) -> str:
    """Return the id of a colleague, after looking it up if it has not been seen."""
    if not colleague.known:
        plan.call("get_user_id", user=colleague.label)
        colleague.known = True
    user_id: str = colleague["id"]
    return user_id


def deliver(plan: Plan, colleague: Thing, text: str, topic: str) -> None:
    """Send a message to a colleague and leave it behind."""
    plan.call("send_message", receiver_id=reach(plan, colleague), message=text)
    sent(plan, colleague, topic, text, known=True)


def look_up_tools(colleague: Thing, *tools: str) -> tuple[str, ...]:
    """Return tools to withhold, the look-up of an id among them if it is needed."""
    return tools if colleague.known else (*tools, "get_user_id")

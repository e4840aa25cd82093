"""Families of MessageAPI: a first day in the workspace, and a look through what has been sent."""

from __future__ import annotations

from typing import Any

from envtune_gym.tasks.families.base import Draft, family
from envtune_gym.tasks.families.phrases import FIRST_NAMES, notes
from envtune_gym.tasks.families.rng import Rng

__all__ = ["workspace"]


def workspace(rng: Rng, names: list[str], logged_in: bool = True) -> dict[str, Any]:
    """Return the configuration of a workspace with these users, the first of whom is (or will be) logged in."""
    first = rng.between(210, 880)
    users = {name: f"USR{first + number}" for number, name in enumerate(names)}
    texts = notes(rng, len(names) - 1)
    return {
        "user_map": users,
        "user_count": first + len(names) - 1,
        "current_user": users[names[0]] if logged_in else None,
        "inbox": [{users[name]: text} for name, text in zip(names[1:], texts, strict=True)],
        "message_count": len(texts),
        "random_seed": rng.between(1, 999_999),
    }


@family("MessageAPI")
def first_message(draft: Draft) -> None:
    """Log in, write to a colleague, add a newcomer, take a message back, count."""
    rng = draft.rng
    me, friend, new, *others = rng.sample(FIRST_NAMES, 6)
    text, greeting = notes(rng, 2)
    config = workspace(rng, [me, friend, *others], logged_in=False)
    my_id = config["user_map"][me]
    draft.start(MessageAPI=config)

    draft.ask(
        f"My user id is {my_id}. Log me in and send {friend} this message: '{text}'",
        f"Please write '{text}' to {friend} for me. I am not logged in yet; my id is {my_id}.",
        f"I'm {me}, user id {my_id}. {friend} should hear from me: '{text}' Log me in first.",
        f"Sign me in as {my_id} and let {friend} know: '{text}'",
        vague=(
            "Log me in and send a message to a colleague of mine.",
            f"I'd like to send '{text}' to somebody. Log me in first, please.",
            "Sign me in to the workspace and pass on a message for me.",
        ),
        answer=(
            f"My id is {my_id}, and the message goes to {friend}: '{text}'",
            f"I am {my_id}. Tell {friend}: '{text}'",
        ),
        withhold=("message_login", "send_message"),
    )
    draft.call("message_login", user_id=my_id)
    friend_id = draft.call("get_user_id", user=friend)["user_id"]
    draft.call("send_message", receiver_id=friend_id, message=text)

    draft.ask(
        f"{new} has just joined us. Add {new} to the workspace and send them '{greeting}'",
        f"Please make a contact for {new} and write to them: '{greeting}'",
        f"We have a new colleague called {new}: add them, then send them the message '{greeting}'",
        vague=(
            f"We have a new colleague. Please add them to the workspace and send them '{greeting}'",
            f"Make a contact for the person who joined today and write '{greeting}' to them.",
        ),
        answer=(f"The name is {new}.", f"They are called {new}."),
        withhold=("add_contact",),
    )
    new_id = draft.call("add_contact", user_name=new)["user_id"]
    draft.call("send_message", receiver_id=new_id, message=greeting)

    draft.ask(
        f"Delete my latest message to {friend} again.",
        f"I have changed my mind: take back the last message that went to {friend}.",
        f"The message to {friend} was a mistake, the latest one. Please delete it.",
        vague=("Delete one of the messages I sent today.", "Please take one of my two messages back."),
        answer=(f"The latest one to {friend}.", f"I mean my latest message to {friend}."),
        withhold=("delete_message",),
    )
    draft.call("delete_message", receiver_id=friend_id)

    draft.ask(
        "How many messages and contacts are there now? Look at the statistics.",
        "Show me the message statistics.",
        "Give me the message stats as they are now.",
    )
    draft.call("get_message_stats")


@family("MessageAPI")
def search_and_remind(draft: Draft) -> None:
    """Search what was sent, remind a colleague, add a newcomer, see everything."""
    rng = draft.rng
    me, friend, new, *others = rng.sample(FIRST_NAMES, 6)
    config = workspace(rng, [me, friend, *others])
    reminder, greeting = notes(rng, 2)
    keyword = rng.pick([text for message in config["inbox"] for text in message.values()]).split()[2]
    draft.start(MessageAPI=config)

    draft.ask(
        f"Search my messages for the word '{keyword}'.",
        f"Which messages of mine contain '{keyword}'? Run a search for it.",
        f"Find every message that says '{keyword}'.",
        vague=("Search my messages for a certain word.", "Run a search over my messages for me."),
        answer=(f"Search for '{keyword}'.", f"The word is '{keyword}'."),
    )
    draft.call("search_messages", keyword=keyword)

    draft.ask(
        f"Send {friend} a reminder: '{reminder}'",
        f"Please write to {friend}: '{reminder}'",
        f"Let {friend} know this: '{reminder}'",
        vague=("Send one of my colleagues a reminder.", f"Please send this to somebody: '{reminder}'"),
        answer=(f"To {friend}, and it says: '{reminder}'", f"It is for {friend}. Text: '{reminder}'"),
        withhold=("send_message", "get_user_id"),
    )
    friend_id = draft.call("get_user_id", user=friend)["user_id"]
    draft.call("send_message", receiver_id=friend_id, message=reminder)

    draft.ask(
        f"Add a contact named {new} and send them '{greeting}'",
        f"{new} is new here. Please add them and tell them '{greeting}'",
        f"Make a contact for {new}, then write '{greeting}' to them.",
        vague=("Please add somebody as a contact.", f"Add a new contact and send them '{greeting}'"),
        answer=(f"{new}, and the message is '{greeting}'", f"The name is {new}, the message '{greeting}'"),
        withhold=("add_contact",),
    )
    new_id = draft.call("add_contact", user_name=new)["user_id"]
    draft.call("send_message", receiver_id=new_id, message=greeting)

    draft.ask(
        "Show me all the messages sent so far.",
        "Now list everything that has been sent.",
        "I want to see all sent messages.",
    )
    draft.call("view_messages_sent")

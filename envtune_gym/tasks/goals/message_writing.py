"""Goals of MessageAPI about messages: sending, forwarding, taking back, searching, listing and counting them."""

from __future__ import annotations

from envtune_gym.tasks.goals.base import goal
from envtune_gym.tasks.goals.message_notes import (
    WELCOME,
    check_apart,
    check_new_to,
    deliver,
    look_up_tools,
    pick_colleague,
    reach,
    sent,
    workspace_in_use,
)
from envtune_gym.tasks.goals.plan import Plan, Thing, Unfit


@goal("MessageAPI", needs=("colleague",), weight=1.5)
def write_to_colleague(plan: Plan) -> None:
    """Send somebody a message."""
    book, friend = workspace_in_use(plan), pick_colleague(plan)
    topic, text = book.text(plan)
    plan.ask(
        "[Send|Write] [{friend} this message|to {friend}|{friend} a message]: '{text}'",
        "[Please let|Let|Could you let] {friend} know [in a message|by message]: '{text}'",
        "[Please send|Send|Write] '{text}' to {friend}[ in the workspace|].",
        "[It's about|This concerns] the {topic}: [message|write to] {friend} [and say|with the words] '{text}'",
        vague=(
            "[Send|Please send] {friend} my message about the {topic}.",
            "[I have something to tell|There is something I want to tell] {friend} about the {topic}. [Send|Please "
            "send] it as a message.",
            "[Send|Write] one of my colleagues a message[ in my name| for me|].",
        ),
        answer=(
            "[Write to|Tell] {friend}: '{text}'",
            "[The message to|What I want to say to] {friend} is '{text}'",
        ),
        withhold=look_up_tools(friend, "send_message"),
        friend=friend,
        topic=topic,
        text=text,
    )
    deliver(plan, friend, text, topic)


@goal("MessageAPI", needs=("message",))
def take_a_message_back(plan: Plan) -> None:
    """Delete the latest message to somebody."""
    workspace_in_use(plan)
    message = plan.take("message", where=_is_no_greeting)
    colleague: Thing = message["to"]
    if colleague["latest"] is not message:
        raise Unfit("another message came later")
    check_apart(plan, colleague, "send_message")
    plan.ask(
        "[Delete|Please delete|Take back] {message}[; it is the latest one to {name}|, my latest one to {name}].",
        "[Delete|Take back|Please take back] [my|the] latest message to {name}[, the one about the {topic}|].",
        "[I've changed my mind about|I'm sorry about|I should not have sent] the {topic} [message|note] to {name}. "
        "[Delete|Please delete] it; it's the latest one that went to them.",
        vague=()
        if plan.has_come_up(colleague["id"])
        or plan.has_come_up(colleague.label)
        or sum(one["latest"] is not None for one in plan.things("colleague")) < 2
        else ("[Delete|Take back] the latest message to [a colleague|one of my colleagues].",),
        answer=("[I mean|It's|It is] the one to {name}.", "[The one to|The latest one to] {name}[, please|]."),
        withhold=look_up_tools(colleague, "delete_message"),
        message=message,
        name=colleague.label,
        topic=message["topic"],
    )
    plan.call("delete_message", receiver_id=reach(plan, colleague))
    colleague["latest"] = message["earlier"]
    plan.drop(message)


@goal("MessageAPI", needs=("message",))
def search_for_a_message(plan: Plan) -> None:
    """Search the messages for a matter."""
    workspace_in_use(plan)
    message = plan.take("message", where=_can_be_found)
    _check_search(plan, message)
    plan.ask(
        "[Search|Please search|Look through] my messages for '{topic}'[ and show me the hits|].",
        "Which of my messages [contain|mention] '{topic}'? [Run|Do] a search[ for it|].",
        "[I know I wrote something|I must have written something|There was something] about the {topic}. "
        "[Search|Please search] [the|my] messages for '{topic}'.",
        vague=("[Search|Please search|Run a search over] my messages[ for me|].",)
        if not plan.has_come_up(message["topic"])
        else (),
        answer=("[Search for|Look for|I'm looking for] '{topic}'.", "[The keyword is|The words are] '{topic}'."),
        topic=message["topic"],
        message=message,
    )
    _search(plan, message)


@goal("MessageAPI", needs=("message", "colleague"))
def find_and_forward(plan: Plan) -> None:
    """Search for a message and send its text to somebody else."""
    workspace_in_use(plan)
    message, friend = plan.take("message", known=False, where=_can_be_found), pick_colleague(plan)
    _check_search(plan, message)
    check_new_to(friend, message["topic"])
    plan.ask(
        "[Search|Please search] my messages for '{topic}' and [forward|send] [what you find|the one you find], word "
        "for word, to {friend}[ as well|].",
        "[There is|I sent] a message about the {topic}. [Search|Do a search] for '{topic}', then [send|forward] "
        "[exactly that text|the same text, unchanged,] to {friend}.",
        "[I need you to find|Find|Please find] the message that says '{topic}' with a search and send {friend} "
        "the same text, [unchanged|word for word].",
        withhold=look_up_tools(friend, "send_message"),
        topic=message["topic"],
        friend=friend,
    )
    _search(plan, message)
    deliver(plan, friend, message["text"], message["topic"])


@goal("MessageAPI", needs=("message", "colleague"))
def send_the_same_to_another(plan: Plan) -> None:
    """Send a text that has come up to somebody else too."""
    workspace_in_use(plan)
    message, friend = plan.take("message", known=True, where=_is_no_greeting), pick_colleague(plan)
    check_new_to(friend, message["topic"])
    plan.ask(
        "[Send|Please send|Forward] the [exact |]text of {message} to {friend}[, too|, as well].",
        "[I think|It occurs to me that] {friend} should [know that|have this] as well: send them the text of "
        "{message}, word for word.",
        "[Could you also send|Can you also send|Would you send] the text of {message}, unchanged, to {friend}?",
        vague=(
            "[Send|Please send|Forward] the [exact |]text of {message} to [somebody else|another colleague][, too|, "
            "as well].",
        )
        if not plan.has_come_up(friend.label)
        else (),
        answer=("[To|It should go to|I mean] {name}.", "{name}[, please|]."),
        withhold=look_up_tools(friend, "send_message"),
        message=message,
        friend=friend,
        name=friend.label,
    )
    deliver(plan, friend, message["text"], message["topic"])


@goal("MessageAPI", needs=("message",))
def write_again(plan: Plan) -> None:
    """Write to whoever got a message once more; no name is said, as results have shown the receiver's id."""
    book, message = workspace_in_use(plan), plan.take("message", known=True, where=_is_no_greeting)
    if sum(other["topic"] == message["topic"] for other in plan.things("message")) > 1:
        raise Unfit("two messages on one matter")
    colleague: Thing = message["to"]
    check_apart(plan, colleague, "delete_message")
    topic, text = book.text(plan)
    plan.ask(
        "[Send whoever got the message about the {old}|To whoever got the message about the {old}, send] [another "
        "one|one more message]: '{text}'",
        "[The person who got|Whoever received] the message about the {old} should also [hear|be told]: '{text}' "
        "[Send it as a message|Send them that].",
        "[Follow up on|Add something to] the message about the {old}: send the same [person|colleague] '{text}'",
        vague=(
            "[Follow up on|Add something to] the message about the {old} with [another one|one more] to the same "
            "[person|colleague].",
            "[Write to|Message] whoever got the message about the {old} once more[, please|].",
        ),
        answer=("[This time it says|The text is|It should say] '{text}'", "[Write|Say|Send] '{text}'"),
        withhold=("send_message",),
        old=message["topic"],
        text=text,
    )
    plan.call("send_message", receiver_id=colleague["id"], message=text)
    sent(plan, colleague, topic, text, known=True)


@goal("MessageAPI", needs=("message",), weight=0.8)
def show_all_messages(plan: Plan) -> None:
    """Ask for everything that has been sent."""
    workspace_in_use(plan)
    if plan.has_shown("view_messages_sent"):
        raise Unfit("nothing new")
    plan.ask(
        "[Show me|List|Let me see] [all|all the] messages [that have been sent|sent] so far.",
        "[Which|What] messages have [been sent|gone out] [so far|up to now]? [Show me|List] all of them.",
        "[I've lost track of|I no longer know] what [I wrote|went out] to whom[. Show|; show] me all [the |]messages "
        "sent.",
        several=Thing("message", "several"),  # after these, "that message" means none of them
    )
    plan.call("view_messages_sent")
    for message in plan.things("message"):
        message.known = True


@goal("MessageAPI", weight=0.8)
def count_messages(plan: Plan) -> None:
    """Ask for the statistics, whose count can be calculated with."""
    workspace_in_use(plan)
    if plan.has_shown("get_message_stats"):
        raise Unfit("nothing new")
    plan.ask(
        "[Give me|Show me|I'd like to see] the [message statistics|statistics of the messages][ as they are now|, "
        "please|].",
        "How many messages and contacts [do the statistics|do the message statistics] [count|show][ now|]?",
        "[Look at|Check] the message statistics: how many messages are there, and [for|to] how many contacts?",
    )
    count = plan.call("get_message_stats")["stats"]["received_count"]
    label = "the number of messages in the statistics"
    for outdated in plan.things("figure"):
        if outdated.label == label:
            plan.drop(outdated)
    plan.give("figure", label, ("that number of messages", "the message count"), value=count)


def _is_no_greeting(message: Thing) -> bool:
    return bool(message["topic"] != WELCOME)


def _can_be_found(message: Thing) -> bool:
    return message["topic"] in message["text"]


def _check_search(plan: Plan, message: Thing) -> None:
    if plan.has_shown("search_messages", keyword=message["topic"]):
        raise Unfit("nothing new")


def _search(plan: Plan, message: Thing) -> None:
    plan.call("search_messages", keyword=message["topic"])
    for other in plan.things("message"):
        if other["topic"] == message["topic"]:
            other.known = True

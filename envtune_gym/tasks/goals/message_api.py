"""Goals of MessageAPI: the scenario, getting in, and finding and adding people; `message_writing` has the messages."""

from __future__ import annotations

from typing import Any

from envtune_gym.tasks.goals import message_writing
from envtune_gym.tasks.goals.base import goal, scenario
from envtune_gym.tasks.goals.message_notes import (
    TOPICS,
    WELCOME,
    Workspace,
    check_apart,
    deliver,
    join,
    look_up_tools,
    pick_colleague,
    reach,
    sent,
    workspace_in_use,
)
from envtune_gym.tasks.goals.people import FIRST_NAMES
from envtune_gym.tasks.goals.plan import Plan, Thing, Unfit

__all__ = ["message_writing", "workspace"]

# fmt: off
_GREETINGS = (
    "Welcome aboard, {name}!", "Good to have you here, {name}.", "Hello {name}, ask me anything about the house.",
    "Welcome, {name}! Your badge is at the front desk.", "Hi {name}, lunch is at noon on your first day.",
    "{name}, a warm welcome from all of us!", "So glad that you joined us, {name}.",
    "Hello {name}, my door is always open for you.",
)
_PLACES = (("first", 0), ("second", 1), ("third", 2), ("last", -1))
# fmt: on


@scenario("MessageAPI")
def workspace(plan: Plan) -> dict[str, Any]:
    """A workspace of five to seven users and some messages; in three of ten the user is not logged in."""
    rng = plan.rng
    number = rng.between(210, 880)
    names = rng.sample((plan.cast.first, *plan.cast.others[: rng.between(4, 6)]), rng.between(4, 5))
    if plan.cast.first not in names:
        names[rng.below(len(names))] = plan.cast.first
    ids = {name: f"USR{number + place}" for place, name in enumerate(names)}
    known = {plan.cast.first, *plan.cast.others}
    newcomers = rng.sample([name for name in FIRST_NAMES if name not in known], 4)
    topics = rng.sample(TOPICS, 16)
    me = plan.cast.first
    book = Workspace(me, ids[me], names, rng.chance(0.7), topics, newcomers)
    plan.keep(book)
    inbox = []
    colleagues = [join(plan, name, ids[name], known=False) for name in names if name != me]
    for colleague in rng.sample(colleagues, rng.between(2, 3)):
        topic, text = book.text(plan)
        sent(plan, colleague, topic, text, known=False)
        inbox.append({colleague["id"]: text})
    return {
        "user_map": ids,
        "user_count": number + len(names) - 1,
        "current_user": book.my_id if book.logged_in else None,
        "inbox": inbox,
        "message_count": len(inbox),
        "random_seed": rng.between(1, 999_999),
    }


def _log_in(plan: Plan) -> None:
    book = plan.book(Workspace)
    plan.call("get_user_id", user=book.me)
    plan.call("message_login", user_id=book.my_id)
    book.logged_in = True


def _outside(plan: Plan) -> Workspace:
    book = plan.book(Workspace)
    if book.logged_in:
        raise Unfit("logged in already")
    return book


@goal("MessageAPI")
def enter_workspace(plan: Plan) -> None:
    """Log in; the id belongs to a name."""
    book = _outside(plan)
    plan.ask(
        "[Log me in|Sign me in|Please log me in] to the [workspace|messaging app]. [I'm|My name there is|My user "
        "name is] {me}[, please look up my id|].",
        "[I need to get|Please get me|Get me] into the [messaging app|workspace]: [the user is|log in as|I am] {me}.",
        "[Look up|Find|Get] my user id[, I'm {me},| (I'm {me})] and [log me in|sign me in] to the [messaging "
        "app|workspace][ with it|].",
        vague=()
        if plan.has_come_up(book.me)
        else (
            "[Log me in|Sign me in|Please log me in] to the [messaging app|workspace].",
            "[I need to get|Please get me|Get me] into the [messaging app|workspace].",
        ),
        answer=("[I'm|My name there is|My user name is] {me}.", "[Log in as|Sign me in as] {me}[, please|]."),
        withhold=("message_login", "get_user_id"),
        me=book.me,
    )
    _log_in(plan)


@goal("MessageAPI")
def see_whether_logged_in(plan: Plan) -> None:
    """Look whether anybody is logged in to the messages, and log in, as nobody is."""
    book = _outside(plan)
    if plan.has_shown("message_get_login_status"):
        raise Unfit("nothing new")
    plan.ask(
        "[Check|See|Please check] [whether|if] [anybody|anyone] is logged in to the messaging app[. If|; if] not, "
        "[log in as {me}|sign me in, I'm {me}].",
        "[Is|Tell me, is] [anybody|anyone|somebody] logged in to the messaging app[ at the moment|]? If not, [log in "
        "as {me}|sign in as {me}].",
        "[I don't remember|I'm not sure] [whether|if] I am logged in to the messaging app. [Check, and if not,|Look "
        "at the login status; if I'm not,] log me in: I'm {me}.",
        withhold=("message_login",),
        me=book.me,
    )
    plan.call("message_get_login_status")
    _log_in(plan)


@goal("MessageAPI", needs=("colleague",))
def enter_and_write(plan: Plan) -> None:
    """Log in and write to somebody: two people whose ids are looked up."""
    book, friend = _outside(plan), pick_colleague(plan)
    topic, text = book.text(plan)
    plan.ask(
        "[I'm|I am] {me}. [Log me in|Sign me in] to the workspace and [send {friend} this message|let {friend} "
        "know|write to {friend}]: '{text}'",
        "[Please write|Write|Send] '{text}' to {friend}[ for me|]. I am not logged in [to the workspace |]yet; my "
        "user name is {me}.",
        "[A message for|This is for] {friend}: '{text}' [You have to log in|Log in] to the messaging app as {me} "
        "[first|before you send it].",
        vague=(
            "[Log me in|Sign me in] to the [workspace|messaging app] and send [a colleague my message|a message for "
            "me].",
            "[I have a message for|There is something I have to tell] {friend}, but I am not logged in to the "
            "[workspace|messaging app] yet. [Log me in and send it|Please log in and pass it on].",
        ),
        answer=(
            "[I'm|My user name is] {me}, and the message [to|for] {friend} is '{text}'",
            "[Log in as|Use the name] {me}[ and|, then] [tell|write to] {friend}: '{text}'",
        ),
        withhold=look_up_tools(friend, "message_login", "send_message"),
        me=book.me,
        friend=friend,
        text=text,
    )
    _log_in(plan)
    deliver(plan, friend, text, topic)


@goal("MessageAPI", weight=0.3)
def ask_whether_logged_in(plan: Plan) -> None:
    """Ask for the login status while logged in."""
    workspace_in_use(plan)
    if plan.has_shown("message_get_login_status"):
        raise Unfit("nothing new")
    plan.ask(
        "[Am I|Is somebody|Is anybody] [still |]logged in to the messaging app[ right now|]?",
        "[Check|Tell me|Please check] [whether|if] I'm [still |]logged in to the messaging app.",
    )
    plan.call("message_get_login_status")


@goal("MessageAPI")
def list_everybody(plan: Plan) -> None:
    """Ask for the names in the workspace."""
    if plan.has_shown("list_users"):
        raise Unfit("nothing new")
    plan.ask(
        "[Who is|Who's|Which people are] in the workspace[ at the moment| now|]?",
        "[List|Show me|Give me] the names of [everybody|everyone|all users] in the workspace[, please|].",
        "[I'm not sure|I forget] how my colleagues' names are spelt in the [workspace|messaging app][. List|; list] "
        "[all users|everybody][, please|].",
        withhold=("list_users",),
    )
    plan.call("list_users")


@goal("MessageAPI", needs=("colleague",))
def write_by_place(plan: Plan) -> None:
    """Write to whoever stands at some place of the list of users."""
    book = workspace_in_use(plan)
    place, index = plan.rng.pick(_PLACES)
    if book.names[index] == book.me or plan.has_shown("list_users"):
        raise Unfit("no such colleague, or the list is known")
    friend = next(thing for thing in plan.things("colleague") if thing.label == book.names[index])
    if friend.known:
        raise Unfit("the list would not be needed")
    check_apart(plan, friend, "delete_message")
    topic, text = book.text(plan)
    plan.ask(
        "[List|Go through] the users of the workspace and [send|write to] whoever comes {place}: '{text}'",
        "[I forget the name|The name escapes me], but it is the {place} one in the list of [users|all users][. Send "
        "them|; write to them]: '{text}'",
        "[Have a look at|Look at] the list of [users|workspace users][. The|: the] {place} [one|person] in it should "
        "get [this message:|the message] '{text}'",
        vague=(
            "[Go through|Look at] the list of [users|workspace users] and send [one of them|somebody in it] a message.",
        ),
        answer=(
            "[Write to the|I mean the] {place} [one|user] in the list; [the message is|the text is] '{text}'",
            "The {place} [one|person] in the list should get '{text}'",
        ),
        withhold=("list_users", "send_message"),
        place=place,
        text=text,
    )
    plan.call("list_users")
    deliver(plan, friend, text, topic)


@goal("MessageAPI", needs=("colleague",), weight=0.6)
def look_up_an_id(plan: Plan) -> None:
    """Ask for the id of a colleague."""
    friend = plan.take("colleague", known=False)
    plan.ask(
        "[Tell me|I need|Please get me] the user id of {friend}.",
        "[What is|What's] the user id of {friend}[ in the workspace|]?",
        "[Look up|Find|Get me] the user id [of|that belongs to] {friend}[ in the workspace|].",
        "[Under which|By which] id is {friend} known in the [workspace|messaging app]?",
        vague=("[Look up|Find|Get me] [the user id of a colleague|a colleague's user id][ for me|].",)
        if not plan.has_come_up(friend.label)
        else (),
        answer=("[It's|I mean|The name is] {friend}.", "{name_please}[, please|]."),
        withhold=("get_user_id",),
        friend=friend,
        name_please=friend.label,
    )
    reach(plan, friend)
    _name(plan, friend)


@goal("MessageAPI", needs=("named colleague",), weight=3.0)
def write_to_the_one_named(plan: Plan) -> None:
    """Write to the colleague whose id the goal before has shown."""
    book = workspace_in_use(plan)
    named = plan.things("named colleague")[-1]
    if named["steps"] < len(plan.steps) - 1:
        plan.drop(named)
        raise Unfit("others may have been spoken of since")
    friend: Thing = named["colleague"]
    plan.drop(named)
    topic, text = book.text(plan)
    plan.ask(
        "[Send|Write|Please send] them [this|a message][ now| in my name|]: '{text}'",
        "[Use that id to|With that id you can] [write to them|send them a message]: '{text}'",
        "[There is something|I have something] to tell them: send the message '{text}' to that id.",
        vague=(
            "[Send|Please send] them my message about the {topic}.",
            "[There is something|I have something] to tell them about the {topic}: send [it|a message] to that id.",
        ),
        answer=("[It should say|The text is|Write] '{text}'", "[Tell them|Just say|Say] '{text}'"),
        withhold=("send_message",),
        topic=topic,
        text=text,
    )
    deliver(plan, friend, text, topic)


@goal("MessageAPI")
def add_and_welcome(plan: Plan) -> None:
    """Add somebody and greet them."""
    book = workspace_in_use(plan)
    name = _newcomer(book)
    text = plan.rng.pick(_GREETINGS).format(name=name)
    plan.ask(
        "[We have a new colleague called {name}|Our new colleague is called {name}|There's somebody new here, {name}]: "
        "[add them to|put them into] the workspace[, then| and] [send them|write to them]: '{text}'",
        "[Make|Please make|Create] a contact for {name} and [send them|write to them]: '{text}'",
        "[Add|Please add] {name} to the workspace[. Then|, then] [greet them with the message|send them] '{text}'",
        vague=(
            "[Somebody|A colleague] has just joined us[. Add|; please add] them to the workspace and [greet|welcome] "
            "them[ with a message|].",
            "[Add|Please add] [my|our] new colleague to the workspace and send them a [greeting|welcome message].",
        ),
        answer=(
            "[The name is|They are called] {name}, and the [message|greeting] is '{text}'",
            "[It's|The name is] {name}. [Write|Send them]: '{text}'",
        ),
        withhold=("add_contact", "send_message"),
        name=name,
        text=text,
    )
    colleague = _add(plan, book, name)
    deliver(plan, colleague, text, WELCOME)


@goal("MessageAPI", weight=0.7)
def add_a_contact(plan: Plan) -> None:
    """Add somebody to the workspace."""
    book = plan.book(Workspace)
    name = _newcomer(book)
    plan.ask(
        "[Add|Please add] {name} [to the workspace|as a contact|to my contacts].",
        "[Could|Can] you add {name} [to the workspace|as a contact]?",
        "[From today on|As of today|Starting today] {name} works with us[. Make|, so make] a contact for them in the "
        "workspace.",
        "[The workspace needs|We need] a user for {name}[. Add them|; please add them].",
        vague=("[Add|Please add] [my new colleague|somebody new|another person] to the workspace.",),
        answer=("[The name is|It's|They are called] {name}.", "[Add|I mean] {name}."),
        withhold=("add_contact",),
        name=name,
    )
    _name(plan, _add(plan, book, name))


def _name(plan: Plan, colleague: Thing) -> None:
    """Note that a colleague was the last one spoken of, so that the next request can say "them"."""
    for earlier in plan.things("named colleague"):
        plan.drop(earlier)
    plan.give("named colleague", colleague.label, colleague=colleague, steps=len(plan.steps))


def _newcomer(book: Workspace) -> str:
    if not book.newcomers:
        raise Unfit("nobody left to join")
    return book.newcomers.pop()


def _add(plan: Plan, book: Workspace, name: str) -> Thing:
    user_id = plan.call("add_contact", user_name=name)["user_id"]
    book.names.append(name)
    return join(plan, name, user_id, known=True)

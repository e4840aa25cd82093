"""Goals that send or tweet what another domain has returned: ids, numbers, addresses, lines of files."""

from __future__ import annotations

import json

from envtune_gym.tasks.goals import twitter_notes
from envtune_gym.tasks.goals.base import goal
from envtune_gym.tasks.goals.message_notes import (
    check_new_to,
    deliver,
    look_up_tools,
    pick_colleague,
    workspace_in_use,
)
from envtune_gym.tasks.goals.plan import Plan, Thing, Unfit
from envtune_gym.tasks.goals.travel_notes import find_booking, token_note

_WEIGHT = 2.5
"""Goals of a single domain are many more; some whose needs are rarely met are wanted more than others still."""


def _addressee(plan: Plan, topic: str) -> Thing:
    """Return a colleague who has got no message on a matter."""
    workspace_in_use(plan)
    friend = pick_colleague(plan)
    check_new_to(friend, topic)
    return friend


def _ask_to_send(plan: Plan, friend: Thing, what: str, token: str = "", **things: Thing) -> None:
    """Ask to send something by itself to a colleague; `what` says what it is."""
    plan.ask(
        f"[Send|Please send|Message] {{friend}} {what}[, and nothing else| and nothing else|, no other words].{token}",
        f"[A colleague, {{name}},|My colleague {{name}}] needs {what}: [send|please send] them a message that "
        f"[consists of|contains] just that.{token}",
        f"[Could|Can|Would] you send {{friend}} a message with nothing but {what}?{token}",
        f"[Write to|Get in touch with] {{friend}}. The [whole |]message should be {what}, "
        f"[by itself|without a word around it].{token}",
        vague=(
            f"[Send|Please send] {what}, and nothing else, to [a colleague of mine|one of my colleagues] "
            f"in a message.{token}",
            f"[Somebody at work|A colleague] needs {what}: [send|please send] them a message that "
            f"[consists of|contains] just that.{token}",
        )
        if not plan.has_come_up(friend.label)
        else (),
        answer=("[It's for|I mean|Send it to] {name}.", "[To|The colleague is] {name}[, please|]."),
        withhold=look_up_tools(friend, "send_message"),
        friend=friend,
        name=friend.label,
        **things,
    )


@goal("MessageAPI", "TravelAPI", needs=("booking", "colleague", "token"), weight=_WEIGHT)
def send_a_booking(plan: Plan) -> None:
    """Send somebody the id of a booking."""
    booking, friend = plan.take("booking"), _addressee(plan, "booking")
    _ask_to_send(plan, friend, "the id of {booking}", "" if booking.known else token_note(plan), booking=booking)
    deliver(plan, friend, find_booking(plan, booking), "booking")


@goal("MessageAPI", "TradingBot", needs=("order", "colleague"), weight=_WEIGHT)
def send_an_order(plan: Plan) -> None:
    """Send somebody the id of an order."""
    order, friend = plan.take("order"), _addressee(plan, "order")
    _ask_to_send(plan, friend, "the id of {order}", order=order)
    deliver(plan, friend, str(order["id"]), "order")


@goal("MessageAPI", "TicketAPI", needs=("ticket", "colleague"), weight=2 * _WEIGHT)
def send_a_ticket(plan: Plan) -> None:
    """Send somebody the id of a ticket."""
    ticket, friend = plan.take("ticket", known=True), _addressee(plan, "ticket")
    _ask_to_send(plan, friend, "the id of {ticket}", ticket=ticket)
    deliver(plan, friend, str(ticket["id"]), "ticket")


@goal("MessageAPI", "VehicleControlAPI", needs=("address", "colleague"), weight=2 * _WEIGHT)
def send_an_address(plan: Plan) -> None:
    """Send somebody an address that came up."""
    address, friend = plan.take("address"), _addressee(plan, "address")
    _ask_to_send(plan, friend, "{address}, exactly as it is written", address=address)
    deliver(plan, friend, address["address"], "address")


@goal("GorillaFileSystem", "MessageAPI", needs=("line", "colleague"), weight=2 * _WEIGHT)
def send_a_line(plan: Plan) -> None:
    """Send somebody a line of a file that a result has shown."""
    line, friend = plan.take("line"), _addressee(plan, "line from a file")
    _ask_to_send(plan, friend, "{line}, word for word", line=line)
    deliver(plan, friend, line["text"], "line from a file")


@goal("MathAPI", "MessageAPI", needs=("figure", "colleague"), weight=_WEIGHT)
def send_a_product(plan: Plan) -> None:
    """Multiply a figure and send somebody the result."""
    figure, friend = plan.take("figure"), _addressee(plan, "product")
    factor = plan.rng.price(3, 70)
    if figure["value"] * factor % 1 == 0:
        raise Unfit("some would write the product with a point, others without")
    plan.ask(
        "[Multiply|Please multiply] {figure} by {factor} and [send|message] {friend} the product, [just the "
        "number|the bare number], unrounded.",
        "[My colleague|Our colleague] {friend} wants to know how much {figure} times {factor} is. "
        "[Work it out|Multiply them] and send them the product in a message, [nothing but the number|without any "
        "words], unrounded.",
        "[What is|How much is] {figure} times {factor}? [Send|Please send] the product to {friend}, [the number "
        "alone|just the number, no words] and unrounded.",
        vague=(
            "[Multiply|Please multiply] {figure} by the usual factor and send {friend} the product, just the number, "
            "unrounded.",
            "[Work out|Get] {figure} times our factor and [message|send] {friend} the product, the bare number, "
            "unrounded.",
        ),
        answer=("[The factor is|It's|Take] {factor}.", "{factor}[ is the factor|, as always|]."),
        withhold=look_up_tools(friend, "multiply", "send_message"),
        figure=figure,
        factor=factor,
        friend=friend,
    )
    product = plan.call("multiply", a=figure["value"], b=factor)["result"]
    plan.give("figure", f"the 'times {factor}' result", ("that product",), value=product)
    deliver(plan, friend, json.dumps(product), "product")


@goal("MessageAPI", "TwitterAPI", needs=("tweet", "colleague"), weight=_WEIGHT)
def send_a_tweet_on(plan: Plan) -> None:
    """Send somebody the text of a tweet that has been shown."""
    tweet = plan.take("tweet", known=True)
    friend = _addressee(plan, tweet["project"])
    _ask_to_send(plan, friend, "the text of {tweet}, word for word", tweet=tweet)
    deliver(plan, friend, tweet["text"], tweet["project"])


@goal("MessageAPI", "TwitterAPI", needs=("message",), weight=_WEIGHT)
def tweet_a_message(plan: Plan) -> None:
    """Tweet what a message says."""
    message = plan.take("message", known=True, where=lambda message: message["topic"] in message["text"])
    _ask_to_tweet(plan, message["topic"], "the text of {thing}, word for word", message, message["text"])


@goal("GorillaFileSystem", "TwitterAPI", needs=("line",), weight=3 * _WEIGHT)
def tweet_a_line(plan: Plan) -> None:
    """Tweet a line of a file that a result has shown."""
    line = plan.take("line")
    _ask_to_tweet(plan, "line from a file", "{thing}, word for word", line, line["text"])


@goal("MathAPI", "TwitterAPI", needs=("figure",), weight=_WEIGHT)
def tweet_a_figure(plan: Plan) -> None:
    """Tweet a number that has been worked out."""
    figure = plan.take("figure", where=lambda figure: isinstance(figure["value"], int) or figure["value"] % 1 != 0)
    _ask_to_tweet(plan, "number", "{thing}, just the number as it stands", figure, json.dumps(figure["value"]))


def _ask_to_tweet(plan: Plan, subject: str, what: str, thing: Thing, text: str) -> None:
    """Ask to tweet something by itself with a hashtag, and do it."""
    account = twitter_notes.account_in_use(plan)
    if any(tweet["project"] == subject for tweet in plan.things("tweet")):
        raise Unfit("two tweets on one subject")
    tag = account.tag(plan)
    plan.ask(
        f"[Tweet|Post|Please tweet] {what}[, and nothing else|, without any other words]; the hashtag is {{tag}}.",
        f"[Make|Please make] a tweet of {what}, [and tag it|tagged] {{tag}}.",
        f"[My followers should see|I'd like to share] {what}. [Tweet|Post] [just that|nothing but that] "
        f"with the hashtag {{tag}}.",
        vague=(
            f"[Tweet|Post|Please tweet] {what}, and nothing else, with [my usual|my favourite] hashtag.",
            f"[Make|Please make] a tweet of {what}, tagged with [my usual|my favourite] hashtag.",
        )
        if not plan.has_come_up(tag)
        else (),
        answer=("[The hashtag is|Tag it|Use] {tag}.", "[It's|Make it] {tag}."),
        withhold=("post_tweet",),
        thing=thing,
        tag=tag,
    )
    tweet = plan.call("post_tweet", content=text, tags=[tag])
    twitter_notes.give_tweet(plan, tweet, subject, own_list=False)

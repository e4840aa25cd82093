"""Goals of TwitterAPI: the scenario, the account, whom it follows; other modules have the tweets."""

from __future__ import annotations

from typing import Any

from envtune_gym.tasks.goals import twitter_posts, twitter_reading
from envtune_gym.tasks.goals.base import goal, scenario
from envtune_gym.tasks.goals.people import FIRST_NAMES, password
from envtune_gym.tasks.goals.plan import Plan, Unfit
from envtune_gym.tasks.goals.twitter_notes import (
    COMMENTS,
    PROJECTS,
    Account,
    account_in_use,
    check_apart,
    follow,
    give_tweet,
    sign_in,
    signed_out,
    was_done,
)

__all__ = ["account", "twitter_posts", "twitter_reading"]


@scenario("TwitterAPI")
def account(plan: Plan) -> dict[str, Any]:
    """An account with some tweets of its own and of three others, one of whom it does not follow."""
    rng = plan.rng
    names = [f"{name.lower()}_{rng.between(10, 99)}" for name in rng.sample(FIRST_NAMES, 11)]
    me = f"{plan.cast.first.lower()}.{plan.cast.last.lower()}"
    authors, quiet, strangers = names[:3], names[3:6], names[6:]
    following = rng.sample(authors[:2] + quiet[: rng.between(2, 3)], rng.between(3, 4))
    book = Account(
        me, password(rng), rng.chance(0.7), following, strangers,
        rng.sample(PROJECTS, 16), rng.sample(COMMENTS, 8),
    )  # fmt: skip
    plan.keep(book)
    counter = rng.between(3_000, 9_000)
    writers = rng.sample([*authors, *authors[:2], me], 6)
    tweets = {}
    for place, author in enumerate(writers):
        number = counter - 5 * (len(writers) - place) - rng.between(1, 4)
        project, content = book.content(plan)
        tweet = {"id": number, "username": author, "content": content, "tags": [book.tag(plan)], "mentions": []}
        tweets[str(number)] = tweet
        give_tweet(plan, tweet, project, known=False)
    return {
        "username": me,
        "password": book.password,
        "authenticated": book.signed_in,
        "tweets": tweets,
        "comments": {},
        "retweets": {},
        "following_list": list(following),
        "tweet_counter": counter,
    }


@goal("TwitterAPI")
def enter_account(plan: Plan) -> None:
    """Sign in."""
    book = signed_out(plan)
    plan.ask(
        "[Log me in|Sign me in|Please log me in] to Twitter: [the user name is|I'm|my account is] {me}[ and|,] the "
        "password[ is|] {secret}.",
        "[Log in|Sign in] to my Twitter account {me} with [the password|password] {secret}.",
        "[My Twitter account is|On Twitter I'm] {me}[; the password is|, with the password] {secret}. [Log|Please "
        "log] me in.",
        withhold=("authenticate_twitter",),
        me=book.name,
        secret=book.password,
    )
    sign_in(plan)


@goal("TwitterAPI")
def see_whether_signed_in(plan: Plan) -> None:
    """Look at the login status and sign in, as nobody is."""
    book = signed_out(plan)
    if plan.has_shown("posting_get_login_status"):
        raise Unfit("nothing new")
    plan.ask(
        "[Check|See|Please check] [whether|if] my Twitter account is logged in[. If|; if] not, log in as {me} with "
        "the password {secret}.",
        "[Am I|Is my account] logged in to Twitter[ at the moment|]? If not, [sign in|log in] as {me}[, password| "
        "with the password] {secret}.",
        "[I'm not sure|I don't know] [whether|if] Twitter still has me logged in. [Check the status and,|Look at the "
        "login status and,] if it hasn't, log in: {me}, password {secret}.",
        withhold=("authenticate_twitter",),
        me=book.name,
        secret=book.password,
    )
    plan.call("posting_get_login_status")
    sign_in(plan)


@goal("TwitterAPI")
def follow_by_name(plan: Plan) -> None:
    """Follow a user whom the request names."""
    book = account_in_use(plan)
    check_apart(plan, "follow_user")
    name = book.stranger()
    plan.ask(
        "[Follow|Start following|Please follow] [the user |]{name}[ on Twitter| from my account|].",
        "[I'd like|I want] to follow {name}[ on Twitter|][; do that for me|, please|].",
        "[Could you|Can you] [follow|start following] {name} [for me|on Twitter]?",
        vague=("[Follow|Start following|Please follow] [someone|a friend of mine] [on Twitter|from my account].",),
        answer=("[It's|I mean|The name is] {name}.", "[Follow|That's] {name}."),
        withhold=("follow_user",),
        name=name,
    )
    follow(plan, book, name)


@goal("TwitterAPI")
def unfollow_by_name(plan: Plan) -> None:
    """Stop following somebody whom the request names."""
    book = account_in_use(plan)
    name = plan.rng.pick(_still_followed(plan, book))
    plan.ask(
        "[Unfollow|Please unfollow|Stop following] [the user |]{name}[ on Twitter|].",
        "[I no longer want to follow|I'm done with following] {name}[. Unfollow|; please unfollow] them.",
        "[Could you|Can you] [unfollow|stop following] {name} [for me|from my account]?",
        vague=(
            "[I follow too many people|My timeline is too full]. [Unfollow|Please unfollow] [one of them|somebody] "
            "on Twitter.",
            "[Unfollow|Stop following] one of the [users|people] that I follow[ on Twitter|][, please|].",
        )
        if not plan.has_come_up(name)
        else (),
        answer=("[It's|I mean|The one I mean is] {name}.", "[Unfollow|That would be] {name}."),
        withhold=("unfollow_user",),
        name=name,
    )
    plan.call("unfollow_user", username_to_unfollow=name)
    book.following.remove(name)


@goal("TwitterAPI", weight=0.8)
def list_whom_i_follow(plan: Plan) -> None:
    """Show whom the account follows."""
    account_in_use(plan)
    if plan.has_shown("list_all_following"):
        raise Unfit("nothing new")
    plan.ask(
        "[List|Show me] [everybody|everyone|all the users] [I follow|I'm following] [on Twitter|with my Twitter "
        "account].",
        "[Who am I|Whom am I] following on Twitter[ now| at the moment|]? [Show me|Give me] the [list|whole list].",
        "[I've lost track of|I can't remember] who I follow on Twitter[. List|; list] [them all|all of them].",
        withhold=("list_all_following",),
    )
    plan.call("list_all_following")


@goal("TwitterAPI")
def unfollow_by_place(plan: Plan) -> None:
    """Stop following whoever stands at some place of the list."""
    book = account_in_use(plan)
    if plan.has_shown("list_all_following"):
        raise Unfit("the list is known")
    place, index = plan.rng.pick((("first", 0), ("second", 1), ("last", -1)))
    name = book.following[index]
    if name not in _still_followed(plan, book):
        raise Unfit("followed on request")
    plan.ask(
        "[List|Get the list of] [everybody|everyone] I follow on Twitter and unfollow whoever comes {place}.",
        "[Have a look at|Look at|Fetch] the list of users I follow on Twitter[. The|: the] {place} [one|user] is to be "
        "unfollowed.",
        "[I follow too many people on Twitter|My timeline is too full]. [List whom I follow|Get the list of whom I "
        "follow] and unfollow the {place} one[ of them|].",
        vague=("[List|Get the list of] [everybody|everyone] I follow on Twitter and unfollow one of them.",)
        if not plan.has_come_up(name)
        else (),
        answer=("[The|I mean the|It's the] {place} one[ in the list|].", "Whoever comes {place}[ in the list|]."),
        withhold=("unfollow_user", "list_all_following"),
        place=place,
    )
    plan.call("list_all_following")
    plan.call("unfollow_user", username_to_unfollow=name)
    book.following.remove(name)


@goal("TwitterAPI")
def count_what_was_done(plan: Plan) -> None:
    """Ask for the statistics of the own account or of an author; their counts can be calculated with."""
    book = plan.book(Account)
    authors = [tweet["author"] for tweet in plan.things("tweet")]
    name = book.name if plan.rng.chance(0.6) else plan.rng.pick(authors)
    if plan.has_shown("get_user_stats", username=name):
        raise Unfit("nothing new")
    plan.ask(
        "[Show me|Get|Give me] the [user stats|user statistics|statistics] of [the Twitter user|the Twitter account] "
        "{name}.",
        "How many [tweets, followed users and retweets|tweets and retweets] do the user [stats|statistics] of {name} "
        "show on Twitter[ now|]?",
        "[I'm curious about|Let's look at|I'd like to see] the Twitter [statistics|stats|numbers] of {name}[: get "
        "the user stats|].",
        withhold=("get_user_stats",),
        name=name,
    )
    stats = plan.call("get_user_stats", username=name)
    label = f"the tweet count of {name}"
    for outdated in plan.things("figure"):
        if outdated.label == label:
            plan.drop(outdated)
    plan.give("figure", label, ("that tweet count", "that number of tweets"), value=stats["tweet_count"])


def _still_followed(plan: Plan, book: Account) -> list[str]:
    """Return those whom the account followed from the beginning.

    Raises:
        Unfit: If there are too few.
    """
    names = [name for name in book.following if not was_done(plan, "follow_user", name)]
    if len(names) < 3:
        raise Unfit("too few are followed")
    return names

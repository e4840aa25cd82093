"""What goals of TwitterAPI keep in mind: the account, whom it follows, and the tweets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from envtune_gym.tasks.goals.plan import Plan, Thing, Unfit

__all__ = [
    "COMMENTS",
    "PROJECTS",
    "Account",
    "account_in_use",
    "add_comment",
    "check_apart",
    "follow",
    "give_tweet",
    "sign_in",
    "signed_out",
    "was_done",
]

# fmt: off
PROJECTS = (
    "solar bike", "city garden", "reading club", "chess league", "street choir", "pottery studio", "night market",
    "robot arm", "weather balloon", "bakery map", "film archive", "river cleanup", "puppet theatre", "bee hotel",
    "repair cafe", "star atlas", "radio play", "seed library", "toy museum", "cargo kite", "tram depot", "jazz cellar",
)
_NEWS = (
    "The {project} is finally ready.", "Great progress on the {project} today!", "The {project} needs your feedback.",
    "We won a prize with the {project}!", "The {project} starts next month.", "Who wants to join the {project}?",
    "A first look at the {project}.", "The {project} has a new home.", "Three years of the {project} already!",
    "Behind the scenes of the {project}.", "The {project} is looking for helpers.",
)
_TAGS = (
    "#launch", "#teamwork", "#opensource", "#workshop", "#hiring", "#greenenergy", "#behindthescenes", "#milestone",
    "#research", "#community", "#handmade", "#weekend",
)
COMMENTS = (
    "Well done!", "Count me in.", "Where can I read more?", "This made my day.", "Keep going!", "I would love to help.",
    "Congratulations to all of you!", "What a lovely idea.", "When can we see it?", "Please tell us more.",
    "My neighbours will like this.", "Sharing this with my class.",
)
# fmt: on


@dataclass(slots=True)
class Account:
    """What goals know about the account.

    Attributes:
        name: Its name.
        password: Its password.
        signed_in: Whether it is signed in.
        following: Whom it follows, in order.
        strangers: Names of users whom it does not follow and who have no tweets.
        projects: Subjects that no tweet has so far.
        comments: Comments that have not been made.
    """

    name: str
    password: str
    signed_in: bool
    following: list[str]
    strangers: list[str]
    projects: list[str]
    comments: list[str]

    def content(self, plan: Plan) -> tuple[str, str]:
        """Return a new subject and a text about it."""
        if not self.projects:
            raise Unfit("all subjects are used")
        project = self.projects.pop()
        return project, plan.rng.pick(_NEWS).format(project=project)

    def tag(self, plan: Plan) -> str:
        """Return a hashtag."""
        return plan.rng.pick(_TAGS)

    def comment(self) -> str:
        """Return a new comment."""
        if not self.comments:
            raise Unfit("all comments are made")
        return self.comments.pop()

    def stranger(self) -> str:
        """Return a user whom nothing has been about so far."""
        if not self.strangers:
            raise Unfit("nobody new")
        return self.strangers.pop()


def give_tweet(plan: Plan, tweet: dict[str, Any], project: str, known: bool = True, own_list: bool = True) -> Thing:
    """Leave a tweet behind.

    Args:
        plan: The plan.
        tweet: The tweet as results show it.
        project: What it is about.
        known: Whether a result has shown it.
        own_list: Whether it has a list of mentions of its own; that of tweets posted without any is one for all.
    """
    mine = tweet["username"] == plan.book(Account).name
    label = f"my tweet about the {project}" if mine else f"the tweet by {tweet['username']} about the {project}"
    return plan.give(
        "tweet",
        label,
        ("that tweet", "the tweet"),
        known=known,
        id=tweet["id"],
        author=tweet["username"],
        text=tweet["content"],
        project=project,
        mine=mine,
        own_list=own_list,
        comments=0,
        mentions=0,
        reposted=False,
    )


def account_in_use(plan: Plan) -> Account:
    """Return the account.

    Raises:
        Unfit: If it is not signed in.
    """
    book = plan.book(Account)
    if not book.signed_in:
        raise Unfit("not signed in")
    return book


def signed_out(plan: Plan) -> Account:
    """Return the account.

    Raises:
        Unfit: If it is signed in.
    """
    book = plan.book(Account)
    if book.signed_in:
        raise Unfit("signed in already")
    return book


def sign_in(plan: Plan) -> None:
    """Sign in to the account."""
    book = plan.book(Account)
    plan.call("authenticate_twitter", username=book.name, password=book.password)
    book.signed_in = True


def check_apart(plan: Plan, name: str, tweet_id: int | None = None) -> None:
    """Keep two entries of one list apart: in one turn their order would matter, and no result would show it."""
    if plan.just_called(name, **({} if tweet_id is None else {"tweet_id": tweet_id})):
        raise Unfit("two entries side by side")


def was_done(plan: Plan, tool: str, name: str) -> bool:
    """Tell whether an earlier goal has followed, or stopped following, somebody: nobody asks for both."""
    return any(call.name == tool and name in call.kwargs.values() for step in plan.steps for call in step.calls)


def add_comment(plan: Plan, tweet: Thing, comment: str) -> None:
    """Comment on a tweet and count that."""
    plan.call("comment", tweet_id=tweet["id"], comment_content=comment)
    tweet["comments"] += 1


def follow(plan: Plan, book: Account, name: str) -> None:
    """Follow somebody."""
    plan.call("follow_user", username_to_follow=name)
    book.following.append(name)

"""Families of TwitterAPI: an announcement, a colleague's timeline, and a file that becomes a tweet."""

from __future__ import annotations

from typing import Any

from envtune_gym.tasks.families.base import Draft, family
from envtune_gym.tasks.families.phrases import FIRST_NAMES, notes, password
from envtune_gym.tasks.families.rng import Rng

# fmt: off
_TAGS = (
    "#launch", "#teamwork", "#opensource", "#workshop", "#hiring", "#greenenergy", "#behindthescenes", "#milestone",
    "#research", "#community", "#handmade", "#weekend",
)
_PROJECTS = (
    "solar bike", "city garden", "reading club", "chess league", "street choir", "pottery studio", "night market",
    "robot arm", "weather balloon", "bakery map", "film archive", "river cleanup",
)
_UPDATES = ("is finally ready", "made great progress", "needs your feedback", "won a prize", "starts next month")
_COMMENTS = ("Well done!", "Count me in.", "Where can I read more?", "This made my day.", "Keep going!")
# fmt: on


def _handles(rng: Rng, count: int) -> list[str]:
    return [f"{name.lower()}_{rng.between(10, 99)}" for name in rng.sample(FIRST_NAMES, count)]


def _account(rng: Rng, username: str, secret: str, following: list[str], logged_in: bool) -> dict[str, Any]:
    """Return an account without tweets."""
    return {
        "username": username,
        "password": secret,
        "authenticated": logged_in,
        "tweets": {},
        "comments": {},
        "retweets": {},
        "following_list": following,
        "tweet_counter": rng.between(400, 900),
    }


@family("TwitterAPI")
def announcement(draft: Draft) -> None:
    """Log in and post, mention somebody, comment, follow and count."""
    rng = draft.rng
    me, partner, other, *following = _handles(rng, 5)
    secret = password(rng)
    content = f"Our {rng.pick(_PROJECTS)} {rng.pick(_UPDATES)}!"
    tag, comment = rng.pick(_TAGS), rng.pick(_COMMENTS)
    draft.start(TwitterAPI=_account(rng, me, secret, following, logged_in=False))

    draft.ask(
        f"Log in as {me} (password {secret}) and tweet '{content}' with the hashtag {tag}.",
        f"Post this for me with the tag {tag}: '{content}' The account is {me}, its password {secret}.",
        f"My Twitter name is {me} and the password is {secret}. Please publish '{content}' and tag it {tag}.",
        vague=(
            "Log in to my Twitter account and post a tweet.",
            f"Please tweet '{content}' with the hashtag {tag} from my account; log in first.",
            f"Log in as {me} and publish a tweet tagged {tag}.",
        ),
        answer=(
            f"The account is {me}, the password {secret}, and the tweet says '{content}' with the hashtag {tag}.",
            f"Use {me} with {secret}. Text: '{content}' Hashtag: {tag}.",
        ),
        withhold=("authenticate_twitter", "post_tweet"),
    )
    draft.call("authenticate_twitter", username=me, password=secret)
    tweet_id = draft.call("post_tweet", content=content, tags=[tag])["id"]

    draft.ask(
        f"Mention @{partner} in that tweet.",
        f"I forgot somebody: please add a mention of @{partner} to it.",
        f"The tweet should also mention @{partner}.",
        vague=("I forgot to mention somebody in that tweet. Please add them.", "Add a mention to the tweet."),
        answer=(f"It is @{partner}.", f"Mention @{partner}."),
        withhold=("mention",),
    )
    draft.call("mention", tweet_id=tweet_id, mentioned_usernames=[f"@{partner}"])

    draft.ask(
        f"Comment on it: '{comment}'",
        f"Add the comment '{comment}' below my tweet.",
        f"Please leave a comment on the tweet that says '{comment}'",
        vague=("Leave a comment on my tweet.", "Please comment on it in my name."),
        answer=(f"It should say '{comment}'", f"The comment is '{comment}'"),
        withhold=("comment",),
    )
    draft.call("comment", tweet_id=tweet_id, comment_content=comment)

    draft.ask(
        f"Follow {other}, then show me the statistics of my account {me}.",
        f"Start following {other}. After that I'd like the user stats of {me}.",
        f"Please follow the user {other} and tell me the numbers for {me} afterwards.",
        withhold=("follow_user",),
    )
    draft.call("follow_user", username_to_follow=other)
    draft.call("get_user_stats", username=me)


@family("TwitterAPI")
def timeline(draft: Draft) -> None:
    """Read a colleague's tweets and repost one, comment, unfollow, post."""
    rng = draft.rng
    me, author, boring, *others = _handles(rng, 5)
    config = _account(rng, me, password(rng), [author, boring, *others], logged_in=True)
    projects = rng.sample(_PROJECTS, 4)
    first_id = config["tweet_counter"] - 8
    for number, project in enumerate(projects):
        tweet_id = first_id + 2 * number
        config["tweets"][str(tweet_id)] = {
            "id": tweet_id,
            "username": others[0] if number == 3 else author,
            "content": f"The {project} {rng.pick(_UPDATES)}.",
            "tags": [rng.pick(_TAGS)],
            "mentions": [],
        }
    chosen = rng.below(3)
    project, tweet_id = projects[chosen], first_id + 2 * chosen
    comment, tag, text = rng.pick(_COMMENTS), rng.pick(_TAGS), notes(rng, 1)[0]
    draft.start(TwitterAPI=config)

    draft.ask(
        f"Get all tweets of {author} and retweet the one about the {project}.",
        f"What has {author} tweeted? Fetch their tweets, then repost the one on the {project}.",
        f"Look at the tweets by {author}; the one about the {project} should be retweeted.",
        withhold=("retweet",),
    )
    draft.call("get_user_tweets", username=author)
    draft.call("retweet", tweet_id=tweet_id)

    draft.ask(
        f"Comment on that tweet with '{comment}'",
        f"Write '{comment}' below it.",
        f"Leave the comment '{comment}' on the tweet you just reposted.",
        vague=("Leave a comment on that tweet.", "Please comment on it for me."),
        answer=(f"Say '{comment}'", f"The comment reads '{comment}'"),
        withhold=("comment",),
    )
    draft.call("comment", tweet_id=tweet_id, comment_content=comment)

    draft.ask(
        f"Unfollow {boring}.",
        f"I no longer want to follow {boring}.",
        f"Please stop following {boring} from my account.",
        vague=("I follow too many people. Unfollow one of them.", "Stop following one of the users I follow, please."),
        answer=(f"I mean {boring}.", f"{boring}, please."),
        withhold=("unfollow_user",),
    )
    draft.call("unfollow_user", username_to_unfollow=boring)

    draft.ask(
        f"Tweet '{text}' with the hashtag {tag}.",
        f"Post a tweet tagged {tag} that says '{text}'",
        f"Publish '{text}' and tag it {tag}.",
        vague=("Post a tweet for me.", f"Publish a tweet with the hashtag {tag}."),
        answer=(f"The text is '{text}' and the hashtag {tag}.", f"'{text}' with {tag}."),
        withhold=("post_tweet",),
    )
    draft.call("post_tweet", content=text, tags=[tag])


@family("GorillaFileSystem", "TwitterAPI")
def file_to_tweet(draft: Draft) -> None:
    """Read a text in a directory, tweet it, comment, note in a file that it is done."""
    rng = draft.rng
    me, partner, *following = _handles(rng, 4)
    secret = password(rng)
    project, other = rng.sample(_PROJECTS, 2)
    folder, name = f"{other.replace(' ', '_')}_posts", f"{project.replace(' ', '_')}.txt"
    content = f"The {project} {rng.pick(_UPDATES)}, says the {rng.pick(_PROJECTS)} crew."
    remark, comment = notes(rng, 1)[0], rng.pick(_COMMENTS)
    files = {name: {"type": "file", "content": content}, "done.txt": {"type": "file", "content": "Nothing yet."}}
    draft.start(
        GorillaFileSystem={
            "root": {
                "home": {
                    "type": "directory",
                    "contents": {
                        folder: {"type": "directory", "contents": files},
                        "drafts": {"type": "directory", "contents": {}},
                    },
                }
            }
        },
        TwitterAPI=_account(rng, me, secret, following, logged_in=False),
    )

    draft.ask(
        f"Go into the directory {folder} and show me what {name} says.",
        f"There is a file {name} in the folder {folder}. Change to that folder and print the file.",
        f"Open {folder} and read {name} to me.",
        withhold=("cd",),
    )
    draft.call("cd", folder=folder)
    draft.call("cat", file_name=name)

    draft.ask(
        f"Tweet exactly that text, without tags. My account is {me}, the password {secret}.",
        f"Log in to Twitter as {me} with {secret} and post the content of the file, word for word, without tags.",
        f"Publish the text of the file unchanged as a tweet, no hashtags. Log in as {me}, password {secret}.",
        vague=(
            "Tweet exactly that text, without tags, from my account.",
            "Log in to Twitter and post the content of the file, word for word and without hashtags.",
        ),
        answer=(f"My account is {me}, the password {secret}.", f"Log in as {me} with {secret}."),
        withhold=("authenticate_twitter", "post_tweet"),
    )
    draft.call("authenticate_twitter", username=me, password=secret)
    tweet_id = draft.call("post_tweet", content=content)["id"]

    draft.ask(
        f"Mention @{partner} in the tweet and comment '{comment}' on it.",
        f"Add a mention of @{partner} to it, then leave the comment '{comment}'",
        f"The tweet should mention @{partner}. Also comment on it: '{comment}'",
        vague=("Mention a friend of mine in the tweet and comment on it.",),
        answer=(f"Mention @{partner}; the comment is '{comment}'",),
        withhold=("mention", "comment"),
    )
    draft.call("mention", tweet_id=tweet_id, mentioned_usernames=[f"@{partner}"])
    draft.call("comment", tweet_id=tweet_id, comment_content=comment)

    draft.ask(
        f"Replace the content of done.txt, in the same directory, by '{remark}'",
        f"Write '{remark}' into done.txt beside that file; it may be overwritten.",
        f"Overwrite done.txt here with '{remark}'",
        vague=("Overwrite done.txt, in the same directory, with a new text.",),
        answer=(f"The text is '{remark}'", f"It should say '{remark}'"),
        withhold=("echo",),
    )
    draft.call("echo", content=remark, file_name="done.txt")

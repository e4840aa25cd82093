"""TwitterAPI: an account that posts, reposts, comments and follows (officially the module `posting_api`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import Self

from envtune_gym.domains.base import Domain, ToolFailure, copy_plain, tool

__all__ = ["TwitterAPI"]

_DEFAULTS: Mapping[str, Any] = {
    "username": "john",
    "password": "john123",
    "authenticated": False,
    "tweets": {},
    "comments": {},
    "retweets": {},
    "following_list": ["alice", "bob"],
    "tweet_counter": 0,
}

_NOT_GIVEN: list[str] = []
"""The default of list arguments, told from an empty list by identity; never stored and never changed."""


class TwitterAPI(Domain):
    """A microblogging account with the tweets it can see.

    Posting, reposting, commenting and following need a login; reading and mentioning do not. Tweets that are posted
    without mentions share one list of them, as they do in the benchmark: users whom `mention` adds to one of
    these tweets are named by all of them. The list belongs to the world and ends with it.

    Attributes:
        username: Name of the account.
        password: Its password.
        authenticated: Whether somebody is logged in.
        tweets: Tweets by id: `id`, `username`, `content`, `tags`, `mentions`.
        comments: Comments (`username`, `content`) by id of the tweet; ids from the configuration stay strings.
        retweets: Ids of reposted tweets by user.
        following_list: Names of the users that the account follows.
        tweet_counter: Id of the next tweet.
    """

    state_fields = (
        "username",
        "password",
        "authenticated",
        "tweets",
        "comments",
        "retweets",
        "following_list",
        "tweet_counter",
    )
    hidden_fields = ("_shared_mentions",)

    def __init__(self, config: Mapping[str, Any], filler: Mapping[str, Any] | None = None) -> None:
        given = {**_DEFAULTS, **config}
        self.username = copy_plain(given["username"])
        self.password = copy_plain(given["password"])
        self.authenticated = copy_plain(given["authenticated"])
        self.tweets: dict[int, dict[str, Any]] = {int(key): copy_plain(value) for key, value in given["tweets"].items()}
        self.comments = copy_plain(given["comments"])
        self.retweets = copy_plain(given["retweets"])
        self.following_list = copy_plain(given["following_list"])
        self.tweet_counter = copy_plain(given["tweet_counter"])
        self._shared_mentions: list[str] = []

    def fork(self) -> Self:
        """Return an independent copy, in which tweets without mentions of their own share a list again."""
        copy = super().fork()
        for tweet_id, tweet in self.tweets.items():
            if tweet.get("mentions") is self._shared_mentions:
                copy.tweets[tweet_id]["mentions"] = copy._shared_mentions
        return copy

    @tool
    def authenticate_twitter(self, username: str, password: str) -> dict[str, Any]:
        """Log in to the account.

        Args:
            username: Name of the account.
            password: Password of the account.

        Returns:
            `authentication_status`: whether name and password were right.
        """
        if username == self.username and password == self.password:
            self.authenticated = True
            return {"authentication_status": True}
        wrong = ("password", password) if username == self.username else ("username", username)
        raise ToolFailure(
            "wrong_credentials", {"authentication_status": False}, argument=wrong[0], value=wrong[1], silent=True
        )

    @tool
    def posting_get_login_status(self) -> dict[str, Any]:
        """Tell whether the account is logged in.

        Returns:
            `login_status`: true after a login.
        """
        return {"login_status": bool(self.authenticated)}

    @tool
    def post_tweet(
        self, content: str, tags: list[str] = _NOT_GIVEN, mentions: list[str] = _NOT_GIVEN
    ) -> dict[str, Any]:
        """Publish a tweet from the account; needs a login.

        Args:
            content: Text of the tweet.
            tags: Hashtags to attach, each beginning with #; leave out for none.
            mentions: Users to name, each beginning with @; leave out for none.

        Returns:
            The tweet: `id`, `username`, `content`, `tags`, `mentions`.
        """
        self._require_login("posting")
        tweet = {
            "id": self.tweet_counter,
            "username": self.username,
            "content": content,
            "tags": tags,
            "mentions": self._shared_mentions if mentions is _NOT_GIVEN else mentions,
        }
        self.tweets[self.tweet_counter] = tweet
        self.tweet_counter += 1
        return tweet

    @tool
    def retweet(self, tweet_id: int) -> dict[str, Any]:
        """Repost a tweet; needs a login.

        Args:
            tweet_id: Id of the tweet.

        Returns:
            `retweet_status`: whether it is reposted now or had been already.
        """
        self._require_login("retweeting")
        self._find_tweet(tweet_id)
        if self.username not in self.retweets:
            self.retweets[self.username] = []
        reposted = self.retweets[self.username]
        if tweet_id in reposted:
            official = {"retweet_status": "Already retweeted"}
            raise ToolFailure("already_retweeted", official, argument="tweet_id", value=tweet_id, silent=True)
        reposted.append(tweet_id)
        return {"retweet_status": "Successfully retweeted"}

    @tool
    def comment(self, tweet_id: int, comment_content: str) -> dict[str, Any]:
        """Comment on a tweet; needs a login.

        Args:
            tweet_id: Id of the tweet.
            comment_content: Text of the comment.

        Returns:
            `comment_status`: a confirmation.
        """
        self._require_login("commenting")
        self._find_tweet(tweet_id)
        comment = {"username": self.username, "content": comment_content}
        if tweet_id not in self.comments:
            self.comments[tweet_id] = []
        self.comments[tweet_id].append(comment)
        return {"comment_status": "Comment added successfully"}

    @tool
    def mention(self, tweet_id: int, mentioned_usernames: list[str]) -> dict[str, Any]:
        """Name further users in a tweet.

        Args:
            tweet_id: Id of the tweet.
            mentioned_usernames: Users to name, each beginning with @.

        Returns:
            `mention_status`: a confirmation.
        """
        tweet = self._find_tweet(tweet_id)
        tweet["mentions"].extend(mentioned_usernames)
        return {"mention_status": "Users mentioned successfully"}

    @tool
    def follow_user(self, username_to_follow: str) -> dict[str, Any]:
        """Start following a user; needs a login.

        Args:
            username_to_follow: Name of the user.

        Returns:
            `follow_status`: false if the account followed that user already.
        """
        self._require_login("following")
        if username_to_follow in self.following_list:
            raise ToolFailure(
                "already_following",
                {"follow_status": False},
                argument="username_to_follow",
                value=username_to_follow,
                silent=True,
            )
        self.following_list.append(username_to_follow)
        return {"follow_status": True}

    @tool
    def list_all_following(self) -> dict[str, Any]:
        """List the users that the account follows; needs a login.

        Returns:
            `following_list`: their names.
        """
        self._require_login("listing following")
        return {"following_list": self.following_list}

    @tool
    def unfollow_user(self, username_to_unfollow: str) -> dict[str, Any]:
        """Stop following a user; needs a login.

        Args:
            username_to_unfollow: Name of the user.

        Returns:
            `unfollow_status`: false if the account did not follow that user.
        """
        self._require_login("unfollowing")
        if username_to_unfollow not in self.following_list:
            raise ToolFailure(
                "not_following",
                {"unfollow_status": False},
                argument="username_to_unfollow",
                value=username_to_unfollow,
                silent=True,
                following=self.following_list,
            )
        self.following_list.remove(username_to_unfollow)
        return {"unfollow_status": True}

    @tool
    def get_tweet(self, tweet_id: int) -> dict[str, Any]:
        """Show one tweet.

        Args:
            tweet_id: Id of the tweet.

        Returns:
            The tweet: `id`, `username`, `content`, `tags`, `mentions`.
        """
        return self._find_tweet(tweet_id)

    @tool
    def get_user_tweets(self, username: str) -> list[dict[str, Any]]:
        """Show all tweets of a user.

        Args:
            username: Name of the user.

        Returns:
            The tweets, oldest first: `id`, `username`, `content`, `tags`, `mentions`.
        """
        tweets = self._tweets_of(username)
        if not tweets:
            self._check_writing(username, tweets)
        return tweets

    @tool
    def search_tweets(self, keyword: str) -> list[dict[str, Any]]:
        """Find the tweets that hold a keyword in their text or have it as a tag, whatever its case.

        Args:
            keyword: What to look for.

        Returns:
            The tweets: `id`, `username`, `content`, `tags`, `mentions`.
        """
        if not self.tweets:
            return []
        needle = keyword.lower()
        return [
            tweet
            for tweet in self.tweets.values()
            if needle in tweet["content"].lower() or needle in [tag.lower() for tag in tweet["tags"]]
        ]

    @tool
    def get_tweet_comments(self, tweet_id: int) -> list[dict[str, Any]]:
        """Show the comments on a tweet.

        Args:
            tweet_id: Id of the tweet.

        Returns:
            The comments: `username`, `content`.
        """
        self._find_tweet(tweet_id)
        comments: list[dict[str, Any]] = self.comments.get(tweet_id, [])
        return comments

    @tool
    def get_user_stats(self, username: str) -> dict[str, Any]:
        """Count what a user has done.

        Args:
            username: Name of the user.

        Returns:
            `tweet_count`, `following_count` (0 for users other than the account's own) and `retweet_count`.
        """
        stats = {
            "tweet_count": len(self._tweets_of(username)),
            "following_count": len(self.following_list) if username == self.username else 0,
            "retweet_count": len(self.retweets.get(username, [])),
        }
        if not any(stats.values()):
            self._check_writing(username, stats)
        return stats

    def _tweets_of(self, username: str) -> list[dict[str, Any]]:
        return [tweet for tweet in self.tweets.values() if tweet["username"] == username]

    def _check_writing(self, username: str, official: object) -> None:
        """Fail silently where nothing was found for a name that, but for an `@` or its case, is somebody's."""
        known = [self.username, *self.following_list, *self.retweets, *(t["username"] for t in self.tweets.values())]
        if username not in known and _plain_name(username) in map(_plain_name, known):
            raise ToolFailure("name_written_otherwise", official, argument="username", value=username, silent=True)

    def _require_login(self, purpose: str) -> None:
        if not self.authenticated:
            raise ToolFailure("not_authenticated", f"User not authenticated. Please authenticate before {purpose}.")

    def _find_tweet(self, tweet_id: int) -> dict[str, Any]:
        if tweet_id in self.tweets:
            return self.tweets[tweet_id]
        raise ToolFailure(
            "tweet_not_found",
            f"Tweet with ID {tweet_id} not found.",
            argument="tweet_id",
            value=tweet_id,
            known=list(self.tweets),
        )


def _plain_name(name: object) -> str:
    return str(name).strip().removeprefix("@").lower()

"""TwitterAPI: results, typed causes, and what worlds share (nothing)."""

import pytest

from envtune_gym.domains.base import ToolFailure
from envtune_gym.domains.twitter_api import TwitterAPI
from envtune_gym.testing import DomainSuite, HintSuite, TaskSuite

TWEET = {"id": 3, "username": "ann", "content": "Hello World", "tags": ["#Greeting"], "mentions": []}


def config():
    return {
        "username": "ann",
        "password": "secret",
        "authenticated": True,
        "tweets": {"3": dict(TWEET, tags=["#Greeting"], mentions=[])},
        "comments": {},
        "retweets": {},
        "following_list": ["bob"],
        "tweet_counter": 4,
    }


@pytest.fixture
def api():
    return TwitterAPI(config())


def fail(function, *args):
    with pytest.raises(ToolFailure) as failure:
        function(*args)
    return failure.value


def test_a_missing_configuration_means_the_official_account():
    assert TwitterAPI({}).state() == {
        "username": "john",
        "password": "john123",
        "authenticated": False,
        "tweets": {},
        "comments": {},
        "retweets": {},
        "following_list": ["alice", "bob"],
        "tweet_counter": 0,
    }


def test_posting_and_reading(api):
    tweet = {"id": 4, "username": "ann", "content": "Trip!", "tags": ["#go"], "mentions": ["@bob"]}
    assert api.post_tweet("Trip!", ["#go"], ["@bob"]) == tweet
    assert api.get_tweet(4) == tweet
    assert api.get_user_tweets("ann") == [TWEET, tweet]
    assert api.search_tweets("WORLD") == api.search_tweets("#greeting") == [TWEET]
    assert api.tweet_counter == 5
    assert api.get_user_stats("ann") == {"tweet_count": 2, "following_count": 1, "retweet_count": 0}


def test_commenting_mentioning_and_following(api):
    assert api.comment(3, "nice") == {"comment_status": "Comment added successfully"}
    assert api.get_tweet_comments(3) == [{"username": "ann", "content": "nice"}]
    assert api.mention(3, ["@cid"]) == {"mention_status": "Users mentioned successfully"}
    assert api.tweets[3]["mentions"] == ["@cid"]
    assert api.retweet(3) == {"retweet_status": "Successfully retweeted"}
    assert api.retweets == {"ann": [3]}
    assert api.follow_user("cid") == {"follow_status": True}
    assert api.unfollow_user("bob") == {"unfollow_status": True}
    assert api.list_all_following() == {"following_list": ["cid"]}


@pytest.mark.parametrize(
    ("tool", "args", "purpose"),
    [
        ("post_tweet", ("x",), "posting"),
        ("retweet", (3,), "retweeting"),
        ("comment", (3, "x"), "commenting"),
        ("follow_user", ("x",), "following"),
        ("list_all_following", (), "listing following"),
        ("unfollow_user", ("bob",), "unfollowing"),
    ],
)
def test_writing_needs_a_login(api, tool, args, purpose):
    api.authenticated = False
    before = api.state()
    failure = fail(getattr(api, tool), *args)
    text = f"User not authenticated. Please authenticate before {purpose}."
    assert (failure.code, failure.official) == ("not_authenticated", {"error": text})
    assert api.state() == before


@pytest.mark.parametrize(
    ("tool", "args"),
    [("get_tweet", ()), ("retweet", ()), ("comment", ("x",)), ("mention", ([],)), ("get_tweet_comments", ())],
)
def test_an_unknown_tweet(api, tool, args):
    failure = fail(getattr(api, tool), 99, *args)
    assert (failure.code, failure.official) == ("tweet_not_found", {"error": "Tweet with ID 99 not found."})
    assert (failure.argument, failure.value, failure.details) == ("tweet_id", 99, {"known": [3]})


@pytest.mark.parametrize(
    ("tool", "args", "code", "argument", "official"),
    [
        ("authenticate_twitter", ("ann", "x"), "wrong_credentials", "password", {"authentication_status": False}),
        ("authenticate_twitter", ("x", "secret"), "wrong_credentials", "username", {"authentication_status": False}),
        ("follow_user", ("bob",), "already_following", "username_to_follow", {"follow_status": False}),
        ("unfollow_user", ("zoe",), "not_following", "username_to_unfollow", {"unfollow_status": False}),
        ("get_user_tweets", ("@Ann",), "name_written_otherwise", "username", []),
        (
            "get_user_stats",
            ("Bob",),
            "name_written_otherwise",
            "username",
            {"tweet_count": 0, "following_count": 0, "retweet_count": 0},
        ),
    ],
)
def test_answers_that_cannot_have_been_meant_are_marked(api, tool, args, code, argument, official):
    failure = fail(getattr(api, tool), *args)
    assert failure.silent
    assert (failure.code, failure.argument, failure.official) == (code, argument, official)


@pytest.mark.parametrize("username", ["bob", "zoe", 3, ["ann"]])
def test_a_user_without_tweets_is_a_legitimate_answer(api, username):
    assert api.get_user_tweets(username) == []


def test_a_second_repost_is_marked(api):
    api.retweet(3)
    failure = fail(api.retweet, 3)
    assert failure.silent
    assert failure.official == {"retweet_status": "Already retweeted"}
    assert api.retweets == {"ann": [3]}


def test_logging_in():
    api = TwitterAPI({})
    assert api.posting_get_login_status() == {"login_status": False}
    assert api.authenticate_twitter("john", "john123") == {"authentication_status": True}
    assert api.posting_get_login_status() == {"login_status": True}


def test_tweets_without_mentions_share_theirs_within_a_world_only(api):
    api.post_tweet("one")
    fork = api.fork()
    api.mention(4, ["@cid"])
    api.post_tweet("two")
    api.post_tweet("three", [], [])
    assert [api.get_tweet(number)["mentions"] for number in (4, 5, 6)] == [["@cid"], ["@cid"], []]
    assert fork.post_tweet("two")["mentions"] == []
    fork.mention(5, ["@dan"])
    assert fork.get_tweet(4)["mentions"] == ["@dan"]
    assert TwitterAPI(config()).post_tweet("x")["mentions"] == []


class TestSuites(DomainSuite, TaskSuite, HintSuite):
    domain = "TwitterAPI"
    configs = (config(), {})

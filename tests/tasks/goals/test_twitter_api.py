import pytest

from envtune_gym.domains import domain_class
from envtune_gym.tasks.goals import goals_of
from envtune_gym.world import World

from .planned import plans, told_before

DOMAIN = "TwitterAPI"


@pytest.fixture(scope="module")
def some_plans():
    return plans(DOMAIN, 250)


def test_every_tool_and_every_goal_occurs(some_plans):
    steps = [step for plan in some_plans for turn in plan.turns for step in turn]
    assert {call.name for step in steps for call in step.calls} == set(domain_class(DOMAIN).tools)
    assert {step.goal for step in steps} == set(goals_of((DOMAIN,)))


def test_ids_of_tweets_come_from_results_unless_somebody_has_passed_one_on(some_plans):
    seen = 0
    for plan in some_plans:
        said = " ".join(step.request for turn in plan.turns for step in turn if step.goal != "open_a_numbered_tweet")
        for step, name, value in told_before(plan):
            if name == "tweet_id" and step.goal != "open_a_numbered_tweet":
                seen += 1
                assert str(value) in step.shown, step.request
                assert str(value) not in said
    assert seen > 100


def test_the_author_to_follow_may_be_known_from_a_result_alone(some_plans):
    followed = [
        (step, value)
        for plan in some_plans
        for step, name, value in told_before(plan)
        if name == "username_to_follow" and step.goal in ("follow_the_author", "search_and_follow")
    ]
    assert len(followed) > 10
    assert all(value in step.shown for step, value in followed)
    assert sum(value not in step.request for step, value in followed) > len(followed) / 2


def test_mentions_are_added_only_to_tweets_with_a_list_of_their_own(some_plans):
    """Tweets posted without mentions share one list, which officially outlives the world."""
    for plan in some_plans:
        world = World((DOMAIN,), plan.config)
        posted_without = set()
        for step in (step for turn in plan.turns for step in turn):
            for call, result in zip(step.calls, step.results, strict=True):
                assert world.run(call).content == result
                if call.name == "post_tweet" and "mentions" not in call.kwargs:
                    posted_without.add(max(world.state()[DOMAIN]["tweets"]))
                if call.name == "mention":
                    assert call.kwargs["tweet_id"] not in posted_without


def test_the_password_is_said_whenever_it_is_needed(some_plans):
    signed_in = [
        step
        for plan in some_plans
        for turn in plan.turns
        for step in turn
        if any(call.name == "authenticate_twitter" for call in step.calls)
    ]
    assert signed_in
    for step in signed_in:
        call = next(call for call in step.calls if call.name == "authenticate_twitter")
        assert call.kwargs["password"] in step.request
        assert call.kwargs["username"] in step.request


def test_nobody_is_both_followed_and_unfollowed(some_plans):
    for plan in some_plans:
        calls = [call for turn in plan.turns for step in turn for call in step.calls]
        followed = {call.kwargs["username_to_follow"] for call in calls if call.name == "follow_user"}
        dropped = {call.kwargs["username_to_unfollow"] for call in calls if call.name == "unfollow_user"}
        assert not followed & dropped


def test_one_message_adds_mentions_to_a_tweet_once(some_plans):
    """Two could be one call, or part of posting the tweet."""
    for plan in some_plans:
        for turn in plan.turns:
            tweets = [call.kwargs["tweet_id"] for step in turn for call in step.calls if call.name == "mention"]
            assert len(tweets) == len(set(tweets))

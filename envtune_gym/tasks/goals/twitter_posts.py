"""Goals of TwitterAPI about what the account tweets itself."""

from __future__ import annotations

from envtune_gym.tasks.goals.base import goal
from envtune_gym.tasks.goals.plan import Plan, Unfit
from envtune_gym.tasks.goals.twitter_notes import Account, account_in_use, give_tweet, sign_in, signed_out


@goal("TwitterAPI")
def sign_in_and_tweet(plan: Plan) -> None:
    """Sign in and post."""
    book = signed_out(plan)
    project, content = book.content(plan)
    tag = book.tag(plan)
    plan.ask(
        "[Log in to Twitter|Sign in to Twitter] as {me} ([the |]password[ is|] {secret}) and [tweet|post] '{content}' "
        "with the hashtag {tag}.",
        "[Post|Tweet|Publish] this on Twitter for me with the tag {tag}: '{content}' [The account is {me}, its|Log in "
        "as {me}; the] password is {secret}.",
        "[My Twitter name is|On Twitter I'm] {me} and the password is {secret}. [Log in and|Please log in and] "
        "[publish|tweet] '{content}' [tagged|with the tag] {tag}.",
        vague=(
            "[Log in|Sign in] to my Twitter account and [tweet|post|publish] my news about the {project}[, please|].",
            "[Log in to Twitter as|On Twitter, log in as] {me} and [publish|post] my tweet[ tagged {tag}|] about the "
            "{project}.",
        ),
        answer=(
            "The account is {me}, the password[ is|] {secret}, and the tweet [says|reads] '{content}' with the hashtag "
            "{tag}.",
            "[Use|Log in with] {me} and the password {secret}. [The text|Tweet]: '{content}' [The hashtag|Hashtag]: "
            "{tag}.",
        ),
        withhold=("authenticate_twitter", "post_tweet"),
        me=book.name,
        secret=book.password,
        content=content,
        tag=tag,
        project=project,
    )
    sign_in(plan)
    give_tweet(plan, plan.call("post_tweet", content=content, tags=[tag]), project, own_list=False)


@goal("TwitterAPI")
def tweet_with_tags(plan: Plan) -> None:
    """Post a text with one or two hashtags."""
    book = account_in_use(plan)
    project, content = book.content(plan)
    tags = list(dict.fromkeys((book.tag(plan), book.tag(plan))))
    plan.ask(
        "[Tweet|Post|Please tweet] '{content}' with the hashtag{s} {tags}.",
        "[Post|Publish|Send out] a tweet tagged {tags} that [says|reads] '{content}'",
        "[Time for|Here is] news about the {project}: [tweet|publish] '{content}' [and tag it|with the tag{s}] {tags}.",
        vague=(
            "[Tweet|Post|Publish] [my news|the news I have] about the {project}[, tagged {tags}|].",
            "[Post|Please post] a tweet [for me|in my name][ with the hashtag{s} {tags}|].",
        ),
        answer=(
            "[The text is|It should read] '{content}' and the hashtag{s} {are} {tags}.",
            "[Tweet|Write|Post] '{content}' with {tags} as hashtag{s}.",
        ),
        withhold=("post_tweet",),
        content=content,
        project=project,
        tags=" and ".join(tags),
        s="s" if len(tags) > 1 else "",
        are="are" if len(tags) > 1 else "is",
    )
    give_tweet(plan, plan.call("post_tweet", content=content, tags=tags), project, own_list=False)


@goal("TwitterAPI")
def tweet_with_mention(plan: Plan) -> None:
    """Post a text that mentions somebody, without hashtags."""
    book = account_in_use(plan)
    name = book.stranger()
    project, content = book.content(plan)
    plan.ask(
        "[Tweet|Post|Please tweet] '{content}' [without hashtags|with no hashtags], and mention @{name} in it.",
        "[Publish|Post] a tweet that [says|reads] '{content}' and mentions @{name}[; no hashtags, please|, without "
        "hashtags].",
        "[There is|Here's] news about the {project}, and @{name} should be mentioned in it: [tweet|publish] "
        "'{content}' [without tags|without hashtags].",
        vague=(
            "[Tweet|Post|Publish] '{content}' [without hashtags|with no hashtags], and mention a friend of mine in it.",
            "[Tweet|Post|Publish] my news about the {project} without hashtags, and mention a friend of mine in it.",
        ),
        answer=(
            "[The text is|It should say] '{content}' and [it mentions|the friend is] @{name}.",
            "[Mention|It's] @{name}, and the tweet says '{content}'",
        ),
        withhold=("post_tweet",),
        content=content,
        project=project,
        name=name,
    )
    give_tweet(plan, plan.call("post_tweet", content=content, mentions=[f"@{name}"]), project)


@goal("TwitterAPI", needs=("tweet",))
def mention_somebody(plan: Plan) -> None:
    """Add somebody to those whom a tweet mentions."""
    book = plan.book(Account)
    tweet = plan.take("tweet", known=True, where=lambda tweet: tweet["mine"] and tweet["own_list"])
    if plan.lately_called("mention") or plan.lately_called("post_tweet", steps=1):
        raise Unfit("one call could do both, and the order of two mentions would matter")
    name = book.stranger()
    plan.ask(
        "[Mention|Please mention] @{name} in {tweet}[, too|].",
        "[Somebody is missing|I forgot somebody]: [mention|please mention] @{name} in {tweet}.",
        "[Could|Can|Would] you [add a mention of @{name} to|mention @{name} in] {tweet}[ as well|]?",
        vague=(
            "[Somebody is missing|I forgot somebody]: [add a mention|please add a mention] to {tweet}.",
            "[Mention|Please mention] a friend of mine in {tweet}.",
        ),
        answer=("[It's|I mean|The name is] @{name}.", "[Mention|That would be] @{name}."),
        withhold=("mention",),
        tweet=tweet,
        name=name,
    )
    plan.call("mention", tweet_id=tweet["id"], mentioned_usernames=[f"@{name}"])
    tweet["mentions"] += 1


@goal("TwitterAPI", needs=("tweet",))
def show_a_changed_tweet(plan: Plan) -> None:
    """Show a tweet as it is after mentions were added."""
    tweet = plan.take("tweet", known=True, where=lambda tweet: tweet["mentions"] > 0)
    if plan.has_shown("get_tweet", tweet_id=tweet["id"]):
        raise Unfit("nothing new")
    plan.ask(
        "[Show me|Let me see|Get] {tweet} as it [is|stands] now[, with its mentions|].",
        "[Get|Fetch|Open] {tweet} once more[; I'd like|. I want] to see who is mentioned[ now|].",
        "[Who is|Which users are] mentioned in {tweet} now? [Show|Get] me the tweet[ itself|].",
        tweet=tweet,
    )
    plan.call("get_tweet", tweet_id=tweet["id"])


@goal("TwitterAPI", needs=("tweet",))
def quote_a_tweet(plan: Plan) -> None:
    """Post the text of somebody's tweet under a hashtag."""
    book = account_in_use(plan)
    mine = {one["project"] for one in plan.things("tweet") if one["mine"]}
    tweet = plan.take("tweet", known=True, where=lambda one: not one["mine"] and one["project"] not in mine)
    tag = book.tag(plan)
    plan.ask(
        "From my account, [post|publish] the [exact|very same] text of {tweet}[ as well|], with the hashtag {tag}.",
        "[I'd like|I want] to quote {tweet}: [post|publish] the same text[, unchanged,|] from my account and tag it "
        "{tag}.",
        "[Make|Please make] a new tweet from my account with the very text of {tweet}; [its only hashtag is|the "
        "hashtag is] {tag}.",
        vague=(
            "From my account, [post|publish] the [exact|very same] text of {tweet}[ as well|], with my [usual|"
            "favourite] hashtag.",
        )
        if not plan.has_come_up(tag)
        else (),
        answer=("[The hashtag is|Tag it] {tag}.", "[It's|Make it] {tag}."),
        withhold=("post_tweet",),
        tweet=tweet,
        tag=tag,
    )
    give_tweet(plan, plan.call("post_tweet", content=tweet["text"], tags=[tag]), tweet["project"], own_list=False)


@goal("TwitterAPI", needs=("tweet",), weight=0.7)
def look_up_and_mention(plan: Plan) -> None:
    """Go through the own tweets and mention somebody in one of them."""
    book = plan.book(Account)
    tweet = plan.take("tweet", known=False, where=lambda tweet: tweet["mine"] and tweet["own_list"])
    if plan.has_shown("get_user_tweets", username=book.name):
        raise Unfit("nothing new")
    name = book.stranger()
    plan.ask(
        "[Go through|Look through|Fetch] my own tweets (I'm {me}) and [mention|add a mention of] @{name} in the one "
        "about the {project}.",
        "[My account|The account] is {me}: [get|fetch] all its tweets and [add a mention of|mention] @{name} in the "
        "one about the {project}.",
        "[Get|Fetch|Pull up] all tweets of my account {me}[. The|; the] one about the {project} should [also "
        "|]mention @{name}.",
        vague=(
            "[Go through|Look through|Fetch] my own tweets (I'm {me}) and mention a friend of mine in the one about "
            "the {project}.",
        ),
        answer=("[It's|I mean|The name is] @{name}.", "[Mention|That would be] @{name}."),
        withhold=("mention",),
        me=book.name,
        name=name,
        project=tweet["project"],
        tweet=tweet,
    )
    plan.call("get_user_tweets", username=book.name)
    for other in plan.things("tweet"):
        if other["mine"]:
            other.known = True
    plan.call("mention", tweet_id=tweet["id"], mentioned_usernames=[f"@{name}"])
    tweet["mentions"] += 1

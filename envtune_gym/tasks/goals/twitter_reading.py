"""Goals of TwitterAPI about what others tweet: finding, reading, reposting, commenting on it, following its authors."""

from __future__ import annotations

from envtune_gym.tasks.goals.base import goal
from envtune_gym.tasks.goals.plan import Plan, Thing, Unfit
from envtune_gym.tasks.goals.twitter_notes import Account, account_in_use, add_comment, check_apart, follow, was_done


@goal("TwitterAPI", needs=("tweet",))
def find_by_author_and_repost(plan: Plan) -> None:
    """Read an author's tweets and repost one of them."""
    account_in_use(plan)
    tweet = plan.take("tweet", known=False, where=lambda tweet: not tweet["mine"])
    _check_tweets(plan, tweet["author"])
    plan.ask(
        "[Get|Fetch|Pull up] [all tweets of|everything tweeted by|the tweets of] {author} and [retweet|repost] the "
        "one about the {project}.",
        "What has {author} [tweeted|posted]? [Fetch|Get] [all of |]their tweets, then [repost|retweet] the one about "
        "the {project}.",
        "[Look at|Go through] the tweets of {author}; the one about the {project} [should be|is to be] retweeted.",
        vague=(
            "[Get|Fetch|Pull up] the tweets of [a friend|a certain user] and [retweet|repost] one of them[ for me|].",
        )
        if not plan.has_come_up(tweet["author"])
        else (),
        answer=(
            "[It's|The user is|I mean] {author}, and the tweet to [repost|retweet] is the one about the {project}.",
            "[Repost|Retweet] the one by {author} about the {project}.",
        ),
        withhold=("retweet",),
        tweet=tweet,
        author=tweet["author"],
        project=tweet["project"],
    )
    _show_tweets_of(plan, tweet["author"])
    _repost(plan, tweet)


@goal("TwitterAPI", needs=("tweet",))
def search_and_comment(plan: Plan) -> None:
    """Search for a tweet and comment on it."""
    book, tweet = account_in_use(plan), _tweet_to_search(plan)
    comment = book.comment()
    plan.ask(
        "[Search|Please search] the tweets for '{project}' and comment on the one [you find|that comes up]: "
        "'{comment}'",
        "[There is|Somebody wrote] a tweet about the {project}. [Search|Run a search] for '{project}' and leave this "
        "comment on it: '{comment}'",
        "[Find|Look for] the tweet on '{project}' with a search[. Then|, then] put the comment '{comment}' [on|below] "
        "it.",
        vague=(
            "[Search|Please search] the tweets for '{project}' and [leave|put] my comment on the one [you "
            "find|that comes up].",
            "[Find|Look for] the tweet on '{project}' with a search and leave my comment [on|below] it.",
        ),
        answer=("[The comment is|It should say|Write] '{comment}'", "[My comment|The text]: '{comment}'"),
        withhold=("comment",),
        project=tweet["project"],
        comment=comment,
        tweet=tweet,
    )
    _search(plan, tweet)
    add_comment(plan, tweet, comment)


@goal("TwitterAPI", needs=("tweet",))
def search_and_follow(plan: Plan) -> None:
    """Search for a tweet and follow its author, whom the user does not name."""
    book = account_in_use(plan)
    tweet = _tweet_to_search(plan, stranger=True)
    check_apart(plan, "follow_user")
    plan.ask(
        "[Somebody tweets|Somebody wrote|There is a tweet] about the {project}: [search|please search] for "
        "'{project}' and follow the author.",
        "[Search|Please search] the tweets for '{project}' and [follow whoever wrote the one you find|start "
        "following the author of the one that comes up].",
        "[I'd like|I want] to follow the person who tweeted about the {project}. [Search|Run a search] for "
        "'{project}'[ to find them|] and [follow them|follow that user].",
        vague=(
            "[Search|Please search] the tweets for [a topic that I like|something that interests me] and follow the "
            "author of the one you find.",
        )
        if not plan.has_come_up(tweet["project"])
        else (),
        answer=("[Search for|The topic is|Look for] '{project}'.", "'{project}'[, please|]."),
        withhold=("search_tweets", "follow_user"),
        project=tweet["project"],
        tweet=tweet,
    )
    _search(plan, tweet)
    follow(plan, book, tweet["author"])


@goal("TwitterAPI", needs=("tweet",), weight=0.7)
def open_a_numbered_tweet(plan: Plan) -> None:
    """Show a tweet whose number somebody has passed on."""
    tweet = plan.take("tweet", known=False, where=lambda tweet: not tweet["mine"])
    if plan.has_shown("get_tweet", tweet_id=tweet["id"]):
        raise Unfit("nothing new")
    plan.ask(
        "[A friend|Somebody|My sister] sent me the number of a tweet, {number}. [Show|Please show] me the tweet.",
        "[Show me|Open|Let me see] [tweet {number}|the tweet with the id {number}][, please|].",
        "What does [tweet {number}|the tweet with the number {number}] say[, and who wrote it|]?",
        vague=(
            "[A friend|Somebody|My sister] sent me the number of a tweet. [Show|Please show] me the tweet.",
            "[Show me|Let me see|Open] the tweet whose number [a friend|my sister] sent me.",
        ),
        answer=("[It's|The number is|The id is] {number}.", "[Number|Tweet] {number}."),
        withhold=("get_tweet",),
        number=tweet["id"],
        tweet=tweet,
    )
    plan.call("get_tweet", tweet_id=tweet["id"])
    tweet.known = True


@goal("TwitterAPI", needs=("tweet",), weight=0.6)
def read_a_timeline(plan: Plan) -> None:
    """Show what somebody has tweeted."""
    tweet = plan.take("tweet", known=False, where=lambda tweet: not tweet["mine"])
    _check_tweets(plan, tweet["author"])
    plan.ask(
        "[Show me|List|Let me see] [all tweets of|everything tweeted by|all the tweets of] {author}.",
        "What has {author} [tweeted|posted]? [Show me|List] all of it.",
        "[I missed|I've missed] what {author} has been [writing|up to]; [get|show me] all [of |]their tweets.",
        vague=("[Show me|List|Let me see] [all tweets of|everything tweeted by] [a friend of mine|a certain user].",)
        if not plan.has_come_up(tweet["author"])
        else (),
        answer=("[It's|I mean|The user is] {author}.", "{author}[, please| is the name|]."),
        author=tweet["author"],
        several=Thing("tweet", "several"),  # after these, "that tweet" means none of them
    )
    _show_tweets_of(plan, tweet["author"])


@goal("TwitterAPI", needs=("tweet",))
def repost_a_tweet(plan: Plan) -> None:
    """Repost a tweet that has been shown."""
    account_in_use(plan)
    tweet = plan.take("tweet", known=True, where=lambda tweet: not tweet["mine"] and not tweet["reposted"])
    check_apart(plan, "retweet")
    plan.ask(
        "[Retweet|Please retweet|Repost] {tweet}[ for me|].",
        "[My followers should see|I'd like to share] {tweet}[. Retweet|; retweet] it.",
        "[Could you|Can you|Would you] [repost|retweet] {tweet}[ from my account|]?",
        withhold=("retweet",),
        tweet=tweet,
    )
    _repost(plan, tweet)


@goal("TwitterAPI", needs=("tweet",))
def comment_on_a_tweet(plan: Plan) -> None:
    """Comment on a tweet that has been shown or posted."""
    book = account_in_use(plan)
    tweet = plan.take("tweet", known=True)
    check_apart(plan, "comment", tweet["id"])
    comment = book.comment()
    plan.ask(
        "[Comment on|Leave a comment on] {tweet}: '{comment}'",
        "[Add|Leave|Put] the comment '{comment}' [below|on|under] {tweet}.",
        "[Under|Below] {tweet}, [please write|I'd like this comment|write]: '{comment}'",
        vague=(
            "[Leave|Put|Post] my comment [on|below] {tweet}[, please|].",
            "[I've thought of|I have] a comment on {tweet}. [Post it for me|Please post it].",
        ),
        answer=("[It should say|The comment is|Write] '{comment}'", "[Just say|Say] '{comment}'"),
        withhold=("comment",),
        tweet=tweet,
        comment=comment,
    )
    add_comment(plan, tweet, comment)


@goal("TwitterAPI", needs=("tweet",))
def read_the_comments(plan: Plan) -> None:
    """Show the comments on a tweet that has some."""
    tweet = plan.take("tweet", where=lambda tweet: tweet["comments"] > 0)
    if plan.has_shown("get_tweet_comments", tweet_id=tweet["id"]):
        raise Unfit("nothing new")
    plan.ask(
        "[Show me|List|Let me read] [all comments|all the comments|the comments] [on|below|under] {tweet}.",
        "[Which|What] comments are there [on|below] {tweet}[ now|]?",
        "[I wonder|I'd like to know] what has been [said|written] below {tweet}; [get|fetch|show me] its comments.",
        tweet=tweet,
    )
    plan.call("get_tweet_comments", tweet_id=tweet["id"])


@goal("TwitterAPI", needs=("tweet",))
def follow_the_author(plan: Plan) -> None:
    """Follow whoever wrote a tweet that has been shown."""
    book = account_in_use(plan)
    tweet = plan.take(
        "tweet",
        known=True,
        where=lambda tweet: (
            not tweet["mine"]
            and tweet["author"] not in book.following
            and not was_done(plan, "unfollow_user", tweet["author"])
        ),
    )
    check_apart(plan, "follow_user")
    plan.ask(
        "[Follow|Please follow|Start following] [the author of|whoever wrote|the person behind] {tweet}.",
        "[I like|I enjoyed] {tweet}. [Follow|Please follow] [its author|whoever wrote it].",
        "[Could you|Can you|Would you] follow [the author of|the user who wrote] {tweet} [for me|from my account]?",
        withhold=("follow_user",),
        tweet=tweet,
    )
    follow(plan, book, tweet["author"])


def _repost(plan: Plan, tweet: Thing) -> None:
    plan.call("retweet", tweet_id=tweet["id"])
    tweet["reposted"] = True


def _show_tweets_of(plan: Plan, author: str) -> None:
    plan.call("get_user_tweets", username=author)
    for tweet in plan.things("tweet"):
        if tweet["author"] == author:
            tweet.known = True


def _check_tweets(plan: Plan, author: str) -> None:
    if plan.has_shown("get_user_tweets", username=author):
        raise Unfit("nothing new")


def _tweet_to_search(plan: Plan, stranger: bool = False) -> Thing:
    following = plan.book(Account).following
    tweet = plan.take(
        "tweet",
        known=False,
        where=lambda tweet: (
            not tweet["mine"]
            and not (stranger and (tweet["author"] in following or was_done(plan, "unfollow_user", tweet["author"])))
        ),
    )
    if plan.has_shown("search_tweets", keyword=tweet["project"]):
        raise Unfit("nothing new")
    return tweet


def _search(plan: Plan, tweet: Thing) -> None:
    plan.call("search_tweets", keyword=tweet["project"])
    tweet.known = True

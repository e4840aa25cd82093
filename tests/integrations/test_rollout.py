import math
from itertools import pairwise

import pytest

pytest.importorskip("trl")

import gymnasium as gym

from envtune_gym import TaskSet
from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.rollout import EpisodeRequest, Rollout, RolloutConfig, play
from envtune_gym.integrations.tokens import ChatTemplate
from envtune_gym.wrappers import AugmentedFeedbackWrapper, ProgressRewardWrapper

from .helpers import SOLUTION, Script, answer, call, other_text, own_text


def tokens_of(rollout):
    conversation = rollout.conversation
    return conversation.prompt_ids, conversation.completion_ids, conversation.mask, conversation.logprobs


def test_an_episode_goes_through_its_user_turns_and_pays_the_verdict(run, tokenizer):
    (rollout,) = run(SOLUTION)
    record = rollout.record
    assert own_text(rollout, tokenizer) == "".join(text + "<|im_end|>" for text in SOLUTION)
    others = other_text(rollout, tokenizer)
    assert "Close it and average 1, 2 and 6." in others
    assert '"content"' in others  # tool results
    assert others.count("<|im_start|>assistant\n") == len(SOLUTION) - 1
    assert rollout.conversation.mask[-1] == 1  # nothing follows the last reply
    assert (record.reward, record.success, record.turns, record.num_turns) == (1.0, True, 2, 2)
    assert (record.num_steps, record.calls, record.errors) == (5, 3, 0)
    assert (record.truncated_by, record.broken) == ("", "")


def test_what_the_model_reads_is_what_it_read_before_with_more_after_it(tokenizer, make_env):
    engine = Script(tokenizer, SOLUTION)
    config = RolloutConfig(max_prompt_tokens=16_000, max_completion_tokens=10_000)
    rollout = Rollout(make_env(), ChatTemplate(tokenizer), config, EpisodeRequest(0, "ticket"))
    play([rollout], engine)
    prompts = [batch[0] for batch in engine.prompts]
    for earlier, later in pairwise(prompts):
        assert later[: len(earlier)] == earlier
    assert rollout.conversation.ids[: len(prompts[-1])] == prompts[-1]


def test_withheld_tools_appear_in_the_turn_that_brings_them(run, tokenizer):
    (rollout,) = run([*SOLUTION[:2], answer("I cannot close it."), answer()], task_id="withheld")
    assert "close_ticket" not in tokenizer.decode(rollout.conversation.prompt_ids)
    before, after = other_text(rollout, tokenizer).split("average 1, 2 and 6.")
    assert "close_ticket" not in before
    assert "close_ticket" in after


MISTAKES = ["<tool_call>[oops", call("open_ticket", title="Lamp"), answer(), answer()]


def test_hints_reach_the_prompt_when_on_and_none_does_when_off(run, make_env, tokenizer):
    (plain,) = run(MISTAKES)
    (off,) = run(MISTAKES, envs=[AugmentedFeedbackWrapper(make_env(), level="off")])
    (on,) = run(MISTAKES, envs=[AugmentedFeedbackWrapper(make_env(), level="actionable")])
    assert tokens_of(off) == tokens_of(plain)
    assert "Hint:" not in other_text(off, tokenizer)
    assert other_text(on, tokenizer).count("Hint:") == 2
    for rollout, hints, feedback in ((plain, 0, "off"), (off, 0, "off"), (on, 2, "actionable")):
        record = rollout.record
        assert (record.hints, record.errors, record.feedback) == (hints, 2, feedback)


def test_the_reward_is_the_sum_over_the_episode(run, make_env):
    (half,) = run([*SOLUTION[:2], answer()], envs=[ProgressRewardWrapper(make_env())])
    (whole,) = run(SOLUTION, envs=[ProgressRewardWrapper(make_env())])
    assert (half.record.reward, whole.record.reward) == (0.5, 1.0)


def test_each_episode_goes_on_at_its_own_turn(run, tokenizer):
    slow = [call("get_user_tickets"), *SOLUTION]
    rollouts = run(slow, [answer(), answer()], SOLUTION)
    assert [rollout.record.success for rollout in rollouts] == [True, False, True]
    assert [rollout.record.num_steps for rollout in rollouts] == [6, 2, 5]
    assert own_text(rollouts[1], tokenizer) == (answer() + "<|im_end|>") * 2


def test_rollouts_of_a_group_share_nothing(run):
    scripts = [[call("create_ticket", title=f"T{number}")] * (number % 4) + list(SOLUTION) for number in range(8)] * 2
    together = run(*scripts)
    for rollout, script in zip(together, scripts, strict=True):
        (alone,) = run(script)
        assert tokens_of(rollout) == tokens_of(alone)
        assert rollout.record == alone.record


def test_every_budget_cuts_cleanly(run, tokenizer):
    (whole,) = run(SOLUTION)
    _, ids, mask, logprobs = tokens_of(whole)
    ends = [place + 1 for place, token in enumerate(ids) if token == tokenizer.eos_token_id and mask[place]]
    for budget in range(1, len(ids) + 1):
        (cut,) = run(SOLUTION, max_completion_tokens=budget)
        _, *columns = tokens_of(cut)
        length = len(columns[0])
        assert length <= budget
        assert columns == [ids[:length], mask[:length], logprobs[:length]]
        assert columns[1][-1] == 1  # what the environment said last is there only if the model goes on
        # A reply that is not complete does not run; all others did.
        complete = sum(end <= budget for end in ends)
        assert cut.record.num_steps == min(complete + (length not in ends), len(SOLUTION))
        assert cut.record.calls == sum(text.startswith("<tool_call>") for text in SOLUTION[:complete])
        done = budget == len(ids)
        assert (cut.record.truncated_by, cut.record.success) == (("", True) if done else ("tokens", False))


def test_a_reply_cut_at_its_own_limit_goes_to_the_environment(run, tokenizer):
    (rollout,) = run(["I think that this " * 20, "ok"], max_new_tokens=10)
    conversation = rollout.conversation
    assert sum(conversation.mask[:10]) == 10
    assert conversation.completion_ids[10] == tokenizer.eos_token_id
    assert conversation.mask[10] == 0
    assert rollout.record.turns == 2


def test_limits_on_steps_end_an_episode(run, make_env):
    listing = [call("get_user_tickets")] * 9
    (by_steps,) = run(listing, max_steps=3)
    assert (by_steps.record.truncated_by, by_steps.record.num_steps, by_steps.record.calls) == ("steps", 3, 3)
    (by_env,) = run(listing, envs=[make_env(max_steps_per_turn=2)])
    assert (by_env.record.truncated_by, by_env.record.num_steps) == ("env", 3)


class Spoiled(gym.Wrapper):
    """Pays or raises something of the test's choice on the third step."""

    def __init__(self, env, outcome):
        super().__init__(env)
        self.outcome = outcome
        self.steps = 0

    def step(self, action):
        self.steps += 1
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self.steps == 3:
            if isinstance(self.outcome, Exception):
                raise self.outcome
            reward = self.outcome
        return observation, reward, terminated, truncated, info


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (math.nan, "reward is nan"),
        (math.inf, "reward is inf"),
        (-math.inf, "reward is -inf"),
        (1e39, "reward is 1e+39"),
        (None, "TypeError"),
        (RuntimeError("disk full"), "RuntimeError: disk full"),
        (RecursionError("too deep"), "RecursionError: too deep"),
    ],
)
def test_a_rollout_that_breaks_is_recorded_and_worth_nothing_while_the_others_go_on(run, make_env, outcome, reason):
    envs = [ProgressRewardWrapper(make_env()) for _ in range(2)]
    broken, fine = run(SOLUTION, SOLUTION, envs=[Spoiled(envs[0], outcome), envs[1]])
    assert broken.record.turns == 1  # a turn that has passed, and paid, before
    assert reason in broken.record.broken
    assert broken.record.reward == 0.0
    assert broken.over
    _, ids, mask, logprobs = tokens_of(broken)
    assert len(ids) == len(mask) == len(logprobs) > 0
    assert (fine.record.reward, fine.record.broken) == (1.0, "")


def test_an_episode_that_cannot_begin_is_recorded(run):
    (unknown,) = run(SOLUTION, task_id="nowhere")
    assert "nowhere" in unknown.record.broken
    (long,) = run(SOLUTION, max_prompt_tokens=50)
    assert "max_prompt_tokens is 50" in long.record.broken
    assert long.conversation.ids == []
    assert long.record.reward == 0.0


def test_non_finite_logits_break_only_their_rollout(tokenizer, make_env):
    class Failing(Script):
        def generate(self, prompts, limits, on_reply=None):
            replies = super().generate(prompts, limits)
            if len(self.prompts) == 2:
                replies[0].error = "the model's logits are not finite"
            return replies

    config = RolloutConfig(max_prompt_tokens=16_000, max_completion_tokens=10_000)
    rollouts = [Rollout(make_env(), ChatTemplate(tokenizer), config, EpisodeRequest(0, "ticket")) for _ in range(2)]
    play(rollouts, Failing(tokenizer, SOLUTION, SOLUTION))
    assert "not finite" in rollouts[0].record.broken
    assert rollouts[0].record.num_steps == 1
    assert rollouts[1].record.success


def test_an_engine_that_passes_replies_on_changes_nothing(tokenizer, make_env):
    class Eager(Script):
        def generate(self, prompts, limits, on_reply=None):
            replies = super().generate(prompts, limits)
            for place in range(1, len(prompts)):  # not the first
                on_reply(place, replies[place])
            return replies

    config = RolloutConfig(max_prompt_tokens=16_000, max_completion_tokens=10_000)
    scripts = (SOLUTION, ["<answer>no</answer>"] * 9, SOLUTION)
    ends = []
    for engine in (Script(tokenizer, *scripts), Eager(tokenizer, *scripts)):
        rollouts = [Rollout(make_env(), ChatTemplate(tokenizer), config, EpisodeRequest(0, "ticket")) for _ in scripts]
        play(rollouts, engine)
        ends.append([(rollout.record, rollout.conversation.ids) for rollout in rollouts])
    assert ends[0] == ends[1]
    assert [record.success for record, _ in ends[0]] == [True, False, True]


class GoingOn(Script):
    """Goes on within a call, but leaves each third reply, which it has passed on, and each fifth, which it has not."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.calls = self.count = 0

    def generate(self, prompts, limits, on_reply=None):
        self.calls += 1
        replies = super().generate(prompts, limits)
        waiting = list(range(len(prompts)))
        while waiting:
            self.count += 1
            place = waiting.pop(0)
            following = on_reply(place, replies[place]) if self.count % 5 else None
            if following is not None and self.count % 3:
                assert following.limit > 0
                (replies[place],) = super().generate([following.prompt], [following.limit])
                waiting.append(place)
        return replies


class Elsewhere(gym.Wrapper):
    """An environment that works when it is asked for the outcome."""

    def reset_async(self, **options):
        self.options = options

    def reset_wait(self):
        return self.env.reset(**self.options)

    def step_async(self, action):
        self.action = action

    def step_wait(self):
        return self.env.step(self.action)


@pytest.mark.parametrize("place", [lambda env: env, Elsewhere])
def test_an_engine_that_goes_on_within_a_call_changes_nothing(tokenizer, make_env, place):
    config = RolloutConfig(max_prompt_tokens=16_000, max_completion_tokens=10_000)
    scripts = [
        [call("create_ticket", title=f"T{number}")] * (number % 3 + 1) + list(SOLUTION[number % 2 :])
        for number in range(7)
    ]
    ends = []
    for engine in (Script(tokenizer, *scripts), GoingOn(tokenizer, *scripts)):
        rollouts = [
            Rollout(place(make_env()), ChatTemplate(tokenizer), config, EpisodeRequest(0, "ticket")) for _ in scripts
        ]
        play(rollouts, engine)
        ends.append([(rollout.record, rollout.conversation.ids) for rollout in rollouts])
    assert ends[0] == ends[1]
    assert all(record.num_steps > 3 for record, _ in ends[0])
    assert (engine.calls < max(record.num_steps for record, _ in ends[0])) == (place is not Elsewhere)


class Counted(gym.Wrapper):
    """Counts its resets in a list that many share; fails at one of them, if it is told to."""

    def __init__(self, env, resets, failing=0):
        super().__init__(env)
        self.resets = resets
        self.failing = failing

    def reset(self, *, seed=None, options=None):
        self.resets.append(options)
        if len(self.resets) == self.failing:
            raise RuntimeError("no world left")
        return self.env.reset(seed=seed, options=options)


def test_environments_of_a_group_are_reset_while_the_engine_works(tokenizer, make_env):
    resets, at_the_first_call = [], []

    class Watched(Script):
        def generate(self, prompts, limits, on_reply=None):
            at_the_first_call.append(len(resets))
            return super().generate(prompts, limits, on_reply)

    config = RolloutConfig(max_prompt_tokens=16_000, max_completion_tokens=10_000)
    requests = [EpisodeRequest(seed, "ticket") for seed in (0, 0, 0, 1, 1)]
    rollouts = [Rollout(Counted(make_env(), resets), ChatTemplate(tokenizer), config, request) for request in requests]
    play(rollouts, Watched(tokenizer, *[SOLUTION] * 5))
    assert (at_the_first_call[0], len(resets)) == (2, 5)
    assert all(rollout.record.success for rollout in rollouts)


def test_a_group_whose_first_environment_fails_begins_with_the_others(tokenizer, make_env):
    config = RolloutConfig(max_prompt_tokens=16_000, max_completion_tokens=10_000)
    envs = [Counted(make_env(), resets, 1) for resets in ([], ["an earlier one"])]
    rollouts = [Rollout(env, ChatTemplate(tokenizer), config, EpisodeRequest(0, "ticket")) for env in envs]
    play(rollouts, Script(tokenizer, SOLUTION, SOLUTION))
    assert [rollout.record.broken for rollout in rollouts] == ["RuntimeError: no world left", ""]
    assert rollouts[1].record.success


class Unreadable(gym.Wrapper):
    """An environment whose first request no tokenizer takes."""

    def reset(self, *, seed=None, options=None):
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, {**info, "messages": [{"role": "user", "content": "\ud800"}]}


def test_a_first_prompt_that_the_tokenizer_refuses_breaks_one_rollout(tokenizer, make_env):
    config, template = RolloutConfig(max_prompt_tokens=16_000, max_completion_tokens=10_000), ChatTemplate(tokenizer)
    envs = [Unreadable(make_env()), make_env()]
    broken, other = (Rollout(env, template, config, EpisodeRequest(seed, "ticket")) for seed, env in enumerate(envs))
    play([broken, other], Script(tokenizer, SOLUTION))
    assert (broken.record.task_id, broken.conversation.ids) == ("ticket", [])
    assert broken.record.broken
    assert other.record.success


class Recycling(gym.Wrapper):
    """An environment that keeps its messages, fills them anew at each reset, and changes the first at each step."""

    def __init__(self, env, messages):
        super().__init__(env)
        self.messages = messages

    def reset(self, *, seed=None, options=None):
        observation, info = self.env.reset(seed=seed, options=options)
        self.messages[:] = [*info["messages"][:-1], {"role": "user", "content": f"episode {seed}"}]
        return observation, {**info, "messages": self.messages}

    def step(self, action):
        self.messages[0]["content"] = "changed"
        return self.env.step(action)


def test_what_an_environment_does_with_its_messages_is_its_own_affair(tokenizer, make_env):
    config, template = RolloutConfig(max_prompt_tokens=16_000, max_completion_tokens=10_000), ChatTemplate(tokenizer)
    envs, messages = [make_env() for _ in range(4)], []
    requests = [EpisodeRequest(seed, "ticket") for seed in (1, 1, 2, 2)]
    rollouts = [
        Rollout(Recycling(env, messages), template, config, request)
        for env, request in zip(envs, requests, strict=True)
    ]
    play(rollouts, Script(tokenizer, *[SOLUTION] * 4))
    assert all(rollout.record.success for rollout in rollouts)
    for rollout, request in zip(rollouts, requests, strict=True):
        assert f"episode {request.seed}" in tokenizer.decode(rollout.conversation.prompt_ids)


def test_an_environment_that_does_not_start_like_its_group_breaks_alone(run, make_env, ticket_task):
    another = ticket_task.model_copy(update={"turns": ("Hi there.", *ticket_task.turns[1:])})
    alike, differing, third = run(*[SOLUTION] * 3, envs=[make_env(), make_env(tasks=TaskSet([another])), make_env()])
    assert "start alike" in differing.record.broken
    assert (differing.record.reward, differing.conversation.completion_ids) == (0.0, [])
    assert alike.record.success
    assert third.record.success


def test_equal_seeds_draw_equal_tasks(tokenizer, make_env, ticket_task):
    tasks = TaskSet([ticket_task.model_copy(update={"id": f"ticket-{number}"}) for number in range(20)])
    config = RolloutConfig(max_prompt_tokens=16_000)
    drawn = []
    for seed in (1, 1, 2, 2, 3):
        rollout = Rollout(make_env(tasks=tasks), ChatTemplate(tokenizer), config, EpisodeRequest(seed))
        rollout.start()
        drawn.append(rollout.record.task_id)
    assert drawn[0] == drawn[1]
    assert drawn[2] == drawn[3]
    assert len(set(drawn)) > 1


@pytest.mark.parametrize("name", ["max_prompt_tokens", "max_completion_tokens", "max_new_tokens", "max_steps"])
def test_limits_must_be_positive(name):
    with pytest.raises(ConfigurationError, match=name):
        RolloutConfig(**{name: 0})

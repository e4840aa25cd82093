import gymnasium as gym
import pytest

import envtune_gym  # noqa: F401 (registers the environments)
from envtune_gym import load_tasks
from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import Call
from envtune_gym.evaluation.learner import Learner
from envtune_gym.evaluation.policies import LearnerPolicy, OraclePolicy, play
from envtune_gym.tasks import TaskSet
from envtune_gym.wrappers import AugmentedFeedbackWrapper

TICKET = Call("create_ticket", {"title": "Lamp", "description": "The lamp is broken."})
MISSPELT = Call("creat_ticket", TICKET.kwargs)


def _make(*tasks, **options):
    return gym.make("EnvTune/MultiDomain-v0", tasks=TaskSet(tasks), disable_env_checker=True, **options)


@pytest.mark.parametrize("action_format", ["tool_call", "python", "openai"])
def test_oracle_solves_tasks_in_every_format(action_format):
    tasks = load_tasks("generated", split="test")[:12]
    env = _make(*tasks, action_format=action_format)
    for task in tasks:
        assert play(env, OraclePolicy(task, action_format), task.id)[:2] == (True, 1.0)


def test_a_played_task_is_measured_as_the_environment_does(withheld_task):
    def answer(observation, info):
        return render_answer("I cannot do that.", "tool_call")

    played = play(_make(withheld_task), answer, withheld_task.id)
    unscored = sum(not calls for calls in withheld_task.ground_truth)
    assert played == (False, unscored / withheld_task.num_turns, withheld_task.num_turns)


def test_turns_that_a_step_limit_kept_from_being_reached_count_as_failed(ticket_task):
    def call(observation, info):
        first = info["step_in_turn"] == 0
        return render_calls([TICKET if first else Call("mean", {"numbers": [1]})], "tool_call")

    played = play(_make(ticket_task, max_steps_per_turn=2), call, ticket_task.id)
    assert played == (False, 1 / ticket_task.num_turns, 3)


def test_learner_as_a_policy_sends_what_the_learner_itself_sends(ticket_task):
    plan = ((MISSPELT,), (Call("mean", {"numbers": ["4", 6]}),))
    sent = {}
    for name in ("driven", "driving"):
        env = AugmentedFeedbackWrapper(_make(ticket_task, render_mode="ansi"))
        if name == "driven":
            play(env, LearnerPolicy(ticket_task.id, plan), ticket_task.id)
        else:
            learner = Learner(env)
            learner.begin(ticket_task.id)
            for steps in plan:
                learner.play_turn(steps)
                learner.answer()
        sent[name] = env.render()
    assert sent["driven"] == sent["driving"]
    assert '"creat_ticket"' in sent["driven"]
    assert '"create_ticket"' in sent["driven"]


def test_learner_repairs_a_mistake(ticket_task):
    second = (Call("close_ticket", {"ticket_id": 7}), Call("mean", {"numbers": [1, 2, 6]}))
    for ticket, steps in ((TICKET, 5), (MISSPELT, 6)):
        policy = LearnerPolicy(ticket_task.id, ((ticket,), second))
        assert play(_make(ticket_task), policy, ticket_task.id) == (True, 1.0, steps)


def test_learner_answers_turns_beyond_its_plan(ticket_task):
    assert play(_make(ticket_task), LearnerPolicy(ticket_task.id, ()), ticket_task.id).steps == ticket_task.num_turns

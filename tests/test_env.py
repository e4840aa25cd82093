import json

import gymnasium as gym
import pytest

from envtune_gym import TaskSet
from envtune_gym.errors import ConfigurationError, EpisodeError, UnknownTaskError
from envtune_gym.info import StepInfo

LAMP = '{"name": "create_ticket", "arguments": {"title": "Lamp", "description": "The lamp is broken."}}'
OPEN = f"<tool_call>[{LAMP}]</tool_call>"
CLOSE = '{"name": "close_ticket", "arguments": {"ticket_id": 7}}'
MEAN = '{"name": "mean", "arguments": {"numbers": [1, 2, 6]}}'
READ = '<tool_call>[{"name": "get_ticket", "arguments": {"ticket_id": 7}}]</tool_call>'
ANSWER = "<answer>done</answer>"


def call(*calls: str) -> str:
    return f"<tool_call>[{', '.join(calls)}]</tool_call>"


def make(*tasks, **options):
    return gym.make("EnvTune/MultiDomain-v0", tasks=TaskSet(tasks), **options)


def play(env, actions):
    """Play actions from a reset; return each step's result."""
    env.reset(seed=0)
    return [env.step(action) for action in actions]


def test_an_episode_from_request_to_verdict(ticket_task):
    env = make(ticket_task)
    observation, info = env.reset(seed=0)
    assert observation == ticket_task.turns[0]
    assert [message["role"] for message in info["messages"]] == ["system", "user"]
    assert "create_ticket" in info["messages"][0]["content"]
    assert {tool["function"]["name"] for tool in info["tools"]} >= {"create_ticket", "mean"}

    observation, reward, terminated, truncated, info = env.step(OPEN)
    assert json.loads(observation)[0]["name"] == "create_ticket"
    assert (reward, terminated, truncated, info["step_in_turn"], info["turn"]) == (0.0, False, False, 1, 0)
    assert [message["role"] for message in info["messages"]] == ["assistant", "tool"]
    assert info["tool_results"][0]["error"] is None
    assert "tools" not in info

    observation, _, _, _, info = env.step(ANSWER)
    assert observation == ticket_task.turns[1] == info["messages"][-1]["content"]
    assert info["turn_results"] == [{"turn": 0, "state_ok": True, "response_ok": True, "passed": True}]

    env.step(call(CLOSE, MEAN))
    observation, reward, terminated, truncated, info = env.step(ANSWER)
    assert (observation, reward, terminated, truncated, info["success"]) == ("", 1.0, True, False, True)


def test_a_failed_turn_does_not_end_the_episode_but_fails_it(ticket_task):
    steps = play(make(ticket_task), [ANSWER, OPEN, call(CLOSE, MEAN), ANSWER])
    assert [step[2] for step in steps] == [False, False, False, True]
    assert (steps[-1][1], steps[-1][4]["success"]) == (0.0, False)
    assert steps[-1][4]["error_type"] == "multi_turn:empty_turn_model_response"


@pytest.mark.parametrize(
    ("action_format", "opening", "ending", "observation"),
    [
        ("python", "[create_ticket(title='Lamp', description='The lamp is broken.')]", "done", list),
        (
            "openai",
            json.dumps(
                {
                    "role": "assistant",
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {
                                "name": "create_ticket",
                                "arguments": json.dumps({"title": "Lamp", "description": "The lamp is broken."}),
                            },
                        }
                    ],
                }
            ),
            json.dumps({"role": "assistant", "content": "done"}),
            list,
        ),
    ],
)
def test_the_other_action_formats(ticket_task, action_format, opening, ending, observation):
    steps = play(make(ticket_task, action_format=action_format), [opening, ending])
    assert isinstance(json.loads(steps[0][0]), observation)
    assert steps[0][4]["tool_results"][0]["name"] == "create_ticket"
    assert steps[1][4]["turn_results"][0]["passed"]
    if action_format == "openai":
        assert steps[0][4]["messages"][1]["tool_call_id"] == "c1"


def test_a_broken_call_runs_nothing_and_counts_as_a_step(ticket_task):
    (step,) = play(make(ticket_task), ['<tool_call>[{"name": "create_ticket", "arguments": {</tool_call>'])
    observation, reward, terminated, _, info = step
    assert observation == info["parse_error"] == info["messages"][-1]["content"]
    assert (reward, terminated, info["step_in_turn"], info["tool_results"], info["format_ok"]) == (
        0.0,
        False,
        1,
        [],
        False,
    )


def test_plain_text_is_an_answer_unless_the_format_is_strict(ticket_task):
    (lenient,) = play(make(ticket_task), ["I am done."])
    (strict,) = play(make(ticket_task, strict_format=True), ["I am done."])
    assert (lenient[4]["turn"], lenient[4]["format_ok"]) == (1, False)
    assert (strict[4]["turn"], strict[4]["step_in_turn"]) == (0, 1)
    assert "parse_error" in strict[4]


def test_withheld_tools_appear_in_their_turn(withheld_task):
    env = make(withheld_task)
    _, info = env.reset(seed=0)
    assert "close_ticket" not in {tool["function"]["name"] for tool in info["tools"]}
    env.step(ANSWER)
    observation, _, _, _, info = env.step(ANSWER)
    assert info["tools"][-1]["function"]["name"] == "close_ticket"
    assert "close_ticket" in observation
    assert observation.endswith("More tools are here now.")


@pytest.mark.parametrize(("offer", "runs"), [(None, False), ("strict", False), ("official", True)])
def test_what_happens_to_withheld_and_excluded_tools_is_one_setting(withheld_task, offer, runs):
    env = make(withheld_task, offer=offer)
    _, info = env.reset(seed=0)
    offered = {tool["function"]["name"] for tool in info["tools"]}
    assert ("get_ticket" in offered) is runs
    env.step(OPEN)
    for name in ("get_ticket", "close_ticket"):
        _, _, _, _, info = env.step(call(f'{{"name": "{name}", "arguments": {{"ticket_id": 7}}}}'))
        error = info["tool_results"][0]["error"]
        assert (error is None) is runs
        if not runs:
            assert error["code"] == "unknown_tool"
            assert info["tool_results"][0]["content"] == f"Error during execution: name '{name}' is not defined"


def test_the_step_after_the_last_allowed_one_still_runs_then_the_episode_is_cut(ticket_task):
    steps = play(make(ticket_task, max_steps_per_turn=2), [READ, READ, OPEN])
    *_, (observation, reward, terminated, truncated, info) = steps
    assert json.loads(observation)[0]["name"] == "create_ticket"
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert (info["success"], info["error_type"]) == (False, "multi_turn:force_terminated")
    assert info["turn_results"][0]["passed"]


def test_on_the_last_turn_the_verdict_is_paid_though_the_limit_is_hit(ticket_task):
    steps = play(make(ticket_task, max_steps_per_turn=2), [OPEN, ANSWER, READ, READ, call(CLOSE, MEAN)])
    assert (steps[-1][1], steps[-1][2], steps[-1][3]) == (1.0, False, True)


def test_advance_closes_the_turn_and_goes_on(ticket_task):
    env = make(ticket_task, max_steps_per_turn=1, on_step_limit="advance")
    steps = play(env, [READ, OPEN, call(CLOSE), call(MEAN)])
    assert steps[1][0].endswith(ticket_task.turns[1])
    assert (steps[1][4]["turn"], steps[1][4]["step_in_turn"]) == (1, 0)
    assert (steps[3][1], steps[3][2], steps[3][3]) == (1.0, True, False)


def test_parse_errors_alone_reach_the_limit(ticket_task):
    steps = play(make(ticket_task, max_steps_per_turn=2), ["<tool_call>["] * 3)
    assert [step[3] for step in steps] == [False, False, True]


def test_an_observation_that_is_too_long_is_cut_and_says_so(ticket_task):
    env = make(ticket_task)
    env.reset(seed=0)
    many = call(*[json.dumps({"name": "create_ticket", "arguments": {"title": "x" * 30_000}})] * 2)
    env.step(many)
    read = json.dumps({"name": "get_ticket", "arguments": {"ticket_id": 7}})
    observation, _, _, _, info = env.step(call(*[read] * 20))
    assert len(observation) == 262_144
    assert observation.count("[cut: the observation was") == 1
    assert observation.endswith(info["messages"][-1]["content"][-20:].replace('"', '\\"') + '"}]')
    assert observation in env.observation_space
    assert len(info["messages"]) == 21


def test_info_is_fresh_and_holds_documented_plain_keys_only(withheld_task):
    env = make(withheld_task)
    _, info = env.reset(seed=0)
    seen = [info]
    for action in (OPEN, READ, "<tool_call>", ANSWER, ANSWER, ANSWER):
        seen.append(env.step(action)[4])
    for info in seen:
        assert set(info) <= set(StepInfo.__annotations__)
        json.dumps(info)
    seen[1]["tool_results"][0]["arguments"]["title"] = "changed"
    seen[0]["tools"].clear()
    seen[1]["messages"].clear()
    assert env.unwrapped.episode.world.state()["TicketAPI"]["ticket_queue"][0]["title"] == "Lamp"
    assert len(env.reset(seed=0)[1]["tools"]) > 5
    assert "Lamp" not in json.dumps(withheld_task.initial_config)


def test_a_seed_decides_the_tasks_and_task_id_picks_one(ticket_task, withheld_task):
    env = make(ticket_task, withheld_task)

    def drawn(seed):
        first = env.reset(seed=seed)[1]["task_id"]
        return [first] + [env.reset()[1]["task_id"] for _ in range(20)]

    assert drawn(1) == drawn(1)
    assert set(drawn(1)) == {"ticket", "withheld"}
    assert drawn(1) != drawn(2)
    assert env.reset(options={"task_id": "withheld"})[1]["task_id"] == "withheld"


def test_user_mistakes_get_one_line_and_change_nothing(ticket_task):
    env = make(ticket_task).unwrapped
    with pytest.raises(EpisodeError, match="call reset"):
        env.step(ANSWER)
    env.reset(seed=0)
    env.step(OPEN)
    state = env.episode.world.state()
    for action in (None, 3, [ANSWER], b"x", {"content": "x"}):
        with pytest.raises(ConfigurationError, match="an action is a string"):
            env.step(action)
    with pytest.raises(UnknownTaskError, match=r"no task 'tickets'.*similar: ticket"):
        env.reset(options={"task_id": "tickets"})
    with pytest.raises(ConfigurationError, match="unknown reset option 'taskid'; known: 'task_id'"):
        env.reset(options={"taskid": "ticket"})
    assert env.episode.world.state() == state
    assert env.step(ANSWER)[4]["turn"] == 1
    env.step(ANSWER)
    with pytest.raises(EpisodeError, match="has ended"):
        env.step(ANSWER)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"action_format": "xml"}, "action_format must be one of 'tool_call', 'python', 'openai', not 'xml'"),
        ({"decoder": 1}, "decoder must be one of"),
        ({"offer": "all"}, "offer must be one of"),
        ({"on_step_limit": "stop"}, "on_step_limit must be one of"),
        ({"tool_docs": "none"}, "tool_docs must be one of"),
        ({"max_steps_per_turn": 0}, "max_steps_per_turn must be a positive integer"),
        ({"categories": ("nope",)}, "unknown category 'nope'"),
        ({"split": "dev"}, "split"),
        ({"difficulty": 3}, "difficulty"),
    ],
)
def test_wrong_options_are_refused_in_one_line(ticket_task, options, message):
    with pytest.raises(ConfigurationError, match=message) as error:
        make(ticket_task, **options)
    assert "\n" not in str(error.value)


def test_render_modes(ticket_task, capsys):
    env = make(ticket_task, render_mode="ansi")
    play(env, [OPEN])
    text = env.render()
    assert ticket_task.turns[0] in text
    assert "[tool]" in text
    human = make(ticket_task, render_mode="human")
    play(human, [OPEN])
    assert ticket_task.turns[0] in capsys.readouterr().out

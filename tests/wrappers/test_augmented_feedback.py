import json

import gymnasium as gym
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit, TransformObservation

from envtune_gym import TaskSet
from envtune_gym.errors import ConfigurationError
from envtune_gym.feedback import LEVELS, HintBook, HintRule
from envtune_gym.wrappers import (
    AugmentedFeedbackWrapper,
    CurriculumWrapper,
    FormatRewardWrapper,
    ProgressRewardWrapper,
)

from .helpers import DONE, ID, calls, play, random_episode

MISSING = "cat(file_name='b.txt')"
OFFICIAL = "cat: 'b.txt': No such file or directory"
EXPLAINED = "No directory has an entry named 'b.txt'."
ADVICE = "See what is here with `ls`"


def make(tasks, level="actionable", hints=None, **options):
    return AugmentedFeedbackWrapper(gym.make(ID, tasks=tasks, **options), level, hints)


def step(env, *actions, task="files"):
    """Return observation and info of the last of some actions."""
    last = play(env, task, actions)[-1]
    return last[0], last[-1]


@pytest.mark.parametrize("action_format", ["tool_call", "python", "openai"])
def test_a_hint_reaches_observation_messages_and_results_alike(tasks, action_format):
    env = make(tasks, action_format=action_format)
    observation, info = step(env, calls("ls()", MISSING, action_format=action_format))
    first, second = info["tool_results"]
    assert first["content"] == first["official"] == '{"current_directory_content": ["docs"]}'
    assert second["official"] == json.dumps({"error": OFFICIAL})
    told = json.loads(second["content"])
    assert told["error"] == OFFICIAL
    assert told["hint"].startswith(f"{EXPLAINED} ")
    assert ADVICE in told["hint"]
    assert [m["content"] for m in info["messages"] if m["role"] == "tool"] == [first["content"], second["content"]]
    shown = json.loads(observation)
    assert [result if action_format == "python" else result["content"] for result in shown] == [
        first["content"],
        second["content"],
    ]


@pytest.mark.parametrize(
    ("level", "explains", "advises"),
    [("off", False, False), ("error", True, False), ("actionable", True, True), ("diagnostic", True, True)],
)
def test_each_level_says_more(tasks, level, explains, advises):
    observation, info = step(make(tasks, level), calls(MISSING))
    assert (EXPLAINED in observation, ADVICE in observation) == (explains, advises)
    assert info["feedback"] == level
    assert OFFICIAL in observation


def test_a_silent_mistake_is_told_of(tasks):
    _, info = step(make(tasks), calls("get_nearest_airport_by_city(location='Rome, Italy')"), task="car")
    told = json.loads(info["tool_results"][0]["content"])
    assert told["nearest_airport"] == "Unknown"
    assert "'Rome, Italy' is not a city that this tool knows" in told["hint"]


def test_a_text_that_is_no_json_gains_a_line(tasks):
    _, info = step(make(tasks), calls("cat(name='b.txt')"))
    official, hint = info["tool_results"][0]["content"].split("\n")
    assert official == info["tool_results"][0]["official"]
    assert hint.startswith("Hint: This tool has no argument 'name'. Its arguments: 'file_name'.")


def test_a_message_that_cannot_be_read_is_explained(tasks):
    observation, info = step(make(tasks), "<tool_call>[")
    official, hint = observation.split("\n")
    assert official == info["parse_error"]
    assert "none of its calls ran: at character 12 stands the end of the message. Expected there: a call {" in hint
    assert info["messages"][-1]["content"] == observation
    assert info["tool_results"] == []


def test_a_withheld_tool_is_neither_named_nor_explained(withheld_task):
    env = make(TaskSet([withheld_task]), offer="official")
    _, info = step(env, calls("close_ticket(ticket=7)", "closeticket()"), task="withheld")
    assert info["tool_results"][0]["content"] == info["tool_results"][0]["official"]
    assert "close_ticket" not in info["tool_results"][1]["content"]


def test_advice_names_no_tool_that_is_withheld(file_task):
    withheld = file_task.model_copy(update={"category": "miss_func", "missed_functions": {1: ("ls", "pwd", "find")}})
    env = make(TaskSet([withheld]))
    before, _ = step(env, calls("cd(folder='nowhere')"))
    after, _ = step(env, DONE, calls("cd(folder='nowhere')"))
    assert "Find out what the current directory holds" in before
    assert not any(f"`{name}`" in before for name in ("ls", "pwd", "find"))
    assert "`pwd`" in after


def test_a_tool_that_has_returned_is_named(withheld_task):
    env = make(TaskSet([withheld_task]), offer="official")
    _, info = step(env, DONE, DONE, calls("closeticket()"), task="withheld")
    assert "almost like that is 'close_ticket'." in info["tool_results"][0]["content"]


class TestFinishedTurn:
    """What `diagnostic` says of a turn that has ended."""

    STATE = "the state of GorillaFileSystem is not what the requests so far ask for."
    RESULT = "a result that the request asks for was not obtained."

    @pytest.mark.parametrize(
        ("actions", "says"),
        [
            ([calls("cd(folder='docs')"), DONE], RESULT),
            ([calls("cd(folder='docs')", "cat(file_name='a.txt')", "touch(file_name='x')"), DONE], STATE),
            ([DONE], "the request needed tool calls, and none was made."),
            ([calls("cd(folder='docs')", "cat(file_name='a.txt')"), DONE], None),
        ],
    )
    def test_the_next_request_carries_what_failed(self, tasks, actions, says):
        observation, info = step(make(tasks, "diagnostic"), *actions)
        request = "Make a file notes.md beside it."
        note = "" if says is None else f"\n\n[Feedback on the turn that has just ended: {says}]"
        assert observation == info["messages"][-1]["content"] == request + note

    def test_after_the_last_turn_the_observation_carries_it(self, tasks):
        observation, info = step(make(tasks, "diagnostic"), DONE, DONE)
        assert observation.endswith("and none was made.]")
        assert [message["role"] for message in info["messages"]] == ["assistant"]

    def test_calls_where_nothing_could_be_done_are_told_of(self, withheld_task):
        env = make(TaskSet([withheld_task]), "diagnostic")
        observation, _ = step(env, DONE, calls("mean(numbers=[1])"), DONE, task="withheld")
        assert "could not be fulfilled yet" in observation

    @pytest.mark.parametrize("on_step_limit", ["fail", "advance"])
    def test_a_step_limit_ends_a_turn_too(self, tasks, on_step_limit):
        env = make(tasks, "diagnostic", max_steps_per_turn=1, on_step_limit=on_step_limit)
        observation, _ = step(env, calls("ls()"), calls(MISSING))
        assert ADVICE in observation
        assert observation.endswith(f"{self.RESULT}]")

    @pytest.mark.parametrize("level", ["off", "error", "actionable"])
    def test_other_levels_are_silent(self, tasks, level):
        observation, info = step(make(tasks, level), DONE)
        assert observation == info["messages"][-1]["content"] == "Make a file notes.md beside it."


@pytest.mark.parametrize("action_format", ["tool_call", "python", "openai"])
def test_off_is_the_official_text_byte_for_byte(tasks, rng, action_format):
    plain = gym.make(ID, tasks=tasks, action_format=action_format)
    off = make(tasks, "off", action_format=action_format)
    for _ in range(60):
        task = tasks[int(rng.integers(len(tasks)))]
        actions = random_episode(task, rng, action_format)
        expected, found = play(plain, task.id, actions), play(off, task.id, actions)
        for step_info in found:
            assert step_info[-1].pop("feedback") == "off"
        assert repr(found) == repr(expected)


def test_no_level_changes_what_is_scored(tasks, rng):
    for _ in range(40):
        task = tasks[int(rng.integers(len(tasks)))]
        actions = random_episode(task, rng)
        scores = [
            [(*step[1:4], step[4]["turn_results"], step[4].get("success")) for step in trace[1:]]
            for trace in (play(make(tasks, level), task.id, actions) for level in LEVELS)
        ]
        assert all(score == scores[0] for score in scores)


class TestOtherWrappers:
    """Wrappers between this one and the environment, and around it."""

    def test_a_text_put_around_the_observation_stays(self, tasks):
        env = TransformObservation(gym.make(ID, tasks=tasks), lambda text: f"<< {text} >>", None)
        observation, info = step(AugmentedFeedbackWrapper(env), calls(MISSING))
        assert observation.startswith("<< [")
        assert observation.endswith("] >>")
        assert json.loads(observation[3:-3])[0]["content"] == info["tool_results"][0]["content"]

    def test_hints_are_added_to_an_observation_that_has_been_rewritten(self, tasks):
        env = TransformObservation(gym.make(ID, tasks=tasks), lambda text: text.upper(), None)
        observation, _ = step(AugmentedFeedbackWrapper(env), calls(MISSING))
        assert OFFICIAL.upper() in observation
        assert observation.split("\n")[-1].startswith(EXPLAINED)

    @pytest.mark.parametrize(
        "build",
        [
            lambda env: ProgressRewardWrapper(AugmentedFeedbackWrapper(env)),
            lambda env: AugmentedFeedbackWrapper(FormatRewardWrapper(env)),
            lambda env: RecordEpisodeStatistics(AugmentedFeedbackWrapper(TimeLimit(env, 9))),
            lambda env: AugmentedFeedbackWrapper(RecordEpisodeStatistics(env)),
        ],
    )
    def test_any_order_gives_the_same_text(self, tasks, build):
        expected, _ = step(make(tasks), calls(MISSING))
        assert step(build(gym.make(ID, tasks=tasks)), calls(MISSING))[0] == expected

    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_vector_environments_give_hints(self, file_task, mode):
        tasks = TaskSet([file_task])
        envs = gym.make_vec(ID, num_envs=2, vectorization_mode=mode, wrappers=[AugmentedFeedbackWrapper], tasks=tasks)
        try:
            envs.reset(seed=0)
            observations, _, _, _, infos = envs.step((calls(MISSING), calls("ls()")))
        finally:
            envs.close()
        assert [ADVICE in text for text in observations] == [True, False]
        assert list(infos["feedback"]) == ["actionable", "actionable"]

    @pytest.mark.parametrize("inner", [AugmentedFeedbackWrapper, CurriculumWrapper])
    def test_two_wrappers_that_give_feedback_are_refused(self, tasks, inner):
        stages = {"stages": [{"name": "only", "categories": ["base"]}]} if inner is CurriculumWrapper else {}
        with pytest.raises(ConfigurationError, match="both give feedback"):
            AugmentedFeedbackWrapper(ProgressRewardWrapper(inner(gym.make(ID, tasks=tasks), **stages)))


class TestCutObservation:
    """Texts that are longer than an observation."""

    def check(self, env, observation):
        assert ADVICE in observation
        assert len(observation) == 262_144
        assert observation in env.observation_space
        assert observation.count("[cut: ") == 1

    def test_a_long_request_after_hints(self, file_task):
        long = file_task.model_copy(update={"turns": ("Go.", "x" * 262_144)})
        env = make(TaskSet([long]), max_steps_per_turn=1, on_step_limit="advance")
        self.check(env, step(env, calls("ls()"), calls(MISSING))[0])

    def test_a_long_result_after_hints(self, file_task):
        tree = {"home": {"type": "directory", "contents": {"big": {"type": "file", "content": "x" * 262_144}}}}
        long = file_task.model_copy(update={"initial_config": {"GorillaFileSystem": {"root": tree}}})
        env = make(TaskSet([long]))
        self.check(env, step(env, calls(MISSING, "cat(file_name='big')"))[0])


OWN = HintRule(
    code="no_such_file",
    category="state_prerequisite",
    augmentation="clarify_constraint",
    error="Look again for {value}.",
)


@pytest.mark.parametrize("hints", [HintBook({"GorillaFileSystem": [OWN]}), {"GorillaFileSystem": [OWN.to_dict()]}])
def test_own_hints_come_first_and_the_others_stay(tasks, hints):
    env = make(tasks, hints=hints)
    _, info = step(env, calls(MISSING, "cd(folder='nowhere')"))
    first, second = (json.loads(result["content"])["hint"] for result in info["tool_results"])
    assert first == "Look again for 'b.txt'."
    assert "does not lead to a directory" in second


LEAKING = HintRule(
    code="no_such_file",
    category="state_prerequisite",
    augmentation="clarify_constraint",
    error="Look into a.txt.",
)


class TestCheckLeaks:
    """The judge at run time."""

    def make(self, tasks, level="actionable"):
        hints = HintBook({"GorillaFileSystem": [LEAKING]})
        return AugmentedFeedbackWrapper(gym.make(ID, tasks=tasks), level, hints, check_leaks=True)

    def test_a_hint_that_gives_a_value_away_is_dropped_and_counted(self, file_task):
        said = file_task.model_copy(update={"turns": ("Read the file in docs.", *file_task.turns[1:])})
        _, info = step(self.make(TaskSet([said])), calls(MISSING, "cat()"))
        first, second = info["tool_results"]
        assert info["dropped_hints"] == 1
        assert first["content"] == first["official"]
        assert "lacks the argument 'file_name'" in second["content"]

    def test_what_the_agent_has_seen_may_be_said(self, file_task):
        said = file_task.model_copy(update={"turns": ("Read a.txt in docs.", *file_task.turns[1:])})
        _, info = step(self.make(TaskSet([said])), calls(MISSING))
        assert info["dropped_hints"] == 0
        assert "Look into a.txt." in info["tool_results"][0]["content"]

    def test_off_there_is_nothing_to_check(self, tasks):
        _, info = step(self.make(tasks, "off"), calls(MISSING))
        assert "dropped_hints" not in info


def test_the_spec_makes_the_wrapper_again():
    hints = HintBook({"GorillaFileSystem": [OWN]})
    env = AugmentedFeedbackWrapper(gym.make("EnvTune/GorillaFileSystem-v0"), "error", hints)
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert isinstance(again, AugmentedFeedbackWrapper)
    assert (again.level, again.book.to_dict()) == (env.level, env.book.to_dict())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"level": "loud"}, "feedback level must be one of 'off', 'error', 'actionable', 'diagnostic', not 'loud'"),
        ({"level": None}, "not None"),
        ({"hints": {"Nowhere": []}}, "unknown domain 'Nowhere'"),
        ({"hints": {"TravelAPI": [{"code": "x"}]}}, "hint rule 'x': .*missing"),
    ],
)
def test_wrong_arguments_are_refused(tasks, arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        AugmentedFeedbackWrapper(gym.make(ID, tasks=tasks), **arguments)


def test_another_environment_is_refused():
    with pytest.raises(ConfigurationError, match="AugmentedFeedbackWrapper wraps an EnvTune environment"):
        AugmentedFeedbackWrapper(gym.make("CartPole-v1"))

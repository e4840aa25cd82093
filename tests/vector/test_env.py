import gc
import json

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

from envtune_gym import TaskSet, load_tasks
from envtune_gym.errors import ConfigurationError, EpisodeError, UnknownTaskError
from envtune_gym.evaluation import Oracle
from envtune_gym.registration import ENV_IDS
from envtune_gym.vector import EnvtuneVectorEnv
from envtune_gym.wrappers import AugmentedFeedbackWrapper, CurriculumWrapper, ProgressRewardWrapper

ID = "EnvTune/MultiDomain-v0"
N = 4
MODES = list(AutoresetMode)
ACTIONS = (
    "<answer>Done.</answer>",
    '<tool_call>[{"name": "pwd", "arguments": {}}]</tool_call>',
    '<tool_call>[{"name": "add", "arguments": {"a": 1, "b": "x"}}]</tool_call>',
    "<tool_call>[oops",
    "not in the format",
)


@pytest.fixture(scope="module")
def tasks():
    return TaskSet(list(load_tasks("generated")[:40]))


def make(mode, tasks, autoreset="NextStep", wrappers=(), num_envs=N, **kwargs):
    """Make vector environments that differ in nothing but how they run."""
    if mode == "vector_entry_point":
        kwargs |= {"autoreset_mode": autoreset, "env_wrappers": wrappers}
    else:
        kwargs |= {"vector_kwargs": {"autoreset_mode": autoreset}, "wrappers": wrappers}
    return gym.make_vec(
        ID, num_envs=num_envs, vectorization_mode=mode, tasks=tasks, **{"max_steps_per_turn": 2, **kwargs}
    )


def native(tasks, **kwargs):
    return make("vector_entry_point", tasks, **kwargs)


def only(*indices, num_envs=N):
    mask = np.zeros(num_envs, dtype=np.bool_)
    mask[list(indices)] = True
    return mask


def play(envs, steps=40, seed=5, choose=lambda rng: str(rng.choice(ACTIONS))):
    """Return all that the environments return for random actions, with partial resets where nothing else resets."""
    rng = np.random.default_rng(0)
    outputs = [envs.reset(seed=seed)]
    for _ in range(steps):
        step = envs.step([choose(rng) for _ in range(envs.num_envs)])
        outputs.append(step)
        ended = step[2] | step[3]
        if envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED and ended.any():
            outputs.append(envs.reset(options={"reset_mask": ended}))
    envs.close()
    return outputs


def plain(value):
    """Turn what a vector environment returns into data that compares, with the types of arrays."""
    if isinstance(value, dict):
        return {key: plain(value[key]) for key in sorted(value)}
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, plain(value.tolist())
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def ends(outputs):
    return sum(int((step[2] | step[3]).sum()) for step in outputs if len(step) == 5)


class Choosing(gym.ActionWrapper):
    """Acts by number."""

    def __init__(self, env):
        super().__init__(env)
        self.action_space = gym.spaces.Discrete(len(ACTIONS))

    def action(self, action):
        return ACTIONS[action]


class Measuring(gym.ObservationWrapper):
    """Shows how long the text is."""

    def __init__(self, env):
        super().__init__(env)
        self.observation_space = gym.spaces.Box(0, np.inf, (2,), np.float32)

    def observation(self, observation):
        return np.array([len(observation), observation.count("\n")], dtype=np.float32)


class TestAgainstGymnasium:
    """`SyncVectorEnv` with the same environments, seeds and actions says what is right."""

    @pytest.mark.parametrize("mode", MODES)
    def test_all_that_is_returned_is_the_same(self, tasks, mode):
        ours, theirs = play(native(tasks, autoreset=mode)), play(make("sync", tasks, mode))
        assert plain(ours) == plain(theirs)
        assert ends(ours) > 5, "too few episodes ended: the test shows nothing"
        assert mode is not AutoresetMode.SAME_STEP or any("final_info" in step[4] for step in ours[1:])

    @pytest.mark.parametrize("vectorization", ["sync", "async"])
    @pytest.mark.parametrize("mode", MODES)
    def test_wrapped_environments_are_the_same(self, tasks, mode, vectorization):
        wrappers = [AugmentedFeedbackWrapper, ProgressRewardWrapper]
        ours = play(native(tasks, autoreset=mode, wrappers=wrappers))
        assert plain(ours) == plain(play(make(vectorization, tasks, mode, wrappers)))
        assert ends(ours) > 5
        assert any("Hint: " in text for step in ours for text in step[0])
        assert any(reward not in (0, 1) for step in ours if len(step) == 5 for reward in step[1])

    @pytest.mark.parametrize("mode", MODES)
    def test_other_spaces_are_batched(self, tasks, mode):
        wrappers = [Choosing, Measuring]

        def choose(rng):
            return int(rng.integers(len(ACTIONS)))

        envs = native(tasks, autoreset=mode, wrappers=wrappers)
        assert envs.action_space == gym.spaces.MultiDiscrete([len(ACTIONS)] * N)
        ours = play(envs, choose=choose)
        assert plain(ours) == plain(play(make("sync", tasks, mode, wrappers), choose=choose))
        assert ours[0][0].shape == (N, 2)
        assert ends(ours) > 5

    def test_observations_that_were_returned_stay_as_they_were(self, tasks):
        envs = native(tasks, wrappers=[Choosing, Measuring])
        first, _ = envs.reset(seed=1)
        before = first.copy()
        envs.step(np.array([1, 2, 3, 1]))
        assert np.array_equal(first, before)

    def test_a_partial_reset_with_seeds_and_options_is_the_same(self, tasks):
        def outputs(envs):
            envs.reset(seed=3)
            envs.step([ACTIONS[1]] * N)
            given = {"reset_mask": only(1, 2), "task_id": tasks[7].id}
            yield envs.reset(seed=[None, 8, None, 9], options=given)
            yield envs.step([ACTIONS[0]] * N)
            yield envs.reset(options={"reset_mask": only(1)})
            yield envs.reset(seed=100, options={"reset_mask": only(0, 3)})

        assert plain(list(outputs(native(tasks)))) == plain(list(outputs(make("sync", tasks))))

    def test_spaces_and_metadata_are_the_same(self, tasks):
        ours, theirs = native(tasks), make("sync", tasks)
        assert ours.single_action_space == theirs.single_action_space
        assert ours.observation_space == theirs.observation_space
        assert ours.metadata == theirs.metadata
        actions = ours.action_space.sample()
        ours.reset(seed=0)
        assert ours.step(actions)[0] in ours.observation_space


class TestTasks:
    @pytest.mark.parametrize("mode", MODES)
    def test_the_tasks_of_an_environment_follow_from_its_seed_alone(self, tasks, mode):
        seen = [[] for _ in range(N)]
        for step in play(native(tasks, autoreset=mode), steps=60, seed=21):
            info = step[-1]
            begun = info["_task_id"] & ~info.get("_format_ok", only())  # no action was read: an episode has begun
            for index in np.flatnonzero(begun):
                seen[index].append(info["task_id"][index])
        env = gym.make(ID, tasks=tasks)
        for index, ids in enumerate(seen):
            alone = [env.reset(seed=21 + index)[1]["task_id"]] + [env.reset()[1]["task_id"] for _ in ids[1:]]
            assert len(ids) > 2
            assert ids == alone

    def test_all_environments_have_the_same_task_set(self):
        envs = gym.make_vec("EnvTune/MathAPI-v0", num_envs=3, split="test")
        assert len({id(env.unwrapped.tasks) for env in envs.envs}) == 1
        assert len({id(env.unwrapped) for env in envs.envs}) == 3
        assert "MathAPI" in envs.reset(seed=0)[1]["domains"][2]

    def test_episodes_side_by_side_do_not_disturb_each_other(self, tasks):
        oracle = Oracle("tool_call")
        envs = native(tasks, num_envs=32, autoreset="SameStep", max_steps_per_turn=20)
        _, infos = envs.reset(seed=0)
        scripts = [iter(oracle.messages(tasks.get(task_id))) for task_id in infos["task_id"]]
        won = []
        for _ in range(40):
            _, rewards, terminated, _, infos = envs.step([next(script) for script in scripts])
            won += rewards[terminated].tolist()
            for index in np.flatnonzero(terminated):
                scripts[index] = iter(oracle.messages(tasks.get(infos["task_id"][index])))
        assert len(won) > 100
        assert set(won) == {1.0}


class TestRegistration:
    @pytest.mark.parametrize("name", ENV_IDS)
    def test_every_id_makes_it_where_nothing_else_is_asked_for(self, name):
        envs = gym.make_vec(name, num_envs=2)
        assert isinstance(envs.unwrapped, EnvtuneVectorEnv)
        observations, infos = envs.reset(seed=0)
        domain = name.removeprefix("EnvTune/").removesuffix("-v0")
        assert name == ID or all(domain in domains for domains in infos["domains"])
        assert len(observations) == 2

    def test_the_spec_makes_the_same_again(self):
        envs = gym.make_vec(ID, num_envs=3, autoreset_mode="SameStep", split="test", action_format="python")
        again = gym.make_vec(EnvSpec.from_json(envs.spec.to_json()))
        assert again.num_envs == 3
        assert again.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        assert plain(again.reset(seed=4)) == plain(envs.reset(seed=4))

    def test_the_autoreset_mode_of_one_is_not_that_of_another(self, tasks):
        first, _ = native(tasks, autoreset="SameStep"), native(tasks, autoreset="Disabled")
        assert first.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP

    def test_gymnasiums_wrappers_count_its_episodes(self, tasks):
        envs = RecordEpisodeStatistics(native(tasks))
        envs.reset(seed=0)
        lengths = []
        for _ in range(20):
            infos = envs.step([ACTIONS[0]] * N)[4]
            lengths += infos["episode"]["l"][infos["_episode"]].tolist() if "episode" in infos else []
        assert len(lengths) > N
        assert min(lengths) >= 1

    def test_gymnasium_makes_a_list_of_its_infos(self, tasks):
        envs = DictInfoToList(native(tasks, autoreset="SameStep"))
        _, infos = envs.reset(seed=0)
        assert [info["turn"] for info in infos] == [0] * N
        assert all(info["tools"] for info in infos)
        for _ in range(20):
            infos = envs.step([ACTIONS[0]] * N)[4]
            assert all(json.loads(json.dumps(info["messages"])) for info in infos)
            assert all(info["final_info"]["turn"] >= 0 for info in infos if "final_info" in info)

    def test_each_environment_has_a_curriculum_of_its_own(self, tasks):
        envs = native(tasks, wrappers=[CurriculumWrapper])
        envs.envs[1].advance()
        assert envs.reset(seed=0)[1]["stage"].tolist() == ["format", "base", "format", "format"]

    def test_it_renders_each(self, tasks):
        envs = native(tasks, render_mode="ansi")
        observations, _ = envs.reset(seed=0)
        assert all(text in shown for text, shown in zip(observations, envs.render(), strict=True))


class TestMistakes:
    @pytest.mark.parametrize(
        ("actions", "message"),
        [
            ([ACTIONS[0]] * 3, "4 environments, but 3 actions"),
            ([ACTIONS[0]] * 5, "4 environments, but 5 actions"),
            ("abcd", "list of strings"),
            ([ACTIONS[0], ACTIONS[0], None, ACTIONS[0]], "environment 2 is None"),
        ],
    )
    def test_wrong_actions_move_no_episode(self, tasks, actions, message):
        envs, untouched = native(tasks), native(tasks)
        envs.reset(seed=2)
        untouched.reset(seed=2)
        with pytest.raises(ConfigurationError, match=message):
            envs.step(actions)
        assert plain(envs.step([ACTIONS[1]] * N)) == plain(untouched.step([ACTIONS[1]] * N))

    def test_steps_need_an_episode(self, tasks):
        envs = native(tasks, autoreset="Disabled", on_step_limit="fail")
        with pytest.raises(EpisodeError, match="call reset"):
            envs.step([ACTIONS[0]] * N)
        with pytest.raises(EpisodeError, match="reset all"):
            envs.reset(options={"reset_mask": only(0)})
        envs.reset(seed=0)
        for _ in range(3):
            ended = envs.step([ACTIONS[3]] * N)[3]
        assert ended.all()
        with pytest.raises(EpisodeError, match=r"\[0, 1, 2, 3\] have ended"):
            envs.step([ACTIONS[0]] * N)

    @pytest.mark.parametrize("mask", [[True] * N, np.ones(N), np.ones(N + 1, dtype=bool), np.zeros(N, dtype=bool)])
    def test_a_mask_names_environments(self, tasks, mask):
        envs = native(tasks)
        envs.reset(seed=0)
        with pytest.raises(ConfigurationError, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})

    def test_the_options_are_left_as_they_were(self, tasks):
        envs, options = native(tasks), {"reset_mask": only(0, 1, 2, 3)}
        envs.reset(options=options)
        assert "reset_mask" in options

    def test_resets_refuse_what_they_do_not_know(self, tasks):
        envs = native(tasks)
        with pytest.raises(ConfigurationError, match="4 environments, but 2 seeds"):
            envs.reset(seed=[1, 2])
        with pytest.raises(ConfigurationError, match="unknown reset option 'level'"):
            envs.reset(options={"level": 3})
        with pytest.raises(UnknownTaskError):
            envs.reset(options={"task_id": "none"})

    def test_arguments_have_a_meaning(self, tasks):
        with pytest.raises(ConfigurationError, match="'NextStep', 'SameStep', 'Disabled'"):
            native(tasks, autoreset="sometimes")
        with pytest.raises(ConfigurationError, match="num_envs"):
            native(tasks, num_envs=0)
        with pytest.raises(ConfigurationError, match="action_format"):
            native(tasks, action_format="xml")


def test_any_text_is_an_action(tasks):
    envs = native(tasks)
    envs.reset(seed=0)
    texts = ["\ud800", "", "[" * 70_000, "\x00<tool_call>[" + "9" * 5_000 + "]</tool_call>"]
    observations, _, _, _, infos = envs.step(texts)
    assert all(isinstance(text, str) for text in observations)
    assert infos["_parse_error"].any()


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_left_as_it_was(tasks, enabled):
    envs = native(tasks)
    try:
        if not enabled:
            gc.disable()
        envs.reset(seed=0)
        with pytest.raises(ConfigurationError):
            envs.step([1] * N)
        assert gc.isenabled() is enabled
    finally:
        gc.enable()

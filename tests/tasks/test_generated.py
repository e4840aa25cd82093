import hashlib
import pickle
import re
from itertools import islice

import pytest

from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import parse_call
from envtune_gym.domains import BUILTIN_DOMAINS
from envtune_gym.env import EnvtuneEnv
from envtune_gym.errors import ConfigurationError, TaskError
from envtune_gym.scoring import score_trajectory
from envtune_gym.tasks import CATEGORIES, SPLITS, TOOLS_ADDED_MESSAGE, TaskSet, audit_task, load_tasks
from envtune_gym.tasks.families import MAX_TURNS, Family
from envtune_gym.tasks.families.base import REGISTRY
from envtune_gym.tasks.generated import DIFFICULTIES, VERSION, source
from envtune_gym.world import World

DIGEST = "4c09f25183776df55473c38966b9d379c6d136aa7115a71d46536723bbf42612"
"""Of the first 100 tasks of version 1. If tasks change on purpose, raise VERSION and record the new digest."""


@pytest.fixture(scope="module")
def stream():
    """One task of each kind, and some more."""
    return list(load_tasks("generated")[:700])


def solve(task):
    return [[list(calls)] if calls else [] for calls in task.ground_truth]


def test_the_oracle_passes_and_every_call_succeeds(stream):
    for task in stream:
        verdict = score_trajectory(task, solve(task))
        assert (verdict.valid, verdict.progress) == (True, 1.0), task.id
        world = World(task.domains, task.initial_config)
        for text in (text for calls in task.ground_truth for text in calls):
            result = world.run(parse_call(text))
            assert (result.error, result.silent) == (None, None), (task.id, text)


def test_doing_nothing_fails_every_turn_with_ground_truth(stream):
    for task in stream:
        turns = score_trajectory(task, [[] for _ in task.turns]).turns
        assert [turn.passed for turn in turns] == [not calls for calls in task.ground_truth], task.id


def test_every_call_is_needed(stream):
    for task in stream:
        for turn, calls in enumerate(task.ground_truth):
            for index in range(len(calls)):
                steps = solve(task)
                del steps[turn][0][index]
                assert not score_trajectory(task, steps).valid, (task.id, calls[index])


def test_the_audit_finds_nothing(stream):
    assert [finding for task in stream for finding in audit_task(task)] == []


def test_categories_have_their_turns(stream):
    assert {task.category for task in stream} == set(CATEGORIES)
    for task in stream:
        _, category, scored, split, _ = task.id.removeprefix("gen-").split("-")
        empty = [turn for turn, calls in enumerate(task.ground_truth) if not calls]
        assert (task.category, task.num_turns - len(empty)) == (category, int(scored))
        assert len(empty) == (category in ("miss_func", "miss_param"))
        assert split in SPLITS
        assert bool(task.missed_functions) == (category == "miss_func")
        assert not task.long_context
        for turn, tools in task.missed_functions.items():
            assert task.turns[turn] == TOOLS_ADDED_MESSAGE
            assert empty == [turn - 1]
            assert set(tools) <= {parse_call(text).name for text in task.ground_truth[turn]}
        assert (task.source, task.source_version) == ("generated", VERSION)


def test_a_withheld_tool_cannot_be_called_before_its_turn():
    task = next(iter(load_tasks("generated", categories="miss_func")))
    (back, (tool,)) = next(iter(task.missed_functions.items()))
    env = EnvtuneEnv(tasks=TaskSet([task]))
    env.reset(seed=0)
    for turn, calls in enumerate(task.ground_truth):
        if turn == back - 1:
            refused = [parse_call(text) for text in task.ground_truth[back] if text.startswith(f"{tool}(")]
            *_, info = env.step(render_calls(refused, "tool_call"))
            assert {result["error"]["code"] for result in info["tool_results"]} == {"unknown_tool"}
        if calls:
            env.step(render_calls([parse_call(text) for text in calls], "tool_call"))
        _, reward, terminated, *_ = env.step(render_answer("Done.", "tool_call"))
    assert terminated
    assert reward == 1.0


def test_a_tool_that_an_earlier_turn_needs_is_not_withheld(monkeypatch):
    def sums(draft):
        draft.start(MathAPI={})
        for turn in range(MAX_TURNS):
            number = draft.rng.between(2, 9_999)
            draft.ask(f"Add {number} to {turn}.", withhold=["add"])
            draft.call("add", a=number, b=turn)

    monkeypatch.setitem(REGISTRY, "sums", Family("sums", ("MathAPI",), ("miss_func",), sums))
    tasks = load_tasks("generated", domains="MathAPI", categories="miss_func")
    for number in range(8):
        assert tasks.get(f"gen-sums-miss_func-4-train-{number}").missed_functions == {1: ("add",)}


def test_a_family_without_variety_is_told(monkeypatch):
    def constant(draft):
        draft.start(MathAPI={})
        draft.ask("Add 1 and 2.")
        draft.call("add", a=1, b=2)

    monkeypatch.setitem(REGISTRY, "constant", Family("constant", ("MathAPI",), ("base",), constant))
    tasks = load_tasks("generated", domains="MathAPI")
    with pytest.raises(TaskError, match="'constant' varies too little"):
        [tasks.get(f"gen-constant-base-2-{split}-0") for split in SPLITS]


def test_an_index_means_the_same_task_everywhere():
    tasks = load_tasks("generated")[:100]
    assert hashlib.sha256("".join(task.fingerprint for task in tasks).encode()).hexdigest() == DIGEST


@pytest.mark.parametrize(
    "conditions",
    [
        {},
        {"categories": ("miss_func",)},
        {"domains": ("TravelAPI",), "split": "test"},
        {"difficulty": 3, "split": "val"},
        {"domains": ("MathAPI", "TicketAPI"), "categories": ("base", "long_context"), "difficulty": 1},
    ],
)
def test_ids_lead_back_to_their_tasks(conditions):
    everything, some = source(), source(**conditions)
    for index in (0, 1, 17, 1_000, 10**12):
        task = some.task(index)
        assert (some.task_id(index), some.category(index)) == (task.id, task.category)
        assert some.index_of(task.id) == index
        assert some.split(index) == conditions.get("split", some.split(index))
        assert everything.task(everything.index_of(task.id)) == task
        assert task.category in conditions.get("categories", CATEGORIES)
        assert set(task.domains) & set(conditions.get("domains", BUILTIN_DOMAINS))


@pytest.mark.parametrize(
    "task_id",
    [
        "gen-laboratory-base-2-test-0",  # of another split
        "gen-laboratory-long_context-2-train-0",  # of a category that the family does not have
        "gen-laboratory-base-5-train-0",
        "gen-laboratory-base-2-train-00",
        "gen-laboratory-base-2-train-",
        "gen-laboratory-base-2-train-1\n",
        "gen-none-base-2-train-0",
        "multi_turn_base_0",
        "",
    ],
)
def test_other_ids_are_not_in_the_stream(task_id):
    assert source(split="train").index_of("gen-laboratory-base-2-train-0") is not None
    assert source(split="train").index_of(task_id) is None


def test_splits_share_no_scenario():
    beginnings = {}
    for split in SPLITS:
        tasks = load_tasks("generated", categories="base", split=split)[:600]
        assert all(f"-{split}-" in task.id for task in tasks)
        beginnings[split] = {tuple(task.ground_truth[:2]) for task in tasks}
    assert len(set.union(*beginnings.values())) == sum(map(len, beginnings.values()))


def test_variants_of_a_scenario_share_its_world_and_requests():
    tasks = load_tasks("generated")
    base, long, shorter, vague = (
        tasks.get(f"gen-book_a_flight-{kind}-test-5") for kind in ("base-4", "long_context-4", "base-2", "miss_param-4")
    )
    assert base.initial_config == shorter.initial_config == vague.initial_config != long.initial_config
    assert base.turns[:2] == shorter.turns
    assert base.turns == long.turns
    assert base.ground_truth == tuple(filter(None, vague.ground_truth)) == long.ground_truth
    assert base.initial_config["TravelAPI"] is not vague.initial_config["TravelAPI"]


@pytest.mark.parametrize("domain", BUILTIN_DOMAINS)
def test_every_domain_serves_all_categories_from_two_families(domain):
    tasks = load_tasks("generated", domains=domain)
    assert tasks.categories == CATEGORIES
    assert len({task.id.split("-")[1] for task in islice(tasks, 60)}) >= 2
    assert all(domain in task.domains for task in islice(tasks, 60))


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_difficulty_is_the_number_of_scored_turns_less_one(difficulty):
    for task in load_tasks("generated", difficulty=difficulty)[:60]:
        assert sum(map(bool, task.ground_truth)) == difficulty + 1


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"categories": ["easy"]}, "unknown category 'easy'; known: base, miss_func, miss_param, long_context"),
        ({"categories": ["miss_func+miss_param"]}, "unknown category"),
        ({"difficulty": 0}, "unknown difficulty 0; known: 1, 2, 3"),
        ({"difficulty": "hard"}, "unknown difficulty 'hard'"),
        ({"difficulty": True}, "unknown difficulty True"),
        ({"split": "dev"}, "unknown split 'dev'; known: train, val, test, all"),
        ({"domains": ["Maths"]}, "unknown domain 'Maths'"),
    ],
)
def test_mistakes_name_what_is_known(conditions, message):
    with pytest.raises(ConfigurationError) as caught:
        source(**conditions)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_source_travels_as_its_conditions():
    original = source(categories=("miss_func",), split="train", domains=("TicketAPI",), difficulty=2)
    sent = pickle.dumps(original)
    assert len(sent) < 250
    assert pickle.loads(sent).task(42) == original.task(42)


@pytest.mark.bfcl
def test_ids_are_not_those_of_the_official_data(official, stream):
    def ids(tasks):
        found = set()
        for task in tasks:
            travel, message = (task.initial_config.get(name, {}) for name in ("TravelAPI", "MessageAPI"))
            found |= {*travel.get("credit_card_list", {}), *travel.get("booking_record", {})}
            found |= {*message.get("user_map", {}).values(), travel.get("access_token")} - {None}
        return found

    ours = ids(stream)
    assert len(ours) > 200
    assert not ours & ids(official)
    assert not any(re.fullmatch(r"USR00\d", name) for name in ours)

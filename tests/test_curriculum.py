import math
from itertools import pairwise

import pytest

from envtune_gym import TaskSet
from envtune_gym.curriculum import PAPER_STAGES, AdvanceRule, Metrics, Stage, stage_categories, stage_tasks
from envtune_gym.errors import ConfigurationError
from envtune_gym.tasks import CATEGORIES

RULE = AdvanceRule()


def run(steps, accuracy, norm, every=5):
    """Return the history of a run, validated at every so many steps."""
    return [Metrics(accuracy(i) if i % every == 0 else None, norm(i)) for i in range(steps)]


def first_advance(history, rule=RULE):
    """Return the step at which a run advances, or None."""
    return next((i for i in range(1, len(history) + 1) if rule.should_advance(history[:i])), None)


def collapsing_norm(step):
    """The paper's collapsing run: 0.3 to 0.45 until step 63, 0.5 at 70, 1.5 at 75, 2.9 at 91."""
    points = [(0, 0.38), (63, 0.45), (70, 0.5), (75, 1.5), (91, 2.9)]
    if step <= 63:
        return 0.375 + 0.075 * math.sin(step)
    for (left, low), (right, high) in pairwise(points):
        if step <= right:
            return low + (high - low) * (step - left) / (right - left)
    return 2.9


def test_the_papers_stages():
    assert [(s.categories, s.reward, s.feedback == "off") for s in PAPER_STAGES] == [
        (("base",), "format", True),
        (("base",), "progress", False),
        (CATEGORIES, "progress", False),
        (CATEGORIES, "progress", True),
    ]
    assert PAPER_STAGES[0].limit is not None
    assert [Stage.from_dict(stage.to_dict()) for stage in PAPER_STAGES] == list(PAPER_STAGES)


def test_a_rising_run_goes_on_and_a_flat_one_advances():
    rising = run(100, lambda i: i / 100, lambda i: 0.4)
    assert first_advance(rising) is None
    flat = run(100, lambda i: min(i, 40) / 100, lambda i: 0.4)
    assert first_advance(flat) == 56  # the third validation after the one at step 40


@pytest.mark.parametrize(("every", "first"), [(1, 63), (2, 66), (5, None), (10, None)])
def test_the_papers_collapsing_run_never_advances_once_it_collapses(every, first):
    """From the step at which the plateau shows until the norm passes twice the usual one, at 72; then never again."""
    history = run(400, lambda i: max(min(i, 62 - (i - 62)), 0) / 250, collapsing_norm, every)
    advancing = [i for i in range(400) if RULE.should_advance(history[: i + 1])]
    assert advancing == list(range(first or 72, 72))
    assert RULE.has_plateaued(history)
    assert not RULE.is_stable(history)


def test_a_norm_that_stays_high_is_no_stability():
    history = run(60, lambda i: 0.3, lambda i: 0.4 if i < 40 else 4.0)
    assert RULE.should_advance(history[:40])
    assert not RULE.should_advance(history)
    long = run(1000, lambda i: 0.3, lambda i: 0.4 if i < 60 else 3.0)
    assert not any(RULE.should_advance(long[:i]) for i in range(61, 1001, 10))


def test_a_norm_that_has_risen_while_accuracy_gained_is_usual():
    learning = run(100, lambda i: min(i, 60) / 100, lambda i: 0.05 if i < 25 else 0.4)
    assert first_advance(learning) == 76  # the third validation after the last gain, at step 60
    without_gain = run(100, lambda i: 0.0, lambda i: 0.05 if i < 12 else 0.4)
    assert not any(RULE.should_advance(without_gain[:i]) for i in range(13, 101))


def test_updates_without_any_gradient_do_not_make_the_usual_norm():
    assert first_advance(run(60, lambda i: 0.0, lambda i: 0.0 if i < 30 else 0.4)) == 16
    mixed = run(60, lambda i: 0.0, lambda i: 0.4 if i % 3 else 0.0)
    assert RULE.should_advance(mixed)


@pytest.mark.parametrize("norm", [float("nan"), float("inf")])
def test_a_norm_that_is_not_finite_holds_back_until_it_is_past(norm):
    history = run(40, lambda i: 0.3, lambda i: norm if i == 25 else 0.4)
    assert RULE.should_advance(history[:25])
    assert not RULE.should_advance(history[:30])
    assert RULE.should_advance(history)


@pytest.mark.parametrize(
    "history",
    [
        [],
        [Metrics(0.5)] * 9,
        [Metrics(None, 0.4)] * 50,
        [Metrics(0.5, 0.4)] * 9,
        [Metrics(0.5, 0.4)] * 3 + [Metrics(None, 0.4)] * 50,
    ],
)
def test_too_little_is_no_evidence(history):
    assert not RULE.should_advance(history)


def test_noise_below_the_least_gain_is_a_plateau():
    noisy = run(60, lambda i: 0.3 + 0.004 * (i % 2), lambda i: 0.4)
    assert first_advance(noisy) is not None
    assert first_advance(noisy, AdvanceRule(min_gain=0.001)) is not None


@pytest.mark.parametrize("fields", [{"patience": 0}, {"window": 0}, {"min_gain": -0.1}, {"max_ratio": 0.5}])
def test_a_rule_without_meaning_is_refused(fields):
    with pytest.raises(ConfigurationError, match="AdvanceRule needs"):
        AdvanceRule(**fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"categories": ()}, "not none"),
        ({"categories": ("easy",)}, "not 'easy'"),
        ({"reward": "cash"}, "reward must be one of 'format', 'progress', 'earned', 'verdict'"),
        ({"feedback": "loud"}, "feedback level must be one of"),
        ({"limit": 0}, "limit must be a positive integer"),
    ],
)
def test_a_stage_without_meaning_is_refused(fields, message):
    with pytest.raises(ConfigurationError, match=message):
        Stage("s", **fields)


@pytest.mark.parametrize(("data", "message"), [({}, "name"), ({"name": "s", "categories": "base"}, "list of names")])
def test_broken_plain_data_is_refused(data, message):
    with pytest.raises(ConfigurationError, match=message):
        Stage.from_dict(data)


@pytest.fixture
def tasks(ticket_task, withheld_task):
    both = withheld_task.model_copy(update={"id": "both", "category": "miss_func+long_context"})
    short = ticket_task.model_copy(
        update={"id": "short", "turns": ticket_task.turns[:1], "ground_truth": ticket_task.ground_truth[:1]}
    )
    return TaskSet([ticket_task, withheld_task, both, short])


@pytest.mark.parametrize(
    ("categories", "ids"),
    [
        (("base",), ["ticket", "short"]),
        (("miss_func",), ["withheld"]),
        (("miss_func", "long_context"), ["withheld", "both"]),
        (CATEGORIES, ["ticket", "withheld", "both", "short"]),
    ],
)
def test_a_stage_takes_tasks_all_of_whose_categories_it_has(tasks, categories, ids):
    assert stage_tasks(tasks, Stage("s", categories)).ids == ids


def test_a_limit_takes_the_easiest(tasks):
    assert stage_tasks(tasks, Stage("s", limit=2)).ids == ["short", "ticket"]


def test_categories_may_be_a_list(tasks):
    assert stage_tasks(tasks, Stage("s", ["base"])).ids == stage_tasks(tasks, Stage("s", ("base",))).ids


def test_a_stage_without_tasks_is_refused(tasks):
    with pytest.raises(ConfigurationError, match="stage 's' has no task: it takes miss_param"):
        stage_categories(tasks, Stage("s", ("miss_param",)))


def test_environments_that_enter_a_stage_together_choose_its_tasks_once(tasks):
    first, *others = (stage_tasks(tasks, Stage("s", limit=2)) for _ in range(5))
    assert all(one is first for one in others)

import pytest

from envtune_gym import load_tasks
from envtune_gym.domains import BUILTIN_DOMAINS
from envtune_gym.evaluation.corpus import broken_episode
from envtune_gym.evaluation.coverage import measure_coverage
from envtune_gym.feedback import HintBook, HintRule
from envtune_gym.feedback.book import GENERAL


def test_the_same_seed_makes_the_same_episode():
    tasks = load_tasks("generated")[:6]
    episodes = [broken_episode(task, index, 3) for index, task in enumerate(tasks)]
    assert episodes == [broken_episode(task, index, 3) for index, task in enumerate(tasks)]
    assert {episode.action_format for episode in episodes} == {"tool_call", "python", "openai"}
    assert episodes[0] != broken_episode(tasks[0], 0, 4)


@pytest.mark.bfcl
def test_hints_reach_every_failing_call_and_give_nothing_away():
    tasks = [*load_tasks("bfcl")[::25], *load_tasks("generated")[:40]]
    coverage = measure_coverage(tasks)
    assert coverage.total.failures > 5000
    assert {count.domain for count in coverage.domains} == {*BUILTIN_DOMAINS, GENERAL}
    assert coverage.missed == []
    assert coverage.total.generic <= 0.02 * coverage.total.failures
    assert coverage.leaked == []
    assert (coverage.off_differences, coverage.score_differences) == (0, 0)


def test_what_is_wrong_with_hints_is_found():
    def rule(code, error):
        return HintRule(code=code, category="format_mismatch", augmentation="correct_format", error=error)

    book = HintBook({GENERAL: [rule("unknown_tool", "Look."), rule("missing_argument", "Try authenticate_travel.")]})
    coverage = measure_coverage(load_tasks("generated", domains=["MathAPI"])[:3], book=book)
    counts = {count.cause: count for count in coverage.causes if count.domain in ("MathAPI", GENERAL)}
    assert counts["unknown_tool"].own == counts["missing_argument"].own == 0
    assert counts["missing_argument"].leaks == counts["missing_argument"].failures > 0
    assert counts["ill_typed_argument"].unexplained == counts["ill_typed_argument"].failures > 0

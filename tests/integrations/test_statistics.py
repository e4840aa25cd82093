from dataclasses import asdict

import pytest

pytest.importorskip("trl")

from envtune_gym.evaluation.runs.records import EvaluatedEpisode, RunSettings
from envtune_gym.integrations.rollout import RolloutRecord
from envtune_gym.integrations.statistics import rollout_statistics

RECORDS = [
    RolloutRecord(
        task_id="a", category="base", domains=["MathAPI"], stage="one", reward=2.0, success=True, progress=1.0,
        num_turns=1, passed=[True], num_steps=4, format_errors=1, errors=2, hints=1,
    ),
    RolloutRecord(
        task_id="b", category="miss_func", domains=["MathAPI", "TicketAPI"], stage="one", reward=0.0, progress=0.5,
        num_turns=10, passed=[False, True], num_steps=2, format_errors=2, errors=2, hints=2, truncated_by="tokens",
    ),
    RolloutRecord(broken="ValueError: no"),
]  # fmt: skip


def test_figures_are_means_over_the_rollouts_they_are_of():
    figures = rollout_statistics([asdict(record) for record in RECORDS])
    assert figures["rollout/success"] == pytest.approx(1 / 3)
    assert figures["rollout/hint_rate"] == pytest.approx(3 / 4)
    assert figures["rollout/truncated_by_tokens"] == pytest.approx(1 / 3)
    assert figures["rollout/broken"] == pytest.approx(1 / 3)
    assert figures["component/progress"] == pytest.approx(0.5)
    assert figures["component/format"] == pytest.approx(0.75 / 3)
    assert figures["category/base/reward"] == 2.0
    assert figures["domain/MathAPI/progress"] == pytest.approx(0.75)
    assert figures["domain/TicketAPI/verdict"] == 0.0
    assert figures["stage/one/reward"] == pytest.approx(1.0)


def test_a_rollout_that_never_began_belongs_to_no_group():
    figures = rollout_statistics([asdict(RECORDS[2])])
    assert not [name for name in figures if name.startswith(("category/", "domain/", "stage/"))]
    assert figures["rollout/hint_rate"] == 0.0


def test_a_turn_passes_as_often_as_it_does_in_the_rollouts_whose_task_has_it():
    figures = rollout_statistics([asdict(record) for record in RECORDS])
    turns = {name: value for name, value in figures.items() if name.startswith("turn/")}
    assert turns == {"turn/1/passed": 0.5, "turn/2/passed": 1.0, **{f"turn/{n}/passed": 0.0 for n in range(3, 9)}}


def test_evaluated_episodes_have_no_stage_and_do_not_tell_turns_apart():
    episode = EvaluatedEpisode(
        task_id="a", category="base", num_turns=2, success=True, run=RunSettings(policy="x"), messages=[]
    )
    figures = rollout_statistics([episode.model_dump()])
    assert figures["category/base/verdict"] == 1.0
    assert not [name for name in figures if name.startswith(("turn/", "stage/"))]

"""Tasks: their ground truths earn the verdict, nothing less does, and an agent can know what it needs."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from envtune_gym.calls import ActionFormat, render_answer
from envtune_gym.evaluation.replay import replay
from envtune_gym.tasks import Task, load_tasks, save_jsonl
from envtune_gym.tasks.generation.proof import prove
from envtune_gym.testing.base import Suite
from envtune_gym.testing.hostile import FORMATS

__all__ = ["TaskSuite"]


class _Idle:
    """Answers every request at once."""

    name = "idle"

    def __init__(self, action_format: ActionFormat) -> None:
        self._answer = render_answer("Done.", action_format)

    def messages(self, task: Task) -> list[str]:
        """Return an answer for each turn."""
        return [self._answer] * task.num_turns


class TaskSuite(Suite):
    """Each of the tasks that are played is solved by its ground truth and by nothing less.

    Class attributes:
        proven: Whether the tasks must pass the proof of `tasks.generation.proof`: each argument can be known when it
            is needed, each call matters, no order is hidden, reading does no harm.
    """

    proven: ClassVar[bool] = True

    @pytest.mark.parametrize("action_format", FORMATS)
    def test_the_ground_truth_earns_the_verdict(self, action_format: ActionFormat) -> None:
        """It does so in every action format, with withheld tools refused."""
        report = replay(self.played_tasks(), action_format=action_format, offer="strict")
        assert not report.failed, [(episode.task_id, episode.error_type) for episode in report.failed]

    def test_answering_at_once_earns_nothing(self) -> None:
        """No task is solved by doing nothing."""
        tasks = self.played_tasks()
        report = replay(tasks, _Idle("tool_call"))
        assert len(report.failed) == len(tasks)

    def test_tasks_are_fair(self) -> None:
        """The proof of generated tasks holds for these."""
        if not self.proven:
            pytest.skip("these tasks are not held to the proof")
        for task in self.played_tasks():
            prove(task)

    def test_tasks_survive_a_file(self, tmp_path: Path) -> None:
        """Written and read again, they are the same."""
        tasks = list(self.played_tasks())
        save_jsonl(tasks, tmp_path / "tasks.jsonl")
        assert list(load_tasks(tmp_path / "tasks.jsonl")) == tasks

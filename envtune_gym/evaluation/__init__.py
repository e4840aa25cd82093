"""How well an agent does on a set of tasks: what acts, the run over the tasks, and the report."""

from __future__ import annotations

from envtune_gym.evaluation.oracle import Oracle
from envtune_gym.evaluation.recorded import RecordedActions
from envtune_gym.evaluation.replay import ReplayReport, replay

__all__ = ["Oracle", "RecordedActions", "ReplayReport", "replay"]

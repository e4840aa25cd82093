"""Tasks: what one is, sets of them, where they come from, and an audit of their quality."""

from __future__ import annotations

from envtune_gym.tasks.audit import Finding, audit_task, audit_tasks
from envtune_gym.tasks.jsonl import save_jsonl
from envtune_gym.tasks.load import load_tasks
from envtune_gym.tasks.quarantine import load_quarantine, write_quarantine
from envtune_gym.tasks.source import TaskSource
from envtune_gym.tasks.splits import SPLITS
from envtune_gym.tasks.task import CATEGORIES, TOOLS_ADDED_MESSAGE, Task
from envtune_gym.tasks.taskset import TaskSet

__all__ = [
    "CATEGORIES",
    "SPLITS",
    "TOOLS_ADDED_MESSAGE",
    "Finding",
    "Task",
    "TaskSet",
    "TaskSource",
    "audit_task",
    "audit_tasks",
    "load_quarantine",
    "load_tasks",
    "save_jsonl",
    "write_quarantine",
]

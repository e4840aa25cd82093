"""Test suites for domains, their tasks and their hints: the ones that this package's own domains pass.

A test module subclasses them and says what is tested; pytest collects what is inherited:

    from envtune_gym.testing import DomainSuite, HintSuite, TaskSuite

    class TestLendingDesk(DomainSuite, TaskSuite, HintSuite):
        domain = "LendingDesk"
        tasks = "lending_desk/tasks.jsonl"

They need pytest and hypothesis: `pip install 'envtune-gym[testing]'`.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    *(
        f"{__name__}.{name}"
        for name in ("determinism", "environments", "hints", "hostile", "isolation", "results", "schemas", "tasks")
    )
)

from envtune_gym.testing.base import Suite  # noqa: E402 (asserts are rewritten from here on)
from envtune_gym.testing.determinism import DeterminismSuite  # noqa: E402
from envtune_gym.testing.environments import EnvironmentSuite  # noqa: E402
from envtune_gym.testing.hints import HintSuite  # noqa: E402
from envtune_gym.testing.hostile import HostileInputSuite  # noqa: E402
from envtune_gym.testing.isolation import IsolationSuite  # noqa: E402
from envtune_gym.testing.schemas import SchemaSuite  # noqa: E402
from envtune_gym.testing.tasks import TaskSuite  # noqa: E402

__all__ = [
    "DeterminismSuite",
    "DomainSuite",
    "EnvironmentSuite",
    "HintSuite",
    "HostileInputSuite",
    "IsolationSuite",
    "SchemaSuite",
    "Suite",
    "TaskSuite",
]


class DomainSuite(SchemaSuite, HostileInputSuite, IsolationSuite, DeterminismSuite, EnvironmentSuite):
    """All that is asked of a domain, whoever wrote it."""

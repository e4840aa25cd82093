"""Where the episodes of an evaluation are played: in this process, or in a Ray cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.runs.choosing import PolicyName
from envtune_gym.evaluation.runs.episode import env_maker
from envtune_gym.evaluation.runs.policies import PolicyMaker
from envtune_gym.evaluation.runs.records import RunSettings
from envtune_gym.evaluation.runs.runner import Executor, InProcess
from envtune_gym.tasks import TaskSet

__all__ = ["ExecutorChoice", "ExecutorName"]

ExecutorName = Literal["process", "ray"]


@dataclass(frozen=True)
class ExecutorChoice:
    """What plays the episodes, as the command line names it.

    Attributes:
        name: In this process, or in a Ray cluster.
        address: Where the cluster is; None: as `ray.cluster` has it.

    Raises:
        ConfigurationError: If there is an address and no cluster.
    """

    name: ExecutorName
    address: str | None = None

    def __post_init__(self) -> None:
        """Check that they go together."""
        if self.address is not None and self.name != "ray":
            raise ConfigurationError("--ray-address needs --engine ray")

    def check(self, policy: PolicyName) -> None:
        """Refuse what cannot be played so.

        Raises:
            ConfigurationError: If the policy cannot, or Ray is not installed.
        """
        if self.name == "process":
            return
        if policy.kind == "local":
            raise ConfigurationError(
                "--engine ray cannot play local: models, for each worker would load one; serve it (vllm serve, "
                "transformers serve) and use --policy server:MODEL"
            )
        try:
            import envtune_gym.integrations.ray  # noqa: F401
        except ImportError as error:
            if (error.name or "").partition(".")[0] != "ray":
                raise
            raise ConfigurationError("--engine ray needs Ray: pip install 'envtune-gym[ray]'") from None

    @contextlib.contextmanager
    def open(
        self,
        tasks: TaskSet,
        run: RunSettings,
        maker: PolicyMaker,
        elsewhere: Callable[[int], PolicyMaker],
        concurrency: int,
    ) -> Iterator[Executor]:
        """Yield what plays episodes.

        Args:
            tasks: The tasks to play.
            run: The settings that the records name.
            maker: Makes the policies here.
            elsewhere: Makes them in another process, given how many episodes that one has in work; can be pickled.
            concurrency: Episodes in work at a time.

        Raises:
            ServerError: If there is no cluster.
            DataError: If the hints are a file that cannot be read.
        """
        make_env = env_maker(tasks, run)
        if self.name == "process":
            yield InProcess(make_env, maker, run)
            return
        from envtune_gym.integrations import ray

        with ray.cluster(self.address):
            yield ray.RayExecutor(lambda places: InProcess(make_env, elsewhere(places), run), run, concurrency)

"""Policies by the names that the command line gives them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from typing_extensions import Self

from envtune_gym.calls import ActionFormat
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.runs.policies import Mode, ModelOptions, OracleMaker, PolicyMaker, RandomMaker
from envtune_gym.evaluation.runs.python_policy import PythonMaker
from envtune_gym.evaluation.runs.records import RunSettings
from envtune_gym.evaluation.runs.replaying import ReplayMaker, recorded_settings

__all__ = ["POLICIES", "PolicyName", "make_policy", "policies_elsewhere"]

POLICIES = ("oracle", "random", "replay:FILE", "python:MODULE:CALLABLE", "server:MODEL", "local:PATH")
_WITH_ARGUMENT = {form.partition(":")[0]: ":" in form for form in POLICIES}


@dataclass(frozen=True)
class PolicyName:
    """The name of a policy, taken apart.

    Attributes:
        kind: What stands before the first colon.
        argument: What stands behind it; empty for the kinds that have none.
    """

    kind: str
    argument: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a name.

        Raises:
            ConfigurationError: If no policy has such a name.
        """
        kind, _, argument = text.partition(":")
        if kind not in _WITH_ARGUMENT or bool(argument) != _WITH_ARGUMENT[kind]:
            raise ConfigurationError(f"--policy must be one of {', '.join(POLICIES)}, not {text!r}")
        return cls(kind, argument)

    @property
    def is_model(self) -> bool:
        """Whether it is a language model, which model options are for."""
        return self.kind in ("server", "local")

    def recorded(self) -> RunSettings | None:
        """Return the settings of the run that a replay plays again, where its file tells them."""
        return recorded_settings(Path(self.argument)) if self.kind == "replay" else None

    def action_format(self, wanted: ActionFormat | None, mode: Mode | None) -> ActionFormat:
        """Return the format of the messages.

        Args:
            wanted: The one that was asked for, if any.
            mode: How a model is told of tools, if that was said: `native` needs the openai format, `prompting` any
                other. Unless it is said, servers are asked natively and local models are prompted.

        Raises:
            ConfigurationError: If format and mode exclude each other, or there is no model that a mode is for.
        """
        if not self.is_model:
            if mode is not None:
                raise ConfigurationError(f"--mode is for models, not for the policy {self.kind}")
            recorded = self.recorded()
            return wanted or (recorded.action_format if recorded else "tool_call")
        if mode is None and wanted is None:
            mode = "native" if self.kind == "server" else "prompting"
        if mode is not None and wanted is not None and (mode == "native") != (wanted == "openai"):
            raise ConfigurationError(f"--mode {mode} and --action-format {wanted} exclude each other: native is openai")
        return wanted or ("openai" if mode == "native" else "python")


def make_policy(name: PolicyName, action_format: ActionFormat, options: ModelOptions) -> PolicyMaker:
    """Return the maker of a policy.

    Args:
        name: The name.
        action_format: The format of the messages.
        options: How a model is asked.

    Raises:
        ConfigurationError: If the policy cannot be made.
        DataError: If a file that it needs cannot be read.
    """
    if name.kind == "oracle":
        return OracleMaker(action_format)
    if name.kind == "random":
        return RandomMaker(action_format)
    if name.kind == "replay":
        return ReplayMaker(Path(name.argument), action_format)
    if name.kind == "python":
        return PythonMaker(name.argument, options.concurrency)
    from envtune_gym.evaluation.models import local_policy, server_policy

    make = server_policy if name.kind == "server" else local_policy
    return make(name.argument, options, action_format)


def policies_elsewhere(
    name: PolicyName, action_format: ActionFormat, options: ModelOptions, maker: PolicyMaker
) -> Callable[[int], PolicyMaker]:
    """Return what makes the policies again in another process, given how many episodes that one has in work.

    It can be pickled. What plays data takes the data along; callables are imported there, and servers asked from there.

    Args:
        name: As in `make_policy`; likewise the next two.
        action_format: The format of the messages.
        options: How a model is asked.
        maker: What `make_policy` made of them here.
    """
    if name.kind in ("python", "server"):
        return lambda places: make_policy(name, action_format, replace(options, concurrency=places))
    return lambda places: maker

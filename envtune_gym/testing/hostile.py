"""Hostile input: whatever a model sends has a defined and bounded outcome, and runs nothing but tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from envtune_gym.calls import ActionFormat
from envtune_gym.callsyntax import Call
from envtune_gym.env import EnvtuneEnv
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.tasks import TaskSet
from envtune_gym.testing.base import Start, Suite
from envtune_gym.testing.hostile_texts import PROOF_OF_INJECTION, hostile_messages, long_arguments
from envtune_gym.testing.results import check_result, check_state, kept

__all__ = ["FORMATS", "HostileInputSuite", "check_step"]

FORMATS: tuple[ActionFormat, ...] = ("tool_call", "python", "openai")
_AIMS = 3
"""How many tools hostile messages are aimed at."""


class HostileInputSuite(Suite):
    """Any text and any arguments: no crash, a text that says what was wrong, nothing changed by what fails."""

    def test_any_arguments_have_a_defined_outcome(self) -> None:
        """A result is a bounded text; a call that fails leaves the public state as it was."""

        def check(start: Start) -> None:
            world = start.world()
            for call in start.program:
                before = kept(world)
                result = world.run(call)
                check_result(result)
                if result.error is not None and call.name not in self.failing_changes:
                    assert kept(world) == before, f"{call.source()} failed and changed the state"
            check_state(world)

        self.check_programs(check)

    def test_long_and_deep_arguments_have_a_defined_outcome(self) -> None:
        """So have arguments that a random draw would not hit upon."""
        for config in self.configs:
            for tool in self.domain_class().tools.values():
                for value in long_arguments():
                    world = Start(self.domain, config, ()).world()
                    before = kept(world)
                    result = world.run(Call(tool.name, dict.fromkeys(tool.signature.parameters, value)))
                    check_result(result)
                    if result.error is not None and tool.name not in self.failing_changes:
                        assert kept(world) == before, f"{tool.name} failed and changed the state"

    @pytest.mark.parametrize("action_format", FORMATS)
    def test_hostile_messages_run_no_more_than_tools(
        self, action_format: ActionFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Messages made to break out, to break the parser or to break a tool end as steps of an episode."""
        env = make_env(self.played_tasks()[:1], action_format)
        monkeypatch.chdir(tmp_path)
        offered = set(env.episode.world.tools)
        aims = dict(list(self.domain_class().tools.items())[:_AIMS])
        for action in hostile_messages(aims):
            info = check_step(env, action, self.failing_changes)
            json.dumps(info)
            for result in info["tool_results"]:
                assert result["error"] or result["name"] in offered
        assert not (tmp_path / PROOF_OF_INJECTION).exists()


def make_env(tasks: TaskSet, action_format: ActionFormat) -> EnvtuneEnv:
    """Return the environment that serves some tasks, after its first reset."""
    env = gym.make(MULTI_DOMAIN_ID, tasks=tasks, action_format=action_format, disable_env_checker=True).unwrapped
    assert isinstance(env, EnvtuneEnv)
    env.reset(seed=0)
    return env


def check_step(env: EnvtuneEnv, action: str, failing_changes: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Take a step; whatever it was, the outcome is defined, and a world in which nothing ran is as before.

    Args:
        env: The environment; an episode that has ended is begun anew.
        action: What the model says.
        failing_changes: Tools that may fail half-way.

    Returns:
        The step's `info`.
    """
    if env.episode.over:
        env.reset(seed=0)
    world = env.episode.world
    before = world.snapshot()
    observation, reward, terminated, truncated, info = env.step(action)
    assert observation in env.observation_space
    assert reward in (0.0, 1.0)
    assert isinstance(terminated, bool)
    assert isinstance(truncated, bool)
    if all(result["error"] and result["name"] not in failing_changes for result in info["tool_results"]):
        assert world.same_state(before)
    return info

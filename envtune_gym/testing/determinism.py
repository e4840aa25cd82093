"""Determinism: the same seed and the same calls come to the same, in any process and at any place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym

from envtune_gym.evaluation.random_agent import RandomPolicy
from envtune_gym.registration import env_id
from envtune_gym.tasks import save_jsonl
from envtune_gym.testing.base import Start, Suite
from envtune_gym.testing.results import kept
from envtune_gym.testing.transcript import transcript

__all__ = ["DeterminismSuite"]

_ELSEWHERE = {"PYTHONHASHSEED": "4242", "TZ": "Pacific/Kiritimati", "LC_ALL": "C", "LANG": "C"}
_STEPS = 60


class DeterminismSuite(Suite):
    """Nothing but seed and calls decides: no clock, time zone, locale, hash order, or generator shared by worlds."""

    def test_the_same_calls_come_to_the_same(self) -> None:
        """Two worlds of one configuration give the same texts, with other worlds at work in between."""

        def check(start: Start) -> None:
            texts = []
            for _ in range(2):
                world, other = start.world(), start.world()
                texts.append([world.run(call).content for call in start.program])
                for call in reversed(start.program):
                    other.run(call)
                texts[-1].append(kept(world))
            assert texts[0] == texts[1]

        self.check_programs(check)

    def test_a_seed_decides_the_episodes(self) -> None:
        """A random agent with a seed of its own meets the same episodes again."""
        assert self._episodes(3) == self._episodes(3)

    def test_another_process_comes_to_the_same(self, tmp_path: Path) -> None:
        """So does one with another hash seed, time zone and locale."""
        file = tmp_path / "tasks.jsonl"
        save_jsonl(self.played_tasks(), file)
        here = transcript(file)
        command = [sys.executable, "-m", "envtune_gym.testing.transcript", str(file)]
        there = subprocess.run(  # noqa: S603 (this very module's neighbour)
            command, env={**os.environ, **_ELSEWHERE}, capture_output=True, text=True, encoding="utf-8", check=False
        )
        assert there.returncode == 0, there.stderr
        assert there.stdout == here

    def _episodes(self, seed: int) -> list[Any]:
        env = gym.make(env_id(self.domain), tasks=self.played_tasks(), disable_env_checker=True)
        seen: list[Any] = []
        policy = RandomPolicy(seed)
        observation, info = env.reset(seed=seed)
        for _ in range(_STEPS):
            seen.append((observation, info))
            observation, reward, terminated, truncated, info = env.step(policy(observation, info))
            seen.append((reward, terminated, truncated))
            if terminated or truncated:
                observation, info = env.reset()
        return seen

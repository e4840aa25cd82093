"""Many episodes in one process behind Gymnasium's vector interface, over one set of shared task data."""

from __future__ import annotations

from envtune_gym.vector.env import EnvtuneVectorEnv

__all__ = ["EnvtuneVectorEnv"]

"""Registers the environment ids with Gymnasium."""

from __future__ import annotations

import gymnasium as gym

from envtune_gym.domains import domain_names

__all__ = ["ENV_IDS", "MULTI_DOMAIN_ID", "env_id", "register_envs"]

MULTI_DOMAIN_ID = "EnvTune/MultiDomain-v0"


def env_id(domain: str) -> str:
    """Return the id of a domain's environment."""
    return f"EnvTune/{domain}-v0"


ENV_IDS = (*map(env_id, domain_names()), MULTI_DOMAIN_ID)


def register_envs() -> None:
    """Register one id a domain (outside packages' domains too) and `EnvTune/MultiDomain-v0`."""
    for name in domain_names():
        _register(env_id(name), domain=name)
    _register(MULTI_DOMAIN_ID)


def _register(name: str, **kwargs: str) -> None:
    if name not in gym.registry:
        gym.register(
            name,
            entry_point="envtune_gym.env:EnvtuneEnv",
            vector_entry_point="envtune_gym.vector:EnvtuneVectorEnv",
            kwargs=kwargs,
        )

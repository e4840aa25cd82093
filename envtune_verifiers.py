"""The plugin by which `verifiers` finds the tasks: `vf-eval envtune-verifiers`. It wants a top-level module."""

from envtune_gym.integrations.verifiers_env import EnvtuneChat, EnvtunePlay, EnvtuneTaskset

__all__ = ["EnvtuneChat", "EnvtunePlay", "EnvtuneTaskset"]

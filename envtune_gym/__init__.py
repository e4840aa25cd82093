"""The BFCL multi-turn domains as Gymnasium environments, with the tunings of *Environment Tuning* as wrappers.

Importing the package registers the `EnvTune/…-v0` ids; see `envtune_gym.env.EnvtuneEnv` for the interface.
"""

from envtune_gym.registration import register_envs
from envtune_gym.scoring import Verdict, score_trajectory
from envtune_gym.tasks import Task, TaskSet, load_tasks
from envtune_gym.world import ToolResult, World

__all__ = ["Task", "TaskSet", "ToolResult", "Verdict", "World", "load_tasks", "score_trajectory"]

__version__ = "0.1.0"

register_envs()

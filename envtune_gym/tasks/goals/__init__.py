"""Goals: what users may want, one module a domain, and what they are written with."""

from __future__ import annotations

from envtune_gym.tasks.goals.base import Goal, goal, goals_of, scenario, scenario_of
from envtune_gym.tasks.goals.plan import Discarded, Plan, Step, Thing, Unfit

__all__ = ["Discarded", "Goal", "Plan", "Step", "Thing", "Unfit", "goal", "goals_of", "scenario", "scenario_of"]

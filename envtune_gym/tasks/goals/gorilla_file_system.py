"""Goals of GorillaFileSystem: the scenario; what is read, written and moved is in modules of its own."""

from __future__ import annotations

from envtune_gym.tasks.goals import file_finding, file_folders, file_moving, file_reading, file_writing
from envtune_gym.tasks.goals.base import scenario
from envtune_gym.tasks.goals.file_desk import Desk
from envtune_gym.tasks.goals.file_trees import new_tree
from envtune_gym.tasks.goals.plan import Plan

__all__ = ["file_finding", "file_folders", "file_moving", "file_reading", "file_writing", "files_of_a_team"]


@scenario("GorillaFileSystem")
def files_of_a_team(plan: Plan) -> dict[str, object]:
    """A tree of directories and texts on one subject; one starts at its root."""
    setting, root, config = new_tree(plan)
    names = {name for path, _ in root.everything() for name in path.split("/")}
    plan.keep(Desk(setting, root, root, names | {root.name}))
    return {"root": config}

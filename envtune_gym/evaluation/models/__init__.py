"""Language models as policies: behind a server, or here in the process."""

from __future__ import annotations

from envtune_gym.evaluation.models.local import LocalMaker, local_policy
from envtune_gym.evaluation.models.reachability import check_reachable
from envtune_gym.evaluation.models.server import ServerMaker, server_policy

__all__ = ["LocalMaker", "ServerMaker", "check_reachable", "local_policy", "server_policy"]

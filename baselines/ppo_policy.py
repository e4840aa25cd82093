"""The policy of `ppo.py`: each candidate is scored by the same small network, so that its place says nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import nn

from envtune_gym.wrappers.featurize import FLAGS, FeatureLayout

FIRST_SCALE = 0.01
"""Scale of the last layers' first weights, as SB3's own heads have: then all candidates are as likely at the start."""


class Scorer(nn.Module):
    """Turns an observation into what a score of each candidate needs: how it fits the request and the latest result."""

    def __init__(self, layout: FeatureLayout, embedded: int = 32, hidden: int = 64) -> None:
        super().__init__()
        self.layout = layout
        self.embed = nn.Linear(layout.text, embedded, bias=False)
        numbers = layout.progress.stop - layout.progress.start
        self.rows = nn.Sequential(nn.Linear(3 * embedded + len(FLAGS) + numbers, hidden), nn.ReLU())
        self.score = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.ReLU(), _head(hidden))
        self.value = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), _head(hidden))

    def read(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what is known of each row, and of all of them together."""
        layout = self.layout
        rows = observation[:, layout.candidates].reshape(-1, layout.rows, layout.width)
        flags, texts = rows[..., : len(FLAGS)], self.embed(rows[..., len(FLAGS) :])
        request = self.embed(observation[:, None, layout.request])
        latest = self.embed(observation[:, None, layout.latest])
        numbers = observation[:, None, layout.progress].expand(-1, layout.rows, -1)
        hidden = self.rows(torch.cat((texts, texts * request, texts * latest, flags, numbers), dim=-1))
        present = flags[..., :1]
        return hidden, (hidden * present).amax(dim=1)


def _head(hidden: int) -> nn.Linear:
    head = nn.Linear(hidden, 1)
    nn.init.orthogonal_(head.weight, FIRST_SCALE)
    nn.init.zeros_(head.bias)
    return head


class Scores(nn.Module):
    """The score of each action."""

    def __init__(self, scorer: Scorer) -> None:
        super().__init__()
        self.scorer = scorer

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Return one score for each row."""
        rows, together = self.scorer.read(observation)
        both = torch.cat((rows, together[:, None].expand_as(rows)), dim=-1)
        return self.scorer.score(both).squeeze(-1)


class _Value(nn.Module):
    def __init__(self, scorer: Scorer) -> None:
        super().__init__()
        self.scorer = scorer

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return self.scorer.value(self.scorer.read(observation)[1])


class _ScoringMixin:
    """Puts the scorer in the place of the two linear heads of an actor-critic policy of SB3."""

    def __init__(self, *args: Any, layout: FeatureLayout, **kwargs: Any) -> None:
        self._layout = layout
        super().__init__(*args, net_arch=[], **kwargs)

    def _build(self, lr_schedule: Callable[[float], float]) -> None:
        super()._build(lr_schedule)  # type: ignore[misc]
        scorer = Scorer(self._layout)
        self.action_net, self.value_net = Scores(scorer), _Value(scorer)
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)


class ScoringPolicy(_ScoringMixin, ActorCriticPolicy):
    """For PPO."""


class MaskableScoringPolicy(_ScoringMixin, MaskableActorCriticPolicy):
    """For MaskablePPO."""

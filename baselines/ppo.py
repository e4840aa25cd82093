r"""PPO of Stable-Baselines3, or MaskablePPO of sb3-contrib, learns generated tasks by choosing among candidate calls.

The agent sees numbers (`FeaturizeWrapper`) and picks a call (`CandidateActionWrapper`), as docs/classical.md explains.
It learns a family of generated tasks of one domain, requests that take three calls or more, and plays tasks of other
scenarios without hints or curriculum after every so many steps; its progress there is compared with the oracle's. An
episode pays only if the agent itself ends it, by answering, within so many steps. A run ends when it has learnt.

Variants, all under the same reward: "plain" learns the family from the benchmark's own results, "feedback" sees hints
in the features of the latest result, "curriculum" begins with requests of one call and goes on to two, "both" has both,
and "mixed" has the tasks of the curriculum in no order.

Examples:
  One run, with its curve as curve.json and curve.png:
    python baselines/ppo.py --out runs/ppo

  The comparison, over five seeds:
    python baselines/ppo.py --variants plain curriculum --seeds 0 1 2 3 4 --steps 40000 --out runs/ppo

  Without masks, and with fewer candidates:
    python baselines/ppo.py --algo ppo --candidates 16
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, BooleanOptionalAction, RawDescriptionHelpFormatter
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from ppo_policy import MaskableScoringPolicy, ScoringPolicy
from ppo_results import TARGET, is_learnt, write
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv

from envtune_gym import Task, TaskSet, load_tasks
from envtune_gym.callsyntax import parse_call
from envtune_gym.curriculum import Stage
from envtune_gym.errors import ConfigurationError, EnvtuneError
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.world import name_arguments
from envtune_gym.wrappers import (
    AugmentedFeedbackWrapper,
    CandidateActionWrapper,
    CurriculumWrapper,
    FeaturizeWrapper,
    ProgressRewardWrapper,
)

VARIANTS = ("plain", "feedback", "curriculum", "both", "mixed")
STAGED = ("curriculum", "both")
HINTED = ("feedback", "both")
WINDOW, ADVANCE_AT = 100, 0.3
"""A stage of the curriculum ends when this share of so many training episodes is solved."""


@dataclass(frozen=True)
class Args:
    """Settings of one run."""

    algo: str = "maskable"
    """`maskable` or `ppo`."""
    variant: str = "curriculum"
    """One of `VARIANTS`."""
    seed: int = 0
    steps: int = 20_000
    domain: str = "MessageAPI"
    tasks: int = 600
    """So many generated tasks to train on."""
    held_out: int = 80
    """So many to measure on."""
    every: int = 1_024
    """Steps between two measurements."""
    candidates: int = 24
    text: int = 128
    """Numbers of a hashed text."""
    episode: int = 8
    """Steps after which an episode is over, unpaid."""
    envs: int = 8
    entropy: float = 0.01
    """Weight of the policy's entropy in the loss."""
    normalize: bool = True
    """Whether PPO brings the advantages of a batch to mean 0 and deviation 1."""


# ---- Tasks and environments -----------------------------------------------------------------------------------------


def family(args: Args, split: str) -> TaskSet:
    """Return tasks of the family that is to be learnt: one request that takes three calls or more."""
    return _requests(args.domain, args.candidates, split, args.tasks if split == "train" else args.held_out)[-1]


def with_easy_ones(args: Args) -> TaskSet:
    """Return the training tasks, and some that take one call or two."""
    one, two, more = _requests(args.domain, args.candidates, "train", args.tasks)
    return one + two + more


@lru_cache(maxsize=8)
def _requests(domain: str, candidates: int, split: str, number: int) -> tuple[TaskSet, TaskSet, TaskSet]:
    """Return requests of one call, of two and of more, as lists: made once, and not by each of the environments."""
    tasks = load_tasks("generated", domains=(domain,), difficulty=1, categories=("base",), split=split)
    wanted = number // 6, number // 6, number
    found: tuple[list[Task], list[Task], list[Task]] = [], [], []
    for task in tasks[: 20 * number]:
        calls = len(task.ground_truth[0])
        if calls and 2 * calls <= candidates:
            found[min(calls, 3) - 1].append(task)
        if all(len(own) >= enough for own, enough in zip(found, wanted, strict=True)):
            break
    one, two, more = (TaskSet(own[:enough]) for own, enough in zip(found, wanted, strict=True))
    return one, two, more


class LimitEnds(gym.Wrapper[Any, Any, Any, Any]):
    """Makes the step limit an end of the task.

    Else SB3 would add the value of the state at the limit, as if the episode went on, and an agent that never answers
    would look good.
    """

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a step."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated or truncated, False, info


def make_env(args: Args, tasks: TaskSet, variant: str = "plain") -> FeaturizeWrapper:
    """Return the environment that an agent of a variant learns in; hints and curriculum are only there."""
    env: gym.Env[Any, Any] = gym.make(
        MULTI_DOMAIN_ID, tasks=tasks, tool_docs="compact", max_episode_steps=args.episode, disable_env_checker=True
    )
    level = "actionable" if variant in HINTED else "off"
    if variant in STAGED:
        calls = [len(task.ground_truth[0]) for task in tasks]
        one, two = (sum(number <= limit for number in calls) for limit in (1, 2))
        stages = [Stage("one call", feedback=level, limit=one), Stage("two calls", feedback=level, limit=two)]
        stages.append(Stage("full", feedback=level))
        env = CurriculumWrapper(env, stages)
    else:
        env = ProgressRewardWrapper(AugmentedFeedbackWrapper(env, level))
    return FeaturizeWrapper(CandidateActionWrapper(LimitEnds(env), args.candidates), args.text)


# ---- Learning -------------------------------------------------------------------------------------------------------


def learn(args: Args, progress: Progress | None = None) -> dict[str, Any]:
    """Train one agent, and return its settings and its curve.

    Raises:
        ConfigurationError: If no task of the domain fits.
    """
    start = time.monotonic()
    has_easy_ones = args.variant in (*STAGED, "mixed")
    train, test = with_easy_ones(args) if has_easy_ones else family(args, "train"), family(args, "test")
    if not train or not test:
        raise ConfigurationError(f"no task of {args.domain} fits {args.candidates} candidates; raise --candidates")
    envs = DummyVecEnv([lambda: make_env(args, train, args.variant)] * args.envs)
    layout = envs.envs[0].layout
    kind, policy = (MaskablePPO, MaskableScoringPolicy) if args.algo == "maskable" else (PPO, ScoringPolicy)
    model = kind(
        policy,
        envs,
        learning_rate=1e-3,
        n_steps=64,
        batch_size=128,
        n_epochs=6,
        gamma=0.95,
        gae_lambda=0.9,
        ent_coef=args.entropy,
        normalize_advantage=args.normalize,
        seed=args.seed,
        device="cpu",
        policy_kwargs={"layout": layout},
    )
    oracle = oracle_progress(args, test)
    meter = Meter(args, test, oracle, progress)
    model.learn(args.steps, callback=meter)
    envs.close()
    return {
        **asdict(args),
        "oracle": oracle,
        "curve": meter.curve,
        "advanced_at": meter.advanced_at,
        "seconds": round(time.monotonic() - start, 1),
    }


class Meter(BaseCallback):
    """Measures the agent on held-out tasks, moves the curriculum on, and shows the progress."""

    def __init__(self, args: Args, test: TaskSet, oracle: float, progress: Progress | None) -> None:
        super().__init__()
        self.args, self.test, self.oracle, self.progress = args, test, oracle, progress
        self.curve: list[tuple[int, float]] = []
        self.advanced_at: list[int] = []
        self.solved: deque[bool] = deque(maxlen=WINDOW)
        self.env = make_env(args, test)
        self.bar = None
        if progress is not None:
            self.bar = progress.add_task(f"{args.variant}, seed {args.seed}", total=args.steps)

    def _on_step(self) -> bool:
        for done, info in zip(self.locals["dones"], self.locals["infos"], strict=True):
            if done:
                self.solved.append(info.get("success", False))
        self._advance()
        return not is_learnt(self.curve, self.oracle)

    def _on_rollout_start(self) -> None:
        if not self.curve or self.num_timesteps - self.curve[-1][0] >= self.args.every:
            self._measure()

    def _on_training_end(self) -> None:
        if not is_learnt(self.curve, self.oracle):
            self._measure()

    def _advance(self) -> None:
        """Go on to the next stage when enough of the last episodes of this one are solved."""
        if self.args.variant not in STAGED:
            return
        if len(self.solved) < WINDOW or np.mean(self.solved) < ADVANCE_AT:
            return
        for env in self.training_env.envs:
            curriculum = next(layer for layer in _layers(env) if isinstance(layer, CurriculumWrapper))
            if curriculum.stage_index + 1 == len(curriculum.stages):
                return
            curriculum.advance()
        self.advanced_at.append(self.num_timesteps)
        self.solved.clear()

    def _measure(self) -> None:
        self.curve.append((self.num_timesteps, evaluate(self.model, self.env, self.test)))
        if self.progress is not None and self.bar is not None:
            shown = f"{self.args.variant}, seed {self.args.seed}: {self.curve[-1][1]:.0%}"
            self.progress.update(self.bar, completed=min(self.num_timesteps, self.args.steps), description=shown)


def _layers(env: Any) -> Iterator[Any]:
    while isinstance(env, gym.Wrapper):
        yield env
        env = env.env


def evaluate(model: Any, env: FeaturizeWrapper, tasks: TaskSet) -> float:
    """Return the mean progress of an agent that takes its best action; a task has the same candidates every time."""

    def act(observation: Any) -> int:
        masks = {"action_masks": env.action_masks()} if isinstance(model, MaskablePPO) else {}
        return int(model.predict(observation, deterministic=True, **masks)[0])

    return float(np.mean([_play(env, task, seed, act) for seed, task in enumerate(tasks)]))


def oracle_progress(args: Args, tasks: TaskSet) -> float:
    """Return the mean progress of the agent that knows which candidates are right."""
    env = make_env(args, tasks)
    choice = next(layer for layer in _layers(env) if isinstance(layer, CandidateActionWrapper))

    def progress(task: Task, seed: int) -> float:
        calls = [name_arguments(parse_call(text), task.domains).source() for turn in task.ground_truth for text in turn]
        left = iter(calls)

        def act(_: Any) -> int:
            call = next(left, None)
            shown = [candidate.source() for candidate in choice.candidates]
            return choice.answer if call is None else shown.index(call)

        return _play(env, task, seed, act)

    return float(np.mean([progress(task, seed) for seed, task in enumerate(tasks)]))


def _play(env: FeaturizeWrapper, task: Task, seed: int, act: Callable[[Any], int]) -> float:
    observation, _ = env.reset(seed=seed, options={"task_id": task.id})
    over, earned = False, 0.0
    while not over:
        observation, reward, terminated, truncated, _ = env.step(act(observation))
        earned, over = earned + reward, terminated or truncated
    return earned


# ---- The command ----------------------------------------------------------------------------------------------------


def main(words: Sequence[str] | None = None) -> None:
    """Train the variants with all seeds, and write the curves."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    default = Args()
    parser.add_argument("--algo", choices=("maskable", "ppo"), default=default.algo, help="MaskablePPO or PPO")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=[default.variant])
    parser.add_argument("--seeds", nargs="+", type=int, default=[default.seed])
    parser.add_argument("--steps", type=int, default=default.steps, help=f"environment steps, {default.steps:,}")
    parser.add_argument("--domain", default=default.domain, help=f"domain of the tasks, {default.domain}")
    parser.add_argument("--tasks", type=int, default=default.tasks, help="tasks to train on")
    parser.add_argument("--held-out", type=int, default=default.held_out, help="tasks to measure on")
    parser.add_argument("--every", type=int, default=default.every, help="steps between two measurements")
    parser.add_argument("--candidates", type=int, default=default.candidates, help="candidate calls at a time")
    parser.add_argument("--entropy", type=float, default=default.entropy, help="weight of the entropy in the loss")
    parser.add_argument("--normalize", action=BooleanOptionalAction, default=default.normalize, help="of advantages")
    parser.add_argument("--out", type=Path, default=Path("runs/ppo"), help="folder of curve.json and curve.png")
    given = vars(parser.parse_args(words))
    out, variants, seeds = given.pop("out"), given.pop("variants"), given.pop("seeds")
    torch.set_num_threads(1)  # the networks are small: more threads only wait for each other
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console, runs = Console(), []
    try:
        with Progress(*columns, console=console) as progress:
            for seed in seeds:
                for variant in variants:
                    runs.append(learn(Args(variant=variant, seed=seed, **given), progress))
    except EnvtuneError as error:
        sys.exit(f"error: {error}")
    figures = write(runs, out)
    for variant, row in figures.items():
        steps = ", ".join("not learnt" if at is None else f"{at:,}" for at in row["steps_to_target"].values())
        console.print(f"{variant}: {TARGET:.0%} of the oracle after {steps} steps; last {row['last']}")
    console.print(f"curves: {out.resolve()}")


if __name__ == "__main__":
    main()

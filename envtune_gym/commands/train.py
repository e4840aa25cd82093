"""`envtune train`: GRPO through the stages of a curriculum."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from envtune_gym.commands.output import examples
from envtune_gym.commands.selection import names
from envtune_gym.errors import ConfigurationError
from envtune_gym.tasks import SPLITS
from envtune_gym.training.layers import assign, file_layers, make_settings, to_yaml
from envtune_gym.training.presets import MODELS, RUNS, preset_layers
from envtune_gym.training.settings import Settings

__all__ = ["EXAMPLES", "train_command"]

EXAMPLES = examples(
    "envtune train --preset small --out runs/small",
    "envtune train --preset small --preset direct --out runs/direct --set learning_rate=1e-5",
    "envtune train --preset paper --preset qwen2.5-7b --out runs/paper",
    "envtune train --config run.yaml --set stages.0.batches=20",
    "envtune train --out runs/small --resume",
    "envtune train --preset demo --print-config > run.yaml",
)

_SETTINGS_FILE = "settings.yaml"
_PACKAGES = ("torch", "transformers", "trl", "datasets")


def train_command(
    preset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Settings that go together; may be repeated, later over earlier. Runs: {', '.join(RUNS)}. "
            f"Models: {', '.join(MODELS)}.",
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A YAML file of settings, over the presets.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="One setting, over all others; may be repeated."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="A model directory, a .gguf file or a hub id; sets model.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where checkpoints and logs go; sets out.")] = None,
    tasks: Annotated[
        str | None, typer.Option(metavar="SOURCE", help="'generated', 'bfcl', or the path of a .jsonl file.")
    ] = None,
    categories: Annotated[list[str] | None, typer.Option(metavar="NAMES", help="Comma-separated or repeated.")] = None,
    domains: Annotated[list[str] | None, typer.Option(metavar="NAMES", help="Tasks that involve any of these.")] = None,
    split: Annotated[
        str | None, typer.Option(metavar="|".join((*SPLITS, "all")), help="Part of the tasks to train on.")
    ] = None,
    difficulty: Annotated[str | None, typer.Option(metavar="LEVEL", help="Of generated tasks.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Train on at most N tasks.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, metavar="N", help="Of tasks, sampling and training.")] = None,
    skip_quarantined: Annotated[
        bool, typer.Option("--skip-quarantined", help="Leave out official tasks that cannot fairly be solved.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the last checkpoint in --out, with the settings kept there.")
    ] = False,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print the settings with their documentation, and do not train.")
    ] = False,
) -> None:
    """Train a model with GRPO through the stages of a curriculum.

    Tasks, feedback, reward and the rule of advancing are settings, as all else: --print-config shows them, each with
    what it means. --tasks takes the place of other sources; the flags that choose among tasks are for the first source.
    The network is used only for a model named by hub id, and not if HF_HUB_OFFLINE is set.
    """
    chosen = _given(
        source=tasks,
        categories=names(categories),
        domains=names(domains),
        split=split,
        difficulty=difficulty,
        limit=limit,
        skip_quarantined=skip_quarantined or None,
    )
    named = _given(model=model, out=None if out is None else str(out), seed=seed, tasks=chosen or None)
    layers = [*preset_layers(preset or ()), *(file_layers(config) if config is not None else ())]
    if resume and not layers:
        layers = _kept(named)
    settings = make_settings([*layers, named, *map(assign, assignments or ())], str(config or "settings"))
    if print_config:
        sys.stdout.write(to_yaml(settings))
        return
    start(settings, resume=resume)


def start(settings: Settings, *, resume: bool = False) -> None:
    """Train, with the network closed unless the model is to come from there.

    Args:
        settings: The settings.
        resume: Go on from the last checkpoint.

    Raises:
        EnvtuneError: If something is wrong with the settings, the model, the memory or the disk.
    """
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise ConfigurationError(f"training needs {', '.join(missing)}: pip install 'envtune-gym[train]'")
    if "/" not in settings.model or Path(settings.model).exists():
        os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before the packages below are imported, which read it then
    from envtune_gym.training.grpo import train

    train(settings, resume=resume)


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def _kept(named: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the settings that a run has left in its directory."""
    if "out" not in named:
        raise ConfigurationError("--resume needs the run's directory: --out DIR")
    file = Path(named["out"], _SETTINGS_FILE)
    if not file.is_file():
        raise ConfigurationError(f"there is no run in {named['out']}; leave out --resume to begin one")
    return file_layers(file)

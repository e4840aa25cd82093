"""An experiment as its YAML file says: task sets, a warm start, settings, and the methods that are compared."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from sft import Args as SftArgs
from typing_extensions import Self

from envtune_gym import TaskSet, load_tasks
from envtune_gym.errors import ConfigurationError
from envtune_gym.tasks import save_jsonl
from envtune_gym.training.layers import file_layers, make_settings
from envtune_gym.training.presets import preset_layers
from envtune_gym.training.settings import Settings, TaskSettings

TASKS = "tasks"
"""The directory of the task sets, in that of the experiment."""
KEPT = "experiment.json"
"""What the experiment was when its first cell began."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _as_list(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else [value]


class Tasks(_Part):
    """A task set, or a part of one: the first tasks of a source that involve no other than some domains.

    Attributes:
        source: `generated` or `bfcl`.
        split: Which split of it.
        domains: The domains; empty: all.
        categories: The categories.
        levels: Levels of generated tasks.
        number: How many.
    """

    source: Literal["generated", "bfcl"] = "generated"
    split: Literal["train", "val", "test"]
    domains: tuple[str, ...] = ()
    categories: tuple[str, ...] | None = None
    levels: tuple[int, ...] | None = None
    number: int = Field(ge=1)

    def load(self) -> TaskSet:
        """Return the tasks."""
        domains = self.domains or None
        tasks = load_tasks(self.source, self.categories, self.split, domains, self.levels)
        return TaskSet(islice((task for task in tasks if not domains or {*task.domains} <= {*domains}), self.number))


class Method(_Part):
    """What is compared: reinforcement through some stages, or supervised training alone.

    Attributes:
        stages: Stages, as in the settings of `envtune train`; none: those of the settings that all methods share.
        settings: Other settings that this method changes.
        supervised: In place of reinforcement: arguments of `sft.py`, with which the warm start goes on.
    """

    stages: list[dict[str, Any]] = Field(default_factory=list)
    settings: dict[str, Any] = Field(default_factory=dict)
    supervised: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _is_not_both(self) -> Self:
        if self.stages and self.supervised is not None:
            raise ValueError("give either stages or supervised")
        return self


class Experiment(_Part):
    """An experiment; the names of task sets stand for tasks wherever settings have some.

    Attributes:
        tasks: Task sets by name, each of one part or a list of parts.
        warm_start: Arguments of `sft.py`.
        presets: Presets of `envtune train` that all methods stand on.
        settings: Settings of `envtune train` that all methods share.
        methods: The methods by name.
        baseline: The method that the others are compared with.
    """

    tasks: dict[str, Annotated[tuple[Tasks, ...], BeforeValidator(_as_list)]]
    warm_start: dict[str, Any]
    presets: tuple[str, ...] = ()
    settings: dict[str, Any]
    methods: dict[str, Method]
    baseline: str

    def method(self, name: str) -> Method:
        """Return a method.

        Raises:
            ConfigurationError: If there is none of this name.
        """
        if name not in self.methods:
            raise ConfigurationError(f"unknown method {name!r}; known: {', '.join(self.methods)}")
        return self.methods[name]

    def keep(self, out: Path) -> None:
        """Write down what this experiment is, so that cells of another one do not come to stand beside its own.

        Methods may be added later, for they do not concern the others.

        Raises:
            ConfigurationError: If the directory holds cells of an experiment that differs.
        """
        file, now = out / KEPT, self.model_dump(mode="json")
        before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else now
        both = now["methods"].keys() & before["methods"].keys()
        parts = [*_COMMON, *(f"methods.{name}" for name in sorted(both))]
        changed = [part for part in parts if _part(before, part) != _part(now, part)]
        if changed:
            raise ConfigurationError(f"{out} holds cells of an experiment with other {changed[0]}; give another --out")
        out.mkdir(parents=True, exist_ok=True)
        known = {**now, "methods": before["methods"] | now["methods"]}
        file.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")

    def make_tasks(self, out: Path) -> str:
        """Write the task sets that are not there yet, and return a line that says how many tasks they have."""
        sizes = []
        for name, parts in self.tasks.items():
            file = Path(_file(out, name))
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                save_jsonl(TaskSet(task for part in parts for task in part.load()), file)
            sizes.append(f"{name} {len(load_tasks(str(file)))}")
        return f"tasks: {', '.join(sizes)}"

    def sft_args(self, changes: dict[str, Any], out: Path, directory: Path, seed: int) -> SftArgs:
        """Return the arguments of a supervised training."""
        named = {**changes, "tasks": _file(out, changes["tasks"]), "split": "all"}
        return SftArgs(**{**named, "out": str(directory), "seed": seed})

    def train_settings(self, name: str, out: Path, directory: Path, model: str, seed: int) -> Settings:
        """Return the settings of a method."""
        method = self.method(name)
        stages = {"stages": method.stages} if method.stages else {}
        layers = [self.settings, method.settings, stages, {"model": model, "out": str(directory), "seed": seed}]
        own = [self._with_files(layer, out) for layer in layers]
        for layer in own:
            layer.update({"tasks": [layer["tasks"]]} if "tasks" in layer else {})  # in place of all that a preset has
        return make_settings([*preset_layers(self.presets), *own], f"method {name}")

    def _with_files(self, value: Any, out: Path) -> Any:
        """Return settings with the file of a task set wherever its name stands for tasks."""
        if isinstance(value, dict):
            return {
                key: TaskSettings(source=_file(out, one), split="all").model_dump()
                if key == "tasks" and isinstance(one, str)
                else self._with_files(one, out)
                for key, one in value.items()
            }
        return [self._with_files(one, out) for one in value] if isinstance(value, list) else value


_COMMON = ("tasks", "warm_start", "presets", "settings")
"""What all cells have in common."""


def _part(content: dict[str, Any], path: str) -> Any:
    name, _, method = path.partition(".")
    return content[name][method] if method else content[name]


def _file(out: Path, name: str) -> str:
    """Return the file of a task set."""
    return str(out / TASKS / f"{name}.jsonl")


def read_experiment(path: Path) -> Experiment:
    """Read an experiment's file.

    Raises:
        ConfigurationError: If something in it is wrong.
    """
    (content,) = file_layers(path)
    try:
        return Experiment.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ConfigurationError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None

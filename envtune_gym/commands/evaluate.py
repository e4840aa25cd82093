"""`envtune eval`: how well a policy does on tasks."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from envtune_gym.calls import ActionFormat, Decoder, DocStyle
from envtune_gym.commands.executors import ExecutorChoice, ExecutorName
from envtune_gym.commands.output import Json, examples, print_json, print_line, print_renderables, progress
from envtune_gym.commands.running import episode_progress, until_interrupted
from envtune_gym.commands.selection import Selection, takes_selection
from envtune_gym.commands.server import KeyVariable, Temperature, check_server
from envtune_gym.env import Offer
from envtune_gym.errors import ConfigurationError, DataError, ServerError
from envtune_gym.evaluation.numbers.failures import failure_counts
from envtune_gym.evaluation.numbers.summary import summarise
from envtune_gym.evaluation.rollout_reading import visible
from envtune_gym.evaluation.runs.choosing import POLICIES, PolicyName, make_policy, policies_elsewhere
from envtune_gym.evaluation.runs.files import RunFile
from envtune_gym.evaluation.runs.policies import Mode, ModelOptions, Prompts
from envtune_gym.evaluation.runs.records import EvaluatedEpisode, RunSettings
from envtune_gym.evaluation.runs.replaying import ReplayMaker
from envtune_gym.evaluation.runs.runner import EpisodeToPlay, Executor, Runner, episodes_to_play
from envtune_gym.feedback import FeedbackLevel
from envtune_gym.tasks import TaskSet

__all__ = ["EXAMPLES", "eval_command"]

EXAMPLES = examples(
    "envtune eval --tasks bfcl --policy server:qwen3-32b --base-url http://localhost:8000/v1 --out runs/qwen3.jsonl",
    "envtune eval --tasks bfcl --split test --policy local:models/mine --samples 4 --out runs/mine.jsonl",
    "envtune eval --tasks bfcl --policy oracle --limit 20 --out runs/oracle.jsonl --json",
    "envtune eval --policy python:my_agent:act --feedback actionable --out runs/agent.jsonl --resume",
)

_SHOWN = 5


@takes_selection
def eval_command(
    selection: Selection,
    policy: Annotated[str, typer.Option(metavar="POLICY", help=f"Who plays: {', '.join(POLICIES)}.")],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The run's file (.jsonl): each finished episode a line, at once.")
    ],
    samples: Annotated[int, typer.Option(min=1, metavar="N", help="Episodes of each task.")] = 1,
    feedback: Annotated[FeedbackLevel, typer.Option(help="Level of the hints; the benchmark gives none.")] = "off",
    hints: Annotated[
        str | None, typer.Option(metavar="FILE", help="A hint book to use before the package's hints, or 'automatic'.")
    ] = None,
    action_format: Annotated[
        ActionFormat | None, typer.Option(help="Format of the assistant messages; a model's goes by its mode.")
    ] = None,
    decoder: Annotated[
        Decoder | None, typer.Option(help="How calls are decoded; officially for --tasks bfcl, else correctly.")
    ] = None,
    offer: Annotated[
        Offer | None, typer.Option(help="What becomes of withheld and excluded tools; by default as the source says.")
    ] = None,
    max_steps_per_turn: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Steps that a turn may take; 20.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=1024, metavar="N", help="Episodes in work at a time.")] = 16,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="The OpenAI-compatible server; http://localhost:8000/v1.")
    ] = None,
    key_variable: KeyVariable = "OPENAI_API_KEY",
    mode: Annotated[
        Mode | None,
        typer.Option(help="How a model is told of tools: by function calling (server:) or in the prompt (local:)."),
    ] = None,
    prompts: Annotated[
        Prompts | None,
        typer.Option(help="Whose prompts a model reads: the benchmark's, for its own tasks, or the environment's."),
    ] = None,
    tool_docs: Annotated[
        DocStyle, typer.Option(help="Tools in the environment's prompts: JSON schemas, or a line a tool.")
    ] = "full",
    temperature: Temperature = None,
    top_p: Annotated[float | None, typer.Option(min=0, max=1, help="Of the sampling; the server's default.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, metavar="N", help="Longest reply; 4,096.")] = None,
    sampling_seed: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Seed of a model's sampling; none by default.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.1, metavar="SECONDS", help="How long a server's reply may take; 120.")
    ] = None,
    retries: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="How often a failed request is tried again; 6.")
    ] = None,
    engine: Annotated[
        ExecutorName, typer.Option(help="Where episodes are played: in this process, or in a Ray cluster.")
    ] = "process",
    ray_address: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="The cluster; by default $RAY_ADDRESS, or a local one is started."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the episodes that --out has already.")] = False,
    retry_broken: Annotated[
        bool, typer.Option("--retry-broken", help="With --resume: play the episodes again that broke.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Play tasks with a policy, and print the benchmark's accuracy and the progress.

    An episode goes as in the official benchmark. Each that is finished is kept in --out at once: a run that was
    interrupted, by Ctrl-C or worse, goes on with --resume. An episode whose policy could not go on, since a server kept
    failing or the callable raised something, counts as failed and is recorded as broken.

    A callable of python:MODULE:CALLABLE is called once a step with the chat messages so far and the tools on offer,
    both in OpenAI's form, and returns the assistant's message as text; it may be async, and is given the episode's
    seed if it has a parameter of that name. --seed is also the seed of the policy random.

    Exits with 1 if episodes broke.
    """
    given = _given(
        base_url=base_url,
        temperature=temperature,
        top_p=top_p,
        max_tokens=max_tokens,
        sampling_seed=sampling_seed,
        prompts=prompts,
        timeout=timeout,
        retries=retries,
    )
    name = PolicyName.parse(policy)
    action_format = name.action_format(action_format, mode)
    _check(name, given, feedback, hints, resume, retry_broken)
    choice = ExecutorChoice(engine, ray_address)
    choice.check(name)
    options = ModelOptions(
        mode="native" if action_format == "openai" else "prompting",
        concurrency=concurrency,
        key_variable=key_variable,
        **given,
    )
    by_source: Decoder = "official" if selection.tasks == "bfcl" else "correct"
    # What a replay is not told otherwise is as in its file, so that it ends the same.
    like = name.recorded() or RunSettings(policy=policy, decoder=by_source)
    run = RunSettings(
        policy=policy,
        action_format=action_format,
        decoder=decoder or like.decoder,
        feedback=feedback,
        hints=hints or "",
        offer=offer or like.offer,
        tool_docs=tool_docs,
        max_steps_per_turn=max_steps_per_turn or like.max_steps_per_turn,
        seed=selection.seed or 0,
        options=options.settings() if name.is_model else {},
    )
    file = RunFile(out.expanduser(), run, resume=resume, retry_broken=retry_broken)
    try:
        with contextlib.redirect_stdout(sys.stderr):  # stdout is for the report, whatever a policy prints
            maker = make_policy(name, action_format, options)
            tasks = selection.load_recorded(maker.task_ids) if isinstance(maker, ReplayMaker) else selection.load()
            # Each is made once, and not while a server waits.
            evaluation = _Evaluation(TaskSet(list(tasks)), samples, run, file)
            if name.kind == "server" and engine == "process" and evaluation.waiting:  # Ray asks from other machines
                check_server(options.base_url)
            elsewhere = policies_elsewhere(name, action_format, options, maker)
            evaluation.play(partial(choice.open, evaluation.tasks, run, maker, elsewhere), concurrency)
    finally:
        file.close()
    evaluation.report(as_json)
    if evaluation.broken:
        raise typer.Exit(1)


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _check(
    name: PolicyName, given: dict[str, Any], feedback: str, hints: str | None, resume: bool, retry_broken: bool
) -> None:
    """Refuse options that would mean nothing.

    Raises:
        ConfigurationError: If there is one.
    """
    meant = {"server": set(given), "local": set(given) - {"base_url", "timeout", "retries"}}.get(name.kind, set())
    for option in given:
        if option not in meant:
            raise ConfigurationError(f"--{option.replace('_', '-')} means nothing to the policy {name.kind}")
    if hints is not None and feedback == "off":
        raise ConfigurationError("--hints needs a --feedback other than off")
    if retry_broken and not resume:
        raise ConfigurationError("--retry-broken needs --resume")


@dataclass
class _Evaluation:
    """A run over tasks, in its file.

    Attributes:
        tasks: The tasks.
        samples: Episodes of each.
        run: The settings.
        file: The file.
    """

    tasks: TaskSet
    samples: int
    run: RunSettings
    file: RunFile

    @property
    def episodes(self) -> list[EvaluatedEpisode]:
        """The finished episodes of these tasks, in their order."""
        found = (self.file.episode(one.task, one.sample) for one in self._all())
        return [episode for episode in found if episode is not None]

    @property
    def waiting(self) -> list[EpisodeToPlay]:
        """What is to be played yet."""
        return [one for one in self._all() if self.file.episode(one.task, one.sample) is None]

    @property
    def broken(self) -> list[EvaluatedEpisode]:
        """Those of them that broke."""
        return [episode for episode in self.episodes if episode.broken]

    def play(self, open_executor: Callable[[int], AbstractContextManager[Executor]], concurrency: int) -> None:
        """Play what is not finished yet.

        Args:
            open_executor: Opens what plays so many episodes at a time.
            concurrency: The most of them.

        Raises:
            DataError: If an episode cannot be kept.
            ServerError: If the policy cannot go on at all.
            KeyboardInterrupt: If the run was interrupted; how to go on has been said then.
        """
        waiting = self.waiting
        if not waiting:
            return
        places, total = min(concurrency, len(waiting)), len(self.tasks) * self.samples
        with open_executor(places) as executor, episode_progress(total, total - len(waiting)) as show:

            def keep(episode: EvaluatedEpisode) -> None:
                self.file.add(episode)
                show(episode)

            runner = Runner(executor, keep, concurrency=places)
            try:
                is_finished = asyncio.run(until_interrupted(_play(runner, executor, waiting)))
            except KeyboardInterrupt:
                is_finished = False
            except DataError as error:
                raise DataError(f"{error}; {self._standing()}") from error
        if not is_finished:
            with contextlib.suppress(OSError):
                sys.stderr.write(f"interrupted: {self._standing()}\n")
            raise KeyboardInterrupt
        if runner.stopped is not None:
            raise ServerError(f"{runner.stopped}; {self._standing()} (--retry-broken plays the broken ones again)")

    def report(self, as_json: bool) -> None:
        """Print what the run came to."""
        episodes, tasks = self.episodes, self.tasks
        with progress("looking at failures", len(episodes)) as advance:
            failures = failure_counts(episodes, lambda task_id, source: tasks.get(task_id), advance)
        summary = summarise(episodes, failures)
        if as_json:
            settings = {"file": str(self.file.path), "settings": self.run.model_dump(), "samples": self.samples}
            print_json({**settings, **summary.to_dict()})
            return
        print_renderables(summary.tables())
        for episode in self.broken[:_SHOWN]:
            print_line(f"broken: {visible(f'{episode.task_id}, sample {episode.sample}: {episode.broken}')}")
        if len(self.broken) > _SHOWN:
            print_line(f"broken: {len(self.broken) - _SHOWN:,} more")
        print_line(f"{len(episodes):,} episodes in {self.file.path}")

    def _all(self) -> Iterator[EpisodeToPlay]:
        return episodes_to_play(self.tasks, self.samples)

    def _standing(self) -> str:
        """Return how far the run has come and how to go on, as words."""
        total = len(self.tasks) * self.samples
        return (
            f"{len(self.episodes)} of {total} episodes are done and kept in {self.file.path}; "
            "the same command with --resume goes on there"
        )


async def _play(runner: Runner, executor: Executor, waiting: Sequence[EpisodeToPlay]) -> None:
    try:
        await runner.play(waiting)
    finally:
        await executor.aclose()

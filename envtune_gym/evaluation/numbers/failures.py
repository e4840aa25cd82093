"""Why an episode failed, in a word: the benchmark's verdict names what differed, this names what the agent did.

The turn that failed first decides; its messages are played again, under the run's settings but without feedback, which
never changes what is scored. `CLASSES` says what each class means.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from envtune_gym.callsyntax import Call, CallSyntaxError, parse_call
from envtune_gym.domains import domain_class
from envtune_gym.errors import EnvtuneError
from envtune_gym.evaluation.playback import Playback, PlayedTurn, play_again
from envtune_gym.evaluation.runs.records import EvaluatedEpisode
from envtune_gym.tasks import Task
from envtune_gym.world import name_arguments

__all__ = ["CLASSES", "NOT_FOUND", "FailureClass", "failure_class", "failure_counts"]

FailureClass = Literal[
    "",
    "broken",
    "step_limit",
    "called_when_it_should_ask",
    "format",
    "gave_up",
    "unknown_tool",
    "wrong_argument",
    "missing_call",
    "extra_call",
]
CLASSES: dict[str, str] = {
    "broken": "the policy or its server could not go on",
    "step_limit": "the episode was cut off: too many steps, or no room for more text",
    "called_when_it_should_ask": "calls changed the state in a turn that asks for what is impossible yet",
    "format": "nothing needed ran, and a message broke the format",
    "gave_up": "the turn was answered, or the episode left, without any call",
    "unknown_tool": "a call of a tool that is not there",
    "wrong_argument": "a needed tool was called with other arguments",
    "missing_call": "a needed call was not made",
    "extra_call": "all needed calls were made, but others too, or in an order that changes what they do",
}
"""What the classes mean, in the order in which they are looked for."""

NOT_FOUND = "not_found"
"""What stands for the class of an episode that cannot be looked at."""
_UNKNOWN_TOOL = "unknown_tool"
_Key = tuple[str, str]


def failure_class(episode: EvaluatedEpisode, task: Task) -> FailureClass:
    """Return why an episode failed; empty if it did not.

    Args:
        episode: The episode.
        task: Its task.

    Raises:
        EnvtuneError: If it cannot be played again.
    """
    if episode.success:
        return ""
    if episode.broken:
        return "broken"
    if episode.truncated_by:
        return "step_limit"
    settings = episode.run.model_copy(update={"feedback": "off", "hints": ""})
    return _of_playback(play_again(task, episode.messages, settings), task)


def failure_counts(
    episodes: Iterable[EvaluatedEpisode],
    find: Callable[[str, str], Task],
    on_episode: Callable[[], object] = lambda: None,
) -> dict[str, int]:
    """Return the number of failed episodes by class, the most frequent first.

    Args:
        episodes: The episodes.
        find: Returns the task with an id and a source. Episodes whose task is not to be had, or which cannot be played
            again, are counted as `NOT_FOUND`.
        on_episode: Called after each episode, for progress bars.
    """
    counts: Counter[str] = Counter()
    for episode in episodes:
        try:
            counts[failure_class(episode, find(episode.task_id, episode.source))] += 1
        except EnvtuneError:
            counts[NOT_FOUND] += 1
        on_episode()
    del counts[""]
    return dict(counts.most_common())


def _of_playback(playback: Playback, task: Task) -> FailureClass:
    failing = next((turn for turn in playback.turns if turn.result and turn.result.error_type), None)
    if failing is None:
        failing = playback.turns[-1]  # all that was finished is right: the episode was left in this turn
    before = list(playback.turns[: playback.turns.index(failing)])
    if any(_acted_out_of_turn(turn) for turn in before):
        return "called_when_it_should_ask"
    made = [_keys(turn, task) for turn in (*before, failing)]
    if not made[-1]:
        return "format" if _broke_format(failing) else "gave_up"
    if any(result.error == _UNKNOWN_TOOL for step in failing.steps for result in step.results):
        return "unknown_tool"
    return _by_calls(failing, [_key(call, task) for call in failing.expected], made)


def _by_calls(turn: PlayedTurn, needed: Sequence[_Key], made: Sequence[Sequence[_Key]]) -> FailureClass:
    """Return the class of a turn in which known tools were called.

    Args:
        turn: The turn.
        needed: The calls of its ground truth.
        made: The calls of each turn up to it.
    """
    all_made = Counter(key for keys in made for key in keys)
    missing = Counter(needed) - all_made
    if not missing:
        return "extra_call"
    others = Counter(made[-1]) - Counter(needed)
    if {name for name, _ in missing} & {name for name, _ in others}:
        return "wrong_argument"
    return "format" if _broke_format(turn) else "missing_call"


def _acted_out_of_turn(turn: PlayedTurn) -> bool:
    is_unscored = turn.result is not None and not turn.expected
    return is_unscored and not turn.result.state_ok and any(step.calls for step in turn.steps)  # type: ignore[union-attr]


def _broke_format(turn: PlayedTurn) -> bool:
    return any(not step.format_ok for step in turn.steps)


def _keys(turn: PlayedTurn, task: Task) -> list[_Key]:
    return [_key(call, task) for step in turn.steps for call in step.calls]


def _key(text: str, task: Task) -> _Key:
    """Return what a call comes to: its tool and all arguments by name, defaults included."""
    try:
        call = name_arguments(parse_call(text), task.domains)
    except CallSyntaxError:
        return text.partition("(")[0], text
    arguments = dict(call.kwargs)
    signature = _signature(call, task)
    if signature is not None:
        arguments = {
            **{name: p.default for name, p in signature.parameters.items() if p.default is not p.empty},
            **arguments,
        }
    return call.name, repr((call.args, sorted((name, _plain(value)) for name, value in arguments.items())))


def _signature(call: Call, task: Task) -> inspect.Signature | None:
    for domain in task.domains:
        tool = domain_class(domain).tools.get(call.name)
        if tool is not None:
            return tool.signature
    return None


def _plain(value: Any) -> str:
    """Return a value as text in which whole floats are integers, for the tools hardly tell them apart."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_plain, value))}]"
    return repr(value)

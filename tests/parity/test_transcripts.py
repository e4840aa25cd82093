"""Raw replies, decoded, executed and judged here, against the official decoders, executor and checker.

The loop around the official parts is that of the official harness, and so is what is dropped before its checker.
"""

import json
import warnings
from collections import Counter
from itertools import chain, repeat
from pathlib import Path

import gymnasium as gym
import pytest

pytest.importorskip("bfcl_eval", reason="needs the official package: pip install --no-deps bfcl-eval==2026.3.23")

from bfcl_eval.model_handler.utils import convert_to_function_call, default_decode_execute_prompting

from envtune_gym import load_tasks, score_trajectory
from envtune_gym.calls import parse_action
from envtune_gym.callsyntax import CallSyntaxError, parse_call

from .decoder_differences import DECODER_DIFFERENCES, as_row, explained
from .known_differences import known_difference
from .oracle import official_verdict, official_world
from .transcripts import transcripts

TRANSCRIPTS = 2500
"""Transcripts of a mode."""
STEPS = 20
FORMATS = {"prompting": "python", "native": "openai"}
ERROR_TYPES = (
    "multi_turn:empty_turn_model_response",
    "multi_turn:instance_state_mismatch",
    "multi_turn:execution_response_mismatch",
    "multi_turn:force_terminated",
)
END = {"prompting": "Done.", "native": {"role": "assistant", "content": "Done."}}


@pytest.fixture(scope="module")
def tasks():
    return load_tasks("bfcl")


def official_decode(reply, mode):
    """Return what the official handler decodes a reply to; None where it fails or finds no call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if mode == "prompting":
                decoded = default_decode_execute_prompting(reply)
            else:
                decoded = convert_to_function_call(_model_responses(reply))
        except Exception:
            return None
    return None if not decoded or decoded == [""] else decoded


def _model_responses(message):
    """Return what the official handler keeps of a message of the vendor's client: its calls, or its text."""
    if message.get("tool_calls") is None:
        return message["content"]
    return [{call["function"]["name"]: call["function"]["arguments"]} for call in message["tool_calls"]]


def officially(task, replies, mode):
    """Play replies as the official harness does; return the steps by turn, the results and the verdict."""
    entry, stream = task.to_bfcl(), chain(replies, repeat(END[mode]))
    turns, results = [], []
    with official_world(list(task.domains), entry["initial_config"], task.long_context) as world:
        for _ in range(task.num_turns):
            steps = []
            while len(steps) <= STEPS and (calls := official_decode(next(stream), mode)) is not None:
                steps.append(calls)
                results.append(world.execute(*calls))
            turns.append(steps)
            if len(steps) > STEPS:
                break
    return turns, results, official_verdict(entry, [list(calls) for calls in task.ground_truth], turns)


def ours(env, task, replies, mode):
    """Play them in the environment; return the calls by turn, the results and the verdict."""
    _, info = env.reset(options={"task_id": task.id})
    turns, results = [[] for _ in range(task.num_turns)], []
    over, turn = False, 0
    for reply in chain(replies, repeat(END[mode])):
        if over:
            break
        text = as_action(reply, mode)
        _, _, terminated, truncated, info = env.step(text)
        over = terminated or truncated
        if env.unwrapped.episode.reply.calls:
            turns[turn].append(list(env.unwrapped.episode.reply.calls))
            results.append([result["content"] for result in info["tool_results"]])
        turn = len(info["turn_results"])
    return turns[:turn], results, (info["success"], info.get("error_type"))


def as_action(reply, mode):
    return reply if mode == "prompting" else json.dumps(reply)


@pytest.mark.slow
@pytest.mark.parametrize("mode", FORMATS)
def test_decoding_results_and_verdicts_are_the_official_ones(mode, tasks, figures):
    env = gym.make(
        "EnvTune/MultiDomain-v0",
        tasks="bfcl",
        action_format=FORMATS[mode],
        decoder="official",
        max_steps_per_turn=STEPS,
    )
    found = Counter()
    for task, replies in transcripts(tasks, mode, TRANSCRIPTS):
        turns, results, verdict = officially(task, replies, mode)
        decoded, contents, judged = ours(env, task, replies, mode)
        place = f"{task.id}: {replies}"
        assert [[len(step) for step in steps] for steps in decoded] == [[len(s) for s in steps] for steps in turns], (
            place
        )
        assert all(map(means, chain(*chain(*decoded)), chain(*chain(*turns)))), place
        for content, result, execution in zip(chain(*contents), chain(*results), chain(*chain(*turns)), strict=True):
            if content != result:
                known = known_difference(execution, result, content)
                assert known is not None, f"{execution}: {result!r} became {content!r}"
                figures[f"transcripts, {mode}: texts of errors that differ ({known.name})"] += 1
        assert judged == verdict, place
        scored = score_trajectory(task, decoded)
        assert (scored.valid, scored.error_type) == verdict, place
        found[verdict[1]] += 1
        figures[f"transcripts, {mode}: episodes, all decoded, executed and judged alike"] += 1
        figures[f"transcripts, {mode}: calls"] += sum(map(len, results))
    env.close()
    assert found[None] >= 0.15 * TRANSCRIPTS
    for error_type in ERROR_TYPES:
        assert found[error_type] >= 0.01 * TRANSCRIPTS, (error_type, found)


def means(call, execution):
    """Tell whether a call is what an official call string means."""
    try:
        return call == parse_call(execution)
    except CallSyntaxError as error:
        return (call.source(), call.fault) == (execution, error.official)


@pytest.mark.parametrize("mode", FORMATS)
def test_the_correct_decoder_differs_in_listed_ways_only(mode, tasks, figures):
    unexplained, seen = [], Counter()
    for _, replies in transcripts(tasks, mode, TRANSCRIPTS):
        for reply in replies:
            action = as_action(reply, mode)
            correct, official = (parse_action(action, FORMATS[mode], decoder=name) for name in ("correct", "official"))
            figures[f"transcripts, {mode}: replies"] += 1
            if same(correct.calls, official.calls):
                continue
            figures[f"transcripts, {mode}: replies that the correct decoder reads otherwise"] += 1
            causes = explained(mode, action)
            seen.update(causes)
            if not causes:
                unexplained.append((action, official.calls, correct.calls))
    assert unexplained == []
    missing = [one.name for one in DECODER_DIFFERENCES if one.mode == mode and not seen[one.name]]
    assert missing == [], "the transcripts show no case of these"


@pytest.mark.parametrize("one", DECODER_DIFFERENCES, ids=lambda one: f"{one.mode}: {one.name}")
def test_example_of_a_listed_difference(one):
    reply = one.example if one.mode == "prompting" else message(*one.example)
    correct = parse_action(as_action(reply, one.mode), FORMATS[one.mode])
    assert official_decode(reply, one.mode) == one.official
    assert [call.source() for call in correct.calls] == one.correct
    assert one.name in explained(one.mode, as_action(reply, one.mode))


def test_the_differences_are_listed_in_the_documentation():
    text = (Path(__file__).parents[2] / "docs/fidelity.md").read_text(encoding="utf-8")
    for one in DECODER_DIFFERENCES:
        assert as_row(one) in text


def message(name, arguments):
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": function}]}


def same(some, others):
    return repr(some) == repr(others)  # so that 1 and True differ, and nan equals nan

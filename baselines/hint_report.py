"""What the replies of `baselines/hint_usefulness.py` come to: shares, differences from no feedback, and a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from envtune_gym.evaluation.corruption import DEVELOPMENT, HELD_OUT, KINDS
from envtune_gym.evaluation.paired import paired_shares

BASELINE = "off"
FIGURES = ("right", "succeeds")
"""What is reported with intervals."""
COUNTED = (*FIGURES, "repeated", "answer", "unreadable", "broken")
"""What is counted: the figures; the failing call once more; no call but an answer; nothing that can be read; logits
that are not finite."""
HALVES = {"all": tuple(KINDS), "as in training": DEVELOPMENT, "held out": HELD_OUT}
"""Kinds of corruption by whether the warm start had them."""

Entry = Mapping[str, Any]
Replies = Mapping[tuple[str, str], Sequence[Entry]]


def summarise(settings: Entry, cases: Sequence[Entry], replies: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return an entry for each test set (and all together), half of the kinds (and all) and feedback.

    Args:
        settings: The arguments of the measurement.
        cases: As in `cases.jsonl`.
        replies: As in `replies.jsonl`.
    """
    by_prompt: dict[tuple[str, str], list[Entry]] = {}
    for reply in replies:
        by_prompt.setdefault((reply["case"], reply["feedback"]), []).append(reply)
    sets = {name: (name,) for name in settings["test_sets"]}
    if len(sets) > 1:
        sets["all"] = tuple(sets)
    entries: list[dict[str, Any]] = []
    for set_name, members in sets.items():
        for half, kinds in HALVES.items():
            chosen = [case for case in cases if case["test_set"] in members and case["kind"] in kinds]
            if chosen:
                labels = {"tasks": set_name, "kinds": half, "cases": len(chosen)}
                entries += [labels | entry for entry in _by_feedback(settings, chosen, by_prompt)]
    return entries


def _by_feedback(settings: Entry, cases: Sequence[Entry], replies: Replies) -> list[dict[str, Any]]:
    """Return what some cases came to with each feedback."""
    names, scenarios = settings["feedback"], [f"{case['test_set']} {case['scenario']}" for case in cases]
    shares = {}
    for figure in FIGURES:
        outcomes = {
            name: [_mean(reply[figure] for reply in replies[case["case"], name]) for case in cases] for name in names
        }
        shares[figure] = paired_shares(scenarios, outcomes, BASELINE, settings["data_seed"])
    entries = []
    for name in names:
        own = [reply for case in cases for reply in replies[case["case"], name]]
        entry: dict[str, Any] = {"feedback": name, "scenarios": len(set(scenarios)), "replies": len(own)}
        entry["counts"] = {count: sum(reply[count] for reply in own) for count in COUNTED}
        for figure in FIGURES:
            by_seed = {
                str(seed): _mean(reply[figure] for reply in own if reply["seed"] == seed) for seed in settings["seeds"]
            }
            entry[figure] = {**asdict(shares[figure][name]), "by_seed": by_seed}
        entries.append(entry)
    return entries


def as_markdown(results: Entry) -> str:
    """Return the results as a Markdown table, under what they were measured with."""
    settings = results["settings"]
    sources = "; ".join(
        f"{name} {report['kept']} from {report['scenarios']} scenarios ({report['too_long']} more were too long)"
        for name, report in results["cases"].items()
    )
    lines = [
        f"{settings['model']}, {settings['steps']} updates of {settings['batch']} trajectories, seeds "
        f"{', '.join(map(str, settings['seeds']))}; {settings['samples']} replies a prompt and seed, temperature "
        f"{settings['temperature']}; {results['machine']['device']}, {results['seconds']:.0f} s.",
        f"Failing calls: {sources}. Per cent, with 95 % intervals; differences from off in points.",
        "",
        "| tasks | kinds | feedback | cases | right | against off | by seed | succeeds | against off | repeated |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for entry in results["results"]:
        against = {figure: _shown(entry[figure]["difference"], "+") for figure in FIGURES}
        if entry["feedback"] == BASELINE:
            against = dict.fromkeys(FIGURES, "")
        cells = (
            *(str(entry[name]) for name in ("tasks", "kinds", "feedback", "cases")),
            _shown(entry["right"]["share"]),
            against["right"],
            " ".join(f"{share * 100:.1f}" for share in entry["right"]["by_seed"].values()),
            _shown(entry["succeeds"]["share"]),
            against["succeeds"],
            f"{entry['counts']['repeated'] / entry['replies'] * 100:.1f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _shown(interval: Entry, sign: str = "") -> str:
    value, low, high = (f"{interval[name] * 100:{sign}.1f}" for name in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)

"""Learning curves as pictures, by matplotlib (the extra `viz`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation.run_figures import (
    ACCURACY,
    FIGURES,
    Curve,
    Figure,
    accuracy_curve,
    curve,
    kind_figures,
    kinds,
    stage_changes,
)
from envtune_gym.evaluation.run_logs import RunGroup

__all__ = ["Picture", "check_matplotlib", "draw", "pictures"]

_ACROSS = 3
_PANEL_SIZE = (4.6, 3.2)
_PIXELS_AN_INCH = 110
_FEW = 15
"""Up to so many points get marks, since a line through few hides where they are."""


@dataclass(frozen=True)
class Picture:
    """A picture of panels, one a figure.

    Attributes:
        name: Of its file, without `.png`.
        title: Its headline.
        panels: The figures that it shows.
    """

    name: str
    title: str
    panels: Sequence[Figure]


def check_matplotlib() -> None:
    """Make sure, before anything is read, that pictures can be drawn.

    Raises:
        ConfigurationError: If matplotlib is missing.
    """
    if find_spec("matplotlib") is None:
        raise ConfigurationError("pictures need matplotlib: pip install 'envtune-gym[viz]', or give --no-pictures")


def pictures(groups: Sequence[RunGroup]) -> list[Picture]:
    """Return what there is to draw of some groups of runs."""
    outcome = [FIGURES[name] for name in ("reward", "success", "progress", "format", "hint_rate")]
    training = ("no_spread", "clip_fraction", "grad_norm", "cut_by_tokens", "cut_by_steps", "cut_by_env")
    costs = (
        "generated_tokens",
        "generation_speed",
        "environment_share",
        "generation_seconds",
        "environment_seconds",
        "loss_seconds",
    )
    made = [
        Picture("learning", "Outcome by batch of rollouts", [*outcome, ACCURACY]),
        Picture("training", "Signal, clipping, gradient and truncation", [FIGURES[name] for name in training]),
        *(_by_kind(groups, kind) for kind in ("category", "domain")),
        Picture("costs", "Tokens and seconds of a batch, by phase", [FIGURES[name] for name in costs]),
    ]
    return [picture for picture in made if picture.panels]


def draw(picture: Picture, groups: Sequence[RunGroup], directory: Path) -> Path:
    """Draw a picture: a line a group, a band from the least to the greatest of its runs, stages marked.

    Args:
        picture: What to draw.
        groups: The groups.
        directory: Where to write it.

    Returns:
        The file.

    Raises:
        DataError: If it cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # no window, whatever the machine
    from matplotlib.figure import Figure as Sheet

    down = -(-len(picture.panels) // _ACROSS)
    sheet = Sheet(figsize=(_ACROSS * _PANEL_SIZE[0], down * _PANEL_SIZE[1] + 0.8), layout="constrained")
    FigureCanvasAgg(sheet)
    sheet.suptitle(picture.title)
    places = sheet.subplots(down, _ACROSS, squeeze=False).flat
    for place in list(places)[len(picture.panels) :]:
        place.remove()
    for place, figure in zip(sheet.axes, picture.panels, strict=True):
        _draw_panel(place, figure, groups)
    handles, labels = sheet.axes[0].get_legend_handles_labels()
    sheet.legend(handles, map(_plain, labels), loc="outside lower center", ncols=4, frameon=False)
    file = directory / f"{picture.name}.png"
    try:
        sheet.savefig(file, dpi=_PIXELS_AN_INCH)
    except OSError as error:
        raise DataError(f"cannot write {file}: {error.strerror or error}") from error
    return file


def _by_kind(groups: Sequence[RunGroup], kind: str) -> Picture:
    names = kinds(groups, kind)
    panels = [Figure(f"success, {name}", "share", kind_figures(kind, name)["success"].of) for name in names]
    plural = {"category": "categories", "domain": "domains"}[kind]
    return Picture(plural, f"Success by {kind}", panels)


def _draw_panel(place: Any, figure: Figure, groups: Sequence[RunGroup]) -> None:
    place.set_title(_plain(figure.title), fontsize=10)
    place.set_xlabel("batch", fontsize=8)
    place.tick_params(labelsize=8)
    place.grid(alpha=0.3)
    for index, group in enumerate(groups):
        _draw_curve(
            place, accuracy_curve(group) if figure is ACCURACY else curve(group, figure), group, f"C{index % 10}"
        )
    last = max(run.batches[-1].number for group in groups for run in group.runs)
    place.set_xlim(0.5, last + 0.5)
    place.set_ylim(bottom=min(0.0, place.get_ylim()[0]))
    if figure.unit == "share":
        place.yaxis.set_major_formatter(lambda value, _: f"{value:.3g}" if value < 0 else f"{100 * value:.3g} %")
    for batch, names in _stage_marks(groups).items():
        place.axvline(batch - 0.5, color="gray", linewidth=0.8, linestyle=":")
        place.text(
            batch - 0.5,
            0.99,
            " " + _plain("/".join(names)),
            transform=place.get_xaxis_transform(),
            rotation=90,
            fontsize=7,
            color="gray",
            va="top",
        )


def _draw_curve(place: Any, one: Curve, group: RunGroup, color: str) -> None:
    marker = "o" if len(one.batches) <= _FEW else None
    means = [value.mean for value in one.values]
    seeds = f" ({len(group.runs)} runs)" if len(group.runs) > 1 else ""
    place.plot(one.batches, means, color=color, marker=marker, markersize=3, linewidth=1.3, label=group.name + seeds)
    if len(group.runs) > 1:
        low, high = [value.low for value in one.values], [value.high for value in one.values]
        place.fill_between(one.batches, low, high, color=color, alpha=0.2, linewidth=0)


def _stage_marks(groups: Sequence[RunGroup]) -> Mapping[int, list[str]]:
    """Return the names of the stages that begin with a batch in any run; that all begin with 1 is not marked."""
    marks: dict[int, dict[str, None]] = {}
    for group in groups:
        for run in group.runs:
            for batch, stage in stage_changes(run)[1:]:
                marks.setdefault(batch, {})[stage] = None
    return {batch: list(stages) for batch, stages in sorted(marks.items())}


def _plain(text: str) -> str:
    """Return text that matplotlib does not take for mathematics."""
    return text.replace("$", r"\$")

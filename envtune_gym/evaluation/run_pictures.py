"""Learning curves as pictures, by matplotlib (the extra `viz`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class _Mark:
    """Where a stage begins: the batch, its name if it is to be shown, and the color of the group; gray for several."""

    batch: int
    label: str
    color: str


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
    shown = [replace(one, panels=[figure for figure in one.panels if _is_known(figure, groups)]) for one in made]
    return [picture for picture in shown if picture.panels]


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


def _is_known(figure: Figure, groups: Sequence[RunGroup]) -> bool:
    return any(_curve_of(group, figure).batches for group in groups)


def _by_kind(groups: Sequence[RunGroup], kind: str) -> Picture:
    names = kinds(groups, kind)
    panels = [Figure(f"success, {name}", "share", kind_figures(kind, name)["success"].of) for name in names]
    plural = {"category": "categories", "domain": "domains"}[kind]
    return Picture(plural, f"Success by {kind}", panels)


def _draw_panel(place: Any, figure: Figure, groups: Sequence[RunGroup]) -> None:
    from matplotlib.ticker import MaxNLocator

    place.set_title(_plain(figure.title), fontsize=10)
    place.set_xlabel("batch", fontsize=8)
    place.tick_params(labelsize=8)
    place.grid(alpha=0.3)
    for index, group in enumerate(groups):
        _draw_curve(place, _curve_of(group, figure), group, _color(index))
    last = max(run.batches[-1].number for group in groups for run in group.runs)
    place.set_xlim(0.5, last + 0.5)
    place.xaxis.set_major_locator(MaxNLocator(integer=True))
    least, greatest = place.dataLim.intervaly
    if least >= 0:
        top = max(1.05 * greatest, 0.01)
        place.set_ylim(-0.02 * top, top)
    if figure.unit == "share":
        place.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    for mark in _stage_marks(groups):
        _draw_mark(place, mark)


def _draw_mark(place: Any, mark: _Mark) -> None:
    place.axvline(mark.batch - 0.5, color=mark.color, alpha=0.6, linewidth=0.8, linestyle=":")
    place.annotate(
        _plain(mark.label),
        (mark.batch - 0.5, 0.98),
        (2, 0),
        xycoords=place.get_xaxis_transform(),
        textcoords="offset points",
        rotation=90,
        fontsize=7,
        color=mark.color,
        verticalalignment="top",
    )


def _curve_of(group: RunGroup, figure: Figure) -> Curve:
    return accuracy_curve(group) if figure is ACCURACY else curve(group, figure)


def _draw_curve(place: Any, one: Curve, group: RunGroup, color: str) -> None:
    marker = "o" if len(one.batches) <= _FEW else None
    means = [value.mean for value in one.values]
    seeds = f" ({len(group.runs)} runs)" if len(group.runs) > 1 else ""
    place.plot(one.batches, means, color=color, marker=marker, markersize=3, linewidth=1.3, label=group.name + seeds)
    if len(group.runs) > 1:
        low, high = [value.low for value in one.values], [value.high for value in one.values]
        place.fill_between(one.batches, low, high, color=color, alpha=0.2, linewidth=0)


def _stage_marks(groups: Sequence[RunGroup]) -> list[_Mark]:
    """Return where stages begin, the first ones left out; of a group's runs, the earliest bears the name."""
    colors: dict[tuple[int, str], set[str]] = {}
    earliest: set[tuple[int, str]] = set()
    for index, group in enumerate(groups):
        begins: dict[str, int] = {}
        for batch, stage in (change for run in group.runs for change in stage_changes(run)[1:]):
            colors.setdefault((batch, stage), set()).add(_color(index))
            begins[stage] = min(batch, begins.get(stage, batch))
        earliest |= {(batch, stage) for stage, batch in begins.items()}
    return [
        _Mark(batch, stage if (batch, stage) in earliest else "", found.pop() if len(found) == 1 else "gray")
        for (batch, stage), found in colors.items()
    ]


def _color(index: int) -> str:
    return f"C{index % 10}"


def _plain(text: str) -> str:
    """Return text that matplotlib does not take for mathematics."""
    return text.replace("$", r"\$")

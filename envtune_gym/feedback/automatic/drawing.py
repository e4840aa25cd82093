"""The graph of tools as a picture: Mermaid in Markdown, Graphviz, SVG or PNG, by the ending of the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

from envtune_gym.errors import ConfigurationError
from envtune_gym.feedback.automatic.graph import ToolGraph

__all__ = ["Edge", "draw", "edges", "to_dot", "to_mermaid", "to_svg"]

_WIDTH, _HEIGHT, _GAP, _ROW = 230, 26, 110, 44


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow from a tool to one that comes after it.

    Attributes:
        source: The tool that comes before.
        target: The tool that comes after.
        share: How often: of the turns of the target, or of the values of its argument.
        label: `field → argument` if a result feeds an argument; empty if it is just the usual order.
    """

    source: str
    target: str
    share: float
    label: str = ""


def edges(graph: ToolGraph, least: float = 0.2) -> list[Edge]:
    """Return what a picture shows: feeds, and the order of tools where no feed explains it.

    Args:
        graph: The graph.
        least: The least share that is shown.
    """
    found: list[Edge] = []
    for key in sorted(graph.feeds):
        tool, _, argument = key.rpartition(".")
        for source in graph.sources(tool, argument):
            if source.share >= least and source.tool != tool:
                found.append(Edge(source.tool, tool, source.share, f"{source.field} → {argument}"))
    for tool in sorted(graph.turns):
        for other, share in sorted(graph.state_predecessors(tool).items()):
            if share >= least:
                found.append(Edge(other, tool, share))
    return found


def draw(graph: ToolGraph, path: str | os.PathLike[str], least: float = 0.2) -> None:
    """Write a picture of a graph.

    Args:
        graph: The graph.
        path: The file; its ending (`.md`, `.dot`, `.svg` or `.png`) says in what form.
        least: The least share that is shown.

    Raises:
        ConfigurationError: If the ending is another, or a PNG is asked for and matplotlib is missing.
    """
    path = Path(path).expanduser()
    writers: Mapping[str, Callable[[list[Edge]], str | bytes]] = {
        ".md": to_mermaid,
        ".dot": to_dot,
        ".svg": to_svg,
        ".png": _to_png,
    }
    if path.suffix not in writers:
        raise ConfigurationError(f"cannot draw {path.name!r}; the file must end in {', '.join(writers)}")
    picture = writers[path.suffix](edges(graph, least))
    path.write_bytes(picture if isinstance(picture, bytes) else picture.encode())


def to_mermaid(arrows: list[Edge]) -> str:
    """Return a Mermaid flowchart in a Markdown block; feeds are dotted and labelled."""
    lines = [f"    {edge.source} {f'-. {edge.label} .->' if edge.label else '-->'} {edge.target}" for edge in arrows]
    return "\n".join(("```mermaid", "flowchart LR", *lines, "```", ""))


def to_dot(arrows: list[Edge]) -> str:
    """Return a Graphviz graph."""
    lines = [
        f'    "{edge.source}" -> "{edge.target}" [penwidth={0.5 + 2 * edge.share:.1f}'
        + (f', style=dashed, label="{edge.label}"];' if edge.label else "];")
        for edge in arrows
    ]
    return "\n".join(("digraph tools {", "    rankdir=LR;", "    node [shape=box];", *lines, "}", ""))


def to_svg(arrows: list[Edge]) -> str:
    """Return an SVG picture: what comes before stands to the left."""
    places = _layout(arrows)
    width = max((x for x, _ in places.values()), default=0) + _WIDTH + 20
    height = max((y for _, y in places.values()), default=0) + _HEIGHT + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        'font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z"/></marker></defs>',
    ]
    for edge in arrows:
        (x1, y1), (x2, y2) = _ends(places, edge)
        dashes = ' stroke-dasharray="5 3"' if edge.label else ""
        title = escape(f"{edge.label} {edge.share:.0%}".strip())
        parts.append(
            f'<path d="M{x1} {y1} C{x1 + _GAP // 2} {y1} {x2 - _GAP // 2} {y2} {x2} {y2}" fill="none" stroke="#456" '
            f'stroke-width="{0.5 + 2 * edge.share:.1f}"{dashes} marker-end="url(#tip)"><title>{title}</title></path>'
        )
    for tool, (x, y) in places.items():
        parts.append(f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="4" fill="#eef4fa" stroke="#456"/>')
        parts.append(f'<text x="{x + _WIDTH // 2}" y="{y + 17}" text-anchor="middle">{escape(tool)}</text>')
    return "\n".join((*parts, "</svg>", ""))


def _to_png(arrows: list[Edge]) -> bytes:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise ConfigurationError('PNG needs matplotlib; run: pip install "envtune-gym[viz]", or write .svg') from None
    import io

    places = _layout(arrows)
    width = max((x for x, _ in places.values()), default=0) + _WIDTH
    height = max((y for _, y in places.values()), default=0) + _HEIGHT
    figure = Figure(figsize=(max(width / 90, 2), max(height / 90, 1)))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-10, width + 10)
    axes.set_ylim(height + 10, -10)
    for edge in arrows:
        start, end = _ends(places, edge)
        style = {"arrowstyle": "->", "color": "#445566", "linestyle": "--" if edge.label else "-"}
        axes.annotate("", xy=end, xytext=start, arrowprops={**style, "linewidth": 0.5 + 2 * edge.share})
    for tool, (x, y) in places.items():
        axes.text(x + _WIDTH / 2, y + _HEIGHT / 2, tool, ha="center", va="center", fontsize=8, bbox={"fc": "#eef4fa"})
    buffer = io.BytesIO()
    FigureCanvasAgg(figure).print_png(buffer)  # type: ignore[no-untyped-call]
    return buffer.getvalue()


def _layout(arrows: list[Edge]) -> dict[str, tuple[int, int]]:
    """Return the corner of each tool's box: a column to the right of what comes before, if there is no cycle."""
    tools = sorted({tool for edge in arrows for tool in (edge.source, edge.target)})
    column = dict.fromkeys(tools, 0)
    for _ in range(min(len(tools), 6)):  # a cycle would push its tools to the right for ever
        for edge in arrows:
            column[edge.target] = max(column[edge.target], min(column[edge.source] + 1, 5))
    rows = [0] * 6
    places: dict[str, tuple[int, int]] = {}
    for tool in tools:
        places[tool] = (10 + column[tool] * (_WIDTH + _GAP), 10 + rows[column[tool]] * _ROW)
        rows[column[tool]] += 1
    return places


def _ends(places: Mapping[str, tuple[int, int]], edge: Edge) -> tuple[tuple[int, int], tuple[int, int]]:
    (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
    return (x1 + _WIDTH, y1 + _HEIGHT // 2), (x2, y2 + _HEIGHT // 2)

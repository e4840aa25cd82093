"""`envtune hints`: measure hints, and make them."""

from __future__ import annotations

import typer

from envtune_gym.commands import hint_coverage, hint_graph, hint_measure, propose

__all__ = ["app"]

app = typer.Typer(help="Measure hints, and make them.", rich_markup_mode=None)
app.command("coverage", epilog=hint_coverage.EXAMPLES)(hint_coverage.coverage_command)
app.command("measure", epilog=hint_measure.EXAMPLES)(hint_measure.measure_command)
app.command("propose", epilog=propose.EXAMPLES)(propose.propose_command)
app.command("graph", epilog=hint_graph.EXAMPLES)(hint_graph.graph_command)

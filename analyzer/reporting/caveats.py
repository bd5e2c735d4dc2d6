"""What whoever uses the chosen candidates must know. Judges nothing: the candidates say it of themselves."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from analyzer.core.report import GraphReport, Report
from analyzer.reporting.plain_text import plain
from analyzer.reporting.rows import graph_label

PAIR: Final = "/"
"""Between a forward's candidate and another one for its backward, in the id of what was tried."""
MAX_NAMED: Final = 3
"""Operators that are named; a model with many has them in report.json."""


def chosen_caveats(report: Report) -> tuple[str, ...]:
    """A sentence for each thing to know of a chosen candidate, with the graphs that it holds for. Empty for a model
    that is left alone.
    """
    if report.is_left_alone:
        return ()
    graphs: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for graph in report.graphs:
        for said in dict.fromkeys(_said_of(graph)):
            graphs[graph.chosen, said].append(graph_label(graph))
    return tuple(
        f"{plain(name)} ({where[0] if len(where) == 1 else f'{len(where)} graphs'}): {said}"
        for (name, said), where in graphs.items()
    )


def _said_of(graph: GraphReport) -> list[str]:
    said = []
    for tried in graph.candidates:
        if graph.chosen not in tried.candidate.split(PAIR):
            continue
        if tried.caveat is not None:
            said.append(tried.caveat)
        if tried.python_fallbacks:
            names = ", ".join(plain(name) for name in tried.python_fallbacks[:MAX_NAMED])
            more = len(tried.python_fallbacks) - MAX_NAMED
            rest = f" and {more} more" if more > 0 else ""
            said.append(f"its C++ wrapper calls back into Python for {names}{rest}")
    return said

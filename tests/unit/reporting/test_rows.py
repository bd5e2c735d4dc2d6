"""The rows of the table of regions."""

from __future__ import annotations

from analyzer.core.graphs import Direction, GapKey
from analyzer.core.verdict import Bound
from analyzer.reporting.rows import region_rows, tried_labels, verdict_text
from tests.reports import MS, a_budget, a_gap, a_graph, a_key, a_report, a_verdict


def _labels(**changes: object) -> list[str]:
    return [row.label for row in region_rows(a_report(**changes))]


def test_gaps_stand_where_they_happen() -> None:
    start = a_gap(key=GapKey(None, a_key(1)), where=None)
    between = a_gap(key=GapKey(a_key(1), a_key(2)))
    end = a_gap(key=GapKey(a_key(2), None), where=None)
    graphs = (a_graph("m.py:1", 1), a_graph("m.py:9", 2))
    assert _labels(graphs=graphs, eager_gaps=(end, between, start)) == [
        "gap at the start",
        "m.py:1",
        "gap gptlite.py:57",
        "m.py:9",
        "gap at the end",
    ]


def test_a_gap_after_a_graph_that_is_not_in_the_report_is_still_a_row() -> None:
    stray = a_gap(key=GapKey(a_key(99), None), where=None)
    assert "gap at the end" in _labels(eager_gaps=(stray,))


def test_the_halves_of_a_training_graph_are_told_apart() -> None:
    graphs = (a_graph("m.py:1", 1, direction=Direction.FORWARD), a_graph("m.py:1", 1, direction=Direction.BACKWARD))
    assert _labels(graphs=graphs, eager_gaps=()) == ["m.py:1 fwd", "m.py:1 bwd"]


def test_candidates_of_both_halves_stand_under_the_name_of_both() -> None:
    """1.03 ms of a C++ wrapper stood under `multi.py:13 bwd`, whose row had 0.59: it was of 0.36 + 0.59."""
    forward, backward = Direction.FORWARD, Direction.BACKWARD
    twin = [a_graph("a fwd.py:1", n, direction=half) for n in (1, 2) for half in (forward, backward)]
    assert set(tried_labels(twin).values()) == {"a fwd.py:1 fwd + bwd [0/0]", "a fwd.py:1 fwd + bwd [1/0]"}
    alone = (a_graph("m.py:1", 1, direction=forward), a_graph("m.py:2", 2), a_graph("m.py:2", 3, is_in_step=False))
    assert list(tried_labels(alone).values()) == ["m.py:1 fwd", "m.py:2", "m.py:2"]


def test_two_graphs_of_one_line_are_told_apart_by_their_compile_id() -> None:
    graphs = (a_graph("m.py:1", 1), a_graph("m.py:1", 2))
    assert _labels(graphs=graphs, eager_gaps=()) == ["m.py:1 [0/0]", "m.py:1 [1/0]"]


def test_a_graph_without_a_source_line_is_named_by_its_number_or_its_digest() -> None:
    assert _labels(graphs=(a_graph(where=None),), eager_gaps=()) == ["graph 0/0"]
    assert _labels(graphs=(a_graph(where=None, compile_ids=()),), eager_gaps=()) == [f"graph {a_key(1).digest}"]


def test_a_share_is_of_the_step_and_unknown_without_one() -> None:
    # Its time beside the plan is of another pass, when the machine was slower.
    graph = a_graph(budget=a_budget(starved=8.0), before_ns=40 * MS)
    known = region_rows(a_report(graphs=(graph,), eager_gaps=()))[0].share
    unknown = region_rows(a_report(graphs=(graph,), eager_gaps=(), step_ns=None, step_budget=None))[0].share
    assert known is not None
    assert round(known, 3) == round(8 / 31.8, 3)
    assert unknown is None


def test_an_undecided_verdict_claims_no_confidence() -> None:
    assert verdict_text(a_verdict(Bound.CPU)) == "CPU 92 %"
    assert verdict_text(a_verdict(Bound.UNDECIDED)) == "undecided"

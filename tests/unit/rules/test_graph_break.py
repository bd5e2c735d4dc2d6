"""graph_break."""

from __future__ import annotations

import pytest

from analyzer.core.graphs import GapKey
from analyzer.rules.graph_break import judge
from analyzer.rules.rule import MissingData
from tests.reports import MS, a_budget, a_key, at
from tests.rule_facts import a_break, a_captured_graph, a_region, captured, facts


def _broken(**changes: object) -> object:
    stop = a_break()
    capture = captured(a_captured_graph(1, ended_by=stop), a_captured_graph(2), breaks=(stop,))
    return facts(capture=capture, **changes)


def test_a_break_costs_the_gap_behind_the_graph_it_ended() -> None:
    gap = a_region(GapKey(a_key(1), a_key(2)), a_budget(starved=0.7))
    elsewhere = a_region(GapKey(a_key(2), None), a_budget(starved=3.0))
    (finding,) = judge(_broken(regions=(gap, elsewhere)))
    assert finding.ns_per_step == round(0.7 * MS)
    assert finding.where == at("/home/ada/net.py:15")
    assert "Tensor.item()" in finding.message


def test_a_break_whose_gap_was_not_measured_has_no_known_cost() -> None:
    (finding,) = judge(_broken(regions=()))
    assert finding.ns_per_step is None


def test_one_line_that_breaks_in_many_graphs_is_one_finding_with_all_its_gaps() -> None:
    stops = (a_break(compile_id="0/0", count=2), a_break(compile_id="1/0"))
    graphs = (a_captured_graph(1, ended_by=stops[0]), a_captured_graph(2, ended_by=stops[1]), a_captured_graph(3))
    gaps = (a_region(GapKey(a_key(1), a_key(2)), elapsed_ns=5), a_region(GapKey(a_key(2), a_key(3)), elapsed_ns=7))
    (finding,) = judge(facts(capture=captured(*graphs, breaks=stops), regions=gaps))
    assert (finding.count, finding.ns_per_step) == (3, 12)


def test_two_reasons_on_one_line_are_two_findings() -> None:
    stops = (a_break(reason="print()"), a_break(reason="Tensor.item()"))
    assert len(judge(facts(capture=captured(breaks=stops)))) == 2


def test_torchs_own_hint_is_the_remedy() -> None:
    (finding,) = judge(facts(capture=captured(breaks=(a_break(), a_break(hint="set capture_scalar_outputs")))))
    assert finding.remedy == "set capture_scalar_outputs"


def test_a_capture_without_breaks_is_silent() -> None:
    assert judge(facts()) == ()


def test_without_a_capture_it_cannot_tell() -> None:
    with pytest.raises(MissingData, match="captured"):
        judge(facts(capture=None))

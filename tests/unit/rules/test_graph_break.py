"""graph_break."""

from __future__ import annotations

from dataclasses import replace

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
    assert "at most" in finding.message


def test_a_break_whose_gap_was_not_measured_has_no_known_cost() -> None:
    (finding,) = judge(_broken(regions=()))
    assert finding.ns_per_step is None


def test_one_line_that_breaks_in_many_graphs_is_one_finding_with_all_its_gaps() -> None:
    stops = (a_break(compile_id="0/0", count=2), a_break(compile_id="1/0"))
    graphs = (a_captured_graph(1, ended_by=stops[0]), a_captured_graph(2, ended_by=stops[1]), a_captured_graph(3))
    gaps = (a_region(GapKey(a_key(1), a_key(2)), elapsed_ns=5), a_region(GapKey(a_key(2), a_key(3)), elapsed_ns=7))
    (finding,) = judge(facts(capture=captured(*graphs, breaks=stops), regions=gaps))
    assert (finding.count, finding.ns_per_step) == (3, 12)


def test_a_break_told_of_a_function_and_of_its_callers_counts_once() -> None:
    told = a_break(reason="print()", count=3, ways=(0,))
    (finding,) = judge(facts(capture=captured(breaks=(told, a_break(reason=SKIPPED, ways=(0,))))))
    assert finding.count == 1
    (finding,) = judge(facts(capture=captured(breaks=(told, a_break(reason=SKIPPED, ways=(0, 1))))))
    assert finding.count == 2


def test_two_reasons_on_one_line_are_two_findings() -> None:
    stops = (a_break(reason="print()"), a_break(reason="Tensor.item()"))
    assert len(judge(facts(capture=captured(breaks=stops)))) == 2


def test_torchs_own_hint_is_the_remedy() -> None:
    (finding,) = judge(facts(capture=captured(breaks=(a_break(), a_break(hint="set capture_scalar_outputs")))))
    assert finding.remedy == "set capture_scalar_outputs"


def test_a_hint_to_ask_torch_for_support_is_no_remedy() -> None:
    asks = a_break(hint="If it is a Python builtin, please file an issue on GitHub so that support can be added")
    (finding,) = judge(facts(capture=captured(breaks=(asks,))))
    assert "out of the forward" in finding.remedy
    (other,) = judge(facts(capture=captured(breaks=(asks, a_break(hint="use torch.cond")))))
    assert other.remedy == "use torch.cond"


def test_a_capture_without_breaks_is_silent() -> None:
    assert judge(facts()) == ()


def test_without_a_capture_it_cannot_tell() -> None:
    with pytest.raises(MissingData, match="captured"):
        judge(facts(capture=None))


SKIPPED = (
    "Failed to handle graph break gracefully. Skipping the function and falling back to eager. "
    "Graph break encountered: print()"
)


def test_a_break_from_which_torch_cannot_resume_is_one_finding_that_says_so() -> None:
    stops = (a_break(reason=SKIPPED), a_break(reason="print()", count=2))
    (finding,) = judge(facts(capture=captured(breaks=stops)))
    assert finding.message == "capture stops here, and torch leaves a whole function eager: print()"
    assert finding.count == 2


def test_a_function_left_eager_is_found_by_its_break_alone() -> None:
    (finding,) = judge(facts(capture=captured(breaks=(a_break(reason=SKIPPED),))))
    assert "leaves a whole function eager: print()" in finding.message
    assert finding.count == 1


def test_a_function_left_eager_costs_the_gaps_around_the_graphs_of_what_it_calls() -> None:
    ended, left = a_break("/home/ada/net.py:50"), a_break(reason=SKIPPED)
    graphs = (a_captured_graph(1), a_captured_graph(2, ended_by=ended))
    gaps = (
        a_region(GapKey(None, a_key(1)), elapsed_ns=3),
        a_region(GapKey(a_key(1), a_key(2)), elapsed_ns=5),
        a_region(GapKey(a_key(2), None), elapsed_ns=7),
    )
    found = judge(facts(capture=captured(*graphs, breaks=(left, ended)), regions=gaps))
    assert [finding.ns_per_step for finding in found] == [8, 7]
    several = (left, replace(left, where=at("/home/ada/net.py:99")))
    assert [f.ns_per_step for f in judge(facts(capture=captured(*graphs, breaks=several), regions=gaps))] == [None] * 2

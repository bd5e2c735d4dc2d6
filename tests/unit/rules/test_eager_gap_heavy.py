"""eager_gap_heavy."""

from __future__ import annotations

import pytest

from analyzer.core.graphs import GapKey
from analyzer.rules.eager_gap_heavy import judge
from analyzer.rules.rule import MissingData
from tests.reports import MS, a_budget, a_key, at
from tests.rule_facts import a_break, a_captured_graph, a_region, captured, facts

BETWEEN = GapKey(a_key(1), a_key(2))


def test_a_gap_of_half_the_step_is_found_with_what_is_in_it() -> None:
    gap = a_region(BETWEEN, a_budget(starved=4.0, latency=1.0), kernels_per_step=23.0)
    capture = captured(a_captured_graph(1, ended_by=a_break()), a_captured_graph(2))
    (finding,) = judge(facts(capture=capture, regions=(gap,)))
    assert finding.ns_per_step == 5 * MS
    assert "50 % of the step" in finding.message
    assert "23 kernels, 80 % of it starved" in finding.message
    assert finding.where == at("/home/ada/net.py:15")


def test_a_gap_before_the_first_graph_is_placed_at_that_graph() -> None:
    (finding,) = judge(facts(regions=(a_region(GapKey(None, a_key(1)), a_budget(starved=2.0)),)))
    assert finding.where == at("/home/ada/net.py:10")
    assert "before the first graph" in finding.message


def test_only_a_gap_behind_a_graph_break_is_told_to_fix_one() -> None:
    broken = captured(a_captured_graph(1, ended_by=a_break()), a_captured_graph(2))
    gaps = {key: a_region(key, elapsed_ns=4 * MS) for key in (GapKey(None, a_key(1)), BETWEEN, GapKey(a_key(2), None))}
    found = judge(facts(capture=broken, regions=tuple(gaps.values())))
    assert ["graph break" in finding.remedy for finding in found] == [False, True, False]
    assert "guards" in found[0].remedy
    assert "output" in found[2].remedy


def test_what_was_not_recorded_is_said_to_be_unknown() -> None:
    (finding,) = judge(facts(regions=(a_region(BETWEEN, elapsed_ns=4 * MS, kernels_per_step=None),)))
    assert "kernels not recorded, no budget" in finding.message


def test_gaps_of_a_tenth_and_graphs_are_silent() -> None:
    regions = (a_region(BETWEEN, elapsed_ns=MS), a_region(a_key(1), elapsed_ns=9 * MS))
    assert judge(facts(regions=regions)) == ()


def test_a_step_that_is_one_gap_is_left_to_no_graph_captured() -> None:
    assert judge(facts(regions=(a_region(GapKey(None, None), elapsed_ns=10 * MS),))) == ()


@pytest.mark.parametrize("changes", [{"regions": ()}, {"step_ns": None}])
def test_without_a_clean_pass_it_cannot_tell(changes: dict[str, object]) -> None:
    with pytest.raises(MissingData):
        judge(facts(**changes))

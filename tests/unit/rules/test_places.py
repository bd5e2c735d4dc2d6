"""What rules about the profiled step ask first."""

from __future__ import annotations

import pytest

from analyzer.core.activity import Activity
from analyzer.core.graphs import GapKey, Region
from analyzer.derive.activity import NO_STEP
from analyzer.rules import guard_cost, host_sync, many_small_kernels
from analyzer.rules.places import region_place, region_text
from analyzer.rules.rule import MissingData, Rule
from tests.reports import a_key, at
from tests.rule_facts import a_break, a_captured_graph, captured, facts


@pytest.mark.parametrize("rule", [host_sync.RULE, guard_cost.RULE, many_small_kernels.RULE], ids=lambda rule: rule.id)
def test_a_trace_that_cannot_carry_it_says_what_to_record(rule: Rule) -> None:
    with pytest.raises(MissingData, match="ProfilerStep"):
        rule.judge(facts(activity=Activity(0, 0, is_scaled=False, is_host=False, missing=NO_STEP)))


@pytest.mark.parametrize(
    ("region", "text"),
    [
        (a_key(1), "in a graph"),
        (GapKey(None, None), "in the step, which runs without a graph"),
        (GapKey(None, a_key(1)), "before the first graph"),
        (GapKey(a_key(1), None), "after the last graph"),
        (GapKey(a_key(1), a_key(2)), "between two graphs"),
    ],
)
def test_each_region_is_named(region: Region, text: str) -> None:
    assert region_text(region) == text


def test_a_gap_is_placed_where_the_graph_before_it_ended_else_at_the_graph_after_it() -> None:
    capture = captured(a_captured_graph(1, ended_by=a_break("/home/ada/net.py:15")), a_captured_graph(2))
    assert region_place(capture, GapKey(a_key(1), a_key(2))) == at("/home/ada/net.py:15")
    assert region_place(capture, GapKey(None, a_key(2))) == at("/home/ada/net.py:20")
    assert region_place(capture, GapKey(a_key(2), None)) is None
    assert region_place(capture, a_key(2)) == at("/home/ada/net.py:20")
    assert region_place(None, a_key(2)) is None

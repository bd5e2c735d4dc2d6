"""What may be said of the cost of a line."""

from __future__ import annotations

import pytest

from analyzer.core.budget import Part
from analyzer.rules.op_evidence import by_line, cost_of_parts, ops_of, traffic_ns
from analyzer.rules.rule import MissingData
from tests.op_logs import an_op, an_op_log
from tests.reports import MS, a_budget, a_key, at
from tests.rule_facts import a_captured_graph, a_device, a_region, captured, facts

LINE = at("/home/ada/net.py:12")
GRAPH = captured(a_captured_graph(source=(LINE,)))


def test_without_a_log_it_says_what_to_run() -> None:
    with pytest.raises(MissingData, match="run analyze"):
        ops_of(facts(ops=None))


def test_lines_come_in_the_order_in_which_they_first_ran() -> None:
    first, second = an_op("mm", place="/home/ada/net.py:20"), an_op("mm", place="/home/ada/net.py:10")
    assert [where.line for where in by_line(an_op_log(first, second, first).calls) if where] == [20, 10]


def test_the_parts_of_the_graph_at_a_line_are_its_cost_at_most() -> None:
    whole = facts(capture=GRAPH, regions=(a_region(a_key(1), a_budget(copies=1.0, sync=2.0, memory=5.0)),))
    assert cost_of_parts(whole, LINE, (LINE,), (Part.COPIES, Part.SYNC)) == 3 * MS


def test_the_cost_is_never_above_the_step() -> None:
    whole = facts(capture=GRAPH, regions=(a_region(a_key(1), a_budget(sync=20.0)),))
    assert cost_of_parts(whole, LINE, (), (Part.SYNC,)) == 10 * MS


def test_a_line_in_no_graph_or_in_one_without_a_budget_has_no_known_cost() -> None:
    assert cost_of_parts(facts(), LINE, (), (Part.SYNC,)) is None
    assert cost_of_parts(facts(), None, (), (Part.SYNC,)) is None
    bare = facts(capture=GRAPH, regions=(a_region(a_key(1)),))
    assert cost_of_parts(bare, LINE, (), (Part.SYNC,)) is None


def test_bytes_become_time_only_where_they_must_go_through_memory() -> None:
    device = a_device(memory_bytes_per_s=1e12, l2_bytes=1000)
    assert traffic_ns(facts(device=device), 10**6, 1001) == 1000
    assert traffic_ns(facts(device=device), 10**6, 1000) is None
    assert traffic_ns(facts(device=a_device(memory_bytes_per_s=1e12)), 10**6, 1001) is None
    assert traffic_ns(facts(device=None), 10**6, 1001) is None
    assert traffic_ns(facts(device=device), 10**12, 1001) == 10 * MS

"""guard_cost."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.core.activity import Activity, EntryCost, EntryKind
from analyzer.core.graphs import GapKey
from analyzer.rules.guard_cost import judge
from tests.reports import MS, a_key, at
from tests.rule_facts import a_captured_graph, a_workload, an_activity, captured, facts

FIRST = GapKey(None, a_key(1))
BETWEEN = GapKey(a_key(1), a_key(2))


def _entered(*entries: EntryCost, **changes: Any) -> Activity:
    return an_activity(entries=entries, **({"entry_cost_ns": sum(e.cost_ns for e in entries)} | changes))


def _guards(region: GapKey = FIRST, ns: int = MS) -> EntryCost:
    return EntryCost(EntryKind.GUARDS, region, 1.0, 3 * ns, ns, ns)


def test_guards_of_a_tenth_of_the_step_are_found_at_the_graph_that_they_guard() -> None:
    prologue = EntryCost(EntryKind.PROLOGUE, a_key(1), 1.0, 60_000, 20_000, 20_000)
    (finding,) = judge(facts(activity=_entered(_guards(), prologue)))
    assert finding.ns_per_step == MS + 20_000
    assert "10 % of the step: guards 1.00 ms, prologue 20.0 µs" in finding.message
    assert "guard_filter_fn" in finding.remedy
    assert finding.where == at("/home/ada/net.py:10")


def test_several_entries_are_told_to_become_fewer() -> None:
    capture = captured(a_captured_graph(1), a_captured_graph(2))
    entries = (_guards(), _guards(BETWEEN, 2 * MS))
    (finding,) = judge(facts(activity=_entered(*entries), capture=capture))
    assert finding.count == 2
    assert "graph breaks" in finding.remedy
    assert finding.where == at("/home/ada/net.py:20")


def test_one_entry_for_each_set_of_inputs_is_no_graph_break() -> None:
    again = _guards(GapKey(a_key(1), a_key(1)), 2 * MS)
    (finding,) = judge(facts(activity=_entered(_guards(), again), input_sets=2))
    assert finding.count == 2
    assert "graph breaks" not in finding.remedy


def test_cheap_guards_and_guards_that_the_queue_hides_are_silent() -> None:
    assert judge(facts(activity=_entered(_guards(ns=MS // 2 - 1)))) == ()
    assert judge(facts(activity=_entered(_guards(ns=3 * MS), entry_cost_ns=0))) == ()


def test_a_step_that_enters_no_compiled_code_is_silent() -> None:
    assert judge(facts(activity=_entered())) == ()


def test_without_a_clean_pass_the_cost_is_unknown() -> None:
    (finding,) = judge(facts(activity=_entered(_guards(), is_scaled=False)))
    assert finding.ns_per_step is None


@pytest.mark.parametrize(("parameters", "word"), [(None, "larger batch"), (0, "guard_filter_fn")])
def test_a_function_has_no_guards_on_modules_to_leave_out(parameters: int | None, word: str) -> None:
    (finding,) = judge(facts(activity=_entered(_guards()), workload=a_workload(parameters=parameters)))
    assert word in finding.remedy

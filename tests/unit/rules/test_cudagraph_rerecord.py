"""cudagraph_rerecord."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.core.activity import GraphReplays
from analyzer.core.graphs import Recompile
from analyzer.rules.cudagraph_rerecord import judge
from tests.reports import MS, a_budget, a_key, at
from tests.rule_facts import a_plan_of, a_region, an_activity, captured, facts


def test_a_capture_in_a_steady_step_is_found_with_its_cost() -> None:
    replays = GraphReplays(2.0, 1.0, 4 * MS, 3 * MS, a_key(1))
    (finding,) = judge(facts(activity=an_activity(replays=replays)))
    assert finding.ns_per_step == 3 * MS
    assert "recorded again in steady steps, 1 in each: 4.00 ms a step, beside 2 replays" in finding.message
    assert "cudagraph_skip_dynamic_graphs" in finding.remedy
    assert finding.where == at("/home/ada/net.py:10")


def test_a_capture_in_one_step_of_three_is_not_told_as_one_a_step() -> None:
    (finding,) = judge(facts(activity=an_activity(replays=GraphReplays(1.0, 1 / 3, MS, MS, None))))
    assert "steady steps, not in each:" in finding.message
    assert finding.count == 1
    assert finding.where is None


def test_replays_alone_and_no_cuda_graphs_are_silent() -> None:
    assert judge(facts(activity=an_activity(replays=GraphReplays(3.0, 0.0, 0, 0)))) == ()
    assert judge(facts(activity=an_activity(replays=None))) == ()


def test_without_a_clean_pass_the_cost_is_unknown() -> None:
    replays = GraphReplays(2.0, 1.0, 4 * MS, 3 * MS, a_key(1))
    (finding,) = judge(facts(activity=an_activity(replays=replays, is_scaled=False)))
    assert finding.ns_per_step is None


RESIZED = "tensor 'args[0]' size mismatch at index 1. expected 37, actual 52"


def _resized(guard: str = RESIZED, candidate: str | None = "cuda_graphs", **changes: Any) -> Any:
    again = Recompile(at("/home/ada/net.py:9"), guard, "0/1")
    region = a_region(a_key(1), a_budget(starved=8.0), planned=a_plan_of(candidate) if candidate else None)
    return facts(capture=captured(recompiles=(again,)), regions=(region,), **changes)


@pytest.mark.parametrize("activity", [an_activity(), None], ids=["profiled", "not profiled"])
def test_a_plan_that_replays_a_graph_whose_inputs_change_their_size_is_found(activity: Any) -> None:
    (finding,) = judge(_resized(activity=activity))
    assert finding.where == at("/home/ada/net.py:9")
    assert finding.ns_per_step is None
    assert "expected 37, actual 52" in finding.message
    assert "pad the inputs to a few fixed sizes" in finding.remedy


@pytest.mark.parametrize(
    "quiet",
    [_resized("self.n == 3"), _resized(candidate="cpp_wrapper"), _resized(candidate=None)],
    ids=["another guard", "no replay", "no plan"],
)
def test_other_guards_and_plans_without_a_replay_are_silent(quiet: Any) -> None:
    assert judge(quiet) == ()

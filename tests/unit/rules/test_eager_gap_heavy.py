"""eager_gap_heavy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzer.core.activity import InputWait
from analyzer.core.budget import HostKind, HostPart
from analyzer.core.graphs import Direction, GapKey
from analyzer.rules.eager_gap_heavy import judge
from analyzer.rules.rule import MissingData
from tests.reports import MS, a_budget, a_key, at
from tests.rule_facts import a_break, a_captured_graph, a_region, an_activity, captured, facts

SKIPPED = (
    "Failed to handle graph break gracefully. Skipping the function and falling back to eager. "
    "Graph break encountered: nonzero"
)
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
    assert "what the step does with its output" in found[2].remedy


def test_a_function_left_eager_is_the_cause_of_the_gaps_around_what_it_calls() -> None:
    skipped = a_break("/home/ada/net.py:30", reason=SKIPPED)
    gap = a_region(GapKey(a_key(1), None), elapsed_ns=8 * MS)
    (finding,) = judge(facts(capture=captured(breaks=(skipped,)), regions=(gap,)))
    assert finding.where == at("/home/ada/net.py:30")
    assert "mend the graph break at /home/ada/net.py:30" in finding.remedy
    other = a_break("/home/ada/net.py:99", reason=SKIPPED)
    (several,) = judge(facts(capture=captured(breaks=(skipped, other)), regions=(gap,)))
    assert (several.where, "graph break" in several.remedy) == (None, False)
    resumed = a_break("/home/ada/net.py:30")
    (unrelated,) = judge(facts(capture=captured(breaks=(resumed,)), regions=(gap,)))
    assert "graph break" not in unrelated.remedy


def test_operators_behind_the_last_graph_are_said_to_run_uncompiled() -> None:
    key = GapKey(a_key(1), None)
    (works,) = judge(facts(regions=(a_region(key, a_budget(starved=4.0, compute=1.0), kernels_per_step=9.0),)))
    assert "operators run there uncompiled" in works.remedy
    (idles,) = judge(facts(regions=(a_region(key, a_budget(starved=4.0), kernels_per_step=0.0),)))
    assert "what the step does after its last graph" in idles.remedy


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


def at_the_start(starved: float, entry: float, kernels: float = 0.0) -> object:
    """Starved and entry in milliseconds, of a step of 10 ms."""
    budget = a_budget(starved=starved)
    split = (HostPart(HostKind.GUARDS, round(entry * MS)), HostPart(HostKind.PYTHON, round((starved - entry) * MS)))
    region = a_region(GapKey(None, a_key(1)), replace(budget, starved=split), kernels_per_step=kernels)
    return facts(regions=(region,))


def test_entering_compiled_code_is_no_eager_work() -> None:
    assert judge(at_the_start(2.0, entry=1.5)) == ()
    assert len(judge(at_the_start(2.0, entry=0.5))) == 1
    assert len(judge(at_the_start(2.0, entry=1.5, kernels=1.0))) == 1


def test_of_a_short_step_calling_it_is_a_large_part_and_no_finding() -> None:
    region = a_region(
        GapKey(None, a_key(1)), replace(a_budget(starved=0.04), starved=(HostPart(HostKind.PYTHON, 40_000),))
    )
    region = replace(region, kernels_per_step=0.0)
    assert judge(facts(regions=(region,), step_ns=60_000)) == ()
    assert len(judge(facts(regions=(replace(region, kernels_per_step=3.0),), step_ns=60_000))) == 1


def test_between_two_sets_of_inputs_there_is_no_graph_break_to_fix() -> None:
    again = GapKey(a_key(1), a_key(1))
    broken = captured(a_captured_graph(1, ended_by=a_break()), a_captured_graph(2))
    (idle,) = judge(facts(regions=(a_region(again, elapsed_ns=4 * MS),), input_sets=3))
    assert idle.message.startswith("what runs between the calls of two sets of inputs takes 40 %")
    assert "graph break" not in idle.remedy
    (works,) = judge(facts(regions=(a_region(again, a_budget(starved=3.0, memory=1.0)),), input_sets=3))
    assert "compile those of the model" in works.remedy
    (within,) = judge(facts(capture=broken, regions=(a_region(BETWEEN, elapsed_ns=4 * MS),), input_sets=3))
    assert "the eager gap between two graphs" in within.message
    assert "graph break" in within.remedy


@pytest.mark.parametrize(("starved_us", "is_found"), [(100, False), (101, True)])
def test_calling_a_model_once_more_for_each_set_is_no_eager_work(starved_us: int, is_found: bool) -> None:
    host = (HostPart(HostKind.PYTHON, starved_us * 1_000),)
    budget = replace(a_budget(starved=starved_us / 1_000), starved=host)
    region = a_region(GapKey(a_key(1), a_key(1)), budget, kernels_per_step=0.0)
    assert bool(judge(facts(regions=(region,), step_ns=200_000, input_sets=3))) is is_found


@pytest.mark.parametrize(("loading_ms", "is_its"), [(2.1, True), (1.9, False)])
def test_where_a_loader_makes_its_batches_the_loader_is_to_be_mended(loading_ms: float, is_its: bool) -> None:
    first = GapKey(None, a_key(1))
    ns = round(loading_ms * MS)
    waits = (InputWait("_SingleProcessDataLoaderIter", first, 1.0, ns, None, ns),)
    region = a_region(first, a_budget(starved=4.0), kernels_per_step=600.0)
    (finding,) = judge(facts(regions=(region,), activity=an_activity(inputs=waits)))
    assert ("data loader" in finding.remedy) is is_its


def test_what_lies_between_the_forward_and_the_backward_is_no_graph_break() -> None:
    forward, backward = a_key(1, Direction.FORWARD), a_key(1, Direction.BACKWARD)
    capture = captured(a_captured_graph(1), a_captured_graph(2))
    (finding,) = judge(facts(capture=capture, regions=(a_region(GapKey(forward, backward), elapsed_ns=4 * MS),)))
    assert finding.message.startswith("what runs between the forward and the backward takes 40 %")
    assert "the loss" in finding.remedy
    assert "graph break" not in finding.remedy
    within = GapKey(backward, a_key(2, Direction.BACKWARD))
    (parts,) = judge(facts(capture=capture, regions=(a_region(within, elapsed_ns=4 * MS),)))
    assert "the eager gap between two graphs" in parts.message

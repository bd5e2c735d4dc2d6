"""A report can be made of whatever has been measured so far, and its headline claims no more."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from analyzer import doubts
from analyzer.assemble import _summed, assemble
from analyzer.core.graphs import GapKey
from analyzer.core.report import MOST_SAMPLES, Report
from analyzer.core.run import Verification
from analyzer.core.samples import Samples
from analyzer.core.timing import Changing, StepChange
from analyzer.core.trial import Change, TrialOutcome
from analyzer.core.verdict import Bound
from analyzer.diagnosis import Passes, diagnose
from analyzer.headline import NO_GRAPH
from analyzer.measured import Measured
from analyzer.plan_evidence import with_evidence
from analyzer.reporting.from_wire import report_from_wire
from analyzer.reporting.rows import graph_label, region_rows
from analyzer.reporting.to_wire import report_to_wire
from analyzer.targets import predictions
from optimizers.search import CandidateTrial
from tests.rule_facts import a_captured_graph, captured
from tests.unit.derive.runs import DEVICE, A, B, recording
from tests.unit.fake_driver import BREAK, STEP_NS, VERSIONS, a_capture, a_timing, a_way, facts
from tests.unit.optimizers.fake_lab import around, measured

FAST, SLOW = STEP_NS // 2, STEP_NS * 2


def report(of: Measured) -> Report:
    return assemble(of, target="net.py", next_command="analyze doctor")


@pytest.fixture
def diagnosed(tmp_path: Path) -> Measured:
    found = Measured(facts=facts(), versions=VERSIONS, capture=a_capture(), timing=a_timing(), device=DEVICE)
    found.eager_ns = found.default_ns = around(STEP_NS)
    found.before = diagnose(Passes(a_timing(), recording().save(tmp_path / "t.json.gz"), found.capture), DEVICE)
    found.predicted_ns = predictions(found)
    return found


def verified(of: Measured, planned_ns: int, outcome: TrialOutcome = TrialOutcome.MEASURED) -> Measured:
    of.plan = of.plan_of({A.digest: "cuda_graphs"})
    ways = a_way("eager", SLOW), a_way("default", STEP_NS), a_way("plan", planned_ns, outcome)
    of.verification = Verification(*ways, capture=None, timing=None)
    return of


def test_nothing_measured_is_a_report_of_unknowns() -> None:
    empty = report(Measured(partial="interrupted"))
    assert empty.headline.startswith("No verdict")
    assert (empty.graphs, empty.step_ns, empty.comparison, empty.linked_share) == ((), None, None, None)
    assert (empty.workload.name, empty.workload.device, empty.device.name) == ("net.py", "unknown", "unknown")
    assert empty.partial == "interrupted"


def test_a_device_that_was_not_measured_is_called_by_its_name() -> None:
    known = report(Measured(facts=replace(facts(), device_name="NVIDIA H200"), partial="interrupted"))
    assert (known.device.kind, known.device.name, known.device.peaks) == ("cuda", "NVIDIA H200", ())
    assert known.device.notes
    assert report(Measured(facts=facts("cpu"))).device.name == "cpu"


def test_captured_but_not_timed_is_undecided_and_says_why() -> None:
    found = report(Measured(facts=facts(), capture=a_capture()))
    assert [g.verdict.bound for g in found.graphs] == [Bound.UNDECIDED] * 2
    assert all(g.verdict.missing and g.budget is None and g.before_ns is None for g in found.graphs)
    assert found.graphs[0].ended_by == BREAK


def test_no_graph_is_said_loudly() -> None:
    assert report(Measured(facts=facts(), capture=replace(captured(), graphs=()))).headline == NO_GRAPH


def test_the_diagnosis_shows_every_region_and_what_ended_it(diagnosed: Measured) -> None:
    found = report(diagnosed)
    assert [g.calls_per_step for g in found.graphs] == [1.0, 1.0]
    gaps = {gap.key: gap.where for gap in found.eager_gaps}
    assert gaps == {GapKey(None, A): None, GapKey(A, B): BREAK.where, GapKey(B, None): None}
    assert found.linked_share == 1.0
    assert {g.chosen for g in found.graphs} == {"fused"}
    shown = sum(r.budget.elapsed_ns for r in (*found.graphs, *found.eager_gaps) if r.budget)
    assert found.step_budget is not None
    assert shown == found.step_budget.elapsed_ns == STEP_NS


def test_it_is_pure(diagnosed: Measured) -> None:
    assert report(diagnosed) == report(diagnosed)


def test_a_graph_that_no_steady_step_calls_is_kept_without_a_row_and_named_in_a_note(diagnosed: Measured) -> None:
    assert diagnosed.capture is not None
    gone = replace(a_captured_graph(3), compile_ids=("0/0", "0/1"))
    diagnosed.capture = replace(diagnosed.capture, graphs=(gone, *diagnosed.capture.graphs))
    found = report(diagnosed)
    assert [graph.is_in_step for graph in found.graphs] == [False, True, True]
    assert gone.key not in [row.region for row in region_rows(found)]
    (note,) = [text for text in found.notes if "no row" in text]
    assert f"{graph_label(found.graphs[0])} [0/0, 0/1]" in note
    assert report_from_wire(report_to_wire(found)).graphs == found.graphs


def test_many_such_graphs_are_one_note(diagnosed: Measured) -> None:
    assert diagnosed.capture is not None
    gone = tuple(a_captured_graph(number) for number in range(3, 23))
    diagnosed.capture = replace(diagnosed.capture, graphs=(*diagnosed.capture.graphs, *gone))
    (note,) = [text for text in report(diagnosed).notes if "no row" in text]
    assert note.startswith("20 graphs have no row")
    assert note.endswith("and 17 more")


def test_before_it_was_timed_no_graph_is_called_dead() -> None:
    found = report(Measured(facts=facts(), capture=a_capture()))
    assert all(graph.is_in_step for graph in found.graphs)
    assert len(region_rows(found)) == 2


GROWING = StepChange(Changing.GRAPH_INPUT, A, ((1, 4, 17, 64), (1, 4, 18, 64)))


def changing(of: Measured, *changes: StepChange, is_steady: bool = True) -> Report:
    assert of.timing is not None
    of.timing = replace(of.timing, changes=changes, is_steady=is_steady)
    return report(of)


def test_steps_that_are_not_alike_have_no_verdict_and_say_what_differs(diagnosed: Measured) -> None:
    found = changing(diagnosed, GROWING, StepChange(Changing.STATE, sizes=((2,), (3,))))
    assert {row.verdict.bound for row in region_rows(found)} == {Bound.UNDECIDED}
    assert all(row.verdict.missing and row.verdict.confidence is None for row in region_rows(found))
    assert found.headline.startswith("Undecided: a step is not the same work each time")
    note = next(text for text in found.notes if text.startswith("a step is not the same work"))
    assert f"the graph of {graph_label(found.graphs[0])} was given [1, 4, 17, 64] and then [1, 4, 18, 64]" in note
    assert "the model kept a tensor of [2] and then [3]" in note
    assert any("inputs are put back" in text for text in found.notes)


@pytest.mark.parametrize("what", list(Changing))
def test_every_kind_of_change_is_said_and_costs_the_verdicts(diagnosed: Measured, what: Changing) -> None:
    found = changing(diagnosed, StepChange(what))
    assert found.headline.startswith("Undecided")
    assert any(text.startswith("a step is not the same work each time: ") for text in found.notes)


def test_sizes_that_go_up_and_down_are_said_and_cost_no_verdict(diagnosed: Measured) -> None:
    same = report(copy(diagnosed))
    found = changing(diagnosed, replace(GROWING, is_varying=True))
    assert [row.verdict for row in region_rows(found)] == [row.verdict for row in region_rows(same)]
    assert found.headline == same.headline
    assert any(text.startswith("sizes vary from step to step, up and down: the graph of") for text in found.notes)


def test_a_number_that_changes_is_called_one(diagnosed: Measured) -> None:
    number = StepChange(Changing.GRAPH_INPUT, B, ((5,), (6,)), is_number=True)
    assert any("was given the number 5 and then the number 6" in note for note in changing(diagnosed, number).notes)


def test_a_workload_that_torch_never_ends_compiling_has_no_verdict(diagnosed: Measured) -> None:
    found = changing(diagnosed, is_steady=False)
    assert found.headline.startswith("Undecided")
    assert any("torch still compiled graphs" in note for note in found.notes)


def test_a_comparison_of_growing_steps_says_of_what_it_is(diagnosed: Measured) -> None:
    found = changing(verified(diagnosed, FAST), GROWING)
    assert any("taken in turn and grew alike" in note for note in found.notes)
    assert "The plan: 0.80 → 0.40 ms a step" in found.headline


def test_trials_stand_under_their_graph(diagnosed: Measured) -> None:
    diagnosed.trials.append(CandidateTrial(B.digest, "eager", 7, measured(FAST, against_ns=STEP_NS)))
    first, second = report(diagnosed).graphs
    assert first.candidates == ()
    (tried,) = second.candidates
    assert (tried.candidate, tried.predicted_ns, tried.step_ns, tried.step_baseline_ns) == ("eager", 7, FAST, STEP_NS)
    assert tried.step_samples is not None
    assert tried.step_samples.median_ns == FAST


def test_a_report_keeps_a_bounded_number_of_a_candidates_samples(diagnosed: Measured) -> None:
    many = replace(measured(FAST), step_ns=Samples(tuple(range(1, 121))), against=Samples(tuple(range(201, 321))))
    diagnosed.trials.append(CandidateTrial(B.digest, "eager", 7, many))
    (tried,) = report(diagnosed).graphs[1].candidates
    assert tried.step_samples == Samples(tuple(range(1, 121, 3)))
    assert tried.step_baseline_samples == Samples(tuple(range(201, 321, 3)))
    assert len(tried.step_samples.ns) == MOST_SAMPLES
    assert tried.step_ns == 60, "the median is that of all"


@pytest.mark.parametrize(
    ("planned_ns", "change", "says"),
    [
        (FAST, Change.FASTER, "The plan: 0.80 → 0.40 ms a step, 2.0"),
        (STEP_NS, Change.SAME, "Nothing beats torch.compile default"),
        (SLOW, Change.SLOWER, "The plan lost"),
    ],
)
def test_the_headline_says_what_was_measured(diagnosed: Measured, planned_ns: int, change: Change, says: str) -> None:
    found = report(verified(diagnosed, planned_ns))
    assert found.comparison is not None
    assert found.comparison.outcome is change
    assert says in found.headline
    assert [(p.name, p.is_chosen) for p in found.plans] == [("eager", False), ("default", False), ("plan", True)]
    assert [g.chosen for g in found.graphs] == ["cuda_graphs", "fused"]


def test_a_difference_within_noise_is_called_so(diagnosed: Measured) -> None:
    of = verified(diagnosed, STEP_NS)
    assert of.verification is not None
    noisy = Samples(tuple(round(STEP_NS * f) for f in (0.5, 1.5, 0.8, 1.2, 1.0, 0.7, 1.3, 0.6, 1.4)))
    of.verification = replace(of.verification, planned=replace(of.verification.planned, step_ns=noisy))
    assert "No difference beyond noise" in report(of).headline


def test_a_model_left_alone_is_eager_everywhere(diagnosed: Measured) -> None:
    of = verified(diagnosed, FAST)
    of.plan = of.plan_of({}, is_compiled=False)
    found = report(of)
    assert "Leave it alone" in found.headline
    assert {g.chosen for g in found.graphs} == {"eager"}
    assert [(p.name, p.is_chosen) for p in found.plans] == [("eager", True), ("default", False)]


def test_a_graph_is_shown_before_and_after_from_passes_taken_side_by_side(diagnosed: Measured) -> None:
    of = verified(diagnosed, FAST)
    assert of.verification is not None
    halved = tuple(
        replace(region, elapsed_ns=Samples(tuple(ns // 2 for ns in region.elapsed_ns.ns)))
        for region in a_timing().regions
    )
    of.verification = replace(of.verification, default_timing=replace(a_timing(), regions=halved))
    alone, beside = report(replace_verification(of)), report(of)
    for first, second in zip(alone.graphs, beside.graphs, strict=True):
        assert first.before_ns is not None
        assert second.before_ns is not None
        assert second.before_ns < first.before_ns


def test_a_default_that_stays_though_eager_is_faster_says_why(diagnosed: Measured) -> None:
    verified(diagnosed, STEP_NS)
    assert diagnosed.verification is not None
    diagnosed.plan = diagnosed.plan_of({})
    assert "Nothing beats torch.compile default" in report(diagnosed).headline
    diagnosed.verification = replace(diagnosed.verification, eager=a_way("eager", FAST))
    assert "eager is faster but over the memory limit" in report(diagnosed).headline


def drifted(of: Measured, factor: float) -> Report:
    """The report where the default took so many times longer beside the plan than in the first clean pass."""
    verified(of, FAST)
    assert of.verification is not None
    of.verification = replace(of.verification, default=a_way("default", round(factor * STEP_NS)))
    return report(of)


def test_a_machine_that_changed_between_the_passes_is_said_and_may_cost_the_verdicts(diagnosed: Measured) -> None:
    def said(of: Report) -> bool:
        return any("in the first clean pass and" in note for note in of.notes)

    def shares(of: Report) -> float:
        return sum(row.share or 0.0 for row in region_rows(of))

    steady, slower, other = (drifted(copy(diagnosed), factor) for factor in (1.2, 1.8, 2.4))
    assert [said(found) for found in (steady, slower, other)] == [False, True, True]
    assert slower.graphs[0].verdict.bound is steady.graphs[0].verdict.bound
    assert {row.verdict.bound for row in region_rows(other)} == {Bound.UNDECIDED}
    assert all(row.verdict.missing for row in region_rows(other))
    assert other.headline.startswith("Undecided: the machine changed")
    assert shares(other) == pytest.approx(1.0)
    assert said(drifted(copy(diagnosed), 1 / 1.8))


def confidences(of: Report) -> list[float]:
    return [row.verdict.confidence or 0.0 for row in region_rows(of)]


def test_where_the_host_was_seen_at_two_speeds_a_verdict_is_less_sure(diagnosed: Measured) -> None:
    steady, changed = (confidences(drifted(copy(diagnosed), by)) for by in (1.0, 1 / 1.6))
    assert all(now <= then for now, then in zip(changed, steady, strict=True))
    assert sum(changed) < sum(steady)


def test_totals_that_disagree_by_more_than_their_spreads_are_not_left_without_a_word(diagnosed: Measured) -> None:
    def said(factor: float) -> bool:
        return any("further apart than the steps of each" in note for note in drifted(copy(diagnosed), factor).notes)

    assert [said(factor) for factor in (1.0, 1.02, 1.2)] == [False, False, True]


def test_a_clean_pass_of_whole_scheduler_ticks_decides_nothing(diagnosed: Measured) -> None:
    assert diagnosed.timing is not None
    ticked = Samples(tuple(number * 4_000_000 for number in (2, 3, 2, 4, 2, 3, 2)))
    diagnosed.timing = replace(diagnosed.timing, step_ns=ticked)
    found = report(diagnosed)
    assert found.headline.startswith("Undecided: the steps' times are whole ticks")
    assert any("whole multiples of 4.00 ms" in note for note in found.notes)
    assert {row.verdict.bound for row in region_rows(found)} == {Bound.UNDECIDED}


def test_how_far_the_passes_are_apart_is_derived_once_a_report(
    diagnosed: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    derived = Mock(wraps=doubts._drift_between)
    monkeypatch.setattr(doubts, "_drift_between", derived)
    found = drifted(diagnosed, 1.8)
    assert any("1.8× apart: the machine changed in between" in note for note in found.notes)
    between = [call.args for call in derived.call_args_list]
    assert len(between) == len(set(between)) > 0


def test_what_a_finding_costs_is_not_claimed_of_a_pass_that_is_in_doubt(diagnosed: Measured) -> None:
    steady, other = (drifted(copy(diagnosed), factor).findings for factor in (1.2, 2.4))
    assert any(finding.ns_per_step for finding in steady)
    assert {finding.rule for finding in other} >= {finding.rule for finding in steady}
    assert {finding.ns_per_step for finding in other} == {None}


def test_nothing_is_predicted_from_a_pass_that_is_in_doubt(diagnosed: Measured) -> None:
    """A crowded clean pass of gptlite foretold 10.3 ms for a candidate that took 2.8."""
    diagnosed.trials.append(CandidateTrial(B.digest, "eager", 7, measured(FAST, against_ns=STEP_NS)))
    steady, other = (drifted(copy(diagnosed), factor).graphs[1].candidates[0] for factor in (1.2, 2.4))
    assert (steady.predicted_ns, other.predicted_ns) == (7, None)
    assert other.measured_ns == steady.measured_ns


def test_a_plan_says_that_its_figures_are_in_doubt(diagnosed: Measured) -> None:
    for factor, is_said in ((1.2, False), (2.4, True)):
        measured = copy(diagnosed)
        drifted(measured, factor)
        caveats = with_evidence(measured.plan_of({}), measured).caveats
        assert any("the machine changed" in caveat for caveat in caveats) is is_said


def half(samples: Samples) -> Samples:
    return Samples(tuple(ns // 2 for ns in samples.ns))


def replace_verification(of: Measured) -> Measured:
    """The same run without the default timed beside the plan."""
    assert of.verification is not None
    copied = copy(of)
    copied.verification = replace(of.verification, default_timing=None)
    return copied


def test_notes_of_several_regions_that_differ_in_their_count_become_one() -> None:
    assert _summed(("3 rows are odd", "4 rows are odd", "clipped", "clipped")) == ("7 rows are odd", "clipped")

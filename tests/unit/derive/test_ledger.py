"""What was promised beside what came, each trial once, in shares of the step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzer.core.budget import Budget, BudgetPart, Part
from analyzer.core.graphs import Direction, GraphKey
from analyzer.core.report import CandidateReport, GraphReport
from analyzer.core.trial import TrialOutcome
from analyzer.derive.ledger import Entry, ledger, reliance
from tests.reports import a_graph, a_report

STEP_NS = 1_000_000


def a_trial(
    candidate: str = "cuda_graphs", outcome: TrialOutcome = TrialOutcome.MEASURED, predicted_ns: int | None = 200_000
) -> CandidateReport:
    """Of a graph that takes 0.62 ms in turn: it came to 0.25."""
    return CandidateReport(
        candidate=candidate,
        outcome=outcome,
        reason=None,
        predicted_ns=predicted_ns,
        measured_ns=250_000,
        baseline_ns=620_000,
        step_ns=650_000,
        step_baseline_ns=STEP_NS,
        accuracy=None,
        compile_ns=None,
        peak_bytes=None,
    )


def a_tried_graph(direction: Direction, elapsed_ns: int | None, *trials: CandidateReport) -> GraphReport:
    budget = None if elapsed_ns is None else Budget(elapsed_ns, (BudgetPart(Part.STARVED, elapsed_ns),))
    return replace(a_graph(), key=GraphKey("abc", direction), budget=budget, candidates=trials)


def test_a_saving_is_what_the_graph_was_to_lose_and_what_it_lost() -> None:
    report = replace(a_report(), graphs=(a_tried_graph(Direction.INFERENCE, 600_000, a_trial()),))
    (entry,) = ledger(report)
    assert entry == Entry("abc", "cuda_graphs", 420_000, 370_000, STEP_NS)
    assert entry.error == pytest.approx(0.05)


def test_a_host_that_was_slower_beside_the_trial_than_before_is_no_error() -> None:
    slow = replace(a_trial(), baseline_ns=1_020_000)
    (entry,) = ledger(replace(a_report(), graphs=(a_tried_graph(Direction.INFERENCE, 600_000, slow),)))
    assert (entry.predicted_ns, entry.measured_ns) == (820_000, 770_000)


def test_forward_and_backward_are_one_entry_of_both_together() -> None:
    graphs = tuple(
        a_tried_graph(direction, ns, a_trial())
        for direction, ns in ((Direction.FORWARD, 250_000), (Direction.BACKWARD, 350_000))
    )
    (entry,) = ledger(replace(a_report(), graphs=graphs))
    assert entry.predicted_ns == 420_000


def test_only_what_was_both_predicted_and_timed_is_in_it() -> None:
    trials = (
        a_trial("eager", predicted_ns=None),
        a_trial("cpp_wrapper", TrialOutcome.FAILED),
        a_trial("frozen", TrialOutcome.UNTRIED),
        a_trial("combo_kernels", TrialOutcome.WRONG_RESULT),
        replace(a_trial("aoti"), measured_ns=None),
    )
    report = replace(a_report(), graphs=(a_tried_graph(Direction.INFERENCE, 600_000, *trials),))
    assert [entry.candidate for entry in ledger(report)] == ["combo_kernels"]


def test_without_graphs_it_is_empty() -> None:
    assert ledger(replace(a_report(), graphs=())) == ()


def test_the_median_and_the_tail_are_of_the_sizes_of_the_errors() -> None:
    errors = (-0.10, 0.0, 0.02, 0.04, -0.06)
    found = reliance([Entry("a", "c", round(error * STEP_NS), 0, STEP_NS) for error in errors])
    assert found is not None
    assert found.entries == 5
    assert found.median == pytest.approx(0.04)
    assert found.tail == pytest.approx(0.084)
    assert reliance([]) is None


def test_graphs_stand_in_the_order_in_which_they_are_first_met() -> None:
    other = replace(a_tried_graph(Direction.INFERENCE, 600_000, a_trial()), key=GraphKey("def", Direction.INFERENCE))
    both = [a_tried_graph(direction, 300_000, a_trial()) for direction in (Direction.FORWARD, Direction.BACKWARD)]
    found = ledger(replace(a_report(), graphs=(both[0], other, both[1])))
    assert [entry.digest for entry in found] == ["abc", "def"]

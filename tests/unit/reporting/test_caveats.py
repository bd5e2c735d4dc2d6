"""What has to be known of a chosen candidate is said once, and of no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from analyzer.core.report import CandidateReport, GraphReport, Report
from analyzer.reporting.caveats import chosen_caveats
from tests.reports import a_plan_trial, a_report

STALE = "weights that change afterwards make it run uncompiled"


def tried(graph: GraphReport, name: str, **changes: Any) -> CandidateReport:
    return replace(graph.candidates[0], candidate=name, **changes)


def report_with(*candidates: tuple[str, dict[str, Any]], chosen: str) -> Report:
    report = a_report()
    graph = report.graphs[0]
    made = tuple(tried(graph, name, **changes) for name, changes in candidates)
    return replace(report, graphs=(replace(graph, candidates=made, chosen=chosen),))


def test_the_caveat_of_what_was_chosen_is_said_and_that_of_another_is_not() -> None:
    report = report_with(("frozen", {"caveat": STALE}), ("aoti", {"caveat": "another"}), chosen="frozen")
    (said,) = chosen_caveats(report)
    assert said.startswith("frozen (")
    assert said.endswith(STALE)


def test_a_backward_tried_with_another_forward_is_known_by_either_name() -> None:
    report = report_with(("fused/cpp_wrapper", {"python_fallbacks": ("mine::scale",)}), chosen="cpp_wrapper")
    (said,) = chosen_caveats(report)
    assert "calls back into Python for mine::scale" in said


def test_many_operators_are_counted_after_the_first_three() -> None:
    names = tuple(f"mine::op_{n}" for n in range(5))
    report = report_with(("cpp_wrapper", {"python_fallbacks": names}), chosen="cpp_wrapper")
    (said,) = chosen_caveats(report)
    assert "mine::op_2 and 2 more" in said
    assert "op_3" not in said


def test_a_model_left_alone_has_none() -> None:
    report = report_with(("frozen", {"caveat": STALE}), chosen="frozen")
    assert chosen_caveats(report)
    assert chosen_caveats(replace(report, plans=(a_plan_trial("eager", 31.8, is_chosen=True),))) == ()

"""Where the plan of a model would not be taken in production: a check runs it all the same, and says so."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.core.plan import Plan
from analyzer.core.report import Report
from analyzer.gate.counts import release_of


def plan_notes(plan: Plan | None, report: Report) -> tuple[str, ...]:
    """A sentence for each thing that the plan was made for and this run is not; empty without a plan."""
    return () if plan is None else tuple(f"{each}: analyzer.optimize refuses it here" for each in _unlike(plan, report))


def _unlike(plan: Plan, report: Report) -> Iterator[str]:
    if plan.device != report.device.name:
        yield f"the plan was made on {plan.device}, and this is {report.device.name}"
    made, here = release_of(plan.versions.torch), release_of(report.versions.torch)
    if made != here:
        yield f"the plan was made with torch {made}, and this is {here}"
    digest = report.workload.parameters_digest
    if plan.model is not None and digest is not None and plan.model != digest:
        yield "the plan was made for a model whose parameters have other shapes or types"

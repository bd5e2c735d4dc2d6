"""What a plan says of itself: which model it is for, what was measured of it, and what its user must know."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from analyzer.core.plan import Plan, PlanAccuracy, PlanFigures
from analyzer.core.run import Verification
from analyzer.core.trial import Accuracy
from analyzer.derive.compare import compare
from analyzer.doubts import doubts_of
from analyzer.measured import Measured
from optimizers.candidates.known import candidate_of

NO_GRAPH: Final = "torch.compile captured no graph: the model stays as it is"


def without_graphs(measured: Measured) -> Plan:
    """The plan of a model of which torch captured nothing: it is left alone, and there was nothing to measure."""
    return replace(_of_model(measured.plan_of({}, is_compiled=False), measured), note=NO_GRAPH)


def with_evidence(plan: Plan, measured: Measured) -> Plan:
    """The plan with what its verification gave; without one, `figures` stay None and the note says so."""
    checked = measured.verification
    return replace(
        _of_model(plan, measured),
        note=measured.plan_note,
        figures=_figures(checked) if checked is not None else None,
        caveats=(*caveats_of(plan), *_doubts(measured)),
    )


def _of_model(plan: Plan, measured: Measured) -> Plan:
    if measured.facts is None:
        return plan
    return replace(plan, mode=measured.facts.mode, model=measured.facts.parameters_digest)


def _doubts(measured: Measured) -> tuple[str, ...]:
    why = doubts_of(measured).why
    return () if why is None else (f"its figures are in doubt: {why}",)


def caveats_of(plan: Plan) -> tuple[str, ...]:
    """What the candidates of a plan ask of its user, each once, in order of the graphs."""
    if not plan.is_compiled:
        return ()
    names = dict.fromkeys(choice.candidate for choice in plan.choices)
    found = (candidate_of(name) for name in names)
    return tuple(dict.fromkeys(f"{one.id}: {one.caveat}" for one in found if one.caveat is not None))


def _figures(checked: Verification) -> PlanFigures | None:
    before, after = checked.default.step_ns, checked.planned.step_ns
    if before is None or after is None:
        return None
    compared = compare(before, after)
    return PlanFigures(
        eager_ns=checked.eager.step_ns.median_ns if checked.eager.step_ns is not None else None,
        default_ns=compared.before_ns,
        plan_ns=compared.after_ns,
        ratio=compared.ratio,
        low=compared.interval.low,
        high=compared.interval.high,
        accuracy=_accuracy(checked.planned.accuracy),
    )


def _accuracy(judged: Accuracy | None) -> PlanAccuracy | None:
    """None where results were not compared in numbers: one without a twin, or that is not finite, has no error."""
    if judged is None or not math.isfinite(judged.error):
        return None
    return PlanAccuracy(judged.reference.value, judged.error, judged.allowed)

"""What a verified plan has to hold against, and what to go back to where it does not."""

from __future__ import annotations

from analyzer.core.plan import Plan
from analyzer.core.settings import Objective
from analyzer.core.trial import Change, TrialOutcome
from analyzer.derive.compare import compare
from analyzer.measured import Measured


def better_plan(
    measured: Measured, objective: Objective = Objective.LATENCY, memory_limit_bytes: int | None = None
) -> Plan | None:
    """What to fall back on when the verified plan does not hold; None when it does.

    It holds where it is faster than the default beyond noise, or, where something else than latency is aimed at, not
    slower; and never where eager is faster, unless that is known to need more memory than the limit. The default falls
    back on the model as it is.
    """
    checked, plan = measured.verification, measured.plan
    assert checked is not None
    assert plan is not None
    eager, default, planned = checked.eager.step_ns, checked.default.step_ns, checked.planned.step_ns
    if not plan.is_compiled or eager is None or default is None or planned is None:
        return None
    default_plan = measured.plan_of({})
    is_default = plan.choices == default_plan.choices
    is_wrong = checked.planned.outcome is TrialOutcome.WRONG_RESULT
    if checked.default.outcome is TrialOutcome.WRONG_RESULT:
        # Nothing is held against a default that computes something else: the plan has to beat the model itself.
        holds = not is_default and not is_wrong and compare(eager, planned).outcome is Change.FASTER
        return None if holds else measured.plan_of({}, is_compiled=False)
    change = compare(default, planned).outcome
    enough = (Change.FASTER,) if objective is Objective.LATENCY else (Change.FASTER, Change.SAME)
    best_ns = default if is_wrong or change not in enough else planned
    peak = checked.eager.peak_bytes
    is_too_large = memory_limit_bytes is not None and peak is not None and peak > memory_limit_bytes
    is_eager_better = compare(best_ns, eager).outcome is Change.FASTER and not is_too_large
    if is_eager_better or (is_wrong and is_default):
        return measured.plan_of({}, is_compiled=False)
    return default_plan if best_ns is default and not is_default else None

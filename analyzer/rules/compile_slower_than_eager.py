"""torch.compile, by default, is slower than eager.

What it finds
    A workload whose default compilation takes longer a step than no
    compilation at all, beyond noise.

Why it costs
    Guards, wrappers and graph breaks cost host time in every step. Where
    kernels are short, or fusion finds little, that is more than it saves.

How it is measured
    Both were timed in steady state without the profiler. It is said only where
    the whole 95 % interval of eager / compiled lies under 0.98: a loss of 2 %
    comes and goes with the machine. The cost is the difference of the medians.

What to do
    See which candidate the plan chose: mostly CUDA graphs or the C++ wrapper
    take the host time away. Fix graph breaks first. Otherwise, and where no
    plan was looked for, leave the model uncompiled.

When it is wrong
    When the machine was shared, and its other users came and went between the
    two runs.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import Confidence, Finding
from analyzer.core.plan import EAGER
from analyzer.core.report import DEFAULT_PLAN
from analyzer.core.samples import Samples, ratio_interval
from analyzer.core.trial import TrialOutcome
from analyzer.rules.facts import Facts
from analyzer.rules.rule import MissingData, Rule

_ID: Final = "compile_slower_than_eager"
_APPLY: Final = "apply the plan: under it a step takes less than in eager mode"
_LEAVE: Final = "leave the model uncompiled: the plan says so too"
_NO_GAIN: Final = "leave the model uncompiled: the plan is not faster than eager either"
_NO_GRAPH: Final = "leave the model uncompiled: no graph was captured, so there is nothing to plan for"
_NO_PLAN: Final = "leave the model uncompiled, or let analyze look for a faster plan (without --no-optimize)"

_LEAST_RATIO: Final = 0.98
"""Eager over compiled: twice the per cent or so to which a step repeats on one machine (design, measuring)."""


def judge(facts: Facts) -> tuple[Finding, ...]:
    eager, compiled = _samples(facts, EAGER), _samples(facts, DEFAULT_PLAN)
    if ratio_interval(before=eager, after=compiled).high >= _LEAST_RATIO:
        return ()
    times = quantities.durations((eager.median_ns, compiled.median_ns))
    message = f"torch.compile makes this model slower: {times} a step"
    return (Finding(_ID, message, None, compiled.median_ns - eager.median_ns, _remedy(facts, eager)),)


def _remedy(facts: Facts, eager: Samples) -> str:
    """What to do depends on whether there is a plan, and on how it did against eager."""
    chosen = next((plan for plan in facts.plans if plan.is_chosen), None)
    if chosen is None:
        return _NO_GRAPH if facts.capture is not None and not facts.capture.graphs else _NO_PLAN
    if chosen.name == EAGER:
        return _LEAVE
    is_right = chosen.outcome is TrialOutcome.MEASURED and (chosen.accuracy is None or chosen.accuracy.is_right)
    if is_right and chosen.step_ns is not None and ratio_interval(before=eager, after=chosen.step_ns).low > 1:
        return _APPLY
    return _NO_GAIN


def _samples(facts: Facts, name: str) -> Samples:
    plan = facts.plan(name)
    if plan is None or plan.step_ns is None:
        raise MissingData(f"the step was not timed under {name}")
    return plan.step_ns


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN, is_timed=True)

"""The step collects Python's garbage.

What it finds
    Calls of gc.collect inside a step.

Why it costs
    It walks every object of the process, however little garbage there is: with
    torch imported these are hundreds of thousands, and each walk takes tens of
    milliseconds. The host launches nothing meanwhile. It frees no memory of the
    device that the tensors' own reference counts had not freed, cycles aside.
    Dynamo cannot trace it: capture stops there.

How it is measured
    Calls are counted and timed in one eager step. The cost is that time, at
    most: a device that still has work queued hides some of it. A program that
    holds fewer objects walks faster.

What to do
    Take it out of the step. Where cycles do hold tensors, collect every
    hundred steps, or call gc.freeze() once before the loop.

When it is wrong
    When each step really leaves large tensors in cycles (an exception that is
    kept with its traceback) and memory is short.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import Confidence, Finding
from analyzer.core.ops import HostCall
from analyzer.rules.facts import Facts
from analyzer.rules.op_evidence import ops_of
from analyzer.rules.rule import Rule

_ID: Final = "gc_collect_in_step"
_CALL: Final = "gc.collect"
_REMEDY: Final = "take it out of the step; where cycles hold tensors, collect every hundred steps"


def judge(facts: Facts) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            rule=_ID,
            message=f"{_CALL}() runs {_times(call.count)} a step, and walks every object of the process",
            where=call.where,
            ns_per_step=_cost_ns(facts, call),
            remedy=_REMEDY,
            count=call.count,
        )
        for call in ops_of(facts).host_calls
        if call.name == _CALL
    )


def _cost_ns(facts: Facts, call: HostCall) -> int | None:
    """No more than the step: the one in which it was timed is another one, watched and not compiled."""
    known = [ns for ns in (call.host_ns, facts.step_ns) if ns is not None]
    return min(known) if call.host_ns is not None else None


def _times(number: int) -> str:
    return "once" if number == 1 else f"{quantities.count(number)} times"


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)

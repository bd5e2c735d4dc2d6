"""Float64 arithmetic in a model of narrower weights.

What it finds
    Lines at which operators work in float64 on more than a few elements, while
    no parameter of the model is float64 and other work is in a narrower type.

Why it costs
    Twice the bytes of float32 everywhere. Its arithmetic runs at half the rate
    on a CPU, at half or less on data-centre GPUs and at a 32nd or a 64th on
    the others, and no tensor core takes it from most libraries.

How it is measured
    From the operators of one eager step. Named is the line where values turn
    float64 first; lines that only go on with them are counted with it. Its
    time is not known.

What to do
    .float() where they enter: NumPy makes float64 by default, and one float64
    tensor makes float64 of all it is combined with.

When it is wrong
    Where the digits are needed: sums of long series, solvers, geometry. Single
    numbers and small tensors are left out.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import Finding
from analyzer.core.ops import OpCall, OpLog
from analyzer.rules.facts import Facts
from analyzer.rules.op_evidence import by_line, ops_of, times, unless_cut
from analyzer.rules.rule import Rule

_ID: Final = "float64_leak"
_REMEDY: Final = "make it float32 where it enters: x.float(), or dtype=torch.float32 where it is created"

_WIDE: Final = "float64"
_NARROW: Final = ("float32", "bfloat16", "float16")

_LEAST_ELEMENTS: Final = 4096
"""Of one tensor. A choice: below it an operator costs its dispatch, in any dtype (some microseconds)."""

_VIEW_NAMES: Final = (
    "view _unsafe_view _reshape_alias expand t transpose permute select slice split unbind unsqueeze squeeze detach "
    "alias as_strided lift_fresh"
)
_VIEWS: Final = frozenset(f"aten::{name}" for name in _VIEW_NAMES.split())


def judge(facts: Facts) -> tuple[Finding, ...]:
    ops = ops_of(facts)
    if not _has_narrow_work(ops) or any(t.parameter and t.dtype == _WIDE for call in ops.calls for t in call.inputs):
        return unless_cut(ops, ())
    wide = [call for call in ops.calls if _works_wide(call)]
    entries = [call for call in wide if not _reads_wide(call)]
    if wide and not entries:
        entries = wide[:1]  # it was float64 before the first operator: an input
    lines = by_line(entries)
    findings = tuple(
        Finding(_ID, _message(calls, wide), where, None, _REMEDY, times(calls)) for where, calls in lines.items()
    )
    return unless_cut(ops, findings)


def _has_narrow_work(ops: OpLog) -> bool:
    return any(t.dtype in _NARROW for call in ops.calls for t in call.inputs)


def _works_wide(call: OpCall) -> bool:
    touched = (*call.inputs, *call.outputs)
    return (
        call.op not in _VIEWS
        and not call.is_backward
        and any(t.dtype == _WIDE and t.elements >= _LEAST_ELEMENTS for t in touched)
    )


def _reads_wide(call: OpCall) -> bool:
    return any(t.dtype == _WIDE and t.elements >= _LEAST_ELEMENTS for t in call.inputs)


def _message(entries: list[OpCall], wide: list[OpCall]) -> str:
    largest = max(t.elements for call in entries for t in (*call.inputs, *call.outputs) if t.dtype == _WIDE)
    size = quantities.count(largest)
    return f"values turn float64 here, {size} at once: {quantities.count(times(wide))} operators of a step work in it"


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)

"""Custom operators in Python are called often.

What it finds
    Operators registered with torch.library.custom_op, or with impl of a Python
    function, that a step calls so often that their calls alone count.

Why it costs
    A call goes through the dispatcher into Python and back: 15 µs more than an
    operator in C++ was measured. The compiler cannot see into it: nothing is
    fused across it, and the C++ wrapper has to call back into Python.

How it is measured
    Calls among the operators of one eager step, against the step's time. Their
    own work is not counted. What one costs on this machine is not known.

What to do
    Plain torch operators where they do, so that the compiler can fuse them;
    torch.library.triton_op around Triton kernels; or register it from C++.

When it is wrong
    When one call does a lot of work, as a whole attention does. It is then
    reported only if there are very many.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import Confidence, Finding
from analyzer.rules.facts import Facts
from analyzer.rules.op_evidence import by_line, ops_of, times, unless_cut
from analyzer.rules.rule import MissingData, Rule

_ID: Final = "python_custom_op"
_REMEDY: Final = (
    "write it in plain torch operators, wrap Triton kernels with torch.library.triton_op, or register it in C++"
)

_CALL_NS: Final = 15_000
"""More than for an operator in C++: custom_op around a clone of four numbers took 17 µs, the clone 1.6 (EPYC 7003)."""

_LEAST_SHARE: Final = 0.01
"""Of the step: what its calls must take, at that price. A choice: below it nothing could be measured."""


def judge(facts: Facts) -> tuple[Finding, ...]:
    ops = ops_of(facts)
    calls = [call for call in ops.calls if call.is_python]
    if not calls:
        return unless_cut(ops, ())
    if facts.step_ns is None:
        raise MissingData("the step was not timed without the profiler")
    if times(calls) * _CALL_NS < _LEAST_SHARE * facts.step_ns:
        return ()
    lines = by_line(calls)
    return tuple(
        Finding(
            rule=_ID,
            message=f"{mine[0].op} is written in Python and called {_times(times(mine))} a step",
            where=where,
            ns_per_step=None,
            remedy=_REMEDY,
            count=times(mine),
        )
        for where, mine in lines.items()
    )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{quantities.count(number)} times"


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)

"""Which rows of a user's operators written in Python spend their own time on nothing but calling other operators.

A trace does not say what an operator's kernel is written in: the eager step's log does (`OpCall.is_python`). What such
an operator does between the operators it calls is then the host's own work, and no kernel of unknown cost.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from analyzer.core.distinct import distinct
from analyzer.core.ops import OpLog
from analyzer.core.trace import BoolColumn, EventKind, IntColumn, Trace
from analyzer.derive.host_work import own_time
from analyzer.derive.nesting import Nesting, nesting

LONGEST_GLUE_NS: Final = 100_000
"""What a Python operator does in one go beside the operators it calls. With the profiler on, the longest such stretch
of a call of `labcases::weighted_sum` (torch 2.13, entering the operator and leaving it included) took 37 µs in the
median on a machine with five processes on two cores. Three times that may be work of another library: NumPy, SciPy, a
loop in C."""


def python_names(ops: OpLog | None) -> frozenset[str]:
    """The user's operators written in Python that an eager step called; empty where no step was logged."""
    return frozenset() if ops is None else frozenset(call.op for call in ops.calls if call.is_python)


def glue_rows(trace: Trace, names: frozenset[str]) -> frozenset[int]:
    """The rows of those operators whose own time is Python's: every call of them calls other operators, and in the
    median call no stretch between these is longer than LONGEST_GLUE_NS. A disturbed call says nothing of the others.
    """
    wanted = [number for number, name in enumerate(trace.names) if name in names]
    if not wanted:
        return frozenset()
    ops = trace.rows(EventKind.CPU_OP)
    nested = nesting(trace, ops)
    callers = distinct(nested.parent[ops])
    longest = _longest_stretch_ns(trace, nested)
    found: set[int] = set()
    for number in wanted:
        rows = ops[trace.name_id[ops] == number]
        calls: BoolColumn = np.isin(rows, callers)
        if rows.size and calls.all() and np.median(longest[rows]) <= LONGEST_GLUE_NS:
            found.update(rows.tolist())
    return frozenset(found)


def _longest_stretch_ns(trace: Trace, ops: Nesting) -> IntColumn:
    """By row, the longest stretch in which it is the innermost operator that works; 0 where it never is."""
    start, end, owner = own_time(trace, ops)
    longest = np.zeros(trace.start_ns.size, dtype=np.int64)
    np.maximum.at(longest, owner, end - start)
    return longest

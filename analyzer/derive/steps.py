"""The steps of a recorded trace, whoever marked them (`core.step_marks`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from analyzer.core.distinct import commonest
from analyzer.core.step_marks import StepDialect, step_dialect
from analyzer.core.trace import BoolColumn, EventKind, IntColumn, Trace
from analyzer.derive.timeline import NOWHERE, disjoint, step_at

_KINDS: Final = (EventKind.RANGE, EventKind.CPU_OP)


@dataclass(frozen=True, slots=True)
class Steps:
    """The marked steps in order, never overlapping. `rows` are their trace rows, `marked_by` the writer of the marker,
    None where no step is marked.
    """

    rows: IntColumn
    start_ns: IntColumn
    end_ns: IntColumn
    marked_by: StepDialect | None

    def __len__(self) -> int:
        return int(self.rows.size)

    @property
    def durations_ns(self) -> tuple[int, ...]:
        return tuple((self.end_ns - self.start_ns).tolist())

    def hold(self, points_ns: IntColumn) -> BoolColumn:
        """Which of these moments lie in a marked step."""
        held: BoolColumn = step_at(self.start_ns, self.end_ns, points_ns) != NOWHERE
        return held


def find_steps(trace: Trace) -> Steps:
    """The outermost markers of the first of `StepDialect` that the trace has, on the thread with most of them.

    A server's step may carry two (sglang writes vLLM's around its own): the dialect named first counts.
    """
    rows = trace.rows(*_KINDS)
    dialects = [step_dialect(name) for name in trace.names]
    for dialect in StepDialect:
        ids = [i for i, found in enumerate(dialects) if found is dialect]
        own = rows[np.isin(trace.name_id[rows], ids)]
        if own.size:
            own = own[trace.thread[own] == commonest(trace.thread[own])]
            kept, end = disjoint(trace.start_ns[own], trace.ends(own))
            return Steps(own[kept], trace.start_ns[own[kept]], end, dialect)
    nothing = np.empty(0, dtype=np.int64)
    return Steps(nothing, nothing, nothing, None)


def with_step_names(trace: Trace, steps: Steps) -> Trace:
    """The trace with its steps named as torch.profiler names them, for the stages that know no other marker."""
    if not len(steps) or steps.marked_by is StepDialect.TORCH:
        return trace
    first = len(trace.names)
    name_id, kind = trace.name_id.copy(), trace.kind.copy()
    name_id[steps.rows] = first + np.arange(len(steps))
    kind[steps.rows] = EventKind.RANGE
    names = (*trace.names, *(f"ProfilerStep#{i}" for i in range(len(steps))))
    return replace(trace, names=names, name_id=name_id, kind=kind)

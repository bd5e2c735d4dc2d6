"""What the host is doing in a row of the trace, by its name and kind. One ordered table; the first match wins."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.budget import HostKind
from analyzer.core.distinct import places_among
from analyzer.core.intervals import Intervals, union
from analyzer.core.trace import RANGE_PREFIX, EventKind, IntColumn, Trace
from analyzer.derive.host_work import INDUCTOR_KERNEL
from analyzer.derive.nesting import Innermost

KINDS: Final = tuple(HostKind)
"""A code is an index into these."""

WAITS: Final = len(KINDS)
"""The code of a row in which the host waits for the device: no kind of work."""

UNSEEN: Final = -1
"""The code of a row that says nothing of its own: what is around it holds. Private to `derive`."""

GUARDS_ROW: Final = "TorchDynamo Cache Lookup"

_OPS: Final = (EventKind.CPU_OP, EventKind.RANGE)
_ANY: Final = (*_OPS, EventKind.RUNTIME)

TABLE: Final[tuple[tuple[str, tuple[EventKind, ...], HostKind], ...]] = (
    (GUARDS_ROW, _OPS, HostKind.GUARDS),
    # `Torch-Compiled Region` holds the lot: what is its own runs before the graph (pregraph) or after it.
    (r"Pregraph bytecode|Torch-Compiled Region: .*", _OPS, HostKind.BYTECODE),
    (r"AOTDispatcher Runtime Wrapper Prologue", _OPS, HostKind.PROLOGUE),
    (rf"## Call CompiledFxGraph .*|CompiledFunction(?:Backward)?|{RANGE_PREFIX}\w+\.\w+", _OPS, HostKind.WRAPPER),
    (INDUCTOR_KERNEL.pattern, _OPS, HostKind.WRAPPER),
    (r"aten::(?:empty|empty_like|empty_strided|new_empty|new_empty_strided|resize)_?", _OPS, HostKind.ALLOCATOR),
    (r"(?:cuda|hip)(?:Ext)?(?:Malloc|Free|HostAlloc|HostFree)\w*", _ANY, HostKind.ALLOCATOR),
    (r"cuMem(?:Alloc|Free|Create|Map|Unmap|Release|SetAccess|Address)\w*", _ANY, HostKind.ALLOCATOR),
    (r".*", (EventKind.CPU_OP,), HostKind.OPERATORS),
    (r".*", (EventKind.LAUNCH,), HostKind.LAUNCH),
)
"""Other runtime calls (an attribute, an event) count to the operator that makes them; ranges of the user to nobody."""

_COMPILED: Final = tuple((re.compile(name, re.DOTALL), kinds, KINDS.index(kind)) for name, kinds, kind in TABLE)

LONGEST_BYTECODE_NS: Final = 1_000_000
"""What Dynamo's bytecode does in one go took up to 127 µs in recorded steps of four models on an H200 (torch 2.11, 9 to
300 parameters). Eight times that is no bytecode any more: the row of a compiled frame spans what its frame calls
between two graphs, and so the user's own Python."""

_OWN_COST: Final = re.compile(r"Activity Buffer Request|Buffer Flush|Instrumentation Overhead|Resource")
"""The profiler's rows of itself (kineto, category `overhead`): without it, the host would not spend that time."""


def code_of(name: str, kind: EventKind) -> int:
    """The index in KINDS, WAITS, or UNSEEN."""
    if kind is EventKind.SYNC:
        return WAITS
    return next((code for pattern, kinds, code in _COMPILED if kind in kinds and pattern.fullmatch(name)), UNSEEN)


def host_codes(trace: Trace) -> IntColumn:
    """The code of every row of the trace; UNSEEN for those of the device."""
    width = len(trace.names) + 1
    found, where = places_among(trace.kind * width + trace.name_id, len(EventKind) * width)
    codes = [code_of(trace.names[pair % width], EventKind(pair // width)) for pair in found.tolist()]
    return np.asarray(codes, dtype=np.int64)[where] if codes else np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class HostView:
    """`codes` of all rows of a trace; `rows` are those that say what the host does on the threads that feed the device,
    and `inner` which of them is the innermost at each moment, None where nobody asked.
    """

    codes: IntColumn
    rows: IntColumn
    inner: Innermost | None


def own_cost(trace: Trace) -> Intervals:
    """When the profiler's rows of itself ran."""
    rows = trace.named(_OWN_COST.fullmatch, EventKind.OTHER)
    return union(trace.start_ns[rows], trace.ends(rows))

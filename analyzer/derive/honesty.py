"""Judges a trace by itself: what it lacks, and what recording it cost. Changes nothing in it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

import numpy as np

from analyzer.core.distinct import commonest
from analyzer.core.honesty import Honesty, HostInflation, LostKernels, Replays, Shapes, StepRows
from analyzer.core.intervals import Intervals, union
from analyzer.core.quantities import duration, some_have
from analyzer.core.step_marks import StepDialect, step_dialect
from analyzer.core.trace import DEVICE_KINDS, EventKind, IntColumn, Trace
from analyzer.core.trace_facts import MOST_LOST, RowCount
from analyzer.derive.links import launches
from analyzer.derive.nesting import NOBODY

GRAPH_LAUNCH: Final = re.compile(r"(?:cudaGraphLaunch|cuGraphLaunch|hipGraphLaunch)(?:_v\d+)?(?:_ptsz)?")
RECORD_LESS: Final = (
    "the profiler lost them, as where its buffers run full, and when they ran looks like idle time: record fewer steps"
)
KERNEL_LAUNCH: Final = re.compile(r"(?:cu|hip)\w*Launch\w*Kernel\w*|(?:ur|pi)EnqueueKernel\w*")
"""Calls that launch one kernel each: not those that replay a graph, copy or fill."""
_CALLS: Final = (EventKind.LAUNCH, EventKind.RUNTIME, EventKind.SYNC)
_CAPTURE_BEGINS: Final = re.compile(r"(?:cu|cuda|hip)StreamBeginCapture\w*")
_CAPTURE_ENDS: Final = re.compile(r"(?:cu|cuda|hip)StreamEndCapture\w*")
_HOST_KINDS: Final = (
    EventKind.CPU_OP, EventKind.LAUNCH, EventKind.RUNTIME, EventKind.SYNC, EventKind.RANGE, EventKind.PYTHON,
)  # fmt: skip
PROFILER_ROWS: Final = frozenset(
    (
        "Activity Buffer Request", "Instrumentation", "Resource", "Runtime Triggered Module Loading",
        "Lazy Function Loading", "Unknown Overhead Type", "Command Buffer Full", "Buffer Flush", "Overhead",
    )
)  # fmt: skip
"""Kineto's names for CUPTI's overhead rows (libkineto/src/CuptiActivityApi, `overheadKindString`)."""
ROW_COST_QUANTILE: Final = 0.1
"""Of the times from a row's start to its first child's: low, since in most of them the program works too."""
FEWEST_NESTED: Final = 20
"""Rows with a child, below which that quantile means nothing."""
STRAY_NS: Final = 3600 * 10**9
"""An hour. A trace is seconds long; kernels of time 0 among absolute stamps make it 50 years (kineto#109)."""
FEWEST_STAMPS: Final = 10
"""Times, below which all of them can be whole microseconds by chance: one in 10^30."""
NS_PER_US: Final = 1000
_MENTIONED: Final = ("rows are not JSON", "rows are not events", "rows whose", "rows without a duration")
"""Of what was left out, what a person should hear of; metadata and flow arrows are none of it."""


def honesty(trace: Trace) -> Honesty:
    """How far this trace can be believed."""
    device = trace.rows(*DEVICE_KINDS)
    found = Honesty(
        damage=trace.facts.damage,
        left_out=trace.facts.left_out,
        mended=trace.facts.mended,
        unread_device_rows=trace.facts.unread_device_rows,
        lost_share=trace.facts.lost_share,
        lost_kernels=None if trace.facts.lacks_rows else lost_kernels(trace, device),
        launches_without_rows=None if device.size else _launches_alone(trace),
        replays=_replays(trace, device),
        steps=_steps(trace, device),
        host=_host(trace),
        shapes=_shapes(trace),
        is_floored=_is_floored(trace),
        stray_times=_strays(trace),
        overruns=_overruns(trace, device),
    )
    return replace(found, sentences=_sentences(found))


def _launches_alone(trace: Trace) -> int | None:
    count = int(trace.rows(EventKind.LAUNCH).size)
    # Rows in words that are not known were recorded all the same.
    return count if count and not trace.facts.unread_device_rows else None


def lost_kernels(trace: Trace, device: IntColumn) -> LostKernels | None:
    """The launches of single kernels that have no row among `device`; None where they are at most MOST_LOST of all.

    Left out are those behind the last one that has its row (a recording may end before its device does) and those into
    a graph that is being captured, which run nothing. In the public traces and our own of NVIDIA's and AMD's devices no
    launch of a kernel lacks its row; memsets do, of no bytes.
    """
    calls = trace.named(KERNEL_LAUNCH.fullmatch, EventKind.LAUNCH)
    calls = calls[trace.has_correlation[calls] & ~_captures(trace).contains(trace.start_ns[calls])]
    known = device[trace.has_correlation[device]]
    has_row = np.isin(trace.correlation[calls], trace.correlation[known])
    if not has_row.any():
        return None
    until = int(np.flatnonzero(has_row)[-1]) + 1
    missing = int((~has_row[:until]).sum()) - _of_no_call(trace, device)
    return LostKernels(until, missing) if missing > MOST_LOST * until else None


def _of_no_call(trace: Trace, device: IntColumn) -> int:
    """Device rows that may be those of a launch that seems to have none: without an id, or with one of no call that was
    recorded and yet not of one before the recording (`window.launched_before`)."""
    calls = trace.rows(*_CALLS)
    ids = trace.correlation[calls[trace.has_correlation[calls]]]
    known = device[trace.has_correlation[device]]
    own = trace.correlation[known]
    return int(device.size - known.size + (~np.isin(own, ids) & (own > ids.min())).sum())


def _captures(trace: Trace) -> Intervals:
    begins, ends = (trace.named(name.fullmatch, *_CALLS) for name in (_CAPTURE_BEGINS, _CAPTURE_ENDS))
    start, stop = trace.start_ns[begins], np.sort(trace.ends(ends))
    if not start.size or not stop.size:
        return union(start[:0], start[:0])
    after = np.searchsorted(stop, start)
    is_closed = after < stop.size
    return union(start[is_closed], stop[after[is_closed]])


def lost_because(trace: Trace) -> str | None:
    """Why nothing sure can be said of a trace of which the profiler lost kernels; None where it lost none."""
    lost = lost_kernels(trace, trace.rows(*DEVICE_KINDS))
    return None if lost is None else f"{lost_text(lost)}: {RECORD_LESS}"


def lost_text(lost: LostKernels) -> str:
    return f"{lost.without_rows:,} of {lost.launches:,} kernel launches have no device row"


def _replays(trace: Trace, device: IntColumn) -> Replays | None:
    replays = trace.named(GRAPH_LAUNCH.fullmatch, EventKind.LAUNCH)
    if not replays.size:
        return None
    launch = launches(trace, device)
    counts = np.bincount(launch[launch != NOBODY], minlength=len(trace))[replays]
    return Replays(int(replays.size), int((counts == 0).sum()), _partial(trace, device, launch, replays, counts))


def _partial(trace: Trace, device: IntColumn, launch: IntColumn, replays: IntColumn, counts: IntColumn) -> int | None:
    """Only rows that name their graph tell a short replay from a replay of a smaller graph."""
    graph_of: dict[int, int] = {}
    # 0.3 µs a device row of a replay.
    for row, call in zip(device.tolist(), launch.tolist(), strict=True):
        detail = trace.detail(row)
        if call != NOBODY and detail is not None and detail.graph is not None:
            graph_of[call] = detail.graph
    recorded = [(graph_of.get(call), n) for call, n in zip(replays.tolist(), counts.tolist(), strict=True) if n]
    if not recorded or any(graph is None for graph, _ in recorded):
        return None
    most: dict[int | None, int] = {}
    for graph, n in recorded:
        most[graph] = max(n, most.get(graph, 0))
    return int(sum(n < most[graph] for graph, n in recorded))


def _steps(trace: Trace, device: IntColumn) -> StepRows | None:
    ranges = trace.rows(EventKind.RANGE)
    dialects = [step_dialect(name) for name in trace.names]
    # The finer marker wins: sglang's step lies in vLLM's range, or the other way round.
    order = (StepDialect.TORCH, StepDialect.SGLANG, StepDialect.VLLM, StepDialect.DIFFUSERS)
    for dialect in order:
        is_marker = np.asarray([d is dialect for d in dialects], dtype=np.bool_)
        own = ranges[is_marker[trace.name_id[ranges]]] if trace.names else ranges
        if own.size:
            return StepRows(dialect, int(own.size), _without_device_rows(trace, own, device))
    return None


def _without_device_rows(trace: Trace, steps: IntColumn, device: IntColumn) -> int:
    launch = launches(trace, device)
    linked = launch != NOBODY
    launched = np.sort(trace.start_ns[launch[linked]])
    ran = np.sort(trace.start_ns[device[~linked]])
    start, end = trace.start_ns[steps], trace.ends(steps)
    counts = sum(np.searchsorted(times, end) - np.searchsorted(times, start) for times in (launched, ran))
    return int((np.asarray(counts) == 0).sum())


def _host(trace: Trace) -> HostInflation | None:
    rows = trace.rows(*_HOST_KINDS)
    if not rows.size:
        return None
    thread = commonest(trace.thread[rows])
    own = rows[trace.thread[rows] == thread]
    overhead = trace.named(PROFILER_ROWS.__contains__, EventKind.OTHER)
    covered = union(trace.start_ns[overhead], trace.ends(overhead)).length_ns
    span = int(trace.ends(own).max() - trace.start_ns[own].min())
    row_ns = _row_cost(trace, own)
    cost = covered + row_ns * int(own.size) if row_ns is not None else None
    return HostInflation(
        thread=thread,
        own_rows_ns=covered,
        rows=int(own.size),
        row_ns=row_ns,
        cost_ns=cost,
        share=min(cost / span, 1.0) if cost is not None and span > 0 else None,
    )


def _row_cost(trace: Trace, own: IntColumn) -> int | None:
    # Rows come by start: the first child of a row is the next one, if that begins within it.
    has_child = trace.ends(own)[:-1] > trace.start_ns[own[1:]]
    if np.count_nonzero(has_child) < FEWEST_NESTED:
        return None
    until_child = np.diff(trace.start_ns[own])[has_child]
    return int(np.quantile(until_child, ROW_COST_QUANTILE))


def _shapes(trace: Trace) -> Shapes | None:
    ops = trace.rows(EventKind.CPU_OP)
    if not ops.size:
        return None
    says = np.asarray([bool(d.shapes or d.lists) for d in trace.details] or [False], dtype=np.bool_)
    told = trace.has_detail[ops] & says[trace.detail_id[ops]]
    return Shapes(int(ops.size), int((~told).sum()))


def _is_floored(trace: Trace) -> bool | None:
    if len(trace) < FEWEST_STAMPS:
        return None
    absolute = trace.start_ns + trace.base_ns % NS_PER_US
    return not bool((absolute % NS_PER_US).any() or (trace.duration_ns % NS_PER_US).any())


def _strays(trace: Trace) -> int:
    if not len(trace):
        return 0
    middle = int(trace.start_ns[len(trace) // 2])
    return int((np.abs(trace.start_ns - middle) > STRAY_NS).sum())


def _overruns(trace: Trace, device: IntColumn) -> int:
    """Programmatic dependent launch overlaps a kernel with the next one, never with the one after."""
    rows = device[trace.has_stream[device]]
    rows = rows[np.lexsort((rows, trace.stream[rows], trace.device[rows]))]
    start, end = trace.start_ns[rows], trace.ends(rows)
    same = (trace.stream[rows][2:] == trace.stream[rows][:-2]) & (trace.device[rows][2:] == trace.device[rows][:-2])
    return int((same & (end[:-2] > start[2:])).sum())


def _sentences(found: Honesty) -> tuple[str, ...]:
    """Worst first: what is not there, then what is not exact, then what is only slower."""
    said = []
    if found.damage is not None:
        said.append(f"only what comes before byte {found.damage.byte} was read: {found.damage.reason}")
    if found.lost_share > MOST_LOST:
        lost = f"{found.lost_share:.0%} of the file could not be read"
        said.append(f"{lost}: it has a hole, is damaged, or has rows without times")
    if found.unread_device_rows:
        said.append(f"{found.unread_device_rows} rows are device work in words that are not known: it is in no time")
    if found.launches_without_rows:
        said.append(f"{found.launches_without_rows} launches and no device row: the device's work was not recorded")
    if found.lost_kernels is not None:
        said.append(f"{lost_text(found.lost_kernels)}: the profiler lost them, and their time looks idle")
    if found.replays is not None and found.replays.without_rows:
        said.append(f"{some_have(found.replays.without_rows, found.replays.launches, 'graph replay')} no device rows")
    if found.replays is not None and found.replays.partial:
        said.append(f"{found.replays.partial} graph replays have fewer kernels than another replay of their graph")
    steps = found.steps
    if steps is not None and 0 < steps.without_device_rows < steps.steps:
        lacking = some_have(steps.without_device_rows, steps.steps, "step")
        said.append(f"{lacking} no device rows: not recorded, not idle")
    said += [f"{count.rows} {count.what} were left out" for count in found.left_out if _is_told(count)]
    said += [f"{count.rows} {count.what}" for count in found.mended]
    if found.stray_times:
        said.append(f"{found.stray_times} rows lie over an hour away from the others")
    if found.overruns:
        said.append(f"{found.overruns} device rows last past the second next one of their stream")
    if found.is_floored:
        said.append("all times are whole microseconds: gaps and short kernels are off by up to one")
    if found.shapes is not None and found.shapes.without == found.shapes.ops:
        said.append("no operator says the shapes of its inputs: record with record_shapes=True")
    # In a recording of whole microseconds the quantile of times under one is 0: nothing is known then.
    if found.host is not None and found.host.share is not None and found.host.cost_ns:
        said.append(
            f"recording took about {duration(found.host.cost_ns)} of the busiest host thread's time "
            f"({found.host.share:.0%}): host times are longer than without a profiler"
        )
    return tuple(said)


def _is_told(count: RowCount) -> bool:
    return count.what.startswith(_MENTIONED)

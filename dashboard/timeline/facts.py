"""What is known of one event of a timeline, as lines to read, and where one can go from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, assert_never

import numpy as np

from analyzer.core import quantities
from analyzer.core.budget import Part
from analyzer.core.graphs import GraphKey
from analyzer.core.trace import DEVICE_KINDS, EventKind, OpDetail
from analyzer.derive.residency import memory_bytes
from analyzer.reporting.plain_text import plain
from dashboard.timeline.gaps import CAUSES
from dashboard.timeline.lane import LaneKind
from dashboard.timeline.shades import fixed_label
from dashboard.timeline.timeline import Timeline

TITLE_LIMIT: Final = 600
"""Characters of a name: enough of a templated kernel's to tell two apart."""
VALUE_LIMIT: Final = 400
_PARTS: Final = tuple(Part)
_KIND_WORDS: Final[dict[EventKind, str]] = {
    EventKind.OTHER: "other row",
    EventKind.CPU_OP: "operator",
    EventKind.LAUNCH: "launch call",
    EventKind.RUNTIME: "runtime call",
    EventKind.KERNEL: "kernel",
    EventKind.COPY: "copy",
    EventKind.MEMSET: "memset",
    EventKind.RANGE: "range",
    EventKind.DEVICE_RANGE: "range on the device",
    EventKind.SYNC: "wait for the device",
    EventKind.PYTHON: "Python function",
    EventKind.WAIT: "wait that the device tells of",
}


@dataclass(frozen=True, slots=True)
class Fact:
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Follow:
    """Another event that this one leads to. `at` indexes `lane`."""

    label: str
    lane: int
    at: int


@dataclass(frozen=True, slots=True)
class EventFacts:
    """`title` and values are plain text of one line, at most TITLE_LIMIT long; none of it is markup. `graph` is the
    graph or other region that it belongs to, None where it belongs to none.
    """

    title: str
    kind: str
    start_ns: int
    end_ns: int
    facts: tuple[Fact, ...]
    follows: tuple[Follow, ...]
    graph: GraphKey | None = None


def event_facts(timeline: Timeline, lane: int, at: int, places: Mapping[GraphKey, str]) -> EventFacts:
    """Of event `at` of a lane. `places` are the source lines of graphs. Raises IndexError where there is none such."""
    if not 0 <= lane < len(timeline.lanes) or not 0 <= at < len(timeline.lanes[lane]):
        raise IndexError("no such event")
    own, kind = timeline.lanes[lane], timeline.group_of(lane).kind
    start, end, row = int(own.start_ns[at]), int(own.end_ns[at]), int(own.row[at])
    time = (Fact("duration", quantities.duration(end - start)), *_step(timeline, start))
    match kind:
        case LaneKind.STEPS | LaneKind.HOST | LaneKind.STREAM | LaneKind.GRAPHS:
            trace = timeline.recording.trace
            facts, follows = _of_row(timeline, row, places)
            word = _KIND_WORDS[EventKind(int(trace.kind[row]))]
            title, graph = plain(trace.name(row), TITLE_LIMIT), _graph_of(timeline, row)
            return EventFacts(title, word, start, end, (*time, *facts), follows, graph)
        case LaneKind.GAPS:
            title = f"gap: {fixed_label(int(own.by_graph[at]))}"
            return EventFacts(title, "gap", start, end, (*time, *_causes(timeline, row)), _ended_by(timeline, end))
        case LaneKind.DEVICE_GRAPHS:
            number = int(timeline.stretches.region[row])
            region, title = timeline.recording.regions[number], timeline.region_labels[number]
            rows = Fact("device rows", quantities.count(int(timeline.stretches.rows[row])))
            facts = (*time, rows, *_place(region.key, places))
            return EventFacts(plain(title, TITLE_LIMIT), region.kind.value, start, end, facts, (), region.key)
        case _:
            assert_never(kind)


def place_of(timeline: Timeline, row: int) -> tuple[int, int]:
    """The lane and place in it at which a trace row is drawn."""
    return int(timeline.lane_of_row[row]), int(timeline.at_of_row[row])


def _step(timeline: Timeline, moment_ns: int) -> tuple[Fact, ...]:
    steps = timeline.recording.steps
    if not len(steps):
        return ()
    number = int(np.searchsorted(steps.start_ns, moment_ns, side="right")) - 1
    if number < 0:
        return (Fact("step", f"none: before the first of {len(steps)}"),)
    if moment_ns >= int(steps.end_ns[number]):
        is_last = number + 1 == len(steps)
        return (
            Fact(
                "step",
                f"none: {'after the last' if is_last else f'between {number + 1} and {number + 2}'} of {len(steps)}",
            ),
        )
    into = quantities.duration(moment_ns - int(steps.start_ns[number]))
    return (Fact("step", f"{number + 1} of {len(steps)}, {into} after its start"),)


def _graph_of(timeline: Timeline, row: int) -> GraphKey | None:
    """The region that a trace row opens, that it works for, or that is open around a row of the host."""
    if row in timeline.graph_keys:
        return timeline.graph_keys[row]
    work, budget = timeline.recording.attribution.work, timeline.recording.budget
    number = int(np.searchsorted(work.row, row))
    if budget is not None and number < len(work) and int(work.row[number]) == row:
        return timeline.recording.regions[int(budget.region_of[number])].key
    around = _graph_around(timeline, row)
    return None if around is None else timeline.graph_keys[int(timeline.lanes[around.lane].row[around.at])]


def _of_row(
    timeline: Timeline, row: int, places: Mapping[GraphKey, str]
) -> tuple[tuple[Fact, ...], tuple[Follow, ...]]:
    work = timeline.recording.attribution.work
    number = int(np.searchsorted(work.row, row))
    detail = timeline.recording.trace.detail(row)
    if number < len(work) and int(work.row[number]) == row:
        return tuple(_of_work(timeline, number, places)), tuple(_leads(timeline, number))
    facts, follows = _inside(timeline, row, places)
    facts += tuple(_said(detail)) if detail is not None else ()
    # By the call itself, or by the operator around it.
    started = work.row[(work.has_launch & (work.launch == row)) | (work.has_op & (work.op == row))]
    if not started.size or timeline.recording.attribution.is_host:
        return facts, follows
    first = int(started[np.argmin(timeline.recording.trace.start_ns[started])])
    follow = Follow("what it started", *place_of(timeline, first))
    return (*facts, Fact("device rows it started", quantities.count(int(started.size)))), (follow, *follows)


def _inside(
    timeline: Timeline, row: int, places: Mapping[GraphKey, str]
) -> tuple[tuple[Fact, ...], tuple[Follow, ...]]:
    """The graph that is open around a row of the host, or that it opens itself."""
    if row in timeline.graph_keys:
        return _place(timeline.graph_keys[row], places), ()
    around = _graph_around(timeline, row)
    if around is None:
        return (), ()
    opened = int(timeline.lanes[around.lane].row[around.at])
    label = Fact("in", plain(timeline.graph_labels[opened], VALUE_LIMIT))
    return (label, *_place(timeline.graph_keys[opened], places)), (around,)


def _of_work(timeline: Timeline, number: int, places: Mapping[GraphKey, str]) -> Iterator[Fact]:
    """Of a kernel, a copy, or an operator of a CPU."""
    recording = timeline.recording
    trace, work, budget = recording.trace, recording.attribution.work, recording.budget
    row = int(work.row[number])
    if int(trace.kind[row]) in DEVICE_KINDS:
        yield _launch(timeline, number)
        yield _queue(timeline, number)
    if budget is not None:
        region = int(budget.region_of[number])
        yield Fact("in", plain(timeline.region_labels[region], VALUE_LIMIT))
        yield from _place(recording.regions[region].key, places)
        yield Fact("counted as", _PARTS[int(budget.part_of[number])].value)
    yield from _cost(timeline, number)
    own = trace.detail(row)
    op = trace.detail(int(work.op[number])) if work.has_op[number] else None
    if work.has_op[number] and int(work.op[number]) != row:
        yield Fact("operator", plain(trace.name(int(work.op[number])), VALUE_LIMIT))
    if own is not None:
        yield from _said(own)
    if op is not None and op is not own and (own is None or not own.shapes):
        yield from _said(op)


def _launch(timeline: Timeline, number: int) -> Fact:
    trace, work = timeline.recording.trace, timeline.recording.attribution.work
    if not work.has_launch[number]:
        return Fact("launched by", quantities.UNKNOWN)
    launch = int(work.launch[number])
    call = f"{plain(trace.name(launch), VALUE_LIMIT)} of host thread {int(trace.thread[launch])}"
    return Fact("launched by", f"{call}, which took {quantities.duration(int(trace.duration_ns[launch]))}")


def _queue(timeline: Timeline, number: int) -> Fact:
    """The time from the end of its launch call; a kernel may begin before its call returns."""
    trace, work = timeline.recording.trace, timeline.recording.attribution.work
    if not work.has_launch[number]:
        return Fact("queue delay", f"{quantities.UNKNOWN}: it has no launch row")
    launch, row = int(work.launch[number]), int(work.row[number])
    waited = int(trace.start_ns[row]) - int(trace.end_ns[launch])
    if waited < 0:
        since = int(trace.start_ns[row]) - int(trace.start_ns[launch])
        return Fact("queue delay", f"none: it began {quantities.duration(since)} after its launch call did, within it")
    return Fact("queue delay", f"{quantities.duration(waited)} after its launch call had returned")


def _cost(timeline: Timeline, number: int) -> Iterator[Fact]:
    recording = timeline.recording
    costs, ns = recording.costs, int(recording.attribution.work.own_ns[number])
    cost = costs.cost(number)
    if cost is None:
        yield Fact("flops, bytes", quantities.UNKNOWN)
        return
    flops, moved = (None if cost.flops is None else float(costs.flops[number])), float(costs.bytes[number])
    rate = f", {quantities.rate(flops / (ns / 1e9), 'FLOP')}" if flops and ns else ""
    yield Fact("flops of matrix products", f"{quantities.count(None if flops is None else round(flops))}{rate}")
    through = f", {quantities.rate(moved / (ns / 1e9), 'B')}" if moved and ns else ""
    yield Fact("bytes, at least", f"{quantities.byte_count(moved)}{through}")
    if recording.device is not None and recording.device.l2_bytes is not None:
        expected = memory_bytes(cost, recording.device, float(costs.shares[number]))
        yield Fact("memory traffic, alone", f"about {quantities.byte_count(expected)} from a clean cache to its end")


def _said(detail: OpDetail) -> Iterator[Fact]:
    """What the row itself says."""
    if detail.shapes:
        shapes = "; ".join("×".join(map(str, shape)) or "–" for shape in detail.shapes)
        yield Fact("input shapes", plain(shapes, VALUE_LIMIT))
    if detail.dtypes:
        yield Fact("input types", plain("; ".join(detail.dtypes), VALUE_LIMIT))
    if detail.kernel_file is not None:
        yield Fact("generated code", plain(detail.kernel_file, VALUE_LIMIT))
    if detail.grid is not None:
        yield Fact("grid", "×".join(map(str, detail.grid)))
    if detail.block is not None:
        yield Fact("block", "×".join(map(str, detail.block)))
    if detail.bytes is not None:
        yield Fact("bytes copied", quantities.byte_count(detail.bytes))


def _place(key: GraphKey, places: Mapping[GraphKey, str]) -> tuple[Fact, ...]:
    return (Fact("source", places[key]),) if key in places else ()


def _leads(timeline: Timeline, number: int) -> Iterator[Follow]:
    work = timeline.recording.attribution.work
    if not work.has_launch[number]:
        return
    launch = int(work.launch[number])
    if launch != int(work.row[number]):
        yield Follow("its launch", *place_of(timeline, launch))
    graph = _graph_around(timeline, launch)
    if graph is not None:
        yield graph


def _graph_around(timeline: Timeline, row: int) -> Follow | None:
    """The innermost range of a graph that is open on the thread of a host's row as that begins; None on the device."""
    trace = timeline.recording.trace
    moment_ns, thread = int(trace.start_ns[row]), int(trace.thread[row])
    if int(trace.kind[row]) in (*DEVICE_KINDS, EventKind.DEVICE_RANGE):
        return None
    for group in timeline.groups:
        if group.kind is not LaneKind.GRAPHS:
            continue
        for number in reversed(range(group.first, group.first + group.count)):
            lane = timeline.lanes[number]
            at = int(np.searchsorted(lane.start_ns, moment_ns, side="right")) - 1
            if at < 0 or moment_ns >= int(lane.end_ns[at]):
                continue
            if int(trace.thread[int(lane.row[at])]) == thread and int(lane.row[at]) != row:
                return Follow("its graph", number, at)
    return None


def _causes(timeline: Timeline, number: int) -> Iterator[Fact]:
    for cause, ns in zip(CAUSES, timeline.gaps.ns[number].tolist(), strict=True):
        if ns:
            yield Fact(fixed_label(cause), quantities.duration(ns))


def _ended_by(timeline: Timeline, moment_ns: int) -> tuple[Follow, ...]:
    trace = timeline.recording.trace
    first, last = np.searchsorted(trace.start_ns, [moment_ns, moment_ns + 1], side="left").tolist()
    for row in range(first, last):
        if int(trace.kind[row]) in DEVICE_KINDS:
            return (Follow("what ended it", *place_of(timeline, row)),)
    return ()

"""What rules about the profiled step ask first: its activity, what of it may be claimed, and the user's line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from analyzer.core.activity import Activity, HostWait
from analyzer.core.finding import RUN_THE_MODEL
from analyzer.core.graphs import Capture, GapKey, GraphKey, Region, SourceLine
from analyzer.core.ops import OpCall, OpLog
from analyzer.rules.evidence import ended_by, starts_at
from analyzer.rules.facts import Facts, RegionFacts
from analyzer.rules.rule import MissingData

NOTED_SHARE: Final = 0.01
"""Of a step. What costs less drowns in the per cent or so by which a step repeats (design, measuring)."""

_COPYING: Final = ("aten::_to_copy", "aten::copy_")
_HOST: Final = "cpu"


def activity_of(facts: Facts) -> Activity:
    found = facts.activity
    if found is None:
        raise MissingData(f"no profiled pass: {RUN_THE_MODEL}, or on a trace with its steps marked")
    if found.missing is not None:
        raise MissingData(found.missing)
    return found


def claimed_ns(activity: Activity, ns: int | None) -> int | None:
    """A host cost as far as it may be claimed: None without a clean pass, or with too little of the work linked."""
    return ns if activity.is_scaled and activity.is_linked else None


def share_of_step(activity: Activity, ns: int) -> float:
    return min(1.0, ns / activity.step_ns) if activity.step_ns else 0.0


def place_of(facts: Facts, region: Region, ops: tuple[str, ...] = ()) -> SourceLine | None:
    """The user's line of an operator, where the eager step shows exactly one that it can be; else the region's."""
    line = _line_of(facts.ops, ops) if facts.ops is not None else None
    return line if line is not None else region_place(facts.capture, region)


def region_place(capture: Capture | None, region: Region) -> SourceLine | None:
    """A graph's first line. For a gap, where the graph before it ended, else the first line of the graph after it."""
    if isinstance(region, GraphKey):
        return starts_at(capture, region)
    stop = ended_by(capture, region.after)
    before = stop.where if stop is not None else None
    return before if before is not None else starts_at(capture, region.before)


def is_loading(facts: Facts, fact: RegionFacts) -> bool:
    """Whether waiting for the batches of a data loader takes half of this region or more: what runs there is its."""
    inputs = facts.activity.inputs if facts.activity is not None else ()
    loading_ns = sum(wait.host_ns for wait in inputs if wait.region == fact.region)
    return loading_ns > 0 and 2 * loading_ns >= fact.elapsed_ns


@dataclass(frozen=True, slots=True)
class PlacedWait:
    """The waits of one kind at one place of the user's: a line that several regions of a step run, as the layers of a
    model do, is one place. `whole` is what they are together; its region is that of the dearest of them.
    """

    whole: HostWait
    where: SourceLine | None
    regions: tuple[Region, ...]

    @property
    def text(self) -> str:
        """Where in the step they are, for the end of a sentence."""
        texts = dict.fromkeys(region_text(region) for region in self.regions)
        return next(iter(texts)) if len(texts) == 1 else "at several places of the step"


def placed_waits(facts: Facts, waits: Iterable[HostWait]) -> tuple[PlacedWait, ...]:
    """These waits by place and kind, in their order. What has no line of the user's is a place of its own."""
    groups: dict[object, list[HostWait]] = {}
    lines: list[SourceLine | None] = []
    for wait in waits:
        where = place_of(facts, wait.region, wait.ops)
        call = None if wait.ops else wait.call
        key = (where or wait.region, wait.ops, call, wait.direction)
        if key not in groups:
            lines.append(where)
        groups.setdefault(key, []).append(wait)
    return tuple(
        PlacedWait(_together(own), where, tuple(dict.fromkeys(wait.region for wait in own)))
        for own, where in zip(groups.values(), lines, strict=True)
    )


def _together(waits: list[HostWait]) -> HostWait:
    costs = [wait.cost_ns for wait in waits if wait.cost_ns is not None]
    return replace(
        max(waits, key=lambda wait: wait.waited_ns),
        count=sum(wait.count for wait in waits),
        waited_ns=sum(wait.waited_ns for wait in waits),
        idle_ns=sum(wait.idle_ns for wait in waits),
        cost_ns=sum(costs) if len(costs) == len(waits) else None,
        is_for_nothing=any(wait.is_for_nothing for wait in waits),
    )


def region_text(region: Region) -> str:
    """`in a graph`, `before the first graph`, … for the end of a sentence."""
    match region:
        case GraphKey():
            return "in a graph"
        case GapKey(None, None):
            return "in the step, which runs without a graph"
        case GapKey(None, _):
            return "before the first graph"
        case GapKey(_, None):
            return "after the last graph"
        case _:
            return "between two graphs"


def _line_of(log: OpLog, ops: tuple[str, ...]) -> SourceLine | None:
    if not log.is_complete:
        return None
    # Composite operators (`aten::item`, `aten::to`) are no calls of their own in the log: the outermost one that is.
    for op in ops:
        calls = [call for call in log.named(op) if op not in _COPYING or _crosses(call)]
        if calls:
            places = {call.where for call in calls}
            return places.pop() if len(places) == 1 else None
    return None


def _crosses(call: OpCall) -> bool:
    """Whether a copy is between the host and another device."""
    devices = {tensor.device for tensor in (*call.inputs, *call.outputs)}
    return _HOST in devices and len(devices) > 1

"""The timelines of a page, one above the other on one axis, and what the canvas must know before it draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from analyzer.core import quantities
from analyzer.core.graphs import GraphKey
from analyzer.reporting.plain_text import plain
from dashboard.timeline.gaps import CAUSES
from dashboard.timeline.judged import NOT_JUDGED, Judged
from dashboard.timeline.recording import GraphNames
from dashboard.timeline.search import Searches
from dashboard.timeline.shades import Fixed, Shade, fixed_shades, graph_shades
from dashboard.timeline.timeline import GraphCalls, Group, Timeline

MOST_STEPS: Final = 2_000
MOST_GRAPHS: Final = 40
MOST_CALLS: Final = 500
"""Calls of a graph that one can align at: more than anybody steps through, and 4 kB of JSON each."""
LABEL_LIMIT: Final = 80


@dataclass(frozen=True, slots=True)
class ShownTimeline:
    """`first_lane` is the number on the page of its first lane. `note` is what must be known of it, or None. `judged`
    is what the report says of it.
    """

    name: str
    timeline: Timeline
    searches: Searches
    first_lane: int
    note: str | None = None
    judged: Judged = NOT_JUDGED


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """`places` are the source lines of the graphs."""

    shown: tuple[ShownTimeline, ...]
    names: GraphNames
    places: Mapping[GraphKey, str]

    def side_of(self, number: int) -> tuple[ShownTimeline, int]:
        """Whose lane this number is, and which of its lanes. Raises IndexError for none."""
        for one in self.shown:
            if 0 <= number - one.first_lane < len(one.timeline.lanes):
                return one, number - one.first_lane
        raise IndexError("no such lane")


def page_of(
    sides: tuple[tuple[str, Timeline], ...],
    names: GraphNames,
    places: Mapping[GraphKey, str],
    judged: tuple[Judged, ...] = (),
) -> TimelinePage:
    """`judged` stand beside `sides`; empty where there is no report."""
    shown, first = [], 0
    for number, (name, timeline) in enumerate(sides):
        own = judged[number] if judged else NOT_JUDGED
        shown.append(ShownTimeline(name, timeline, Searches(timeline), first, _note(timeline), own))
        first += len(timeline.lanes)
    return TimelinePage(tuple(shown), names, places)


def median_step(timeline: Timeline) -> int | None:
    """The step of median length, of those with device work where any has some; None where none is marked."""
    steps = timeline.recording.steps
    if not len(steps):
        return None
    recorded = [step for step in timeline.recording.attribution.recorded_steps if step < len(steps)]
    lengths = (steps.end_ns - steps.start_ns).tolist()
    by_length = sorted(recorded or range(len(steps)), key=lambda step: lengths[step])
    return by_length[(len(by_length) - 1) // 2]


def page_facts(page: TimelinePage) -> dict[str, Any]:
    """As JSON: times are nanoseconds of each trace, lanes numbers of the page."""
    return {
        "shades": [_shade(one) for one in shades_of(page.names)],
        "sides": [_side(one) for one in page.shown],
    }


def shades_of(names: GraphNames) -> tuple[Shade, ...]:
    return (*fixed_shades(), *graph_shades(tuple(plain(label, LABEL_LIMIT) for label in names.labels)))


def _note(timeline: Timeline) -> str | None:
    if timeline.recording.budget is None:
        return "This trace shows no work of any device."
    if not len(timeline.recording.steps):
        return "No step is marked in this trace, so that it is shown whole and aligned at its beginning."
    return None


def _shade(one: Shade) -> dict[str, Any]:
    group = one.group.value
    return {"code": one.code, "label": one.label, "colour": one.colour, "pattern": one.pattern.value, "group": group}


def _side(one: ShownTimeline) -> dict[str, Any]:
    timeline = one.timeline
    steps = timeline.recording.steps
    return {
        "name": plain(one.name, LABEL_LIMIT),
        "note": one.note,
        "start": timeline.start_ns,
        "end": timeline.end_ns,
        "events": len(timeline.recording.trace),
        "steps": np.column_stack((steps.start_ns, steps.end_ns))[:MOST_STEPS].tolist(),
        "step": median_step(timeline),
        "graphs": [_calls(calls) for calls in _longest_first(timeline)],
        "groups": [_group(one, group) for group in timeline.groups],
        "gaps": _gap_sums(timeline),
        "idle": quantities.duration(int(timeline.gaps.ns.sum())),
        "used": {"graph": list(timeline.used.by_graph), "bound": list(timeline.used.by_bound)},
    }


def _longest_first(timeline: Timeline) -> list[GraphCalls]:
    return sorted(timeline.calls, key=lambda calls: (-calls.start_ns.size, calls.region.label))[:MOST_GRAPHS]


def _calls(calls: GraphCalls) -> dict[str, Any]:
    return {
        "key": str(calls.region.key),
        "label": plain(calls.label, LABEL_LIMIT),
        "starts": calls.start_ns[:MOST_CALLS].tolist(),
        "calls": int(calls.start_ns.size),
    }


def _group(one: ShownTimeline, group: Group) -> dict[str, Any]:
    return {
        "kind": group.kind.value,
        "label": group.label,
        "first": one.first_lane + group.first,
        "count": group.count,
    }


def _gap_sums(timeline: Timeline) -> list[dict[str, Any]]:
    """What of the recorded window each cause takes: the exact sums, where a gap's colour is that of its largest."""
    sums = timeline.gaps.ns.sum(axis=0).tolist()
    return [
        {"code": int(cause), "text": quantities.duration(ns)}
        for cause, ns in zip(CAUSES, sums, strict=True)
        if ns or cause is Fixed.GAP_STARVED
    ]

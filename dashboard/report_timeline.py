"""One step of each timeline, reduced to what a file can hold: for `report.html`, which knows no trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from analyzer.core import quantities
from analyzer.core.trace import BoolColumn
from analyzer.derive.kernel_costs import kernel_costs
from analyzer.derive.steps import find_steps
from analyzer.reporting.plain_text import plain
from analyzer.reporting.shown_step import ShownLane, ShownMark, ShownShade, ShownStep
from analyzer.trace_analysis import Analyzed
from dashboard.run_folder import AFTER_FILE, BEFORE_FILE, RunData, Side, read_run
from dashboard.timeline.lane import Lane, LaneKind
from dashboard.timeline.level_of_detail import FULL, PARTS, Marks, Shown, marks, shown
from dashboard.timeline.page import ShownTimeline, TimelinePage, median_step, shades_of
from dashboard.timeline.recording import Recording
from dashboard.timeline.shades import FIRST_GRAPH, Fixed
from dashboard.timeline.timeline import Group, Timeline
from dashboard.timeline.wire import event_name
from dashboard.timelines import timeline_page

MOST_MARKS: Final = 3_500
"""Of a side: 50 bytes each, so that two sides leave half of the page to words."""
BINS: Final = (6_000, 3_000, 1_500, 800, 400, 200, 100)
"""As many as leave no more marks than that; 6,000 are six screens, for a page that can be magnified."""
MOST_LANES: Final = 40
MOST_HOST_LEVELS: Final = 6
"""Of one host thread: what is deeper is a call within a call within a call."""
MOST_NAMED: Final = 300
"""Of a side, the longest: 120 bytes each."""
NAME_LIMIT: Final = 72

LARGEST_TRACE_BYTES: Final = 40_000_000
"""Of a packed file: some 4 million events, which take a minute to be judged once more."""
TOO_LARGE: Final = "Its trace is too large to be drawn here: `analyze dashboard RUN` shows it."


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A lane of the window. `lane` is its number in the timeline."""

    lane: int
    label: str
    own: Lane
    marks: Marks


def shown_steps(page: TimelinePage) -> tuple[ShownStep, ...]:
    """The step of median length of each side, which need not be the same one; where none is marked, all of it."""
    shades = tuple(
        ShownShade(one.label, one.colour, one.pattern.value, is_graph=one.code >= FIRST_GRAPH)
        for one in shades_of(page.names)
    )
    return tuple(_step(one, shades) for one in page.shown)


def steps_of_run(folder: Path) -> tuple[ShownStep, ...]:
    """Of the traces in a run folder, as far as they are there and can be read. Raises nothing for one that cannot."""
    sizes = [path.stat().st_size for name in (BEFORE_FILE, AFTER_FILE) if (path := folder / name).is_file()]
    if not sizes:
        return ()
    if max(sizes) > LARGEST_TRACE_BYTES:
        return (ShownStep("before and after", "one step", 0, note=TOO_LARGE),)
    return shown_steps(timeline_page(read_run(folder)))


def steps_of_analyzed(analyzed: Analyzed) -> tuple[ShownStep, ...]:
    """Of a trace that has just been judged, without judging it again."""
    attribution = analyzed.attribution
    if not len(attribution.trace):
        return ()
    steps = find_steps(attribution.trace)
    recording = Recording(attribution, steps, analyzed.budget, kernel_costs(attribution))
    source = analyzed.report.workload.source
    return shown_steps(timeline_page(RunData(source, analyzed.report, None, (Side("recorded", recording, None),))))


def _step(one: ShownTimeline, shades: tuple[ShownShade, ...]) -> ShownStep:
    timeline = one.timeline
    start, end, title = _window(timeline)
    groups = [group for group in timeline.groups if group.kind is not LaneKind.STEPS]
    for bins in BINS:
        view = shown(start, end, bins)
        drawn = [found for group in groups for found in _lanes(timeline, group, view)]
        if sum(found.marks.event.size for found in drawn[:MOST_LANES]) <= MOST_MARKS:
            break
    kept = drawn[:MOST_LANES]
    every = sum(marks(lane, view).events for lane in _all_lanes(timeline, groups))
    lanes = tuple(_shown_lane(timeline, found, view, named) for found, named in zip(kept, _named(kept), strict=True))
    return ShownStep(
        name=plain(one.name, 80),
        title=title,
        ns=end - start,
        lanes=lanes,
        shades=shades,
        left_out=every - sum(lane.events for lane in lanes),
        note=one.note,
    )


def _window(timeline: Timeline) -> tuple[int, int, str]:
    number = median_step(timeline)
    if number is None:
        return timeline.start_ns, timeline.end_ns, "all that was recorded"
    steps = timeline.recording.steps
    start, end = int(steps.start_ns[number]), int(steps.end_ns[number])
    which = f"step {number + 1} of {len(steps)}, of median length" if len(steps) > 1 else "the one step that is marked"
    return start, max(end, start + 1), which


def _all_lanes(timeline: Timeline, groups: list[Group]) -> Iterator[Lane]:
    for group in groups:
        yield from timeline.lanes[group.first : group.first + group.count]


def _lanes(timeline: Timeline, group: Group, view: Shown) -> Iterator[_Drawn]:
    """The lanes of a group in which anything runs; of a host thread the outermost levels."""
    most = MOST_HOST_LEVELS if group.kind is LaneKind.HOST else group.count
    label = group.label
    for number in range(group.first, group.first + group.count):
        if not most:
            return
        found = marks(timeline.lanes[number], view)
        if found.event.size and not _is_stack(timeline.lanes[number], found):
            yield _Drawn(number, label, timeline.lanes[number], found)
            label, most = "", most - 1


def _is_stack(lane: Lane, found: Marks) -> bool:
    """Whether nothing but Python's own calls can be seen in it, which go on from step to step."""
    return bool((lane.by_bound[found.event] == Fixed.PYTHON).all())


def _named(drawn: list[_Drawn]) -> list[BoolColumn]:
    """Of each lane which marks are named: the widest MOST_NAMED of all, of equal ones the first."""
    if not drawn:
        return []
    widths = [_widths(one.marks) for one in drawn]
    together = np.concatenate(widths)
    is_named = np.zeros(together.size, dtype=np.bool_)
    is_named[np.argsort(-together, kind="stable")[:MOST_NAMED]] = True
    return np.split(is_named, np.cumsum([own.size for own in widths])[:-1])


def _widths(found: Marks) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return found.right.astype(np.int64) - found.left


def _shown_lane(timeline: Timeline, drawn: _Drawn, view: Shown, is_named: BoolColumn) -> ShownLane:
    own, found = drawn.own, drawn.marks
    whole = view.bins * PARTS
    made = []
    # At most MOST_MARKS of them, 2 µs each.
    for i, at in enumerate(found.event.tolist()):
        text = None
        if is_named[i] and int(found.cover[i]) == FULL:
            ns = int(own.end_ns[at] - own.start_ns[at])
            text = f"{event_name(timeline, drawn.lane, at, NAME_LIMIT)} {quantities.duration(ns)}"
        left, right = int(found.left[i]) / whole, int(found.right[i]) / whole
        made.append(ShownMark(left, right, int(own.by_bound[at]), int(found.cover[i]) / FULL, text))
    return ShownLane(plain(drawn.label, 60), tuple(made), found.events)

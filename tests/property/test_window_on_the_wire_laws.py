"""What the canvas is told of a window loses nothing: a microsecond in minutes has its mark, and sums are exact."""

from __future__ import annotations

from typing import Any
from unittest import mock

from hypothesis import example, given, settings
from hypothesis import strategies as st

from analyzer.core.trace import EventKind
from dashboard.timeline import wire
from dashboard.timeline.lane import Lane, LaneKind
from dashboard.timeline.level_of_detail import PARTS
from dashboard.timeline.timeline import Timeline
from tests.traces import Recording
from tests.unit.dashboard.test_timeline_export import shown_of
from tests.unit.dashboard.test_timeline_routes import Window, decode

few = settings(max_examples=30, deadline=None)
acts = st.lists(
    st.tuples(st.sampled_from(["kernel", "pause", "copy", "wait"]), st.sampled_from([1, 3, 40, 5_000, 2_000_000])),
    min_size=1,
    max_size=12,
)
"""What is done, and for how many microseconds."""
windows = st.tuples(st.floats(-0.2, 1.1), st.floats(0.000_01, 1.3))
"""Where it begins and how long it is, in shares of all that was recorded."""


def _timeline(done: list[tuple[str, int]]) -> Timeline:
    run = Recording()
    with run.step():
        run.launch("first", us=1)
        for what, us in done:
            match what:
                case "kernel":
                    run.launch(f"kernel_{us}", us=us)
                case "copy":
                    run.copy("Memcpy", us=us)
                case "pause":
                    run.host(us)
                case _:
                    run.synchronize()
        run.launch("last", us=1)
    return shown_of(run.trace())[0].timeline


def _told(timeline: Timeline, window: tuple[float, float], bins: int) -> tuple[int, int, Window]:
    span = timeline.end_ns - timeline.start_ns
    start = timeline.start_ns + round(window[0] * span)
    end = start + max(round(window[1] * span), 1)
    lanes = tuple(wire.AskedLane(timeline, lane, lane, 0, None) for lane in range(len(timeline.lanes)))
    return start, end, decode(wire.answer(wire.Asked(start, end, bins, False, lanes)))


def _touching(lane: Lane, start: int, end: int) -> list[tuple[int, int]]:
    pairs = zip(lane.start_ns.tolist(), lane.end_ns.tolist(), strict=True)
    return [(s, e) for s, e in pairs if s < end and (e > start or s >= start)]


def _check(timeline: Timeline, start: int, end: int, told: Window) -> None:
    first = 0
    for number, lane in enumerate(timeline.lanes):
        own = slice(first, first + told.counts[number])
        first = own.stop
        events = _touching(lane, start, end)
        assert told.events[number] == len(events)
        assert told.sums[number] == sum(min(e, end) - max(s, start) for s, e in events)
        for s, _ in events:
            at = max(s - start, 0) * told.bins * PARTS / (end - start)
            # A mark of a pixel's others begins where the pixel does; a position is rounded to a sixteenth of one.
            assert ((told.left[own] <= at + 1) & (told.right[own] >= at - 1)).any()


@few
@given(acts, windows, st.sampled_from([1, 7, 400, 1_600]))
@example(done=[("pause", 2_000_000)] * 12, window=(0.0, 1.0), bins=400)
def test_every_kernel_gap_and_call_in_the_window_has_its_mark_and_is_in_the_sums(
    done: Any, window: Any, bins: int
) -> None:
    timeline = _timeline(done)
    _check(timeline, *_told(timeline, window, bins))


@few
@given(acts)
def test_an_answer_that_had_to_be_coarser_loses_nothing_either(done: Any) -> None:
    timeline = _timeline([*done, ("wait", 1), ("pause", 40), ("kernel", 3)])
    with mock.patch.object(wire, "MOST_MARKS", 4), mock.patch.object(wire, "FEWEST_BINS", 3):
        start, end, told = _told(timeline, (0.0, 1.0), 800)
    assert told.bins < 800
    _check(timeline, start, end, told)


@few
@given(acts)
def test_gaps_and_computing_kernels_are_the_whole_window(done: Any) -> None:
    timeline = _timeline([*done, ("wait", 1), ("pause", 40), ("kernel", 3)])
    group = next(one for one in timeline.groups if one.kind is LaneKind.GAPS)
    _, _, told = _told(timeline, (-0.1, 1.3), 400)
    gaps_ns = sum(told.sums[group.first : group.first + group.count])
    trace, budget = timeline.recording.trace, timeline.recording.budget
    assert budget is not None
    # Of one stream no two overlap.
    kernels_ns = int(trace.duration_ns[trace.rows(EventKind.KERNEL)].sum())
    assert gaps_ns + kernels_ns == budget.window.elapsed_ns

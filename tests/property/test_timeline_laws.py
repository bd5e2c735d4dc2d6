"""Nothing is lost to the level of detail: held against a pixel-by-pixel count of the same events."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dashboard.timeline.lane import Lane, lane_of, levels
from dashboard.timeline.level_of_detail import FULL, PARTS, marks, shown

Events = list[tuple[int, int]]

events = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 60)), max_size=40)
"""Start and duration: overlapping, nested, touching, equal and empty ones."""
disjoint = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40)), max_size=40)
"""The gap before each and its duration."""
few = settings(max_examples=50)
"""Enough to find each fault that was put in on purpose; each of these walks every pixel."""
windows = st.tuples(st.integers(-50, 450), st.integers(1, 500), st.integers(1, 90))


def _sorted(pairs: Events) -> tuple[np.ndarray, np.ndarray]:
    pairs = sorted(pairs, key=lambda pair: (pair[0], -pair[1]))
    start = np.asarray([s for s, _ in pairs], dtype=np.int64)
    return start, start + np.asarray([d for _, d in pairs], dtype=np.int64)


def _lane(start: np.ndarray, end: np.ndarray) -> Lane:
    codes = np.zeros(start.size, dtype=np.uint8)
    return lane_of(start, end, np.arange(start.size, dtype=np.int64), codes, codes)


def _spread(gaps: Events) -> tuple[np.ndarray, np.ndarray]:
    moment, pairs = 0, []
    for gap, duration in gaps:
        pairs.append((moment + gap, duration))
        moment += gap + duration
    # An empty event at the start of the next one would share its pixel and its moment: both are kept, in this order.
    start = np.asarray([s for s, _ in pairs], dtype=np.int64)
    return start, start + np.asarray([d for _, d in pairs], dtype=np.int64)


def _touches(start: int, end: int, low: int, high: int) -> bool:
    return start < high and (end > low or start >= low)


@few
@given(events)
def test_every_event_is_on_one_level_and_no_two_of_a_level_overlap(pairs: Events) -> None:
    start, end = _sorted(pairs)
    found = levels(start, end)
    assert sorted(np.concatenate(found).tolist() if found else []) == list(range(start.size))
    for own in found:
        assert (start[own][1:] >= end[own][:-1]).all()


@few
@given(events, st.integers(1, 3))
def test_few_levels_lose_no_event_either(pairs: Events, most: int) -> None:
    start, end = _sorted(pairs)
    found = levels(start, end, most)
    assert len(found) <= most
    assert sorted(np.concatenate(found).tolist() if found else []) == list(range(start.size))


@few
@given(disjoint, windows)
def test_every_event_in_the_window_has_a_mark_where_it_begins(gaps: Events, window: tuple[int, int, int]) -> None:
    start, end = _spread(gaps)
    view = shown(window[0], window[0] + window[1], window[2])
    found = marks(_lane(start, end), view)
    for first, last in zip(start.tolist(), end.tolist(), strict=True):
        if _touches(first, last, view.start_ns, view.end_ns):
            at = max(first - view.start_ns, 0) * view.bins * PARTS / (view.end_ns - view.start_ns)
            # A position is rounded to a sixteenth of a pixel.
            assert ((found.left <= at + 1) & (found.right >= at - 1)).any()


@few
@given(disjoint, windows)
def test_a_pixel_shows_the_longest_event_in_it(gaps: Events, window: tuple[int, int, int]) -> None:
    start, end = _spread(gaps)
    view = shown(window[0], window[0] + window[1], window[2])
    found = marks(_lane(start, end), view)
    lengths, edges = end - start, view.edges_ns
    longest = set()
    for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        own = [i for i in range(start.size) if _touches(int(start[i]), int(end[i]), low, high)]
        if own:
            longest.add(max(own, key=lambda i: (int(lengths[i]), -i)))
    assert set(found.event.tolist()) == longest


@few
@given(events, windows)
def test_sums_and_counts_are_those_of_the_events(pairs: Events, window: tuple[int, int, int]) -> None:
    start, end = _sorted(pairs)
    view = shown(window[0], window[0] + window[1], window[2])
    found = marks(_lane(start, end), view)
    own = [
        (s, e) for s, e in zip(start.tolist(), end.tolist(), strict=True) if _touches(s, e, view.start_ns, view.end_ns)
    ]
    assert found.events == len(own)
    assert found.sum_ns == sum(min(e, view.end_ns) - max(s, view.start_ns) for s, e in own)


@few
@given(events, windows)
def test_an_overlapping_lane_paints_a_pixel_exactly_where_an_event_is(
    pairs: Events, window: tuple[int, int, int]
) -> None:
    start, end = _sorted(pairs)
    view = shown(window[0], window[0] + window[1], window[2])
    found = marks(_lane(start, end), view)
    assert bool(found.event.size) == any(
        _touches(s, e, view.start_ns, view.end_ns) for s, e in zip(start.tolist(), end.tolist(), strict=True)
    )
    for event in found.event.tolist():
        assert _touches(int(start[event]), int(end[event]), view.start_ns, view.end_ns)


@few
@given(disjoint, windows)
@example(gaps=[(0, 1)], window=(-2, 10, 7))
def test_cover_is_the_covered_share_of_a_pixel(gaps: Events, window: tuple[int, int, int]) -> None:
    start, end = _spread(gaps)
    view = shown(window[0], window[0] + window[1], window[2])
    found = marks(_lane(start, end), view)
    edges = view.edges_ns
    # Edges are whole nanoseconds: of pixels of one or two they lie beside those of the screen.
    places = (edges - view.start_ns) / (view.end_ns - view.start_ns) * (view.bins * PARTS)
    for i, event in enumerate(found.event.tolist()):
        assert 1 <= found.cover[i] <= FULL
        if (int(end[event]) - int(start[event])) * view.bins >= view.end_ns - view.start_ns:
            assert found.cover[i] == FULL
            continue
        at = int(np.abs(places - int(found.left[i])).argmin())
        low, high = int(edges[at]), int(edges[at + 1])
        covered = sum(max(min(e, high) - max(s, low), 0) for s, e in zip(start.tolist(), end.tolist(), strict=True))
        assert abs(int(found.cover[i]) - max(covered / (high - low) * FULL, 1)) <= 1


@few
@given(disjoint, windows, st.data())
def test_a_hit_is_seen_in_the_mark_that_stands_for_it(
    gaps: Events, window: tuple[int, int, int], data: st.DataObject
) -> None:
    start, end = _spread(gaps)
    chosen = data.draw(st.sets(st.integers(0, max(start.size - 1, 0)), max_size=5)) if start.size else set()
    view = shown(window[0], window[0] + window[1], window[2])
    found = marks(_lane(start, end), view, np.asarray(sorted(chosen), dtype=np.int64))
    touching = [i for i in chosen if _touches(int(start[i]), int(end[i]), view.start_ns, view.end_ns)]
    assert bool(found.is_hit.any()) == bool(touching)


@few
@given(disjoint, windows, st.integers(-(10**12), 10**12))
def test_shifting_all_times_changes_no_mark(gaps: Events, window: tuple[int, int, int], by: int) -> None:
    start, end = _spread(gaps)
    low, high = window[0], window[0] + window[1]
    here = marks(_lane(start, end), shown(low, high, window[2]))
    there = marks(_lane(start + by, end + by), shown(low + by, high + by, window[2]))
    for mine, other in ((here.event, there.event), (here.left, there.left), (here.right, there.right)):
        assert mine.tolist() == other.tolist()
    assert here.cover.tolist() == there.cover.tolist()
    assert here.sum_ns == there.sum_ns

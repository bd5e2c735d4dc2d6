"""The corners that intervals have."""

from __future__ import annotations

import numpy as np

from analyzer.core.intervals import EMPTY, Intervals, intersect, subtract, union


def _of(*pairs: tuple[int, int]) -> Intervals:
    start, end = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return union(start, end)


def _pairs(intervals: Intervals) -> list[tuple[int, int]]:
    return list(zip(intervals.start_ns.tolist(), intervals.end_ns.tolist(), strict=True))


def test_touching_intervals_are_one() -> None:
    assert _pairs(_of((0, 5), (5, 9))) == [(0, 9)]


def test_an_interval_inside_a_longer_one_does_not_cut_it() -> None:
    assert _pairs(_of((0, 100), (10, 20), (50, 101))) == [(0, 101)]


def test_intervals_of_no_length_or_less_vanish() -> None:
    assert _pairs(_of((3, 3), (7, 5))) == []


def test_subtracting_the_middle_leaves_both_ends() -> None:
    assert _pairs(subtract(_of((0, 10)), _of((3, 4)))) == [(0, 3), (4, 10)]


def test_a_start_lies_in_its_interval_and_an_end_does_not() -> None:
    assert _of((2, 4)).contains(np.array([1, 2, 3, 4])).tolist() == [False, True, True, False]


def test_nothing_meets_anything_in_nothing() -> None:
    some = _of((0, 10))
    assert len(intersect(some, EMPTY)) == 0
    assert _pairs(subtract(some, EMPTY)) == [(0, 10)]
    assert EMPTY.length_ns == 0


def test_nanoseconds_since_1970_stay_exact() -> None:
    base = 1_712_195_495_505_583_123
    assert _of((base, base + 1), (base + 2, base + 3)).length_ns == 2

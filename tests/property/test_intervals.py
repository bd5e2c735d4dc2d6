"""Interval arithmetic agrees with a bitmap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from analyzer.core.intervals import Intervals, intersect, subtract, union

SPAN = 64
# Machines that run tests for others miss deadlines; the laws are about values.
LAWS = settings(deadline=None, max_examples=60)

spans = st.lists(st.tuples(st.integers(0, SPAN), st.integers(0, SPAN)), max_size=12)


def _sets(pairs: list[tuple[int, int]]) -> tuple[Intervals, NDArray[np.bool_]]:
    bitmap = np.zeros(SPAN, dtype=bool)
    for start, end in pairs:
        bitmap[start:end] = True
    start, end = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return union(start, end), bitmap


def _bitmap(intervals: Intervals) -> NDArray[np.bool_]:
    return intervals.contains(np.arange(SPAN))


@LAWS
@given(spans)
def test_a_union_covers_what_any_interval_covers(pairs: list[tuple[int, int]]) -> None:
    intervals, bitmap = _sets(pairs)
    assert np.array_equal(_bitmap(intervals), bitmap)
    assert intervals.length_ns == bitmap.sum()


@LAWS
@given(spans)
def test_a_union_is_sorted_and_its_intervals_do_not_touch(pairs: list[tuple[int, int]]) -> None:
    intervals, _ = _sets(pairs)
    assert (intervals.start_ns < intervals.end_ns).all()
    assert (intervals.end_ns[:-1] < intervals.start_ns[1:]).all()


@LAWS
@given(spans, spans)
@pytest.mark.parametrize("operation", ["intersect", "subtract"])
def test_two_sets_meet_as_their_bitmaps_do(
    operation: str, left: list[tuple[int, int]], right: list[tuple[int, int]]
) -> None:
    a, a_bits = _sets(left)
    b, b_bits = _sets(right)
    found = intersect(a, b) if operation == "intersect" else subtract(a, b)
    expected = a_bits & b_bits if operation == "intersect" else a_bits & ~b_bits
    assert np.array_equal(_bitmap(found), expected)
    assert found.length_ns == expected.sum()


@LAWS
@given(spans, spans)
def test_what_is_shared_and_what_is_left_add_up(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    a, _ = _sets(left)
    b, _ = _sets(right)
    assert intersect(a, b).length_ns + subtract(a, b).length_ns == a.length_ns

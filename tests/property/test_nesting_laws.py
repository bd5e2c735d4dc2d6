"""Nesting and the numbering of rows agree with the plainest way to find them, where rows of several threads cross."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.core.distinct import distinct, distinct_of_ordered, numbered
from analyzer.core.trace import EventKind, Trace
from analyzer.derive.nesting import NOBODY, by_thread, innermost, nesting, parents
from tests.rows import host_rows

LAWS = settings(deadline=None, max_examples=150)

row = st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 12))
rows = st.lists(row, max_size=14)


def latest_open(trace: Trace, own: list[int], moment: int) -> int:
    """The row begun last of those that have begun and not ended."""
    return max((i for i in own if trace.start_ns[i] <= moment < trace.end_ns[i]), default=NOBODY)


@LAWS
@given(rows)
def test_the_innermost_row_is_the_one_begun_last_of_those_still_open(made: list[tuple[int, int, int]]) -> None:
    trace = host_rows(made)
    own = trace.rows(EventKind.CPU_OP)
    moments = np.arange(-1, 45, dtype=np.int64)
    found = innermost(trace, own).at(moments).tolist()
    assert found == [latest_open(trace, own.tolist(), moment) for moment in moments.tolist()]


@LAWS
@given(rows)
def test_a_parent_is_the_latest_row_of_the_thread_that_holds_the_start(made: list[tuple[int, int, int]]) -> None:
    trace = host_rows(made)
    found = parents(trace, trace.rows(EventKind.CPU_OP))
    for i in range(len(trace)):
        before = [j for j in range(i) if trace.thread[j] == trace.thread[i]]
        assert found[i] == latest_open(trace, before, int(trace.start_ns[i]))


@LAWS
@given(rows)
def test_the_threads_share_out_the_rows_in_their_order(made: list[tuple[int, int, int]]) -> None:
    trace = host_rows(made)
    own = trace.rows(EventKind.CPU_OP)
    apart = dict(by_thread(trace, own))
    assert list(apart) == sorted(set(trace.thread.tolist()))
    for thread, mine in apart.items():
        assert mine.tolist() == [i for i in own.tolist() if trace.thread[i] == thread]


@LAWS
@given(st.lists(st.integers(-5, 5)))
def test_distinct_values_are_those_of_a_set_in_order(values: list[int]) -> None:
    assert distinct(np.asarray(values, dtype=np.int64)).tolist() == sorted(set(values))


@LAWS
@given(st.lists(st.tuples(st.integers(-3, 3), st.sampled_from((0, 7, 2**62)))))
def test_rows_have_one_number_if_and_only_if_they_are_equal(made: list[tuple[int, int]]) -> None:
    columns = np.asarray(made, dtype=np.int64).reshape(-1, 2)
    first, number = numbered(columns[:, 0], columns[:, 1])
    assert [made[i] for i in first[number].tolist()] == made
    assert len(first) == len(set(made))
    assert all(made.index(made[i]) == i for i in first.tolist())


@LAWS
@given(rows)
def test_rows_of_each_thread_nest_apart_from_the_others(made: list[tuple[int, int, int]]) -> None:
    trace = host_rows(made)
    own = trace.rows(EventKind.CPU_OP)
    found = nesting(trace, own)
    moments = np.arange(-1, 45, dtype=np.int64)
    assert (found.parent == parents(trace, own)).all()
    for thread in {*trace.thread.tolist(), 99}:
        mine = [i for i in own.tolist() if trace.thread[i] == thread]
        at = found.at(moments, np.full_like(moments, thread)).tolist()
        assert at == [latest_open(trace, mine, moment) for moment in moments.tolist()]


@LAWS
@given(st.lists(st.lists(st.integers(-5, 5)), max_size=4))
def test_distinct_values_of_columns_in_order_are_those_of_all_of_them(columns: list[list[int]]) -> None:
    ordered = [np.sort(np.asarray(column, dtype=np.int64)) for column in columns]
    assert distinct_of_ordered(*ordered).tolist() == sorted(set().union(*columns))


@LAWS
@given(st.lists(st.sampled_from((0, 1, 5, 2**40, 2**62, -(2**62))), max_size=40))
def test_few_and_many_different_values_are_numbered_alike(values: list[int]) -> None:
    column = np.asarray(values, dtype=np.int64)
    first, number = numbered(column)
    assert column[first].tolist() == sorted(set(values))
    assert column[first][number].tolist() == values

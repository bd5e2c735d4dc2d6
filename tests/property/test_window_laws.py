"""The window of a recorded trace against a bitmap, and the fast way through nested rows against the stack."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.device import Device, Source
from analyzer.core.trace import EventKind, Trace
from analyzer.derive.attribution import attribute
from analyzer.derive.matching import match, side
from analyzer.derive.nesting import NOBODY, _of_crossing, innermost, parents
from analyzer.derive.steps import find_steps
from analyzer.derive.trace_budget import trace_budget
from analyzer.derive.window import COLLECTIVES, COPIES, KERNELS, window
from tests.rank_files import COLLECTIVE
from tests.traces import Recording, Row

LAST = 60
KINDS = {
    KERNELS: ("gemm", EventKind.KERNEL),
    COLLECTIVES: (COLLECTIVE, EventKind.KERNEL),
    COPIES: ("Memcpy", EventKind.COPY),
}
spans = st.lists(
    st.tuples(st.sampled_from((KERNELS, COLLECTIVES, COPIES)), st.integers(0, LAST), st.integers(0, 15)),
    min_size=1,
    max_size=12,
)
host = st.lists(st.tuples(st.integers(0, LAST), st.integers(0, 30)), max_size=14)


def device_rows(given_spans: list[tuple[int, int, int]]) -> Trace:
    rows = [
        Row(KINDS[rank][0], KINDS[rank][1], start, length, stream=number, correlation=None)
        for number, (rank, start, length) in enumerate(given_spans)
    ]
    rows.append(Row("cudaLaunchKernel", EventKind.LAUNCH, 0, 1, correlation=5))
    return Recording(rows=rows).trace()


@given(spans)
def test_exposed_time_and_idle_time_agree_with_a_bitmap_and_add_up(given_spans: list[tuple[int, int, int]]) -> None:
    trace = device_rows(given_spans)
    found = window(trace, attribute(trace).work)
    assert found is not None
    assert found.busy_ns + found.idle_ns == found.elapsed_ns
    assert (found.exposed_ns >= 0).all()
    bitmap = np.full(2 * LAST, 9)
    for rank, start, length in given_spans:
        bitmap[start : start + length] = np.minimum(bitmap[start : start + length], rank)
    for rank in (KERNELS, COLLECTIVES, COPIES):
        assert int(found.exposed_ns[found.rank_of == rank].sum()) == int((bitmap == rank).sum())


@given(spans)
def test_a_trace_compared_with_another_adds_up_and_with_itself_is_nothing(
    given_spans: list[tuple[int, int, int]],
) -> None:
    device = Device(kind="unknown", name="x", source=Source.DATA_SHEET)
    sides = []
    for own in (given_spans, given_spans[: len(given_spans) // 2 + 1]):
        trace = device_rows(own)
        attribution = attribute(trace)
        budget = trace_budget(attribution, find_steps(trace), device)
        assert budget is not None
        sides.append(side(attribution, budget, 0))
    left, right = sides
    assert sum(row.difference_ns for row in match(left, right)) == right.whole_ns - left.whole_ns
    assert all(row.difference_ns == 0 for row in match(left, left))


@given(host)
def test_nested_and_crossing_host_rows_have_the_innermost_that_the_stack_gives(rows: list[tuple[int, int]]) -> None:
    trace = Recording(
        rows=[Row(f"op{i}", EventKind.CPU_OP, start, length) for i, (start, length) in enumerate(rows)]
    ).trace()
    ops = trace.rows(EventKind.CPU_OP)
    points = np.arange(0, 2 * LAST, dtype=np.int64)
    assert (innermost(trace, ops).at(points) == _of_crossing(trace, ops)[0].at(points)).all()


@given(host)
def test_parents_are_those_that_the_stack_gives(rows: list[tuple[int, int]]) -> None:
    trace = Recording(
        rows=[Row(f"op{i}", EventKind.CPU_OP, start, length) for i, (start, length) in enumerate(rows)]
    ).trace()
    ops = trace.rows(EventKind.CPU_OP)
    expected = np.full(len(trace), NOBODY)
    open_rows: list[int] = []
    for row in ops.tolist():
        while open_rows and trace.end_ns[open_rows[-1]] <= trace.start_ns[row]:
            open_rows.pop()
        if open_rows:
            expected[row] = open_rows[-1]
        open_rows.append(row)
    assert (parents(trace, ops) == expected).all()

"""Marked steps never overlap, however they were marked; none is lost for a stamp that was rounded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.core.trace import EventKind, Trace
from analyzer.derive.attribution import attribute
from analyzer.derive.steps import find_steps
from analyzer.derive.timeline import cut, disjoint
from tests.traces import Recording, Row

LAWS = settings(deadline=None, max_examples=150)


def _marked(*steps: tuple[int, int, int]) -> Trace:
    """Steps by begin, length and thread."""
    rows = [
        Row(f"ProfilerStep#{number}", EventKind.RANGE, begin, length, thread=thread)
        for number, (begin, length, thread) in enumerate(steps)
    ]
    return Recording(rows=rows).trace()


def _steps(trace: Trace) -> list[tuple[int, int]]:
    found, timeline = find_steps(trace), cut(trace)
    both = list(zip(found.start_ns.tolist(), found.end_ns.tolist(), strict=True))
    assert both == list(zip(timeline.step_start_ns.tolist(), timeline.step_end_ns.tolist(), strict=True))
    return both


@pytest.mark.parametrize("over", [0, 1, 30])
def test_a_step_that_reaches_into_the_next_ends_where_that_begins(over: int) -> None:
    trace = _marked(*((100 * number, 100 + over, 1) for number in range(5)))
    assert _steps(trace) == [(0, 100), (100, 200), (200, 300), (300, 400), (400, 500 + over)]


def test_a_marker_within_another_is_no_step_of_its_own() -> None:
    assert _steps(_marked((0, 100, 1), (10, 50, 1), (20, 80, 1), (100, 100, 1))) == [(0, 100), (100, 200)]


def test_of_several_ranks_in_one_file_the_steps_are_those_of_the_thread_with_most() -> None:
    trace = _marked((0, 100, 1), (50, 100, 2), (100, 100, 1), (150, 100, 2), (200, 100, 1))
    assert _steps(trace) == [(0, 100), (100, 200), (200, 300)]


def test_work_of_steps_that_overlap_belongs_to_steps() -> None:
    run = Recording()
    for _ in range(4):
        with run.step():
            for _ in range(5):
                run.host(10)
                run.launch("gemm", us=5)
    rows = [
        replace(row, duration_ns=row.duration_ns + 900) if row.name.startswith("ProfilerStep") else row
        for row in run.rows
    ]
    found = attribute(Recording(rows=rows).trace())
    assert found.steps == 4
    assert found.work.has_region.all()
    assert np.bincount(found.work.step).tolist() == [5, 5, 5, 5]


@LAWS
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 15)), max_size=12))
def test_steps_are_in_order_and_do_not_overlap(made: list[tuple[int, int]]) -> None:
    ordered = sorted(((begin, begin + length) for begin, length in made), key=lambda step: (step[0], -step[1]))
    begin, end = np.asarray(ordered, dtype=np.int64).reshape(-1, 2).T
    kept, ends = disjoint(begin, end)
    assert (begin[kept] <= ends).all()
    assert (ends[:-1] <= begin[kept][1:]).all()
    covered = {moment for b, e in ordered for moment in range(b, e)}
    assert covered == {
        moment for b, e in zip(begin[kept].tolist(), ends.tolist(), strict=True) for moment in range(b, e)
    }

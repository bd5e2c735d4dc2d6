"""The laws of what is kept of a rank's steps: parts add up, and another clock changes nothing."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.core.ranks import RankSummary
from analyzer.derive.rank_summary import RankName, summarize_rank
from tests.rank_files import COLLECTIVE
from tests.traces import Recording

ROW = st.tuples(st.sampled_from(("gemm", COLLECTIVE)), st.integers(1, 40), st.sampled_from((7, 20)), st.integers(0, 15))
STEPS = st.lists(st.lists(ROW, max_size=6), min_size=1, max_size=4)


def summary(steps: list[list[tuple[str, int, int, int]]], base_ns: int = 1_700_000_000_000_000_000) -> RankSummary:
    run = Recording(base_ns=base_ns)
    run.launch("gemm", us=1)
    for rows in steps:
        with run.step():
            for name, us, stream, host_us in rows:
                run.host(host_us)
                run.launch(name, us=us, stream=stream)
            if rows and rows[0][1] % 2:  # else the device lags behind the step
                run.synchronize()
    return summarize_rank(run.trace(), RankName("rank0.json", 0, 0))


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_the_parts_of_every_step_add_up_to_its_time(steps: list[list[tuple[str, int, int, int]]]) -> None:
    found = summary(steps)
    own = found.steps
    assert own is not None
    columns = (own.compute_ns, own.exposed_collective_ns, own.exposed_copy_ns, own.idle_ns)
    assert all(ns >= 0 for column in columns for ns in column)
    assert tuple(map(sum, zip(*columns, strict=True))) == found.steps_ns
    assert found.temporal is not None
    # A step holds no more than the whole recording does.
    assert sum(own.compute_ns) <= found.temporal.compute_ns
    assert sum(own.exposed_collective_ns) <= found.temporal.exposed_collective_ns
    assert sum(own.collectives) <= sum(use.count for use in found.collectives)


@settings(max_examples=20, deadline=None)
@given(STEPS, st.integers(1, 10**15))
def test_another_clock_changes_no_step(steps: list[list[tuple[str, int, int, int]]], shift_ns: int) -> None:
    here, there = summary(steps), summary(steps, 1_700_000_000_000_000_000 + shift_ns)
    assert here.steps == there.steps
    assert [mark.step for mark in here.marks] == [mark.step for mark in there.marks]

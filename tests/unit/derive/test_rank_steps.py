"""What is kept of each step of each rank: parts that add up, and waits only where every collective was matched."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzer.core.ranks import RankSteps, RankSummary
from analyzer.derive import rank_summary, ranks
from analyzer.derive.rank_summary import RankName, summarize_rank
from analyzer.derive.ranks import compare_ranks
from analyzer.reporting.json import decode_report, encode_report
from tests.rank_files import a_rank, traces_of
from tests.reports import a_report
from tests.traces import Recording

US = 1_000


def summary(run: Recording, place: int = 0) -> RankSummary:
    return summarize_rank(run.trace(), RankName(f"rank{place}.json", place, place))


def steps_of(one: RankSummary) -> RankSteps:
    assert one.steps is not None
    return one.steps


def test_the_parts_of_each_step_add_up_to_it() -> None:
    found = summary(a_rank(50, 40, steps=3, host_us=7))
    own = steps_of(found)
    columns = zip(own.compute_ns, own.exposed_collective_ns, own.exposed_copy_ns, own.idle_ns, strict=True)
    assert tuple(sum(parts) for parts in columns) == found.steps_ns
    assert own.compute_ns == (50 * US,) * 3
    assert own.exposed_collective_ns == (50 * US,) * 3
    assert own.collectives == (1, 1, 1)
    assert own.marked == 3


def test_steps_keep_the_numbers_that_the_profiler_gave_them() -> None:
    assert steps_of(summary(a_rank(50, 0, steps=3))).numbers == (0, 1, 2)


def test_a_collective_hidden_behind_a_kernel_is_not_exposed() -> None:
    run = Recording()
    with run.step():
        run.launch("gemm", us=100, stream=7)
        run.launch("ncclDevKernel_AllReduce_Sum_f32", us=30, stream=20)
        run.synchronize()
    own = steps_of(summary(run))
    assert own.exposed_collective_ns == (0,)
    assert own.compute_ns == (100 * US,)


def test_without_marks_and_without_a_device_there_are_no_steps() -> None:
    unmarked = Recording()
    unmarked.launch("gemm", us=5)
    assert summary(unmarked).steps is None
    idle = Recording()
    with idle.step(), idle.op("aten::add"):
        idle.host(5)
    assert summary(idle).steps is None


def test_only_the_first_steps_are_kept_and_the_others_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_summary, "MOST_STEPS", 4)
    found = summary(a_rank(10, 0, steps=6))
    own = steps_of(found)
    assert (len(found.steps_ns), len(own.idle_ns), own.marked) == (4, 4, 6)
    assert [mark.step for mark in found.marks] == [0, 1, 2, 3, None, None]


def test_each_step_says_what_was_waited_in_it() -> None:
    found = compare_ranks([summarize_rank(t, RankName(f"r{i}", i, i)) for i, t in enumerate(traces_of(50, 20, 90))])
    assert {wait.rank: wait.steps_ns for wait in found.waits} == {
        0: (40 * US,) * 4,
        1: (70 * US,) * 4,
        2: (0,) * 4,
    }


def test_a_step_of_which_a_collective_was_not_matched_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_summary, "MOST_MARKS", 3)
    found = compare_ranks([summarize_rank(t, RankName(f"r{i}", i, i)) for i, t in enumerate(traces_of(50, 90))])
    assert {wait.rank: wait.steps_ns for wait in found.waits} == {
        0: (None, 40 * US, 40 * US, 40 * US),
        1: (None, 0, 0, 0),
    }


def test_of_very_many_ranks_the_latest_keep_their_steps_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "MOST_STEPPED", 2)
    traces = traces_of(50, 20, 90, 50)
    found = compare_ranks([summarize_rank(t, RankName(f"r{i}", i, i)) for i, t in enumerate(traces)])
    # Rank 2 came latest, and rank 1 waited longest for it.
    assert [rank.rank for rank in found.ranks if rank.steps is not None] == [1, 2]
    assert "the steps of 2 of 4 ranks are kept: of those that came latest or waited most" in found.notes


def test_columns_of_another_length_are_refused() -> None:
    own = steps_of(summary(a_rank(10, 0, steps=2)))
    with pytest.raises(ValueError, match="one length"):
        replace(own, idle_ns=(1,))
    with pytest.raises(ValueError, match="one length"):
        replace(own, numbers=(1, 2, 3))


def test_steps_survive_the_round_trip_and_old_reports_have_none() -> None:
    found = compare_ranks([summarize_rank(t, RankName(f"r{i}", i, i)) for i, t in enumerate(traces_of(50, 20))])
    report = a_report(ranks=found)
    assert decode_report(encode_report(report), "r").ranks == found
    old = replace(found, ranks=tuple(replace(one, steps=None) for one in found.ranks))
    text = encode_report(replace(report, ranks=old)).replace(b'"steps": null', b'"another": null')
    read = decode_report(text, "r").ranks
    assert read is not None
    assert all(one.steps is None for one in read.ranks)

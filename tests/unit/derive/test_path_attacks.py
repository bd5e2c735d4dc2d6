"""Recordings that someone made, or broke, to mislead the critical path, or to hold it up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.critical_path import PathKind
from analyzer.core.trace import EventKind, EventWait, OpDetail, Trace
from analyzer.derive.attribution import NOT_RECORDED, attribute
from analyzer.derive.critical_path import NO_LAUNCHES, WalkedPath, critical_path
from collectors.readers.kineto import read_trace
from tests.traces import Recording, Row

MANY = 10_000


def walked(trace: Trace) -> WalkedPath:
    found = critical_path(attribute(trace))
    assert sum(part.ns for part in found.path.parts) == found.path.elapsed_ns
    return found


def us(found: WalkedPath) -> dict[PathKind, float]:
    return {part.kind: part.ns / 1000 for part in found.path.parts}


def launched(i: int, *, start_us: int, us: int, stream: int, thread: int = 100) -> list[Row]:
    return [
        Row("cudaLaunchKernel", EventKind.LAUNCH, i * 1_000, 500, thread=thread, correlation=4 * i + 1),
        Row("k", EventKind.KERNEL, start_us * 1_000, us * 1_000, stream=stream, correlation=4 * i + 1),
    ]


def recording(rows: list[Row], step_us: int) -> Trace:
    run = Recording()
    run.rows = [Row("ProfilerStep#0", EventKind.RANGE, 0, step_us * 1_000), *rows]
    return run.trace()


def test_an_empty_recording_has_no_path_and_says_why() -> None:
    found = walked(Recording().trace())
    assert found.segments == ()
    assert found.path.missing is not None


def test_one_kernel_is_its_whole_path() -> None:
    run = Recording()
    run.rows = launched(0, start_us=5, us=10, stream=7)
    assert us(walked(run.trace())) == {PathKind.COMPUTE: 10, PathKind.LAUNCH: 5}


def test_one_kernel_without_a_launch_has_none() -> None:
    run = Recording()
    run.rows = [Row("k", EventKind.KERNEL, 0, 1_000, stream=7)]
    assert walked(run.trace()).path.missing == NO_LAUNCHES


def test_a_launch_without_a_kernel_has_none() -> None:
    run = Recording()
    run.rows = launched(0, start_us=5, us=10, stream=7)[:1]
    assert walked(run.trace()).path.missing == NOT_RECORDED


def test_of_two_streams_at_once_only_the_one_that_ends_last_is_on_it() -> None:
    rows = [*launched(1, start_us=10, us=30, stream=7), *launched(2, start_us=10, us=50, stream=8)]
    found = walked(recording(rows, 12))
    assert us(found) == {PathKind.COMPUTE: 50, PathKind.LAUNCH: 8, PathKind.HOST: 2}
    assert {s.row for s in found.segments if s.kind is PathKind.COMPUTE} == {
        int(r) for r in recording(rows, 12).rows(EventKind.KERNEL) if recording(rows, 12).stream[r] == 8
    }


def test_the_kernels_of_one_replay_lead_to_its_one_launch() -> None:
    run = Recording()
    with run.step():
        run.replay([("a", 20), ("b", 30), ("c", 40)])
    found = walked(run.trace())
    assert us(found)[PathKind.COMPUTE] == 90
    assert [s.kind for s in found.segments].count(PathKind.LAUNCH) == 1


def test_negative_durations_make_nothing_negative(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    for i in range(20):
        link = {"correlation": i + 1}
        kernel = {"stream": 7, "device": 0, **link}
        rows += [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": i * 10,
             "dur": -1 if i % 3 else 2, "args": link},
            {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": i * 10 + 5,
             "dur": -0.001 if i % 2 else 4, "args": kernel},
        ]  # fmt: skip
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": rows}))
    assert all(part.ns > 0 for part in walked(read_trace(tmp_path / "t.json")).path.parts)


def test_a_device_clock_that_is_behind_takes_no_time_from_the_window() -> None:
    """Kernels seem to begin before their launches: what they were launched by is still the host's."""
    rows = [row for i in range(1, 20) for row in launched(i, start_us=i - 1, us=1, stream=7)]
    found = walked(recording(rows, 20))
    assert found.path.elapsed_ns == 20_000
    assert us(found) == {PathKind.HOST: 20}


@pytest.mark.parametrize("told", [False, True], ids=["guessed", "told"])
def test_as_many_streams_as_kernels_are_told_apart(told: bool) -> None:
    """With a search of all streams for each this would take minutes, not seconds."""
    rows = []
    for i in range(MANY):
        rows += launched(i, start_us=i + 5, us=1, stream=i)
        if told and i:
            rows += [
                Row("cudaEventRecord", EventKind.RUNTIME, i * 1_000 - 400, 100, correlation=4 * i + 2),
                Row("cudaStreamWaitEvent", EventKind.RUNTIME, i * 1_000 - 200, 100, correlation=4 * i + 3),
                Row(
                    "Stream Wait Event", EventKind.WAIT, i * 1_000 - 200, 0, stream=i, correlation=4 * i + 3,
                    detail=OpDetail(wait=EventWait(i - 1, 4 * i + 2)),
                ),
            ]  # fmt: skip
    found = us(walked(recording(rows, MANY)))
    if told:
        assert found == {PathKind.COMPUTE: MANY, PathKind.LAUNCH: 5}
    else:
        assert found == {PathKind.HOST: MANY - 1, PathKind.LAUNCH: 5, PathKind.COMPUTE: 1}


def test_as_many_threads_as_launches_are_told_apart() -> None:
    rows = [row for i in range(MANY // 4) for row in launched(i, start_us=i + 5, us=1, stream=7, thread=100 + i)]
    found = walked(recording(rows, MANY // 4))
    assert found.path.missing is None


def test_kernels_of_one_moment_and_no_length_are_not_compared_each_with_each() -> None:
    """Stamps of whole milliseconds: every kernel ends when every other does."""
    rows = [row for i in range(MANY) for row in launched(i, start_us=MANY + 60, us=0, stream=i % 2)]
    found = walked(recording(rows, MANY + 70))
    assert found.path.missing is None

"""What a file says is in the trace; what it gets wrong is counted, or named by its byte."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyzer.core.errors import ExitCode, UnreadableFileError
from analyzer.core.trace import EventKind, Trace
from collectors.readers.kineto import read_trace
from tests.traces import Recording


def _recording() -> Recording:
    run = Recording()
    with run.step(), run.graph("3fa9c1d2e4b5.inference"):
        with run.op("aten::mm", ((64, 32), (32, 16)), ("float", "float"), ("", ""), ((32, 1), (16, 1))):
            run.launch("gemm", us=5)
        run.launch("Memcpy", us=1, kind=EventKind.COPY, stream=9)
        run.synchronize()
    return run


def _read(tmp_path: Path, content: object) -> Trace:
    path = tmp_path / "trace.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return read_trace(path)


def _row(**changes: Any) -> dict[str, Any]:
    row = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "args": {"stream": 7}}
    return {k: v for k, v in (row | changes).items() if v is not None}


def _rows(trace: Trace) -> list[tuple[object, ...]]:
    return [
        (
            trace.name(i),
            int(trace.kind[i]),
            int(trace.start_ns[i]),
            int(trace.duration_ns[i]),
            int(trace.thread[i]),
            int(trace.stream[i]) if trace.has_stream[i] else None,
            int(trace.correlation[i]) if trace.has_correlation[i] else None,
            trace.detail(i),
        )
        for i in range(len(trace))
    ]


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_a_file_reads_as_the_run_it_was_written_from(tmp_path: Path, name: str) -> None:
    run = _recording()
    trace = read_trace(run.save(tmp_path / name))
    assert _rows(trace) == _rows(run.trace())
    assert trace.base_ns == run.trace().base_ns
    assert trace.device_name == "Test Device"
    assert trace.notes == ()


def test_gzip_is_known_by_its_content_not_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(gzip.compress(json.dumps(_recording().kineto()).encode()))
    assert len(read_trace(path)) == len(_recording().rows)


def test_a_top_level_array_is_a_trace(tmp_path: Path) -> None:
    assert len(_read(tmp_path, _recording().kineto()["traceEvents"])) == len(_recording().rows)


def test_shuffling_the_rows_of_a_file_changes_nothing(tmp_path: Path) -> None:
    file = _recording().kineto()
    before = _read(tmp_path, file)
    random.Random(1).shuffle(file["traceEvents"])
    after = _read(tmp_path, file)
    assert _rows(after) == _rows(before)
    assert after.names == before.names
    assert np.array_equal(after.name_id, before.name_id)


def test_nineteen_digit_times_keep_their_nanoseconds(tmp_path: Path) -> None:
    text = (
        b'[{"ph":"X","cat":"kernel","name":"a","ts":1712195495505583.123,"dur":0.001},'
        b'{"ph":"X","cat":"kernel","name":"b","ts":1712195495505583.124,"dur":4.928}]'
    )
    trace = _read(tmp_path, text)
    assert trace.start_ns.tolist() == [0, 1]
    assert trace.duration_ns.tolist() == [1, 4928]
    assert trace.base_ns == 1712195495505583123


@pytest.mark.parametrize("correlation", [0, -1, None])
def test_a_correlation_that_stands_for_none_is_unknown(tmp_path: Path, correlation: int | None) -> None:
    trace = _read(tmp_path, [_row(args={"correlation": correlation, "stream": 7})])
    assert not trace.has_correlation.any()


def test_a_correlation_beyond_64_bits_is_unknown_and_counted(tmp_path: Path) -> None:
    trace = _read(tmp_path, [_row(args={"correlation": 2**64})])
    assert not trace.has_correlation.any()
    assert trace.notes == ("1 correlation ids are no number of 64 bits and were read as unknown",)


@pytest.mark.parametrize(
    ("row", "note"),
    [
        (_row(dur=None), "1 rows without a duration were left out"),
        (_row(dur="x"), "1 rows whose duration is no number were left out"),
        (_row(ts=10**30), "1 rows whose start is missing or does not fit 64 bits were left out"),
        (_row(ts=None), "1 rows whose start is missing or does not fit 64 bits were left out"),
        ({}, "1 rows without a phase were left out"),
        ({"ph": "M", "name": "process_name", "args": {"name": "python"}}, "1 rows of metadata were left out"),
        (_row(name=3), "1 rows are not events (a field has another type) and were left out"),
        (_row(args=[1]), "1 rows are not events (a field has another type) and were left out"),
        (7, "1 rows are not events (a field has another type) and were left out"),
    ],
)
def test_a_row_that_makes_no_sense_is_counted_and_the_rest_is_read(tmp_path: Path, row: object, note: str) -> None:
    trace = _read(tmp_path, [_row(), row])
    assert len(trace) == 1
    assert trace.notes == (note,)


def test_a_negative_duration_is_read_as_none_and_counted(tmp_path: Path) -> None:
    trace = _read(tmp_path, [_row(dur=-0.001)])
    assert trace.duration_ns.tolist() == [0]
    assert trace.notes == ("1 negative durations were read as 0",)


def test_invalid_utf8_is_replaced_and_its_row_named(tmp_path: Path) -> None:
    trace = _read(tmp_path, b'[{"ph":"X","cat":"kernel","name":"k\xff","ts":1,"dur":1}]')
    assert trace.names == ("k\ufffd",)
    assert "the first at byte 1" in trace.notes[0]


def test_a_text_stream_and_text_threads_are_numbers(tmp_path: Path) -> None:
    rows = [
        _row(args={"stream": "9"}),
        _row(args={}, tid="stream 8", ts=2),
        _row(cat="cpu_op", pid="5", tid="77", ts=3),
        _row(cat="cpu_op", pid="5", tid="main", ts=4),
    ]
    trace = _read(tmp_path, rows)
    assert trace.stream[:2].tolist() == [9, 8]
    assert trace.thread[2:].tolist() == [77, 78]


def test_equal_thread_numbers_of_two_processes_are_two_threads(tmp_path: Path) -> None:
    trace = _read(tmp_path, [_row(cat="cpu_op", pid=p, tid=1, ts=p) for p in (1, 2)])
    assert len(set(trace.thread.tolist())) == 2


def test_an_operator_keeps_what_it_was_called_with(tmp_path: Path) -> None:
    args = {
        "Input Dims": [[2, 3], [], [[1, 2], [3]]],
        "Input Strides": [[3, 1], [], []],
        "Input type": ["float", "Scalar", "TensorList"],
        "Concrete Inputs": ["", "1", ""],
        "kernel_file": "/tmp/c.py",
        "kernel_hash": "abc",
    }
    detail = _read(tmp_path, [_row(cat="cpu_op", args=args)]).detail(0)
    assert detail is not None
    assert detail.shapes == ((2, 3), (), ())
    assert detail.dtypes == ("float", "Scalar", "TensorList")
    assert detail.values == ("", "1", "")
    assert (detail.kernel_file, detail.kernel_hash, detail.grid) == ("/tmp/c.py", "abc", None)


def test_a_grid_of_nothing_is_no_grid(tmp_path: Path) -> None:
    trace = _read(tmp_path, [_row(args={"grid": [0, 0, 0]}), _row(args={"grid": [4, 1, 1]}, ts=2)])
    assert [trace.detail(i).grid for i in range(2)] == [None, (4, 1, 1)]  # type: ignore[union-attr]


@pytest.mark.parametrize("properties", [None, [], [{"id": 0, "name": ""}], "none", [{"id": "0"}], [{"name": 3}]])
def test_a_device_without_a_name_is_unknown(tmp_path: Path, properties: object) -> None:
    trace = _read(tmp_path, {"traceEvents": [_row()], "deviceProperties": properties})
    assert trace.device_name is None


def test_the_device_named_is_the_one_that_worked(tmp_path: Path) -> None:
    properties = [{"id": 0, "name": "Idle"}, {"id": 1, "name": "Busy"}]
    rows = [_row(args={"device": 1, "stream": 7})]
    assert _read(tmp_path, {"traceEvents": rows, "deviceProperties": properties}).device_name == "Busy"


@pytest.mark.parametrize("content", [b"[]", b'{"traceEvents": []}'])
def test_an_empty_trace_is_a_trace(tmp_path: Path, content: bytes) -> None:
    assert len(_read(tmp_path, content)) == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b'{"traceEvents": [{"ph": "X"', "cut: it stops at byte 27"),
        (b'[{"ph": "X"}, {"ph', "cut: it stops at byte 18"),
        (b"hello", "(byte 0)"),
        (b'[{"ph":"X"}]{"ph"', "a second trace begins at byte 12"),
        (b'{"schemaVersion": 1}', "it has no traceEvents"),
        (b'{"traceEvents": 3}', "JSON, but not a trace"),
        (b"[1, 2", "cut: it stops at byte 5"),
        (b"3", "JSON, but not a trace"),
        (gzip.compress(b'{"traceEvents": []}')[:-12], "cut: its gzip data stop at byte 27"),
        (b"\x1f\x8bnot gzip at all", "not valid gzip in the stream at byte 0"),
    ],
)
def test_what_cannot_be_read_says_where(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(UnreadableFileError) as caught:
        _read(tmp_path, content)
    assert message in caught.value.message
    assert str(tmp_path) in caught.value.message
    assert caught.value.exit_code is ExitCode.USAGE


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="No such file"):
        read_trace(tmp_path / "absent.json")

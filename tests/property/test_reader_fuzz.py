"""Whatever happens to a file, reading it ends: in a trace that is sound, or in an error that says where."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from analyzer.core.errors import UnreadableFileError
from analyzer.core.trace import EventKind, Trace
from analyzer.derive.honesty import honesty
from collectors.readers.kineto import read_trace
from collectors.readers.settings import ReadSettings
from tests.trace_damage import damaged
from tests.traces import Recording

SEEDS: Final = range(300)
SMALL_CHUNKS: Final = ReadSettings(chunk_bytes=4096)
"""So that borders between chunks are met by small files too."""
MOST_CPU_S: Final = 5.0
"""Of our own process, which a crowd does not lengthen. The slowest of these files, of 40 kB, takes 22 ms."""


def _text() -> bytes:
    run = Recording()
    for _ in range(8):
        with run.step(), run.graph("3fa9c1d2e4b5.inference"), run.op("aten::mm", ((4, 4), (4, 4)), ("float", "float")):
            run.launch("void gemm<float>(int)", us=5)
            run.replay([("a", 1.5), ("b", 2.25)])
            run.synchronize()
    return json.dumps(run.kineto()).encode()


TEXT: Final = _text()


def _is_sound(trace: Trace) -> None:
    size = len(trace)
    for column in (trace.kind, trace.start_ns, trace.duration_ns, trace.thread, trace.stream, trace.correlation):
        assert column.shape == (size,)
        assert column.dtype == np.int64
    assert (trace.duration_ns >= 0).all()
    assert (np.diff(trace.start_ns) >= 0).all()
    assert (trace.end_ns >= trace.start_ns).all()
    assert size == 0 or (trace.name_id.min() >= 0 and trace.name_id.max() < len(trace.names))
    assert {int(k) for k in trace.kind} <= {int(k) for k in EventKind}
    assert (trace.correlation[trace.has_correlation] > 0).all()
    # Every name can be written out.
    "".join(trace.names).encode()
    honesty(trace)


def _read_soundly(path: Path) -> None:
    said = None
    try:
        _is_sound(read_trace(path, SMALL_CHUNKS))
    except UnreadableFileError as error:
        said = error.message
    assert said is None or str(path) in said


@pytest.mark.parametrize("block", range(10))
def test_a_damaged_file_reads_soundly_or_says_why_not(tmp_path: Path, block: int) -> None:
    for seed in SEEDS[block::10]:
        text = damaged(TEXT, seed)
        path = tmp_path / "trace.json"
        path.write_bytes(gzip.compress(text, 1) if seed % 4 == 0 else text)
        begun = time.process_time()
        _read_soundly(path)
        assert time.process_time() - begun < MOST_CPU_S, f"seed {seed}"


@pytest.mark.parametrize("seed", range(20))
def test_damaged_gzip_reads_soundly_or_says_why_not(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(damaged(gzip.compress(TEXT), seed))
    _read_soundly(path)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.999])
def test_of_a_cut_file_every_complete_row_is_read(tmp_path: Path, share: float) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(TEXT[: int(len(TEXT) * share)])
    trace = read_trace(path, SMALL_CHUNKS)
    rows = json.loads(TEXT)["traceEvents"]
    complete = sum(TEXT.find(json.dumps(row).encode()) + len(json.dumps(row)) <= len(TEXT) * share for row in rows)
    assert len(trace) == complete
    assert trace.facts.damage is not None


def test_one_broken_row_costs_that_row(tmp_path: Path) -> None:
    file = json.loads(TEXT)
    rows = [json.dumps(row) for row in file["traceEvents"]]
    rows[len(rows) // 2] = rows[len(rows) // 2].replace('"ph"', '"ph', 1)
    path = tmp_path / "trace.json"
    path.write_text('{"traceEvents": [' + ", ".join(rows) + "]}")
    trace = read_trace(path, SMALL_CHUNKS)
    assert len(trace) == len(rows) - 1
    (lost,) = trace.facts.left_out
    assert (lost.what, lost.rows) == ("rows are not JSON and", 1)
    assert trace.facts.damage is None

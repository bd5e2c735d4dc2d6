"""However a file is cut, packed, spread over processes or kept, the trace is the same."""

from __future__ import annotations

import gzip
import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from analyzer.core.trace import Trace
from collectors.readers.cache import keep, kept, key_of
from collectors.readers.kineto import read_trace
from collectors.readers.settings import ReadSettings
from collectors.readers.sources import source_of
from tests.traces import Recording


def _text(steps: int = 60) -> bytes:
    run = Recording()
    for step in range(steps):
        with run.step(), run.op(f"aten::op{step % 7}", ((step, 4),), ("float",)):
            run.launch('odd "name" \\ {[]},{"ph":', us=5)
            run.synchronize()
    file = run.kineto()
    file["traceEvents"].insert(
        3, {"ph": "X", "name": "n", "ts": 5, "dur": 1, "args": {"x": [{"name": 1}, {"name": 2}]}}
    )
    return json.dumps(file | {"trailer": [{"ph": "no event", "name": "x"}, {"ph": 1}]}).encode()


def _same(left: Trace, right: Trace) -> None:
    for field in fields(Trace):
        a, b = getattr(left, field.name), getattr(right, field.name)
        if isinstance(a, np.ndarray):
            assert np.array_equal(a, b), field.name
        else:
            assert a == b, field.name


@pytest.mark.parametrize("chunk_bytes", [300, 997, 4096, 1 << 20])
def test_the_size_of_chunks_leaves_no_mark(tmp_path: Path, chunk_bytes: int) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(_text())
    _same(read_trace(path, ReadSettings(chunk_bytes=chunk_bytes)), read_trace(path))


def test_nothing_is_mended_in_a_file_that_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(_text())
    trace = read_trace(path, ReadSettings(chunk_bytes=500))
    assert (trace.notes, trace.facts.damage) == ((), None)
    assert len(trace) == len(json.loads(_text())["traceEvents"])


@pytest.mark.parametrize("separator", [", ", ",\n  ", "\n,", " , "])
def test_the_writers_separator_does_not_matter(tmp_path: Path, separator: str) -> None:
    rows = [json.dumps(row) for row in json.loads(_text())["traceEvents"]]
    path = tmp_path / "trace.json"
    path.write_text("[" + separator.join(rows) + "]")
    assert len(read_trace(path, ReadSettings(chunk_bytes=700))) == len(rows)


def test_two_processes_read_what_one_does(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(_text(200))
    _same(read_trace(path, ReadSettings(workers=2, chunk_bytes=8192)), read_trace(path))


def test_two_processes_mend_what_one_does(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(_text(200).replace(b'"name": "aten::op3"', b'"name": "C:\\q"', 2))
    _same(read_trace(path, ReadSettings(workers=2, chunk_bytes=8192)), read_trace(path, ReadSettings(chunk_bytes=8192)))


def test_packed_in_pieces_it_reads_the_same(tmp_path: Path) -> None:
    text = _text()
    for name, data in (("a", text), ("b", gzip.compress(text[:999]) + gzip.compress(text[999:]))):
        (tmp_path / f"{name}.json").write_bytes(data)
    _same(read_trace(tmp_path / "a.json"), read_trace(tmp_path / "b.json"))


def test_zstd_reads_the_same(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    (tmp_path / "a.json").write_bytes(_text())
    (tmp_path / "b.json.zst").write_bytes(zstandard.compress(_text()[:999]) + zstandard.compress(_text()[999:]))
    _same(read_trace(tmp_path / "a.json"), read_trace(tmp_path / "b.json.zst"))


def test_the_second_look_is_the_first(tmp_path: Path) -> None:
    path, cached = tmp_path / "trace.json", ReadSettings(cache=tmp_path / "cache")
    path.write_bytes(_text())
    first = read_trace(path, cached)
    key = key_of(source_of(path), cached)
    assert key is not None
    second = kept(key)
    assert second is not None
    _same(first, second)
    _same(read_trace(path, cached), read_trace(path))


def test_another_content_of_the_same_size_and_time_is_another_trace(tmp_path: Path) -> None:
    import os

    path, cached = tmp_path / "trace.json", ReadSettings(cache=tmp_path / "cache")
    path.write_bytes(_text())
    read_trace(path, cached)
    before = path.stat()
    path.write_bytes(_text().replace(b"aten::op3", b"aten::xx3"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "aten::xx3" in read_trace(path, cached).names


@pytest.mark.parametrize("file", ["columns.npy", "masks.npy", "tables.msgpack"])
@pytest.mark.parametrize("content", [b"", b"garbage", None])
def test_a_broken_cache_is_read_past(tmp_path: Path, file: str, content: bytes | None) -> None:
    path, cached = tmp_path / "trace.json", ReadSettings(cache=tmp_path / "cache")
    path.write_bytes(_text())
    read_trace(path, cached)
    (kept_in,) = (tmp_path / "cache").glob("*/" + file)
    if content is None:
        kept_in.unlink()
    else:
        kept_in.write_bytes(content)
    _same(read_trace(path, cached), read_trace(path))


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    path = tmp_path / "trace.json"
    path.write_bytes(_text())
    assert len(read_trace(path, ReadSettings(cache=tmp_path / "cache")))


def test_a_trace_that_was_not_read_is_not_kept(tmp_path: Path) -> None:
    path, cached = tmp_path / "trace.json", ReadSettings(cache=tmp_path / "cache")
    path.write_bytes(_text())
    key = key_of(source_of(path), cached)
    assert key is not None
    keep(key, replace(read_trace(path), external_id=None))
    assert kept(key) is None


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_changes_while_it_is_read_is_not_kept(tmp_path: Path, is_replaced: bool) -> None:
    path, cached = tmp_path / "trace.json", ReadSettings(cache=tmp_path / "cache")
    path.write_bytes(_text()[: len(_text()) // 2])  # as a profiler that still writes leaves it
    key = key_of(source_of(path), cached)
    assert key is not None
    if is_replaced:
        (tmp_path / "new").write_bytes(_text())
        (tmp_path / "new").rename(path)
    else:
        path.write_bytes(_text())
    keep(key, read_trace(path))
    assert kept(key) is None
    path.unlink()
    keep(key, Recording().trace())
    assert kept(key) is None

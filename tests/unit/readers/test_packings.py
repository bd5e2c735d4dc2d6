"""However a trace is packed, and packed again, it reads the same; a cut or broken packing says where."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.core.errors import UnreadableFileError
from analyzer.core.trace import Trace
from collectors.readers.inflating import MOST_LAYERS
from collectors.readers.kineto import read_trace
from collectors.readers.settings import Limits, ReadSettings
from tests.traces import Recording

Pack = Callable[[bytes], bytes]


def _zstd(data: bytes) -> bytes:
    return pytest.importorskip("zstandard").compress(data)  # type: ignore[no-any-return]


PACKS: dict[str, Pack] = {"gzip": gzip.compress, "zstd": _zstd, "bzip2": bz2.compress, "xz": lzma.compress}
ROWS = 300


def _text() -> bytes:
    run = Recording()
    for number in range(ROWS):
        run.launch(f"kernel {number}", us=5)
    return json.dumps(run.kineto()).encode()


def _read(tmp_path: Path, data: bytes, settings: ReadSettings = ReadSettings()) -> Trace:  # noqa: B008
    path = tmp_path / "trace.json"
    path.write_bytes(data)
    return read_trace(path, settings)


@pytest.fixture(scope="module")
def text() -> bytes:
    return _text()


@pytest.mark.parametrize("inner", PACKS)
@pytest.mark.parametrize("outer", [*PACKS, None])
def test_what_is_packed_once_or_twice_reads_as_if_it_were_not(
    tmp_path: Path, text: bytes, outer: str | None, inner: str
) -> None:
    packed = PACKS[inner](text)
    trace = _read(tmp_path, packed if outer is None else PACKS[outer](packed))
    assert trace.names == _read(tmp_path, text).names
    assert trace.facts.damage is None


@pytest.mark.parametrize("kind", PACKS)
def test_several_streams_one_behind_another_are_one_text(tmp_path: Path, text: bytes, kind: str) -> None:
    pack, half = PACKS[kind], len(text) // 2
    trace = _read(tmp_path, pack(text[:half]) + pack(text[half:]))
    assert (len(trace), trace.facts.damage) == (2 * ROWS, None)


@pytest.mark.parametrize("kind", PACKS)
def test_a_cut_packing_gives_what_comes_before_and_says_so(tmp_path: Path, kind: str) -> None:
    row = json.loads(_text())["traceEvents"][-1]
    # More than bzip2's blocks of 900 kB.
    text = json.dumps({"traceEvents": [{**row, "name": f"kernel {i * 7919}"} for i in range(12_000)]}).encode()
    packed = PACKS[kind](text)
    trace = _read(tmp_path, packed[: len(packed) * 9 // 10])
    assert 0 < len(trace) < 12_000
    assert trace.facts.damage is not None
    assert trace.facts.lacks_rows


@pytest.mark.parametrize(("kind", "keep"), [("bzip2", 20), ("xz", 60), ("gzip", 20)])
def test_a_broken_packing_is_named(tmp_path: Path, text: bytes, kind: str, keep: int) -> None:
    packed = PACKS[kind](text)
    with pytest.raises(UnreadableFileError, match=kind):
        _read(tmp_path, packed[:keep] + bytes(200) + packed[keep + 200 :])


def test_a_file_packed_more_often_than_anybody_would_is_refused(tmp_path: Path, text: bytes) -> None:
    for _ in range(MOST_LAYERS + 1):
        text = gzip.compress(text)
    with pytest.raises(UnreadableFileError, match="not JSON"):
        _read(tmp_path, text)


@pytest.mark.parametrize("outer", ["gzip", "xz", "bzip2"])
def test_a_bomb_within_a_packing_is_refused(tmp_path: Path, outer: str) -> None:
    limits = Limits(free_bytes=1 << 20, ratio=400)
    bomb = gzip.compress(b"[" + b" " * (8 << 20))
    with pytest.raises(UnreadableFileError, match="decompression bomb"):
        _read(tmp_path, PACKS[outer](bomb), ReadSettings(limits=limits))


@pytest.mark.parametrize("encoding", ["utf-16-be", "utf-16-le", "utf-32-be", "utf-32-le"])
def test_a_wide_encoding_is_understood_without_its_mark(tmp_path: Path, text: bytes, encoding: str) -> None:
    trace = _read(tmp_path, gzip.compress(text.decode().encode(encoding)))
    assert (len(trace), trace.facts.damage) == (2 * ROWS, None)
    assert any(encoding in note for note in trace.notes)

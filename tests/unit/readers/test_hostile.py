"""Files made to hurt the reader do not."""

from __future__ import annotations

import gzip
import json
import os
import resource
import sys
import time
import zlib
from pathlib import Path

import pytest

from analyzer.core.errors import UnreadableFileError
from analyzer.core.trace import Trace
from collectors.readers.kineto import read_trace
from collectors.readers.settings import Limits, ReadSettings
from tests.trace_damage import HOSTILE_NAMES

MOST_CPU_S = 30.0
"""Of our own process, which a crowd does not lengthen. The slowest takes 0.7 s."""
ROW = '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1}'


def _read(tmp_path: Path, content: bytes | str, settings: ReadSettings = ReadSettings()) -> Trace:  # noqa: B008
    path = tmp_path / "trace.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_trace(path, settings)


def _bomb(mebibytes: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    spaces = b" " * (1 << 20)
    return b"".join([packer.compress(b"["), *(packer.compress(spaces) for _ in range(mebibytes)), packer.flush()])


def test_a_gzip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UnreadableFileError, match="decompression bomb") as caught:
        _read(tmp_path, _bomb(120))
    assert "unpack it yourself" in str(caught.value.hint)
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 150 << 10


def test_a_start_written_over_several_lines_costs_its_row_alone(tmp_path: Path) -> None:
    odd = '{"ph": "X", "name": "b", "ts": [1,\n2], "dur": 1}'
    trace = _read(tmp_path, f"[{ROW}, {odd}, {ROW}]")
    assert len(trace) == 2
    assert any("start is missing" in note for note in trace.notes)


def test_more_text_than_the_limit_is_refused(tmp_path: Path) -> None:
    settings = ReadSettings(limits=Limits(text_bytes=1000))
    with pytest.raises(UnreadableFileError, match="MiB of text"):
        _read(tmp_path, f"[{','.join([ROW] * 100)}]", settings)


def test_a_zstd_bomb_is_refused(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    packed = zstandard.ZstdCompressor(level=19).compress(b"[" + b" " * (100 << 20))
    with pytest.raises(UnreadableFileError, match="decompression bomb"):
        _read(tmp_path, packed)


def test_the_limit_on_the_ratio_can_be_raised(tmp_path: Path) -> None:
    settings = ReadSettings(limits=Limits(ratio=10_000))
    trace = _read(tmp_path, gzip.compress(f"[{' ' * (70 << 20)}{ROW}]".encode()), settings)
    assert len(trace) == 1


@pytest.mark.parametrize("name", [*HOSTILE_NAMES, "void f<" * 500 + "<b>&amp;\x1b[31m"])
def test_a_hostile_name_is_data_and_stays_as_it_is(tmp_path: Path, name: str) -> None:
    assert _read(tmp_path, json.dumps([json.loads(ROW) | {"name": name}])).names == (name,)


@pytest.mark.parametrize("bracket", ["[", '{"a":'])
@pytest.mark.parametrize("place", ["name", "args", "beside"])
def test_values_nested_a_hundred_thousand_deep_cost_their_row(tmp_path: Path, bracket: str, place: str) -> None:
    deep = bracket * 100_000
    if place == "beside":
        text = f'{{"deviceProperties": {deep}, "traceEvents": [{ROW}]}}'
    else:
        text = f'[{ROW}, {{"ph":"X","{place}":{deep}, {ROW}]'
    begun = time.process_time()
    trace = _read(tmp_path, text)
    assert len(trace) >= 1
    assert time.process_time() - begun < MOST_CPU_S


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "9" * 400, "9" * 5000, "1e400", "-" + "9" * 5000])
@pytest.mark.parametrize("key", ["ts", "dur", "pid", "tid"])
def test_a_number_that_is_none_costs_its_row_at_most(tmp_path: Path, key: str, number: str) -> None:
    row = ROW.replace(f'"{key}":{json.loads(ROW)[key]}', f'"{key}":{number}')
    assert row != ROW
    trace = _read(tmp_path, f"[{ROW},{row}]")
    assert len(trace) == (1 if key in ("ts", "dur") else 2)
    assert sum(c.rows for c in (*trace.facts.left_out, *trace.facts.mended)) >= (key in ("ts", "dur"))


def test_times_at_both_ends_of_64_bits_do_not_wrap_round(tmp_path: Path) -> None:
    rows = [ROW.replace('"ts":1', f'"ts":{ts}') for ts in (-9_000_000_000_000_000, 9_000_000_000_000_000, 5, 6, 7)]
    trace = _read(tmp_path, f"[{','.join(rows)}]")
    assert (trace.start_ns >= 0).all()
    assert (trace.end_ns >= trace.start_ns).all()
    assert any("centuries" in c.what for c in trace.facts.mended)


def test_of_a_key_given_twice_the_last_counts(tmp_path: Path) -> None:
    assert _read(tmp_path, f'[{ROW[:-1]}, "name": "last"}}]').names == ("last",)


def test_a_second_list_of_events_is_left_out_and_said(tmp_path: Path) -> None:
    trace = _read(tmp_path, f'{{"traceEvents": [{ROW}], "traceEvents": [{ROW}, {ROW}]}}')
    assert len(trace) == 1
    assert trace.facts.damage is not None
    assert "a second list of events" in trace.facts.damage.reason


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_byte_order_mark_or_a_wide_encoding_is_understood(tmp_path: Path, encoding: str) -> None:
    text = f"[{ROW}]".replace('"k"', '"µ漢"')
    mark = {"utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    assert _read(tmp_path, mark + text.encode(encoding)).names == ("µ漢",)


def test_half_a_surrogate_pair_is_replaced(tmp_path: Path) -> None:
    trace = _read(tmp_path, "[" + ROW.replace('"k"', r'"a\ud800b"') + "," + ROW.replace('"k"', r'"\ud83d\ude00"') + "]")
    assert set(trace.names) == {"a\ufffdb", "😀"}


def test_an_event_larger_than_the_limit_ends_the_reading(tmp_path: Path) -> None:
    settings = ReadSettings(limits=Limits(value_bytes=1 << 20), chunk_bytes=1 << 16)
    text = f"[{ROW},{ROW.replace('k', 'k' * (5 << 20), 1)},{ROW}]"
    trace = _read(tmp_path, text.replace('"kkk', '"name', 0), settings)
    assert trace.facts.damage is not None or len(trace) == 3


def test_a_million_keys_beside_the_events_take_no_time(tmp_path: Path) -> None:
    begun = time.process_time()
    trace = _read(tmp_path, "{" + '"a":1,' * 100_000 + f'"traceEvents": [{ROW}]}}')
    assert len(trace) == 1
    assert time.process_time() - begun < MOST_CPU_S


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "trace.json")
    with pytest.raises(UnreadableFileError, match="not a regular file"):
        read_trace(tmp_path / "trace.json")

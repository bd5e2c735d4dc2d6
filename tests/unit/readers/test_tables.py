"""The numbers that columns point by, and the values that should be whole numbers."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.trace import EventKind, EventWait, Trace
from collectors.readers import chunks
from collectors.readers.chunks import whole_parts
from collectors.readers.details import NO_KERNEL_DETAIL, NO_OP_DETAIL
from collectors.readers.dialects import kind_of
from collectors.readers.exact import INT64_MAX
from collectors.readers.kineto import read_trace
from collectors.readers.scalars import ABSENT, doubles, links, number, plain_numbers, whole_numbers
from collectors.readers.tables import NO_ID, Details, Numbered, Tables

SCALARS = st.one_of(
    st.none(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.sampled_from(("7", "stream 9", "-1", "x", "")),
)


def test_keys_are_numbered_as_they_come() -> None:
    table: Numbered[str] = Numbered()
    assert table.of(("b", "a", "b")).tolist() == [0, 1, 0]
    assert tuple(table) == ("b", "a")


def test_a_row_that_says_nothing_of_itself_has_no_number() -> None:
    table = Details()
    assert table.of((NO_OP_DETAIL, b"x", NO_KERNEL_DETAIL, b"y", b"x")).tolist() == [NO_ID, 0, NO_ID, 1, 0]
    assert table.told() == (b"x", b"y")


def test_tables_come_back_from_another_process_as_they_were() -> None:
    tables = Tables()
    vocabulary, name = tables.categories.of(("kernel", "cpu_op")), tables.names.of(("k", "aten::mm"))
    tables.kinds(vocabulary, name)
    tables.details.of((b"x",))
    again = pickle.loads(pickle.dumps(tables))
    assert (tuple(again.names), again.details.told(), dict(again.categories)) == (
        ("k", "aten::mm"), (b"x",), dict(tables.categories),
    )  # fmt: skip
    assert again.kinds(vocabulary, name).tolist() == [EventKind.KERNEL, EventKind.CPU_OP]


WORDS = st.sampled_from(
    ("kernel", "Kernel", "cpu_op", "cuda_runtime", "user_annotation", "Trace", "cuda_sync", "?", "")
)
NAMES = st.sampled_from(("cudaLaunchKernel", "CopyHostToDevice", "ProfilerStep#1", "aten::mm", "cudaFree", ""))


@given(st.lists(st.lists(st.tuples(WORDS, NAMES), max_size=8), max_size=4))
def test_kinds_by_number_are_those_of_the_dialects(stretches: list[list[tuple[str, str]]]) -> None:
    tables = Tables()
    for rows in stretches:
        found = tables.kinds(tables.categories.of([c for c, _ in rows]), tables.names.of([n for _, n in rows]))
        assert found.tolist() == [kind_of(category, name) for category, name in rows]


def test_a_file_of_endless_categories_is_not_remembered_by_each() -> None:
    tables = Tables()
    spelled = [f"category {i}" for i in range(10_000)]
    assert set(tables.categories.of(spelled).tolist()) == {0}
    assert len(tables.categories) < 5_000


@given(st.lists(SCALARS, max_size=6))
def test_many_links_are_read_as_each_alone(values: list[Any]) -> None:
    together, apart = Counter[str](), Counter[str]()
    found = links(values, "ids", together)
    # A negative number beside one too wide for a sign is read one by one.
    assert found.tolist() == [int(links([value], "ids", apart)[0]) for value in values]
    assert +together == +apart
    assert all(value == ABSENT or 0 < value <= INT64_MAX for value in found.tolist())


@given(st.lists(SCALARS, max_size=6))
def test_whole_numbers_are_all_of_them_or_none(values: list[Any]) -> None:
    fits = all(type(v) is int and -(2**63) <= v < 2**63 for v in values)
    found = whole_numbers(values)
    assert (found is not None) == fits
    if found is not None:
        assert found.tolist() == values
        assert found.dtype == np.int64
    plain = plain_numbers(values)
    assert plain is None or plain.tolist() == [number(v) for v in values]


def test_doubles_refuse_what_is_no_number() -> None:
    assert doubles([1, 2.5]).tolist() == [1.0, 2.5]  # type: ignore[union-attr]
    for odd in (None, "3", 10**400):
        assert doubles([1, odd]) is None


def _row(i: int, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": "kernel", "name": f"k{i % 3}", "pid": 0, "tid": 7, "ts": i, "dur": 1, "args": more}


@pytest.mark.parametrize("nested", [False, True], ids=["plain", "rows inside of rows"])
def test_a_chunk_is_decoded_in_stretches_to_the_same_rows(monkeypatch: pytest.MonkeyPatch, nested: bool) -> None:
    """An argument that is a list of rows has borders inside it that are none."""
    inner = {"children": [_row(1), _row(2), _row(3)]} if nested else {}
    text = b",\n  ".join(json.dumps(_row(i, stream=7, **inner)).encode() for i in range(200))
    whole = whole_parts(text)
    monkeypatch.setattr(chunks, "STRETCH_BYTES", 700)
    monkeypatch.setattr(chunks, "STRETCHES_AT_ONCE", 2)
    parts = whole_parts(text)
    assert whole is not None
    assert parts is not None
    assert len(whole) == 1
    assert nested or len(parts) > 10
    starts = np.concatenate([part.columns["start"] for part in parts])
    assert starts.tolist() == whole[0].columns["start"].tolist() == [i * 1000 for i in range(200)]


def _read(tmp_path: Path, rows: list[dict[str, Any]]) -> Trace:
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": rows}))
    return read_trace(tmp_path / "trace.json")


def _wait(name: str, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": "cuda_sync", "name": name, "pid": 0, "tid": 7, "ts": 5, "dur": 2, "args": args}


def test_a_wait_that_the_device_tells_of_says_whose_event_it_was(tmp_path: Path) -> None:
    """As Kineto writes them where `enable_cuda_sync_events` was asked for."""
    told = _wait(
        "Stream Wait Event", cuda_sync_kind="Stream Wait Event", wait_on_stream=20, stream=7, correlation=51,
        wait_on_cuda_event_record_corr_id=50, wait_on_cuda_event_id=3, device=1, context=1,
    )  # fmt: skip
    trace = _read(tmp_path, [told])
    assert (trace.kind.tolist(), trace.stream.tolist(), trace.device.tolist()) == ([EventKind.WAIT], [7], [1])
    assert trace.correlation.tolist() == [51]
    detail = trace.detail(0)
    assert detail is not None
    assert detail.wait == EventWait(stream=20, record=50)


def test_a_wait_without_an_event_has_none_and_one_that_was_lost_is_unknown(tmp_path: Path) -> None:
    lost = _wait("Event Sync", wait_on_stream=-1, wait_on_cuda_event_record_corr_id=-1, stream=20, correlation=4)
    trace = _read(tmp_path, [_wait("Stream Sync", stream=7, correlation=3), lost])
    details = {trace.name(row): trace.detail(row) for row in range(2)}
    assert details["Stream Sync"] is None
    assert details["Event Sync"] is not None
    assert details["Event Sync"].wait == EventWait()


def test_a_wait_is_no_row_of_a_host_thread_nor_work_of_the_device(tmp_path: Path) -> None:
    host = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 0, "tid": 7, "ts": 1, "dur": 9}
    trace = _read(tmp_path, [host, _wait("Context Sync", stream=-1, correlation=3)])
    assert trace.thread[trace.rows(EventKind.CPU_OP)].tolist() == [7]
    assert trace.rows(EventKind.KERNEL, EventKind.COPY, EventKind.MEMSET).size == 0

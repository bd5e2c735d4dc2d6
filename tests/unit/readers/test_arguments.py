"""What a row says of itself is the same whether rows are decoded together, by the forms of their kinds, or alone."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.readers import arguments, chunks
from collectors.readers.arguments import DEVICE, FORMS, OPS, OTHERS, WAITS, form_number
from collectors.readers.chunks import NO_EVENTS, Piecewise, whole_parts
from collectors.readers.columns import Part
from collectors.readers.details import op_detail
from collectors.readers.dialects import TABLE, vocabulary_of
from collectors.readers.mending import Mender
from collectors.readers.tables import NO_ID, Tables

KEYS = (
    "correlation", "device", "stream", "External id", "external id", "Input Dims", "Input Strides", "Input type",
    "Concrete Inputs", "grid", "block", "bytes", "Input dims", "kernel_file", "kernel_hash", "graph node id",
    "graph id", "Collective name", "dtype", "In msg nelems", "Process Group Ranks", "wait_on_stream",
    "wait_on_cuda_event_record_corr_id", "Ev Idx",
)  # fmt: skip
VALUES = st.one_of(
    st.none(),
    st.integers(-2, 9),
    st.sampled_from((2**63, 2**64 - 1, -(2**70), 1.5, "7", "stream 9", "x", True, [], [[4, 4], []], {"a": [1]}, "ü")),
)
ROWS = st.fixed_dictionaries(
    {},
    optional={
        "ph": st.sampled_from(("X", "X", "X", "X", "M", "s", "?", 1)),
        "cat": st.sampled_from(
            ("kernel", "cpu_op", "Operator", "cuda_runtime", "cuda_sync", "gpu_user_annotation", "Trace",
             "python_function", "mtia_ccp_events", "")
        ),
        "name": st.sampled_from(("aten::mm", "ProfilerStep#1", "cudaLaunchKernel", "CopyHostToDevice", 5)),
        "pid": st.sampled_from((0, 1, "0", 1.0, None)),
        "tid": st.sampled_from((7, 8, "stream 7", None)),
        "ts": st.sampled_from((1, 2.5, "3", 1661203462598738, None, 10**30)),
        "dur": st.sampled_from((1, 0, -1, 2.25, "4", None)),
        "args": st.one_of(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6), st.sampled_from((None, 5, []))),
    },
)  # fmt: skip
SOUND = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 0, "tid": 7, "ts": 1, "dur": 1}


def _read(parts: list[Part]) -> tuple[list[tuple[object, ...]], dict[str, int], dict[str, int], int]:
    """The rows with their words, and what else there was."""
    rows: list[tuple[object, ...]] = []
    left_out: dict[str, int] = {}
    mended: dict[str, int] = {}
    for part in parts:
        tables = part.tables
        words = {"name": tuple(tables.names), "thread": tuple(tables.threads), "detail": tables.details.told()}
        columns = [
            [words[name][i] if name in words and i != NO_ID else i for i in values.tolist()]
            for name, values in part.columns.items()
        ]
        rows += zip(*columns, strict=True)
        for counts, more in ((left_out, part.left_out), (mended, part.mended)):
            for what, n in more.items():
                counts[what] = counts.get(what, 0) + n
    return rows, left_out, mended, sum(part.unread_device_rows for part in parts)


def _alone(texts: list[bytes]) -> Part:
    found = Piecewise(Mender())
    for text in texts:
        assert found.try_one(text, 0)
    return found.part(Tables())


def _is_same(texts: list[bytes]) -> bool:
    together = whole_parts(b",\n".join(texts))
    return together is not None and _read(together) == _read([_alone(texts)])


@given(st.lists(ROWS, max_size=8))
def test_rows_decoded_together_are_those_decoded_alone(rows: list[dict[str, Any]]) -> None:
    assert _is_same([json.dumps(row).encode() for row in rows])


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6), min_size=1, max_size=8), st.data())
def test_whatever_a_sound_row_says_is_read_as_alone(args: list[dict[str, Any]], data: st.DataObject) -> None:
    """Rows of which nothing else is odd, so that they are decoded by their forms."""
    cats = st.sampled_from(("kernel", "cpu_op", "cuda_runtime", "cuda_sync"))
    assert _is_same([json.dumps(SOUND | {"cat": data.draw(cats), "args": own}).encode() for own in args])


@pytest.mark.parametrize("odd", [5, [], "x", None, {"correlation": []}])
def test_one_row_that_is_not_as_it_should_be_leaves_the_others_as_they_are(odd: object) -> None:
    rows = [SOUND | {"args": {"Input Dims": [[i]], "External id": i}} for i in range(1, 40)]
    rows.insert(20, SOUND | {"args": odd})
    parts = whole_parts(",".join(map(json.dumps, rows)).encode())
    assert parts is not None
    found, left_out, _, _ = _read(parts)
    is_event = odd is None or isinstance(odd, dict)
    assert (len(found), left_out.get(NO_EVENTS, 0)) == (39 + is_event, 1 - is_event)


def test_a_row_left_out_for_its_time_is_still_asked_whether_it_is_an_event() -> None:
    parts = whole_parts(json.dumps(SOUND | {"ts": None, "args": 5}).encode())
    assert parts is not None
    assert _read(parts)[:2] == ([], {NO_EVENTS: 1})


def test_a_row_with_a_rare_field_tells_all_that_it_says() -> None:
    rows = [SOUND | {"args": {"Input Dims": [[4]]}}, SOUND | {"args": {"Input Dims": [[4]], "kernel_file": "a.py"}}]
    parts = whole_parts(",".join(map(json.dumps, rows)).encode())
    assert parts is not None
    details = [op_detail(text) for part in parts for text in part.tables.details.told()]
    assert [(detail.shapes, detail.kernel_file) for detail in details] == [(((4,),), None), (((4,),), "a.py")]


def test_rows_are_taken_some_at_a_time_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [SOUND | {"args": {"Input Dims": [[i]], "External id": i + 1}} for i in range(50)]
    rows[13]["args"] = {"kernel_file": "a.py", "dtype": "Int"}
    texts = [json.dumps(row).encode() for row in rows]
    whole = whole_parts(b",".join(texts))
    monkeypatch.setattr(arguments, "_AT_ONCE", 7)
    monkeypatch.setattr(chunks, "STRETCH_BYTES", 900)
    few = whole_parts(b",".join(texts))
    assert whole is not None
    assert few is not None
    assert _read(few) == _read(whole) == _read([_alone(texts)])


CATEGORIES = (
    "kernel", "concurrent_kernel", "gpu_op", "gpu_memcpy", "memcpy", "gpu_memset", "memset", "cuda_runtime",
    "hip_driver", "runtime", "mtia_runtime", "operator", "cpu_op", "user_annotation", "gpu_user_annotation",
    "python_function", "cuda_sync",
)  # fmt: skip


def test_each_category_has_one_form_with_all_that_its_kinds_need() -> None:
    for pattern, _, _ in TABLE:
        assert any(re.fullmatch(pattern, category) for category in CATEGORIES), f"add one of {pattern} above"
    for category in CATEGORIES:
        kinds = vocabulary_of(category).kinds
        named = {i for i, form in enumerate(FORMS) if kinds & set(form.kinds)}
        assert named <= {form_number(kinds)}, category
    assert [FORMS[form_number(vocabulary_of(c).kinds)] for c in ("cpu_op", "Memcpy", "cuda_sync", "python", "?")] == [
        OPS, DEVICE, WAITS, OTHERS, OTHERS,
    ]  # fmt: skip

"""What an operator, kernel or collective row says of itself, from its JSON text."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

from analyzer.core.trace import Collective, EventWait, OpDetail
from collectors.readers.events import DETAIL_FIELDS, FAILURES
from collectors.readers.exact import integer

DetailText = bytes
"""The JSON text of several of DETAIL_FIELDS, empty where absent, with NUL between them, which no JSON text holds: of an
operator's, of a kernel's, of a wait's, or of all where a row has a rare one. Their number tells which.
"""

SEPARATOR: Final = b"\0"
OP_FIELDS: Final = ("dims", "strides", "dtypes", "values")
KERNEL_FIELDS: Final = ("grid", "block", "size")
WAIT_FIELDS: Final = ("awaited_stream", "awaited_record")
RARE_FIELDS: Final = ("kernel_file", "kernel_hash", "collective", "old_dims", "graph_node", "graph")
"""Those of which a row has one, if it has any that is neither of the above."""

NO_OP_DETAIL: Final[DetailText] = SEPARATOR * (len(OP_FIELDS) - 1)
NO_KERNEL_DETAIL: Final[DetailText] = SEPARATOR * (len(KERNEL_FIELDS) - 1)
NO_WAIT_DETAIL: Final[DetailText] = SEPARATOR * (len(WAIT_FIELDS) - 1)
"""Of rows that say nothing of themselves."""

_MOST_KNOWN: Final = 1 << 12
"""Texts of one field that are read once: operators share their shapes, and the ranks of a folder all of them."""

_Fields = dict[str, bytes]


def op_detail(joined: DetailText) -> OpDetail:
    """A field that is not what it should be reads as absent."""
    texts = joined.split(SEPARATOR)
    if len(texts) == len(OP_FIELDS):
        dims, strides, dtypes, values = texts
        return OpDetail(_shapes(dims), _shapes(strides), _texts(dtypes), _texts(values), lists=_lists(dims))
    if len(texts) == len(KERNEL_FIELDS):
        grid, block, size = texts
        return OpDetail(grid=_extent(grid), block=_extent(block), bytes=integer(size) if size else None)
    if len(texts) == len(WAIT_FIELDS):
        stream, record = (integer(text) if text else None for text in texts)
        # -1 stands for "none" in both, and 0 is no correlation id.
        return OpDetail(wait=EventWait(stream if (stream or 0) >= 0 else None, record if (record or 0) > 0 else None))
    return _full_detail(texts)


def _full_detail(texts: list[bytes]) -> OpDetail:
    text = dict(zip(DETAIL_FIELDS, texts, strict=True))
    dims = _of(text, "dims") or _of(text, "old_dims")
    return OpDetail(
        shapes=_shapes(dims),
        strides=_shapes(_of(text, "strides")),
        dtypes=_texts(_of(text, "dtypes")),
        values=_texts(_of(text, "values")),
        kernel_file=_text(_of(text, "kernel_file")),
        kernel_hash=_text(_of(text, "kernel_hash")),
        grid=_extent(_of(text, "grid")),
        bytes=_number(text, "size"),
        lists=_lists(dims),
        block=_extent(_of(text, "block")),
        graph_node=_number(text, "graph_node"),
        graph=_number(text, "graph"),
        collective=_collective(text),
    )


def _collective(text: _Fields) -> Collective | None:
    name = _text(_of(text, "collective"))
    if name is None:
        return None
    return Collective(
        name=name,
        dtype=_text(_of(text, "collective_dtype")),
        elements_in=_number(text, "elements_in"),
        elements_out=_number(text, "elements_out"),
        group=_text(_of(text, "group")),
        group_size=_number(text, "group_size"),
        ranks=_ranks(_of(text, "group_ranks")),
        rank=_number(text, "own_rank"),
    )


def _ranks(text: bytes) -> tuple[int, ...] | None:
    """Kineto writes the list in quotes, and cuts long ones short with an ellipsis."""
    value = _json(text)
    if isinstance(value, str):
        value = _json(value.encode("utf-8", "replace"))
    return _ints(value)


def _of(text: _Fields, field: str) -> bytes:
    return text.get(field, b"")


def _number(text: _Fields, field: str) -> int | None:
    value = _of(text, field)
    return integer(value) if value else None


@lru_cache(maxsize=_MOST_KNOWN)
def _shapes(text: bytes) -> tuple[tuple[int, ...], ...]:
    """One shape an input. A tensor list, whose shapes nest one level deeper, gets an empty one like any non-tensor."""
    value = _json(text)
    if not isinstance(value, list):
        return ()
    return tuple(_ints(v) or () for v in value)


@lru_cache(maxsize=_MOST_KNOWN)
def _lists(text: bytes) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """The shapes inside each tensor list; empty where no input is one."""
    value = _json(text)
    if not isinstance(value, list) or not any(isinstance(v, list) and v and isinstance(v[0], list) for v in value):
        return ()
    return tuple(_nested(v) for v in value)


def _nested(value: object) -> tuple[tuple[int, ...], ...]:
    if not isinstance(value, list):
        return ()
    shapes = [_ints(v) for v in value if isinstance(v, list)]
    return tuple(s for s in shapes if s is not None) if len(shapes) == len(value) else ()


@lru_cache(maxsize=_MOST_KNOWN)
def _extent(text: bytes) -> tuple[int, ...] | None:
    # HIP graph kernels carry no grid, or [0, 0, 0].
    extent = _ints(_json(text))
    return extent if extent and all(n > 0 for n in extent) else None


def _ints(value: object) -> tuple[int, ...] | None:
    if isinstance(value, list) and all(type(v) is int for v in value):
        return tuple(value)
    return None


@lru_cache(maxsize=_MOST_KNOWN)
def _texts(text: bytes) -> tuple[str, ...]:
    value = _json(text)
    return tuple(v if isinstance(v, str) else str(v) for v in value) if isinstance(value, list) else ()


def _text(text: bytes) -> str | None:
    value = _json(text)
    return value if isinstance(value, str) and value else None


def _json(text: bytes) -> object:
    if not text:
        return None
    try:
        return msgspec.json.decode(text)
    except FAILURES:
        # Text that was skipped over unread: bytes that are not UTF-8, or half a surrogate pair.
        return None

"""The fields of a Chrome trace event that are read, and the detail of an operator or kernel row."""

from __future__ import annotations

import msgspec
from msgspec import Raw, field

from analyzer.core.trace import OpDetail
from collectors.readers.exact import integer

_ABSENT = Raw()


class Args(msgspec.Struct, gc=False):
    """Fields stay JSON text until they are wanted: files disagree on their types, and most rows repeat each other."""

    correlation: Raw = _ABSENT
    device: Raw = _ABSENT
    stream: Raw = _ABSENT
    size: Raw = field(default=_ABSENT, name="bytes")
    grid: Raw = _ABSENT
    kernel_file: Raw = _ABSENT
    kernel_hash: Raw = _ABSENT
    dims: Raw = field(default=_ABSENT, name="Input Dims")
    # 2021's spelling.
    old_dims: Raw = field(default=_ABSENT, name="Input dims")
    strides: Raw = field(default=_ABSENT, name="Input Strides")
    dtypes: Raw = field(default=_ABSENT, name="Input type")
    values: Raw = field(default=_ABSENT, name="Concrete Inputs")


class Event(msgspec.Struct, gc=False):
    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: Raw = _ABSENT
    tid: Raw = _ABSENT
    ts: Raw = _ABSENT
    dur: Raw = _ABSENT
    args: Args | None = None


class DeviceProperties(msgspec.Struct):
    id: int | None = None
    name: str | None = None


DetailText = tuple[bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes]
"""Dims, strides, dtypes, values, kernel file, kernel hash, grid and bytes, as JSON text."""


def detail_text(args: Args) -> DetailText | None:
    """What tells one detail from another; None where the row says nothing of itself."""
    text = (
        bytes(args.dims) or bytes(args.old_dims),
        bytes(args.strides),
        bytes(args.dtypes),
        bytes(args.values),
        bytes(args.kernel_file),
        bytes(args.kernel_hash),
        bytes(args.grid),
        bytes(args.size),
    )
    return text if any(text) else None


def op_detail(text: DetailText) -> OpDetail:
    """A field that is not what it should be reads as absent."""
    dims, strides, dtypes, values, kernel_file, kernel_hash, grid, size = text
    return OpDetail(
        shapes=_shapes(dims),
        strides=_shapes(strides),
        dtypes=_texts(dtypes),
        values=_texts(values),
        kernel_file=_text(kernel_file),
        kernel_hash=_text(kernel_hash),
        grid=_grid(grid),
        bytes=integer(size) if size else None,
        lists=_lists(dims),
    )


def _shapes(text: bytes) -> tuple[tuple[int, ...], ...]:
    """One shape an input. A tensor list, whose shapes nest one level deeper, gets an empty one like any non-tensor."""
    value = _json(text)
    if not isinstance(value, list):
        return ()
    return tuple(_ints(v) or () for v in value)


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


def _grid(text: bytes) -> tuple[int, ...] | None:
    # HIP graph kernels carry no grid, or [0, 0, 0].
    grid = _ints(_json(text))
    return grid if grid and all(g > 0 for g in grid) else None


def _ints(value: object) -> tuple[int, ...] | None:
    if isinstance(value, list) and all(isinstance(v, int) for v in value):
        return tuple(value)
    return None


def _texts(text: bytes) -> tuple[str, ...]:
    value = _json(text)
    return tuple(v if isinstance(v, str) else str(v) for v in value) if isinstance(value, list) else ()


def _text(text: bytes) -> str | None:
    value = _json(text)
    return value if isinstance(value, str) and value else None


def _json(text: bytes) -> object:
    return msgspec.json.decode(text) if text else None

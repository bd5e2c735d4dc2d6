"""Sizes of the tensors that a profiler row names."""

from __future__ import annotations

import math
from typing import Final

from analyzer.core.trace import OpDetail

DTYPES: Final[tuple[tuple[str, str, int], ...]] = (
    ("double", "float64", 8),
    ("float", "float32", 4),
    ("c10::Half", "float16", 2),
    ("c10::BFloat16", "bfloat16", 2),
    ("c10::Float8_e4m3fn", "float8_e4m3fn", 1),
    ("c10::Float8_e5m2", "float8_e5m2", 1),
    ("c10::Float8_e4m3fnuz", "float8_e4m3fnuz", 1),
    ("c10::Float8_e5m2fnuz", "float8_e5m2fnuz", 1),
    ("long int", "int64", 8),
    ("long", "int64", 8),
    ("int", "int32", 4),
    ("short", "int16", 2),
    ("short int", "int16", 2),
    ("signed char", "int8", 1),
    ("unsigned char", "uint8", 1),
    ("bool", "bool", 1),
    ("c10::complex<float>", "complex64", 8),
    ("c10::complex<double>", "complex128", 16),
)
"""The C++ name in a trace (`caffe2::TypeMeta`), torch's name, and its size in bytes."""

_NAMES: Final = {cpp: name for cpp, name, _ in DTYPES}
_SIZES: Final = {cpp: size for cpp, _, size in DTYPES}


def dtype_name(detail: OpDetail, index: int) -> str | None:
    """torch's name for the type of an input; None where it is no tensor, or of an unknown type."""
    return _NAMES.get(detail.dtypes[index]) if index < len(detail.dtypes) else None


def is_tensor(detail: OpDetail, index: int) -> bool:
    return dtype_name(detail, index) is not None


def shape(detail: OpDetail, index: int) -> tuple[int, ...] | None:
    """The shape of an input; None where it is no tensor."""
    return detail.shapes[index] if index < len(detail.shapes) and is_tensor(detail, index) else None


def item_bytes(detail: OpDetail, index: int) -> int:
    """Bytes an element of a tensor input. Raises IndexError or KeyError where it is none."""
    return _SIZES[detail.dtypes[index]]


def input_bytes(detail: OpDetail, index: int) -> int:
    """The memory behind one input, 0 for one that is no tensor. A broadcast (stride 0) dimension takes none."""
    dims = shape(detail, index)
    if dims is None:
        return 0
    strides = detail.strides[index] if index < len(detail.strides) else ()
    if len(strides) == len(dims):
        dims = tuple(d for d, s in zip(dims, strides, strict=True) if s != 0 or d == 0)
    return math.prod(dims) * item_bytes(detail, index)


def all_input_bytes(detail: OpDetail) -> int:
    return sum(input_bytes(detail, i) for i in range(len(detail.dtypes)))


def has_unknown_tensors(detail: OpDetail) -> bool:
    """Whether some input holds tensors whose size the row does not tell (a tensor list, a type of a later torch)."""
    known = ("Scalar", "ScalarList", "", "Device", "Bool", "Int", "Double", "str", "NoneType")
    return not detail.dtypes or any(
        not is_tensor(detail, i) and (dtype not in known or bool(detail.shapes[i : i + 1] and detail.shapes[i]))
        for i, dtype in enumerate(detail.dtypes)
    )


def numbers(detail: OpDetail, index: int) -> tuple[int, ...] | None:
    """A recorded list of integers (`[1, 1]`), or one integer; None where it is neither."""
    if index >= len(detail.values):
        return None
    try:
        return tuple(int(v) for v in detail.values[index].strip("[]() ").split(",") if v.strip())
    except ValueError:
        return None


def flags(detail: OpDetail, index: int) -> tuple[bool, ...] | None:
    """A recorded boolean (`False`), or a list of them; None where it is neither."""
    words = [v.strip() for v in detail.values[index].strip("[] ").split(",")] if index < len(detail.values) else []
    if not words or any(w not in ("True", "False", "1", "0") for w in words):
        return None
    return tuple(w in ("True", "1") for w in words)

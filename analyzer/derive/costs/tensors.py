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
    ("c10::Float8_e8m0fnu", "float8_e8m0fnu", 1),
    ("c10::Float4_e2m1fn_x2", "float4_e2m1fn_x2", 1),
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
    ("c10::complex<c10::Half>", "complex32", 4),
    ("unsigned short", "uint16", 2),
    ("unsigned int", "uint32", 4),
    ("unsigned long", "uint64", 8),
)
"""The C++ name in a trace (`caffe2::TypeMeta`), torch's name, and its size in bytes."""

SECTOR_BYTES: Final = 32
"""The least that a GPU of NVIDIA reads (CUDA C++ Best Practices Guide, coalesced access). A CPU reads 64."""

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
    """What reading one input moves, 0 for one that is no tensor. A broadcast (stride 0) dimension moves nothing, a
    strided view the sectors that it touches; without strides the tensor is taken to be dense.
    """
    dims = shape(detail, index)
    if dims is None:
        return 0
    strides = detail.strides[index] if index < len(detail.strides) else ()
    return touched_bytes(dims, strides, item_bytes(detail, index))


def touched_bytes(dims: tuple[int, ...], strides: tuple[int, ...], item: int) -> int:
    """Bytes behind a view, in whole sectors where it leaves gaps. `strides` of another length are not known."""
    if len(strides) != len(dims):
        return math.prod(dims) * item
    if 0 in dims:
        return 0
    steps = sorted((abs(s), d) for s, d in zip(strides, dims, strict=True) if s != 0 and d != 1)
    run, runs, gap = 1, 1, 0
    for step, size in steps:
        if step <= run and runs == 1:
            run += step * (size - 1)  # dense, or windows that overlap
        else:
            gap = gap or step
            runs *= size
    if runs == 1:
        return run * item
    span = (1 + sum(step * (size - 1) for step, size in steps)) * item
    sectors = -(-run * item // SECTOR_BYTES) * SECTOR_BYTES
    # Runs nearer to each other than a sector share it.
    return min(runs * min(sectors, gap * item), span)


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


SCALAR_TYPES: Final[tuple[tuple[int, str, int], ...]] = (
    (0, "uint8", 1),
    (1, "int8", 1),
    (2, "int16", 2),
    (3, "int32", 4),
    (4, "int64", 8),
    (5, "float16", 2),
    (6, "float32", 4),
    (7, "float64", 8),
    (9, "complex64", 8),
    (10, "complex128", 16),
    (11, "bool", 1),
    (15, "bfloat16", 2),
    (23, "float8_e5m2", 1),
    (24, "float8_e4m3fn", 1),
    (25, "float8_e5m2fnuz", 1),
    (26, "float8_e4m3fnuz", 1),
)
"""The number that a trace shows for a `dtype` argument, torch's name, and its size (ScalarType.h of torch 2.13)."""

_TYPE_SIZES: Final = {number: size for number, _, size in SCALAR_TYPES}


def scalar_type_bytes(detail: OpDetail, index: int) -> int | None:
    """Bytes an element of the type that a `dtype` argument names; None where it was left to its default."""
    value = numbers(detail, index)
    return _TYPE_SIZES.get(value[0]) if value is not None and len(value) == 1 else None


def numel(detail: OpDetail, index: int) -> int:
    """The elements of a tensor input, broadcast ones counted; 0 for one that is no tensor."""
    dims = shape(detail, index)
    return 0 if dims is None else math.prod(dims)


def dense_bytes(detail: OpDetail, index: int) -> int:
    """What a dense tensor like an input takes, broadcast dimensions filled in. 0 for one that is no tensor."""
    return numel(detail, index) * item_bytes(detail, index) if is_tensor(detail, index) else 0


def tensor_inputs(detail: OpDetail) -> tuple[int, ...]:
    """The indices of the inputs that are tensors."""
    return tuple(i for i in range(len(detail.dtypes)) if is_tensor(detail, i))


def tensor_list(detail: OpDetail, index: int) -> tuple[tuple[int, ...], ...]:
    """The shapes inside a tensor list; empty where the input is none, or the trace does not show them."""
    return detail.lists[index] if index < len(detail.lists) else ()

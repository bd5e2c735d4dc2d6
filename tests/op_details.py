"""What the profiler would record of each operator that a block calls, without the profiler: works on meta tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.tensors import DTYPES, SCALAR_TYPES

CPP_NAMES: Final = {getattr(torch, name): cpp for cpp, name, _ in reversed(DTYPES) if hasattr(torch, name)}
NUMBERS: Final = {getattr(torch, name): number for number, name, _ in SCALAR_TYPES}


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its name and detail as in a trace, and the bytes of the tensors that went in and came out."""

    name: str
    detail: OpDetail
    input_bytes: int
    output_bytes: int


class Recorder(TorchDispatchMode):
    """Notes every operator, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        given = _in_order(func, args, kwargs or {})
        self.calls.append(
            Call(
                name=func._schema.name,
                detail=detail_of(given),
                input_bytes=sum(t.nbytes for t in tree_leaves(given) if isinstance(t, torch.Tensor)),
                output_bytes=sum(t.nbytes for t in tree_leaves(result) if isinstance(t, torch.Tensor)),
            )
        )
        return result


def detail_of(values: Sequence[Any]) -> OpDetail:
    """The detail of a call with these arguments, in the manner of Kineto."""
    is_listed = any(_is_tensor_list(v) for v in values)
    return OpDetail(
        shapes=tuple(tuple(v.shape) if isinstance(v, torch.Tensor) else () for v in values),
        strides=tuple(v.stride() if isinstance(v, torch.Tensor) else () for v in values),
        dtypes=tuple(map(_dtype, values)),
        values=tuple(map(_text, values)),
        lists=tuple(tuple(tuple(t.shape) for t in v) if _is_tensor_list(v) else () for v in values)
        if is_listed
        else (),
    )


def _in_order(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """Arguments as the schema has them, left-out ones as their defaults: that is what is recorded."""
    given = []
    for i, argument in enumerate(func._schema.arguments):
        given.append(args[i] if i < len(args) else kwargs.get(argument.name, argument.default_value))
    return given


def _is_tensor_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(v, torch.Tensor) for v in value)


def _dtype(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return CPP_NAMES[value.dtype]
    if isinstance(value, list | tuple):
        return "TensorList" if _is_tensor_list(value) else "ScalarList"
    return "" if value is None else "Scalar"


def _text(value: Any) -> str:
    if isinstance(value, torch.Tensor) or value is None or _is_tensor_list(value):
        return ""
    if isinstance(value, torch.dtype):
        return str(NUMBERS[value])
    return str(list(value)) if isinstance(value, list | tuple) else str(value)

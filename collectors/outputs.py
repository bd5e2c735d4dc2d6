"""Tensors out of whatever a model returns: tuples, dicts, dataclasses, objects of its own."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Final

import torch

from collectors.tensor_parts import computable, parts, readable

MAX_DEPTH: Final = 16
"""Deeper nests are taken for cycles."""

MOST_KEY: Final = 80
"""Characters of a key that a path shows."""

MOST_COUNT: Final = 2**32
"""A larger whole number is no count and no index but an `id()`, a `data_ptr()` or a hash: another in the next step."""

_PLAIN_KEYS: Final = (str, bytes, bool, int, float, complex, Enum, torch.dtype, torch.device, type(None))


def tensors(value: object, path: str = "output", depth: int = 0) -> Iterator[tuple[str, torch.Tensor]]:
    """Each tensor in `value` with the path that leads to it (`output.logits`, `output[0]['mask']`)."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, torch.Tensor):
        yield path, value
        return
    for step, child in children(value):
        yield from tensors(child, path + step, depth + 1)


def children(value: object) -> Iterator[tuple[str, object]]:
    """What an object holds, each with the step that leads to it (`.logits`, `[0]`, `['mask']`); nothing of a module."""
    if isinstance(value, Mapping):
        yield from ((f"[{_named(key, index)}]", child) for index, (key, child) in enumerate(value.items()))
    elif isinstance(value, tuple | list | deque):
        yield from ((f"[{index}]", child) for index, child in enumerate(value))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from ((f".{f.name}", getattr(value, f.name)) for f in dataclasses.fields(value) if hasattr(value, f.name))
    elif _is_record(value):
        yield from ((f".{name}", child) for name, child in vars(value).items())


def _named(key: object, index: int) -> str:
    """A key as it is written, or its place: the text of a tensor is its values, that of an object its address, and an
    optimizer keeps its state by parameter.
    """
    is_address = isinstance(key, int) and abs(key) > MOST_COUNT
    is_plain = isinstance(key, _PLAIN_KEYS) and not is_address and len(repr(key)) <= MOST_KEY
    return repr(key) if is_plain else f"key {index}"


def _is_record(value: object) -> bool:
    is_code = callable(value) or isinstance(value, torch.nn.Module | type)
    return isinstance(getattr(value, "__dict__", None), dict) and not is_code


def scalars(value: object, path: str = "output", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Each Python number or bool in `value` with its path."""
    if depth > MAX_DEPTH or isinstance(value, torch.Tensor):
        return
    if isinstance(value, bool | int | float | complex):
        yield path, value
        return
    for step, child in children(value):
        yield from scalars(child, path + step, depth + 1)


def float_sum(value: object) -> torch.Tensor | None:
    """The sum of all floating tensors that need a gradient: the loss of a model that brings none. None without one."""
    sums = [_sum(rows) for _, tensor in tensors(value) if _is_differentiable(tensor) for rows in _rows(tensor)]
    return torch.stack([one.to(sums[0]) for one in sums]).sum() if sums else None


def _rows(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    # A nested tensor of the strided layout has no sum of its own.
    return tensor.unbind() if tensor.is_nested and tensor.layout == torch.strided else (tensor,)


def _sum(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float().sum() if tensor.dtype.itemsize < 4 else tensor.sum()


def _is_differentiable(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.requires_grad


def not_finite(results: Iterable[tuple[str, torch.Tensor]]) -> tuple[str, ...]:
    """The paths of the float tensors that hold a NaN or an infinity. What cannot be read is none of them."""
    return tuple(path for path, tensor in results if any(_is_broken(part) for _, part in parts(tensor) or ()))


def _is_broken(part: torch.Tensor) -> bool:
    return (part.is_floating_point() or part.is_complex()) and not bool(torch.isfinite(computable(part)).all())


def unread(results: Iterable[tuple[str, torch.Tensor]]) -> tuple[str, ...]:
    """The paths of the results whose values cannot be read, and so are compared with nothing."""
    return tuple(path for path, tensor in results if parts(tensor) is None)


def gpu_bytes(named: Iterable[tuple[str, torch.Tensor]]) -> int:
    """What these tensors take of a GPU's memory."""
    return sum(tensor.numel() * tensor.element_size() for _, tensor in named if tensor.is_cuda)


def detached(value: object) -> tuple[tuple[str, torch.Tensor], ...]:
    """Copies of the tensors in `value`, safe from the next step (CUDA graphs reuse their outputs' memory).

    All are dense: a sparse or nested one is given as its parts, one that cannot be read as a meta tensor.
    """
    return tuple(copied for path, tensor in tensors(value) for copied in readable(path, tensor))

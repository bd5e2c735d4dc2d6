"""What on a module, or in a container, is data that a step may change: read and put back, and never called."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

import torch

_COMPILED_MARK: Final = "_is_torch_compile"
"""Set on a module by torch.compile(module) (`OptimizeContext.__call__` in torch/_dynamo/eval_frame.py, 2.13)."""

MODULE_INTERNALS: Final = frozenset(vars(torch.nn.Module())) | {_COMPILED_MARK}
"""What torch itself keeps on a module: hooks, the training flag. Parameters and buffers among it are kept apart."""

PLAIN: Final = (bool, int, float, complex, str, type(None))
_ATOMS: Final = (*PLAIN, torch.Tensor, torch.dtype, torch.device, type)

MAX_DEPTH: Final = 8
"""A KV cache lies five containers deep in a module; what is deeper is taken for no state of a step."""


def is_data(value: object, depth: int = 0) -> bool:
    """Whether an object and all it holds are data. A logger, a lock or a stream is not, and is left alone."""
    if isinstance(value, _ATOMS):
        return True
    if depth > MAX_DEPTH:
        return False
    if isinstance(value, dict):
        return all(is_data(child, depth + 1) for child in value.values())
    if isinstance(value, list | tuple | set | deque):
        return all(is_data(child, depth + 1) for child in value)
    if callable(value) or isinstance(value, torch.nn.Module):
        return False
    found = _fields(value)
    return bool(found) and all(is_data(child, depth + 1) for held in found for child in held.values())


def module_data(model: torch.nn.Module) -> Iterator[tuple[str, object]]:
    """What the modules of a model keep as data, by path (`layer.calls`); what torch keeps on them is not among it."""
    for prefix, module in model.named_modules():
        for name, value in vars(module).items():
            if name not in MODULE_INTERNALS and is_data(value):
                yield f"{prefix}.{name}" if prefix else name, value


def _fields(value: object) -> tuple[dict[str, Any], ...]:
    """What an object holds by name; nothing of one that is neither a record nor a dataclass."""
    held = getattr(value, "__dict__", None)
    if isinstance(held, dict):
        return (held,)
    if dataclasses.is_dataclass(value):
        return ({f.name: getattr(value, f.name, None) for f in dataclasses.fields(value)},)
    return ()

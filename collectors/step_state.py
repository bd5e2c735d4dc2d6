"""What a user's step keeps of training in its module's globals: optimizers, scalers and schedules of torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, Final

from torch.amp import GradScaler
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

KEEPERS: Final = (Optimizer, GradScaler, LRScheduler)


def training_state(step: Callable[..., Any]) -> Iterator[object]:
    """Each that the function names, or that a function of its own module names which it calls."""
    seen: dict[int, object] = {}
    if isinstance(step, FunctionType):
        _look(step, seen)
    yield from (one for one in seen.values() if isinstance(one, KEEPERS))


def _look(function: FunctionType, seen: dict[int, object]) -> None:
    seen[id(function)] = function
    for name in _names(function.__code__):
        value = function.__globals__.get(name)
        if id(value) in seen:
            continue
        if isinstance(value, KEEPERS):
            seen[id(value)] = value
        elif isinstance(value, FunctionType) and value.__globals__ is function.__globals__:
            _look(value, seen)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)

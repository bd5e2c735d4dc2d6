"""Whether a plan is in effect at all, seen at the first call of the model: none is taken for one that does nothing."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from optimizers.plan_backend import PlanBackend


def watching_first_call(compiled: Callable[..., Any], backend: PlanBackend, named: str) -> Callable[..., Any]:
    """`compiled`, whose first call warns where torch.compile gave `backend` no graph in it.

    So it is with what Dynamo passes by without a word: layers of torch's own in a wrapper that it does not read, a
    generator. In a module it is a hook that takes itself away, so that no later call pays for it; around a function
    one more call of Python's stays, 0.1 µs.
    """
    watch = _FirstCall(backend, named)
    if isinstance(compiled, nn.Module):
        watch.handle = compiled.register_forward_hook(watch)
        return compiled
    is_first = True

    @functools.wraps(compiled)  # with what torch wrote on it: within another compilation it is read as if not compiled
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal is_first
        result = compiled(*args, **kwargs)
        if is_first and not torch.compiler.is_compiling():
            is_first = False
            watch.tell()
        return result

    return call


class _FirstCall:
    def __init__(self, backend: PlanBackend, named: str) -> None:
        self._backend = backend
        self._named = named
        self.handle: Any = None

    def __call__(self, module: nn.Module, args: Any, output: Any) -> None:
        if torch.compiler.is_compiling():
            return  # a graph of somebody else's, in which nothing must be done
        self.handle.remove()
        self.tell()

    def tell(self) -> None:
        if not self._backend.has_met_any:
            text = (
                f"{self._named} is not in effect: torch.compile captured no graph in the first call of the model, "
                "which runs as it is; analyze it wrapped as it is here to see why"
            )
            warnings.warn(text, UserWarning, stacklevel=3)

"""Whether a plan is in effect at all, seen at the first call of the model: none is taken for one that does nothing."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import nn

from optimizers.plan_backend import PlanBackend


def warn_if_nothing_is_compiled(compiled: nn.Module, backend: PlanBackend, named: str) -> None:
    """Have the first call of `compiled` warn where torch.compile gave `backend` no graph in it.

    So it is with what Dynamo passes by without a word: layers of torch's own in a wrapper that it does not read. It is
    a hook that takes itself away, so that no later call pays for it.
    """
    watch = _FirstCall(backend, named)
    watch.handle = compiled.register_forward_hook(watch)


class _FirstCall:
    def __init__(self, backend: PlanBackend, named: str) -> None:
        self._backend = backend
        self._named = named
        self.handle: Any = None

    def __call__(self, module: nn.Module, args: Any, output: Any) -> None:
        if torch.compiler.is_compiling():
            return  # a graph of somebody else's, in which nothing must be done
        self.handle.remove()
        if not self._backend.has_met_any:
            text = (
                f"{self._named} is not in effect: torch.compile captured no graph in the first call of the model, "
                "which runs as it is; analyze it wrapped as it is here to see why"
            )
            warnings.warn(text, UserWarning, stacklevel=2)

"""A training step in which what a checkpoint computes again, in the backward, leaves nothing behind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import torch

from analyzer.core.settings import Mode
from collectors import torch_compat
from collectors.effects import Results
from collectors.reference import first_results
from collectors.state import Snapshot
from collectors.step import Stepper

_KEPT: Final = ("buffer ", "attribute ", "number ")
"""How the paths of what a module keeps begin, its parameters aside."""


def once_results(eager: Stepper) -> Results | None:
    """What an eager step from the first state gives where a part that is computed again writes nothing then.

    torch.utils.checkpoint runs a part a second time as the backward comes to it, and a batch norm in it counts its
    batch a second time; compiled code computes again what it needs, and writes once. None where no module is called in
    a backward, and in inference. Puts the first state back.
    """
    model = eager.workload.model
    if eager.workload.mode is not Mode.TRAINING or not isinstance(model, torch.nn.Module):
        return None
    again = _ComputedAgain(model)
    with again.undone():
        results = first_results(eager)
    eager.state.restore()
    return results if again.was_seen else None


def is_kept(path: str) -> bool:
    """Whether a result's path is of something that a module keeps, and not of a parameter, an output or a gradient."""
    return path.startswith(_KEPT)


class _ComputedAgain:
    """Hears of every call of a module; `was_seen` is whether one came in a backward."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        self._before: Snapshot | None = None
        self.was_seen = False

    @contextlib.contextmanager
    def undone(self) -> Iterator[None]:
        """While it lasts, what modules write in a backward is put back as the backward ends."""
        modules = [one for one in self._model.modules() if not isinstance(one, torch.jit.ScriptModule)]
        hooks = [module.register_forward_pre_hook(self._called) for module in modules]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _called(self, module: torch.nn.Module, args: Any) -> None:
        if self._before is None and torch_compat.is_in_backward():
            self.was_seen = True
            self._before = Snapshot([self._model])
            torch_compat.when_backward_ends(self._put_back)  # before an optimizer of the step's own moves the weights

    def _put_back(self) -> None:
        if self._before is not None:
            self._before.restore()
            self._before = None

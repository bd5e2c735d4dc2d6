"""A user's GradScaler where their step runs on a copy of their model: the copy's gradients are unscaled, no more."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import torch
from torch.amp import GradScaler

_REPLACED: Final = ("unscale_", "step", "update")


@contextlib.contextmanager
def unscaling_copies(model: Callable[..., Any], copied: Callable[..., Any]) -> Iterator[None]:
    """While it lasts, a scaler's step unscales the gradients that `copied` has of what its optimizer has of `model`.

    Neither scaler nor optimizer is changed, and no weight is. As torch has it a step under a scaler fails on a copy,
    whose parameters the optimizer does not know ("No inf checks were recorded for this optimizer"), and from then on
    the scaler, left half-way through its step, fails on the model itself.
    """
    twins = _twins(model, copied)
    unscaled: set[tuple[int, int]] = set()

    def unscale_(scaler: GradScaler, optimizer: torch.optim.Optimizer) -> None:
        if not scaler.is_enabled() or (id(scaler), id(optimizer)) in unscaled:
            return
        unscaled.add((id(scaler), id(optimizer)))
        scale = scaler.get_scale()
        held = (parameter for group in optimizer.param_groups for parameter in group["params"])
        for twin in (twins[id(parameter)] for parameter in held if id(parameter) in twins):
            if twin.grad is not None:
                twin.grad.div_(scale)

    def step(scaler: GradScaler, optimizer: torch.optim.Optimizer, *_: Any, **__: Any) -> None:
        unscale_(scaler, optimizer)

    def update(scaler: GradScaler, *_: Any, **__: Any) -> None:
        unscaled.difference_update([pair for pair in unscaled if pair[0] == id(scaler)])

    own = {name: getattr(GradScaler, name) for name in _REPLACED}
    try:
        for name, replacement in zip(_REPLACED, (unscale_, step, update), strict=True):
            setattr(GradScaler, name, replacement)
        yield
    finally:
        for name, function in own.items():
            setattr(GradScaler, name, function)


def _twins(model: Callable[..., Any], copied: Callable[..., Any]) -> dict[int, torch.Tensor]:
    """The copy's parameters by the identity of the original's; none where the model is no module."""
    if not isinstance(model, torch.nn.Module) or not isinstance(copied, torch.nn.Module):
        return {}
    return {id(own): twin for own, twin in zip(model.parameters(), copied.parameters(), strict=True)}

"""The values of one tensor of any kind: copied, compared, and put back where they changed."""

from __future__ import annotations

import contextlib

import torch

from collectors.tensor_parts import parts


def put_back(tensor: torch.Tensor, kept: torch.Tensor) -> None:
    # Written only where it differs: copy_ bumps a tensor's version, which CUDA graphs and autograd take for a change.
    if not differs(tensor, kept):
        return
    if _kind(tensor) != _kind(kept):
        tensor.data = kept.clone()
        return
    # One made in inference mode can be written to there alone; of others the mode of gradients stays as it is.
    with torch.inference_mode() if tensor.is_inference() else contextlib.nullcontext():
        _without_repeats(tensor).copy_(_without_repeats(kept, like=tensor))


def _without_repeats(tensor: torch.Tensor, like: torch.Tensor | None = None) -> torch.Tensor:
    """What of a tensor lies apart in memory, or the same part of another: an expanded one cannot be written to."""
    laid = tensor if like is None else like
    if laid.layout != torch.strided or laid.is_nested:
        return tensor
    for dim, stride in enumerate(laid.stride()):
        if stride == 0 and tensor.shape[dim] > 1:
            tensor = tensor.narrow(dim, 0, 1)
    return tensor


def differs(tensor: torch.Tensor, kept: torch.Tensor) -> bool:
    """Whether the values differ. What cannot be read is taken for unchanged, and `State.unread` says so."""
    if _kind(tensor) != _kind(kept):
        return True
    now, then = parts(tensor), parts(kept)
    if now is None or then is None:
        return False
    return len(now) != len(then) or any(_part_differs(a, b) for (_, a), (_, b) in zip(now, then, strict=True))


def _part_differs(now: torch.Tensor, then: torch.Tensor) -> bool:
    if now.shape != then.shape or now.dtype != then.dtype:
        return True
    if now.is_floating_point() or now.is_complex():
        return not torch.allclose(now, then, rtol=0.0, atol=0.0, equal_nan=True)
    return not torch.equal(now, then)


def _kind(tensor: torch.Tensor) -> tuple[object, ...]:
    # A nested tensor of the strided layout has no shape to ask for.
    return None if tensor.is_nested else tensor.shape, tensor.dtype, tensor.layout


def copy_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """None where a subclass cannot be copied."""
    try:
        return tensor.detach().clone()
    except Exception:  # a subclass may raise anything
        return None

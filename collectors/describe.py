"""A workload in words and numbers, for the report."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import torch

from collectors.outputs import scalars, tensors
from collectors.workload import Workload

COMPILED_NOTE: Final = "the model came compiled: it was unwrapped, so that its graphs could be told apart"


def describe_inputs(workload: Workload) -> tuple[str, ...]:
    """Each input as `float32[1, 3, 224, 224]`, a plain number as itself."""
    found: list[str] = []
    for value in (*workload.args, *workload.kwargs.values()):
        found += [f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for _, t in tensors(value)]
        found += [repr(number) for _, number in scalars(value)]
    return tuple(found)


def parameter_count(workload: Workload) -> int | None:
    """The number of weights; None for a plain function."""
    if not isinstance(workload.model, torch.nn.Module):
        return None
    return sum(parameter.numel() for parameter in workload.model.parameters())


def unwrapped(workload: Workload) -> Workload:
    """The workload with its own model where it brought a `torch.compile`d one, and a note that says so."""
    inner = getattr(workload.model, "_orig_mod", None) or getattr(workload.model, "_torchdynamo_orig_callable", None)
    if inner is None:
        return workload
    return replace(workload, model=inner, notes=(*workload.notes, COMPILED_NOTE))

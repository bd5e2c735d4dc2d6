"""A workload in words and numbers, for the report."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch

from analyzer.core.graphs import SourceLine
from analyzer.core.report import WorkloadFacts
from analyzer.core.settings import Mode
from collectors.cpu_name import cpu_name
from collectors.model_digest import model_digest
from collectors.outputs import scalars, tensors
from collectors.workload import Workload


def workload_facts(workload: Workload, notes: tuple[str, ...] = ()) -> WorkloadFacts:
    """What a report says of the workload; `notes` are what was found when it ran, after its own."""
    return WorkloadFacts(
        name=workload.name,
        source=workload.source,
        form=workload.form,
        mode=workload.mode.value,
        device=workload.device,
        inputs=describe_inputs(workload),
        parameters=parameter_count(workload),
        notes=(*workload.notes, *_sets_notes(workload), *notes),
        device_name=device_name(workload.device),
        parameters_digest=model_digest(workload.model),
    )


def given(workload: Workload) -> str | None:
    """What a step is called with and by whom; None where that is no tensor and no number."""
    found = describe_inputs(workload)
    return f"{workload.source} gave it {', '.join(found)}" if found else None


def first_line(model: Callable[..., Any]) -> SourceLine | None:
    """Where the model's own code begins, decorators taken off; None where it is no Python function."""
    own = type(model).forward if isinstance(model, torch.nn.Module) else model
    code = getattr(inspect.unwrap(own), "__code__", None)
    return None if code is None else SourceLine(code.co_filename, code.co_firstlineno, code.co_name)


def device_name(device: str) -> str | None:
    """What the device calls itself, known before anything of it is measured; None where it does not say."""
    match device:
        case "cpu":
            return cpu_name()
        case "cuda":
            return str(torch.cuda.get_device_name())
        case _:
            return None


def describe_inputs(workload: Workload) -> tuple[str, ...]:
    """Each input as `float32[1, 3, 224, 224]`, a plain number as itself."""
    found: list[str] = []
    for value in (*workload.args, *workload.kwargs.values()):
        found += [f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for _, t in tensors(value)]
        found += [repr(number) for _, number in scalars(value)]
    return tuple(found)


def _sets_notes(workload: Workload) -> tuple[str, ...]:
    if not workload.sets:
        return ()
    added = "; the gradients of all are added up before the optimizer steps" if workload.mode is Mode.TRAINING else ""
    described = [", ".join(describe_inputs(workload.on(one))) for one in workload.every_set]
    return (f"a step is one call for each of {len(described)} sets of inputs: {'; '.join(described)}{added}",)


def parameter_count(workload: Workload) -> int | None:
    """The number of weights; None for a plain function."""
    if not isinstance(workload.model, torch.nn.Module):
        return None
    return sum(parameter.numel() for parameter in workload.model.parameters())

"""What a step needs of the host's memory: what the model and its inputs hold, and the most that it allocates on top.

Read from the profiler's memory rows: torch keeps no peak of its CPU allocator. What a candidate keeps of its own, as
folded constants, is in neither.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import torch
from torch.profiler import ProfilerActivity, profile

from collectors.outputs import tensors
from collectors.profiler import quiet_profiler
from collectors.step import Stepper

_ROW: Final = "[memory]"
_CPU: Final = 0
"""`c10::DeviceType::CPU`."""


def step_peak_bytes(stepper: Stepper) -> int | None:
    """The most that one step holds at a time, in bytes; None where the profiler cannot be had."""
    stepper.prepare()
    stepper.timed()
    try:
        rows = _memory_rows(stepper)
    except (RuntimeError, OSError, ValueError):  # a profiler of the user's that is running, or a full disk
        return None
    return held_bytes(stepper) + peak_of(rows)


def held_bytes(stepper: Stepper) -> int:
    """What lies in memory before a step: parameters, buffers, gradients, the optimizer's state and the inputs."""
    return sum({part.data_ptr(): part.nbytes() for part in _storages(stepper)}.values())


def peak_of(rows: Iterable[dict[str, Any]]) -> int:
    """The most that the allocations and releases of a Chrome trace's memory rows add up to; 0 where nothing was."""
    on_cpu = [row for row in rows if row["args"].get("Device Type") == _CPU]
    in_order = sorted(on_cpu, key=lambda row: float(row["ts"]))
    return max(0, *accumulate((int(row["args"]["Bytes"]) for row in in_order), initial=0))


def _storages(stepper: Stepper) -> Iterator[torch.UntypedStorage]:
    workload, model = stepper.workload, stepper.workload.model
    held: list[Any] = [workload.args, dict(workload.kwargs), [(one.args, dict(one.kwargs)) for one in workload.sets]]
    if isinstance(model, torch.nn.Module):
        own = [*model.parameters(), *model.buffers()]
        held += [own, [tensor.grad for tensor in own]]
    if workload.optimizer is not None:
        held.append(dict(workload.optimizer.state))
    for _, tensor in tensors(held):
        if tensor.device.type == "cpu" and tensor.layout == torch.strided and not hasattr(tensor, "__tensor_flatten__"):
            yield tensor.untyped_storage()


def _memory_rows(stepper: Stepper) -> list[dict[str, Any]]:
    with (
        quiet_profiler(),
        profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as recording,
    ):
        stepper.timed()
    with TemporaryDirectory(prefix="graphbound-memory-") as folder:
        path = Path(folder) / "trace.json"
        recording.export_chrome_trace(str(path))
        rows = json.loads(path.read_text(errors="replace"))["traceEvents"]
    return [row for row in rows if row.get("name") == _ROW]

"""Profiles many small calls in one recording: each is a step of its own, after a warm call that is no part of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from analyzer.core.trace import PREPARE_RANGE
from benchmarks.verdicts.compiling import WatchedCompiler
from benchmarks.verdicts.place import Call
from collectors.device_precision import tf32 as tf32_allowed

WARM_CALLS: Final = 3


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that ran, and whether float32 products in it may be TF32. `output_bytes` is what a call returned."""

    call: Call
    tf32: bool
    output_bytes: int


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def allowing(device: str, tf32: bool) -> contextlib.AbstractContextManager[None]:
    return tf32_allowed(tf32) if device == "cuda" else contextlib.nullcontext()


def make_ready(build: Callable[[], Call], device: str, tf32: bool) -> Ready:
    """Build and warm a call. Raises what it raises."""
    with allowing(device, tf32):
        call = build()
        result = None
        for _ in range(WARM_CALLS):
            result = call.run()
        wait(device)
    return Ready(call, tf32, _bytes(result))


def record(ready: Sequence[Ready], device: str, compiler: WatchedCompiler, path: Path) -> None:
    """Write the trace of one call of each, as `ProfilerStep#0`, `#1`, … in this order."""
    activities = [ProfilerActivity.CPU, *((ProfilerActivity.CUDA,) if device == "cuda" else ())]
    recording = profile(activities=activities, record_shapes=True, acc_events=True)
    with compiler.ranges(), recording:
        for number, one in enumerate(ready):
            with allowing(device, one.tf32):
                with record_function(PREPARE_RANGE):
                    one.call.run()
                    wait(device)
                with record_function(f"ProfilerStep#{number}"):
                    one.call.run()
                    wait(device)
    path.parent.mkdir(parents=True, exist_ok=True)
    recording.export_chrome_trace(str(path))


def _bytes(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.nbytes
    return sum(_bytes(v) for v in value) if isinstance(value, tuple | list) else 0

"""The profiled pass: a few steps under torch.profiler, written as a trace that Perfetto and other tools open."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from collectors.probe import Probe, ProbeMode
from collectors.step import Stepper

PROFILED_STEPS: Final = 3
"""Three steps show which kernels recur; a step of a 12-layer model is some 5,000 rows."""


def profile_steps(stepper: Stepper, probe: Probe, path: Path, *, steps: int = PROFILED_STEPS) -> int:
    """Record `steps` steps into `path` (.json.gz), each inside `ProfilerStep#N` with its wait for the device.

    Returns the median wall time of a profiled step in ns, so that what the profiler costs can be said. The file
    appears whole or not at all.
    """
    activities = [ProfilerActivity.CPU]
    if stepper.workload.device == "cuda":
        activities.append(ProfilerActivity.CUDA)
    times: list[int] = []
    probe.mode = ProbeMode.RANGE
    try:
        with _quiet(), profile(activities=activities, record_shapes=True, with_stack=False) as recording:
            for number in range(steps + 1):
                stepper.prepare()
                # The first step pays for the profiler's own start: recorded, but not as a step.
                name = f"ProfilerStep#{number}" if number else "graphbound profiler warm-up"
                with record_function(name):
                    times.append(stepper.run_to_idle())
    finally:
        probe.mode = ProbeMode.OFF
    partial = path.with_name(f".{path.name.removesuffix('.gz')}.partial.json.gz")
    recording.export_chrome_trace(str(partial))
    os.replace(partial, path)
    steady = sorted(times[1:])
    return steady[len(steady) // 2]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Kineto writes lines of its own to stderr at start and stop; `KINETO_LOG_LEVEL` is read once, when it loads."""
    old = os.environ.get("KINETO_LOG_LEVEL")
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    try:
        yield
    finally:
        if old is None:
            os.environ.pop("KINETO_LOG_LEVEL", None)


def has_profiler_rights() -> bool:
    """Whether device kernels can be recorded at all in this build."""
    return ProfilerActivity.CUDA in torch.profiler.supported_activities()

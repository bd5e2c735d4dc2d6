"""The profiled pass: a few steps under torch.profiler, written as a trace that Perfetto and other tools open."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from torch.profiler import ProfilerActivity, profile, record_function

from analyzer.core.errors import UsageError
from analyzer.core.trace import PREPARE_RANGE
from collectors import torch_compat
from collectors.probe import Probe, ProbeMode
from collectors.step import Stepper

PROFILED_STEPS: Final = 3
"""Three steps show which kernels recur; a step of a 12-layer model is some 5,000 rows."""


def profile_steps(stepper: Stepper, probe: Probe, path: Path, *, steps: int = PROFILED_STEPS) -> int:
    """Record `steps` steps into `path` (.json.gz), each inside `ProfilerStep#N` with its wait for the device.

    What must happen between steps lies inside `graphbound::prepare`. On a CPU the kernels of what is compiled have rows
    here, and here alone: what is timed is what production compiles. Returns the median wall time of a profiled step
    in ns, so that what the profiler costs can be said. The file appears whole or not at all: raises UsageError where
    it cannot be written.
    """
    probe.mode = ProbeMode.RANGE
    try:
        with quiet_profiler(), rows_on(stepper.workload.device):
            # The first recording of a process pays for the profiler's own start, and the first step with rows may have
            # to compile them, so it is thrown away.
            with _recording(stepper):
                stepper.timed()
            with _recording(stepper) as recording:
                times = [_recorded_step(stepper, number) for number in range(steps)]
    finally:
        probe.mode = ProbeMode.OFF
    partial = path.with_name(f".{path.name.removesuffix('.gz')}.partial.json.gz")
    try:
        recording.export_chrome_trace(str(partial))
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        message = f"the trace {path} could not be written: {error.strerror or error}"
        raise UsageError(message, hint="choose a folder with --out") from error
    return sorted(times)[steps // 2]


def rows_on(device: str) -> contextlib.AbstractContextManager[None]:
    """On a CPU, rows of the compiled kernels while the block runs; a GPU's kernels are in a trace anyway."""
    return torch_compat.kernel_rows() if device == "cpu" else contextlib.nullcontext()


def _recording(stepper: Stepper) -> profile:
    activities = [ProfilerActivity.CPU]
    if stepper.workload.device == "cuda":
        activities.append(ProfilerActivity.CUDA)
    # There is one cycle; without `acc_events` torch 2.11 warns that the events of earlier ones are dropped.
    return profile(activities=activities, record_shapes=True, with_stack=False, acc_events=True)


def _recorded_step(stepper: Stepper, number: int) -> int:
    with record_function(PREPARE_RANGE):
        stepper.prepare()
    with record_function(f"ProfilerStep#{number}"):
        return stepper.run_to_idle()


@contextlib.contextmanager
def quiet_profiler() -> Iterator[None]:
    """Kineto writes lines of its own to stderr at start and stop; `KINETO_LOG_LEVEL` is read once, when it loads."""
    old = os.environ.get("KINETO_LOG_LEVEL")
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    try:
        yield
    finally:
        if old is None:
            os.environ.pop("KINETO_LOG_LEVEL", None)

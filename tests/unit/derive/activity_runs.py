"""Recordings of steps that wait, copy and allocate, and what is found in them."""

from __future__ import annotations

from analyzer.core.activity import Activity, HostWait
from analyzer.core.device import Device, Source
from analyzer.derive.activity import activity
from analyzer.derive.attribution import attribute
from tests.traces import Recording
from tests.unit.derive.runs import timing

US = 1_000

READ = ("aten::item", "aten::_local_scalar_dense")
DEVICE = Device(kind="cuda", name="Test Device", source=Source.MEASURED, empty_kernel_ns=1_500.0)


def read_value(run: Recording, *, stream: int = 7) -> None:
    """`.item()`, as PyTorch does it on CUDA."""
    with run.op(READ[0]), run.op(READ[1]):
        run.copy("Memcpy DtoH (Device -> Pinned)", us=1, stream=stream, size=4)
        run.synchronize("cudaStreamSynchronize", stream=stream)


def to_device(run: Recording, *, us: float, size: int = 1 << 20) -> None:
    """`x.to("cuda")` from ordinary memory."""
    with run.op("aten::to"), run.op("aten::_to_copy"), run.op("aten::copy_"):
        run.copy("Memcpy HtoD (Pageable -> Device)", us=us, size=size, holds=True)
        run.synchronize("cudaStreamSynchronize", stream=7)


def of(run: Recording, step_us: float | None = None) -> Activity:
    """`step_us` is the clean pass; without it there is none."""
    clean = timing(step_ns=round(step_us * US)) if step_us is not None else None
    return activity(attribute(run.trace()), clean, DEVICE)


def the_wait(run: Recording, step_us: float | None = None) -> HostWait:
    (wait,) = of(run, step_us).waits
    return wait

"""A small run of two graphs, its clean timing and the device it ran on."""

from __future__ import annotations

from analyzer.core.device import Device, Peak, Source
from analyzer.core.graphs import GapKey, GraphKey, Region
from analyzer.core.samples import Samples
from analyzer.core.timing import RegionTiming, Timing
from tests.traces import Recording

A = GraphKey.parse("aaaaaaaaaaaa.inference")
B = GraphKey.parse("bbbbbbbbbbbb.inference")
START = GapKey(None, A)
MIDDLE = GapKey(A, B)
END = GapKey(B, None)

BANDWIDTH = 1e12
PEAK = 1e14

DEVICE = Device(
    kind="cuda",
    name="Test Device",
    source=Source.MEASURED,
    peaks=(Peak("bfloat16", PEAK), Peak("float32", PEAK / 10)),
    memory_bytes_per_s=BANDWIDTH,
    kernel_gap_ns=800.0,
    replay_ns=150_000.0,
)
HALF = "c10::BFloat16"


def gemm(run: Recording, *, size: int, us: float) -> None:
    with run.op("aten::mm", ((size, size), (size, size)), (HALF, HALF)):
        run.launch("gemm", us=us)


def add(run: Recording, *, elements: int, us: float) -> None:
    with run.op("triton_poi_fused_add_0", ((elements,), (elements,)), ("float", "float")):
        run.launch("triton_poi_fused_add_0", us=us)


def recording(*, steps: int = 3) -> Recording:
    """A step: A multiplies (0.2 ms, at 86 % of the peak) and adds (0.1 ms, at 80 % of the bandwidth), B adds alone."""
    run = Recording()
    for _ in range(steps):
        with run.step():
            with run.graph(str(A)):
                gemm(run, size=2048, us=200)
                add(run, elements=10_000_000, us=100)
            run.host(us=20)
            with run.graph(str(B)):
                add(run, elements=1_000_000, us=12)
                run.host(us=400)
            run.synchronize()
    return run


def region(key: Region, ns: int) -> RegionTiming:
    return RegionTiming(key, 1.0, Samples((ns, ns + 2, ns - 2)), Samples((ns,)))


def timing(*regions: RegionTiming, step_ns: int, probed_ns: int | None = None) -> Timing:
    return Timing(
        step_ns=Samples((step_ns,)),
        probed_step_ns=Samples((probed_ns if probed_ns is not None else step_ns,)),
        regions=regions,
        warmup_ns=(),
        is_steady=True,
    )

"""Measuring a real GPU. The bounds are those of the H200's data sheet, or wide enough for any GPU."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Final

import pytest
import torch

from analyzer.core.device import VECTOR, Device
from analyzer.derive.data_sheets import data_sheet
from collectors.device import is_complete, measure_device
from collectors.device_cuda import median_ns
from collectors.device_launch import profile_calls
from collectors.device_rates import triton_kernels

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    # What torch itself warns of on a GPU (an empty CUDA graph, TF32 left off) is no fault of ours.
    pytest.mark.filterwarnings("default::UserWarning:torch"),
]

H200_PEAKS: Final = {
    "float32": 67e12,
    "tf32": 495e12,
    "bfloat16": 989e12,
    "float16": 989e12,
    "float8_e4m3fn": 1979e12,
    "int8": 1979e12,
    VECTOR: 67e12,
}
"""Dense, of the data sheet of the H200 SXM; what is measured stays below."""

LEAST_SHARE: Final = {"float8_e4m3fn": 0.4, "int8": 0.25, VECTOR: 0.7}
"""Of the data sheet, for those that the library or the chip brings less near to it than half."""

H200_MEMORY: Final = 4.8e12
H200_L2_MOST: Final = 132 * 64 * 1.98e9
"""64 bytes a clock of each of 132 multiprocessors: more than an L1 takes from the L2."""


def _only_on_an_h200(gpu: Device) -> None:
    if gpu.name != "NVIDIA H200":
        pytest.skip("not an H200 SXM")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def gpu(cache: None) -> Device:
    return measure_device("cuda", renew=True)


def test_everything_is_measured(gpu: Device) -> None:
    assert is_complete(gpu, has_triton=triton_kernels("cuda")[0] is not None)
    assert gpu.l2_bytes is not None
    assert gpu.memory_bytes == torch.cuda.get_device_properties(0).total_memory
    expected = {"float32", "tf32", "bfloat16", "float16", "int8", VECTOR}
    if torch.cuda.get_device_capability() >= (8, 9):
        expected |= {"float8_e4m3fn"}
    assert {peak.dtype for peak in gpu.peaks} == expected, gpu.notes


def test_the_costs_are_those_of_a_gpu(gpu: Device) -> None:
    assert 500 < (gpu.launch_ns or 0) < 50_000
    assert 300 < (gpu.empty_kernel_ns or 0) < 10_000
    assert 100 < (gpu.launch_gap_ns or 0) < 5_000
    assert 100 < (gpu.kernel_gap_ns or 0) < 5_000
    assert 10_000 < (gpu.replay_ns or 0) < 1_000_000
    # Taken after other work of the host, as in a trial: no part of a replay that follows itself.
    assert 5_000 < (gpu.replay_host_ns or 0) < 1_000_000
    assert (gpu.empty_op_ns or 0) < (gpu.launch_ns or 0)


@pytest.mark.parametrize("dtype", H200_PEAKS)
def test_an_h200_is_near_its_data_sheet_and_never_above(gpu: Device, dtype: str) -> None:
    _only_on_an_h200(gpu)
    share = (gpu.peak(dtype) or 0) / H200_PEAKS[dtype]
    assert LEAST_SHARE.get(dtype, 0.5) < share < 1


def test_the_memory_of_an_h200_is_near_its_data_sheet_and_never_above(gpu: Device) -> None:
    _only_on_an_h200(gpu)
    assert 0.7 * H200_MEMORY < (gpu.memory_bytes_per_s or 0) < H200_MEMORY
    assert 0.75 * H200_MEMORY < (gpu.read_bytes_per_s or 0) < H200_MEMORY


def test_the_l2_is_faster_than_memory_and_slower_than_its_wires(gpu: Device) -> None:
    assert (gpu.l2_bytes_per_s or 0) > (gpu.read_bytes_per_s or 0)
    _only_on_an_h200(gpu)
    assert (gpu.l2_bytes_per_s or 0) < H200_L2_MOST


def test_measured_and_data_sheet_agree_on_what_this_is(gpu: Device) -> None:
    properties = torch.cuda.get_device_properties(0)
    sheet = data_sheet(gpu.name, properties.total_memory, properties.multi_processor_count)
    if sheet is None:
        pytest.skip(f"no data sheet of {gpu.name}")
    for peak in gpu.peaks:
        known = sheet.peak(peak.dtype)
        assert known is None or peak.flops_per_s < 1.05 * known, peak.dtype
    assert (gpu.read_bytes_per_s or 0) < 1.05 * (sheet.memory_bytes_per_s or 0)


def test_narrow_formats_are_faster_than_wide_ones(gpu: Device) -> None:
    wide = gpu.peak("bfloat16") or 0
    assert (gpu.peak("float32") or 0) <= 1.05 * (gpu.peak("tf32") or 0)
    assert (gpu.peak("tf32") or 0) < wide
    assert gpu.peak("float8_e4m3fn") is None or (gpu.peak("float8_e4m3fn") or 0) > 1.2 * wide


def test_a_second_measurement_agrees(gpu: Device) -> None:
    # In a process of its own, as the product does: after a profiler each kernel of a replay takes longer. On an H200
    # the gap between two came out as 424 and 705 ns in the process that had measured 201 and 234 before.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
        again = fresh.submit(partial(measure_device, renew=True), "cuda").result()
    for dtype in ("bfloat16", VECTOR):
        assert again.peak(dtype) == pytest.approx(gpu.peak(dtype), rel=0.15)
    assert again.memory_bytes_per_s == pytest.approx(gpu.memory_bytes_per_s, rel=0.1)
    assert again.read_bytes_per_s == pytest.approx(gpu.read_bytes_per_s, rel=0.1)
    assert again.l2_bytes_per_s == pytest.approx(gpu.l2_bytes_per_s, rel=0.2)
    assert again.kernel_gap_ns == pytest.approx(gpu.kernel_gap_ns, rel=0.4)
    assert again.launch_gap_ns == pytest.approx(gpu.launch_gap_ns, rel=0.4)


def test_measuring_takes_less_than_half_a_minute_and_knowing_no_time(gpu: Device) -> None:
    start_s = time.monotonic()
    renewed = measure_device("cuda", renew=True)
    assert time.monotonic() - start_s < 30
    start_s = time.monotonic()
    assert measure_device("cuda") == renewed
    assert time.monotonic() - start_s < 1


def test_a_real_kernel_reaches_no_more_than_what_was_measured(gpu: Device) -> None:
    """Of other shapes than those that were measured: the peaks are peaks."""
    left, right = torch.randn(2, 6144, 6144, device="cuda", dtype=torch.bfloat16).unbind()
    product_ns = median_ns(lambda: torch.mm(left, right))
    assert 2 * 6144**3 / product_ns * 1e9 < 1.1 * (gpu.peak("bfloat16") or 0)
    value = torch.randn(2**28, device="cuda")
    moved_ns = median_ns(lambda: value.add_(1.0))
    assert 2 * value.nbytes / moved_ns * 1e9 < 1.1 * max(gpu.memory_bytes_per_s or 0, gpu.read_bytes_per_s or 0)


def test_measuring_gives_its_memory_back(gpu: Device) -> None:
    before = torch.cuda.memory_reserved()
    measure_device("cuda", renew=True)
    # What stays is the pool of the small model's CUDA graph.
    assert torch.cuda.memory_reserved() - before < 64 * 2**20


def test_settings_and_random_states_are_put_back(gpu: Device) -> None:
    torch.set_float32_matmul_precision("high")
    before = torch.cuda.get_rng_state()
    try:
        measure_device("cuda", renew=True)
        assert torch.get_float32_matmul_precision() == "high"
        assert torch.equal(torch.cuda.get_rng_state(), before)
    finally:
        torch.set_float32_matmul_precision("highest")


def test_the_costs_predict_another_model_under_cuda_graphs(gpu: Device) -> None:
    """Of another width, depth and dtype than what was measured."""
    layers = [torch.nn.Linear(768, 768, device="cuda", dtype=torch.bfloat16) for _ in range(24)]
    blocks = [part for layer in layers for part in (layer, torch.nn.GELU())]
    model = torch.nn.Sequential(*blocks)
    value = torch.randn(256, 768, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        default, graphs = torch.compile(model), torch.compile(model, mode="reduce-overhead")
        default(value)
        profiled = profile_calls(lambda: default(value))
        samples = []
        for _ in range(60):
            torch.compiler.cudagraph_mark_step_begin()
            torch.cuda.synchronize()
            start_ns = time.perf_counter_ns()
            graphs(value)
            torch.cuda.synchronize()
            samples.append(time.perf_counter_ns() - start_ns)
    assert profiled is not None
    measured_ns = sorted(samples[10:])[25]
    predicted_ns = profiled.busy_ns + (gpu.kernel_gap_ns or 0) * profiled.kernels + (gpu.replay_ns or 0)
    assert predicted_ns == pytest.approx(measured_ns, rel=0.15)

"""Measuring a real GPU. The bounds are those of the H200's data sheet, or wide enough for any GPU."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import torch

from analyzer.core.device import Device
from collectors.device import is_complete, measure_device
from collectors.device_launch import profile_calls

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

H200_BFLOAT16 = 989e12
"""Dense, of the data sheet of the H200 SXM; measured rates stay below. float32: 67e12; TF32: 495e12; HBM: 4.8e12."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def gpu(cache: None) -> Device:
    return measure_device("cuda", renew=True)


def test_everything_is_measured(gpu: Device) -> None:
    assert is_complete(gpu)
    assert {peak.dtype for peak in gpu.peaks} == {"float32", "tf32", "bfloat16", "float16"}
    assert gpu.l2_bytes is not None


def test_the_costs_are_those_of_a_gpu(gpu: Device) -> None:
    assert 500 < (gpu.launch_ns or 0) < 50_000
    assert 300 < (gpu.empty_kernel_ns or 0) < 10_000
    assert 100 < (gpu.kernel_gap_ns or 0) < 5_000
    assert 10_000 < (gpu.replay_ns or 0) < 1_000_000
    assert (gpu.empty_op_ns or 0) < (gpu.launch_ns or 0)


def test_an_h200_is_near_its_data_sheet_and_never_above(gpu: Device) -> None:
    if "H200" not in gpu.name:
        pytest.skip("not an H200")
    assert 0.5 * H200_BFLOAT16 < (gpu.peak("bfloat16") or 0) < H200_BFLOAT16
    assert 0.5 * 495e12 < (gpu.peak("tf32") or 0) < 495e12
    assert 0.5 * 67e12 < (gpu.peak("float32") or 0) < 67e12
    assert 0.7 * 4.8e12 < (gpu.memory_bytes_per_s or 0) < 4.8e12


def test_a_second_measurement_agrees(gpu: Device) -> None:
    again = measure_device("cuda", renew=True)
    assert again.peak("bfloat16") == pytest.approx(gpu.peak("bfloat16"), rel=0.15)
    assert again.memory_bytes_per_s == pytest.approx(gpu.memory_bytes_per_s, rel=0.1)
    assert again.kernel_gap_ns == pytest.approx(gpu.kernel_gap_ns, rel=0.4)


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

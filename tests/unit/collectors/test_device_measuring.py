"""Measuring this CPU, and what measuring leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from analyzer.core.device import VECTOR, Device, Peak, Source
from analyzer.core.errors import UsageError
from analyzer.core.timing import Crowd
from collectors import device as door
from collectors import device_cpu
from collectors.crowd import Reading
from collectors.device import is_cached, is_complete, known_device, measure_device, plain_torch

QUIET = Crowd(other_cores=0.0, cores=2, threads=2)


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        root = tmp_path_factory.mktemp("cache")
        patch.setenv("XDG_CACHE_HOME", str(root))
        # The machines that run this are shared: nobody else is there, unless a test says so.
        patch.setattr(door, "crowd_between", lambda before, after, kind: QUIET)
        yield root


@pytest.fixture(scope="module")
def cpu() -> Device:
    return measure_device("cpu", renew=True)


def test_a_cpu_has_peaks_a_bandwidth_and_no_launches(cpu: Device) -> None:
    assert (cpu.kind, cpu.source, cpu.threads) == ("cpu", Source.MEASURED, torch.get_num_threads())
    assert is_complete(cpu)
    assert (cpu.launch_ns, cpu.kernel_gap_ns, cpu.launch_gap_ns, cpu.l2_bytes_per_s) == (None,) * 4
    assert cpu.notes == ()


def test_the_numbers_are_those_of_a_cpu(cpu: Device) -> None:
    # One core of any 64-bit CPU of this century does 1 GFLOP/s; no host has a petaflop, or ten terabytes a second.
    assert 1e9 < (cpu.peak("float32") or 0) < 1e15
    # Half types may be emulated, at a hundredth of that.
    assert all(1e7 < (cpu.peak(dtype) or 0) < 1e15 for dtype in ("bfloat16", "float16"))
    assert 1e8 < (cpu.memory_bytes_per_s or 0) < 1e13
    assert 1e8 < (cpu.read_bytes_per_s or 0) < 1e13
    assert 1e8 < (cpu.peak(VECTOR) or 0) < 1e15
    assert cpu.l2_bytes is None or 2**17 <= cpu.l2_bytes < 2**34
    assert 50 < (cpu.empty_op_ns or 0) < 1e5


def test_a_peak_is_the_operations_of_a_product_over_its_fastest_time(monkeypatch: pytest.MonkeyPatch) -> None:
    taken_ms = (9, 7, 5, 8, 6, 7)
    read_ns = iter([at * 1_000_000 for taken in taken_ms for at in (0, taken)])
    monkeypatch.setattr(device_cpu, "_SIZES", (64,))
    monkeypatch.setattr(device_cpu, "time", SimpleNamespace(perf_counter_ns=lambda: next(read_ns)))
    assert device_cpu._matrix_rate(torch.float32) == pytest.approx(2 * 64**3 / 5e-3)
    assert next(read_ns, None) is None


def test_a_large_product_is_not_far_above_the_rate_of_its_vectors(cpu: Device) -> None:
    # Products of float32 are vectors of multiply-adds on a CPU. A crowd slows the long turns of the one several times,
    # and may miss the shortest of the other.
    assert (cpu.peak("float32") or 0) < 100 * (cpu.peak(VECTOR) or 0)


def test_without_a_compiler_the_vector_rate_is_unknown_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_cpu, "find_compiler", lambda commands: None)
    monkeypatch.setattr(device_cpu, "_SIZES", (64,))
    monkeypatch.setattr(device_cpu, "_BUFFER_BYTES", 2**20)
    found = device_cpu.measure_cpu("EPYC")
    assert found.peak(VECTOR) is None
    assert "no C++ compiler" in found.notes[0]
    assert found.unmeasured == ("rate outside the matrix units",)
    assert not is_complete(found)


def test_without_triton_a_gpu_is_complete_that_lacks_what_needs_it(cpu: Device) -> None:
    gpu = replace(
        cpu,
        kind="cuda",
        peaks=(Peak("float32", 5e13),),
        launch_ns=4e3,
        launch_gap_ns=9e2,
        kernel_gap_ns=8e2,
        replay_ns=1e5,
        empty_kernel_ns=1e3,
    )
    assert is_complete(gpu, has_triton=False)
    assert not is_complete(gpu, has_triton=True)
    assert not is_complete(replace(gpu, replay_ns=None), has_triton=False)


def test_measuring_again_gives_the_same_within_a_factor(cpu: Device) -> None:
    again = measure_device("cpu", renew=True)
    # Of the order of a hundred, since the machines that run this are shared, and may be given more or fewer cores.
    assert 0.01 < (again.peak("float32") or 0) / (cpu.peak("float32") or 1) < 100
    assert 0.01 < (again.memory_bytes_per_s or 0) / (cpu.memory_bytes_per_s or 1) < 100


def test_the_second_time_reads_no_clock(cpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    known = measure_device("cpu")

    def no_clock() -> int:
        raise AssertionError("the clock was read")

    monkeypatch.setattr(device_cpu.time, "perf_counter_ns", no_clock)
    assert measure_device("cpu") == known == known_device("cpu")
    assert is_cached("cpu")
    with pytest.raises(AssertionError):
        measure_device("cpu", renew=True)


def test_without_a_cache_it_measures_and_goes_on(cache: Path, monkeypatch: pytest.MonkeyPatch, cpu: Device) -> None:
    blocked = cache / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr(door, "measure_cpu", lambda name: cpu)
    assert measure_device("cpu") == cpu
    assert not is_cached("cpu")
    assert known_device("cpu") is None


def test_an_incomplete_measurement_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpu: Device) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(door, "measure_cpu", lambda name: replace(cpu, memory_bytes_per_s=None))
    assert measure_device("cpu").memory_bytes_per_s is None
    assert not is_cached("cpu")


def test_what_other_programs_disturbed_is_noted_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpu: Device
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(door, "measure_cpu", lambda name: cpu)
    monkeypatch.setattr(door, "crowd_between", lambda before, after, kind: replace(QUIET, other_cores=1.34))
    (note,) = measure_device("cpu").notes
    assert "other programs kept 1.3 of 2 cores busy" in note
    assert not is_cached("cpu")
    monkeypatch.setattr(door, "crowd_between", lambda before, after, kind: QUIET)
    assert measure_device("cpu").notes == ()
    assert is_cached("cpu")


def test_a_compiler_of_our_own_is_no_other_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpu: Device
) -> None:
    def measure(name: str) -> Device:
        children_s.append(5.0)
        return cpu

    children_s = [1.0]
    clock_s = iter([10.0, 15.0])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(door, "measure_cpu", measure)
    monkeypatch.setattr(door, "_children_s", lambda: children_s[-1])
    monkeypatch.setattr(door, "read_crowd", lambda: Reading(next(clock_s), 0.0, 0.0))
    # Four seconds of compilers in five make 0.8 of a core.
    monkeypatch.setattr(door, "crowd_between", lambda before, after, kind: replace(QUIET, other_cores=0.9))
    assert measure_device("cpu").notes == ()


@pytest.mark.parametrize("kind", ["mps", "cuda:7", "", "\x1b[31m"])
def test_an_unknown_kind_is_a_usage_error(kind: str) -> None:
    with pytest.raises(UsageError):
        measure_device(kind)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_an_absent_gpu_is_a_usage_error_with_the_way_out() -> None:
    with pytest.raises(UsageError) as caught:
        measure_device("cuda")
    assert caught.value.hint == "use --device cpu"


def test_measuring_leaves_torch_as_it_was(cpu: Device) -> None:
    torch.use_deterministic_algorithms(True, warn_only=True)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    try:
        with plain_torch("cpu"):
            assert not torch.are_deterministic_algorithms_enabled()
            assert not torch.is_grad_enabled()
            torch.rand(3)
        measure_device("cpu", renew=True)
        assert torch.is_deterministic_algorithms_warn_only_enabled()
        assert torch.is_grad_enabled()
        assert torch.equal(torch.get_rng_state(), state)
        assert torch.get_num_threads() == threads
    finally:
        torch.use_deterministic_algorithms(False)


def test_a_failure_leaves_torch_as_it_was_too() -> None:
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(ZeroDivisionError), plain_torch("cpu"):
            raise ZeroDivisionError
        assert torch.get_deterministic_debug_mode() == 2
        assert torch.is_grad_enabled()
    finally:
        torch.use_deterministic_algorithms(False)

"""What a device says of itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzer.core.device import NEEDS_KERNELS, VECTOR, Device, Peak, Source

CPU = Device(
    kind="cpu",
    name="EPYC",
    source=Source.MEASURED,
    peaks=(Peak("float32", 1e11), Peak(VECTOR, 1.1e11)),
    memory_bytes_per_s=1e10,
    read_bytes_per_s=1e10,
    empty_op_ns=900.0,
)
GPU = replace(
    CPU,
    kind="cuda",
    l2_bytes_per_s=6e12,
    launch_ns=4e3,
    launch_gap_ns=900.0,
    kernel_gap_ns=800.0,
    replay_ns=1.5e5,
    empty_kernel_ns=1.3e3,
)


def test_nothing_is_unmeasured_of_a_complete_device() -> None:
    assert CPU.unmeasured == ()
    assert GPU.unmeasured == ()


@pytest.mark.parametrize(
    "field",
    [
        "memory_bytes_per_s",
        "read_bytes_per_s",
        "l2_bytes_per_s",
        "launch_ns",
        "launch_gap_ns",
        "kernel_gap_ns",
        "replay_ns",
        "empty_kernel_ns",
        "empty_op_ns",
    ],
)
def test_each_unknown_cost_is_named(field: str) -> None:
    assert len(replace(GPU, **{field: None}).unmeasured) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["float32", VECTOR])
def test_each_unknown_peak_is_named(dtype: str) -> None:
    (name,) = replace(GPU, peaks=tuple(p for p in GPU.peaks if p.dtype != dtype)).unmeasured
    assert name in ("dense float32 peak", "rate outside the matrix units")


def test_a_cpu_is_not_asked_for_what_it_has_not() -> None:
    assert replace(GPU, kind="cpu", launch_ns=None, l2_bytes_per_s=None).unmeasured == ()


def test_what_needs_kernels_is_named_as_it_is_when_unknown() -> None:
    without = replace(GPU, l2_bytes_per_s=None, peaks=(Peak("float32", 1e11),))
    assert set(without.unmeasured) == set(NEEDS_KERNELS)


def test_the_rate_outside_the_matrix_units_is_no_matrix_peak() -> None:
    assert CPU.peak("float32") == 1e11
    assert CPU.peak(VECTOR) == 1.1e11
    assert CPU.peak("float16") is None
    assert CPU.peak(None) is None

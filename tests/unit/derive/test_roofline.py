"""A kernel is under the roof it is nearer to; a short one far from both waits; an unknown one has none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzer.core.budget import Part
from analyzer.core.device import VECTOR, Device, Peak, Source
from analyzer.derive.reached_rates import REACHED_BY_COPIES, REACHED_BY_PRODUCTS, REACHED_BY_VECTORS
from analyzer.derive.roofline import (
    CLEAR_SHARE,
    FAR_SHARE,
    FLOOR_FACTOR,
    LATENCY_SHARE,
    SATURATED_SHARE,
    SHORT_KERNEL_NS,
    SYNCHRONOUS_SHARE,
    Anomaly,
    Kernel,
    matrix_dtype,
    roof_point,
)

DEVICE = Device(
    kind="cuda",
    name="Test Device",
    source=Source.MEASURED,
    peaks=(Peak("bfloat16", 1e15), Peak("float32", 5e13), Peak("tf32", 5e14)),
    memory_bytes_per_s=4e12,
    l2_bytes=50_000_000,
    empty_kernel_ns=1_500.0,
)
PLAIN = replace(DEVICE, source=Source.DATA_SHEET)
"""Whose figures are the hardware's own."""

LONG_NS = 100_000


def _gemm(flops: float, ns: int = LONG_NS, dtype: str = "bfloat16", name: str = "gemm", moved: float = 1e6) -> Kernel:
    return Kernel(name, ns, flops, moved, dtype)


def _move(share: float, ns: int = LONG_NS) -> Kernel:
    return Kernel("add", ns, 0.0, share * 4e12 * ns / 1e9, None)


def test_a_product_near_the_arithmetic_peak_is_compute() -> None:
    point = roof_point(_gemm(0.8e15 * LONG_NS / 1e9), DEVICE, None)
    assert point.part is Part.COMPUTE
    assert point.compute_ns == pytest.approx(0.8 * LONG_NS)


def test_a_product_with_more_to_move_than_to_compute_is_memory() -> None:
    assert roof_point(_gemm(1e9, moved=0.7 * 4e12 * LONG_NS / 1e9), DEVICE, None).part is Part.MEMORY


def test_a_kernel_near_the_bandwidth_is_memory() -> None:
    assert roof_point(_move(0.9), DEVICE, None).part is Part.MEMORY


def test_a_short_kernel_far_from_both_roofs_is_latency() -> None:
    ns = SHORT_KERNEL_NS
    for device, edge in ((PLAIN, LATENCY_SHARE), (DEVICE, LATENCY_SHARE / REACHED_BY_PRODUCTS)):
        assert roof_point(_gemm((edge - 0.01) * 1e15 * ns / 1e9, ns), device, None).part is Part.LATENCY
        assert roof_point(_gemm((edge + 0.01) * 1e15 * ns / 1e9, ns), device, None).part is Part.COMPUTE


def test_a_long_product_far_from_both_roofs_waits_on_a_gpu() -> None:
    # Hardware counters call a kernel that uses neither unit to 40 % latency-bound, however long it runs.
    assert roof_point(_gemm(0.1e15 * LONG_NS / 1e9), DEVICE, None).part is Part.LATENCY


def test_a_long_product_far_from_both_roofs_is_under_the_nearer_one_on_a_cpu() -> None:
    assert roof_point(_gemm(0.1e15 * LONG_NS / 1e9), replace(DEVICE, kind="cpu"), None).part is Part.COMPUTE


@pytest.mark.parametrize(("factor", "part"), [(1.01, Part.COMPUTE), (0.99, Part.UNKNOWN_KERNELS)])
def test_of_a_long_product_under_a_twentieth_of_both_roofs_nothing_is_claimed_on_a_cpu(
    factor: float, part: Part
) -> None:
    # Seen: 1 µs of arithmetic in 5.6 ms, because another program held the core of one of the threads.
    product = _gemm(factor * FAR_SHARE * 1e15 * LONG_NS / 1e9)
    assert roof_point(product, replace(DEVICE, kind="cpu"), None).part is part


def _busy(instructions: float, moved: float, ns: int = LONG_NS) -> Kernel:
    """`instructions` and `moved` as shares of what the device does in the time."""
    done = instructions * 5e13 / 2 * ns / 1e9
    return Kernel("k", ns, 0.0, moved * 4e12 * ns / 1e9, None, instructions=done)


@pytest.mark.parametrize(
    ("instructions", "moved", "part"),
    [
        (0.3, 0.3, Part.LATENCY),  # a long fused softmax: 30 % of the issue slots, 30 % of the bandwidth
        (0.6, 0.3, Part.COMPUTE),
        (0.3, 0.6, Part.MEMORY),
        (1.5, 0.7, Part.COMPUTE),
        (1.5, SATURATED_SHARE, Part.MEMORY),  # a rough count does not beat a full bandwidth
    ],
)
def test_counted_instructions_give_a_kernel_without_products_an_arithmetic_time(
    instructions: float, moved: float, part: Part
) -> None:
    point = roof_point(_busy(instructions, moved), PLAIN, None)
    assert point.part is part
    assert point.compute_ns == pytest.approx(instructions * LONG_NS)
    assert point.is_rough
    assert point.anomaly is None


def test_instructions_run_at_the_rate_outside_the_matrix_units() -> None:
    device = replace(DEVICE, peaks=(*DEVICE.peaks, Peak(VECTOR, 1e14)))
    assert roof_point(_busy(0.6, 0.1), device, None).compute_ns == pytest.approx(0.3 * LONG_NS)


def test_of_a_long_cpu_kernel_far_from_both_roofs_nothing_is_claimed() -> None:
    # Its loops may be scalar, or its threads may have had to share.
    assert roof_point(_busy(0.3, 0.3), replace(DEVICE, kind="cpu"), None).part is Part.UNKNOWN_KERNELS


def test_unknown_arithmetic_leaves_only_a_clear_memory_bound() -> None:
    def part(share: float, ns: int = LONG_NS) -> Part:
        return roof_point(Kernel("mine", ns, None, share * 4e12 * ns / 1e9, None), PLAIN, None).part

    assert part(CLEAR_SHARE) is Part.MEMORY
    assert part(CLEAR_SHARE - 0.01) is Part.UNKNOWN_KERNELS
    assert part(0.1, ns=2_500) is Part.LATENCY  # about as short as an empty one


def test_a_kernel_whose_traffic_is_a_floor_waits_only_if_many_times_as_much_were_far_too() -> None:
    def part(share: float) -> Part:
        return roof_point(replace(_move(share, ns=5_000), is_floor=True), DEVICE, None).part

    assert part(0.5) is Part.MEMORY
    assert part(0.1) is Part.UNKNOWN_KERNELS
    assert part(LATENCY_SHARE / FLOOR_FACTOR - 0.001) is Part.LATENCY


def test_of_few_blocks_even_traffic_that_is_a_floor_waits() -> None:
    """A sort of few keys: its two blocks can ask for no more than their part of the cache's rate."""
    device = replace(DEVICE, l2_bytes_per_s=3.0 * DEVICE.memory_bytes_per_s)

    def part(occupied: float | None) -> Part:
        kernel = replace(_move(0.1, ns=5_000), is_floor=True, occupied_share=occupied)
        return roof_point(kernel, device, None).part

    assert part(None) is Part.UNKNOWN_KERNELS
    assert part(0.02) is Part.LATENCY
    assert part(0.2) is Part.UNKNOWN_KERNELS


def test_reading_and_writing_run_at_their_own_rates() -> None:
    # Copies at 4 TB/s and reads at 5: a second of a copy is 0.4 of reading and 0.6 of writing.
    device = replace(DEVICE, read_bytes_per_s=5e12)
    kernel = Kernel("k", LONG_NS, 0.0, 4e8, None, read_bytes=2e8)
    assert roof_point(kernel, device, None).memory_ns == pytest.approx(100_000)
    assert roof_point(replace(kernel, read_bytes=4e8), device, None).memory_ns == pytest.approx(80_000)


def test_what_the_cache_may_hold_gives_the_lower_end() -> None:
    device = replace(DEVICE, l2_bytes_per_s=1e13)
    kernel = Kernel("k", LONG_NS, 0.0, 4e8, None, read_bytes=2e8, resident_bytes=4e7)
    point = roof_point(kernel, device, None)
    assert point.memory_ns == pytest.approx(100_000)
    assert point.warm_ns == pytest.approx(90_000 + 4_000)


def test_an_input_that_the_cache_may_hold_explains_traffic_over_the_bandwidth() -> None:
    kernel = Kernel("k", 70_000, 0.0, 3.2e8, None, read_bytes=1.6e8, resident_bytes=4.5e7)
    assert roof_point(kernel, DEVICE, None).part is Part.MEMORY
    assert roof_point(replace(kernel, resident_bytes=0.0), DEVICE, None).part is Part.UNKNOWN_KERNELS


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_both_8_bit_floats_run_at_one_rate(dtype: str) -> None:
    device = replace(DEVICE, peaks=(*DEVICE.peaks, Peak("float8_e4m3fn", 2e15)))
    assert roof_point(_gemm(1e10, dtype=dtype), device, None).compute_ns == pytest.approx(5_000)


def test_of_a_long_kernel_whose_arithmetic_is_not_counted_nothing_is_claimed_far_from_the_bandwidth() -> None:
    assert roof_point(_move(0.1), DEVICE, None).part is Part.UNKNOWN_KERNELS


@pytest.mark.parametrize(
    "kernel",
    [
        Kernel("k", LONG_NS, None, None, None),
        _gemm(1e10, dtype="float16"),
        _gemm(1e10, dtype="float32"),
    ],
)
def test_without_a_count_or_a_measured_peak_there_is_no_roof(kernel: Kernel) -> None:
    assert roof_point(kernel, DEVICE, None).part is Part.UNKNOWN_KERNELS


def test_without_a_measured_bandwidth_there_is_no_roof() -> None:
    assert roof_point(_move(0.9), replace(DEVICE, memory_bytes_per_s=None), None).part is Part.UNKNOWN_KERNELS


def test_an_unknown_kernel_about_as_short_as_an_empty_one_is_latency() -> None:
    assert roof_point(Kernel("k", 2_500, None, None, None), DEVICE, None).part is Part.LATENCY
    assert roof_point(Kernel("k", 3_500, None, None, None), DEVICE, None).part is Part.UNKNOWN_KERNELS


@pytest.mark.parametrize(
    ("name", "allow_tf32", "peak"),
    [
        ("gemm", True, 5e14),
        ("gemm", False, 5e13),
        ("cutlass_80_tensorop_s1688gemm_64x64_nn", None, 5e14),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn", False, 5e14),
    ],
)
def test_a_float32_product_runs_against_tf32_only_where_it_is_used(
    name: str, allow_tf32: bool | None, peak: float
) -> None:
    point = roof_point(_gemm(1e9, dtype="float32", name=name), DEVICE, allow_tf32)
    assert point.compute_ns == pytest.approx(1e9 / peak * 1e9)


def test_a_float32_product_on_a_device_without_tf32_has_one_peak() -> None:
    device = replace(DEVICE, peaks=(Peak("float32", 5e13),))
    assert roof_point(_gemm(1e9, dtype="float32"), device, None).compute_ns == pytest.approx(20_000)


def test_over_105_per_cent_of_the_arithmetic_peak_is_an_anomaly() -> None:
    assert roof_point(_gemm(1.04e15 * LONG_NS / 1e9), DEVICE, None).anomaly is None
    assert roof_point(_gemm(1.06e15 * LONG_NS / 1e9), DEVICE, None).anomaly is Anomaly.ARITHMETIC


def test_traffic_that_memory_cannot_have_moved_says_nothing_unless_a_cache_held_it() -> None:
    too_much = roof_point(_move(2.0), DEVICE, None)
    assert (too_much.part, too_much.anomaly) == (Part.UNKNOWN_KERNELS, Anomaly.BANDWIDTH)
    cached = roof_point(_move(2.0, ns=5_000), DEVICE, None)
    assert (cached.part, cached.anomaly) == (Part.MEMORY, Anomaly.BANDWIDTH)


def test_a_kernel_of_no_time_breaks_nothing() -> None:
    assert roof_point(Kernel("k", 0, 0.0, 0.0, None), DEVICE, None).part is Part.LATENCY


def test_shares_are_of_the_hardwares_own_rates() -> None:
    kernel = replace(_move(0.9), instructions=0.88 * 5e13 / 2 * LONG_NS / 1e9)
    measured, told = roof_point(kernel, DEVICE, None), roof_point(replace(kernel, bytes=0.85 * 4e8), PLAIN, None)
    assert measured.memory_share == pytest.approx(0.9 * REACHED_BY_COPIES)
    assert (measured.compute_share or 0.0) > (measured.memory_share or 0.0)
    assert told.memory_share == pytest.approx(0.85)
    assert told.part is Part.MEMORY


@pytest.mark.parametrize(
    ("device", "name", "share"),
    [
        ("NVIDIA H200", "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64>>", 1 / SYNCHRONOUS_SHARE),
        ("NVIDIA H100 80GB HBM3", "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_bf16>", 1 / SYNCHRONOUS_SHARE),
        ("NVIDIA H200", "nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_NNN", 1.0),
        ("NVIDIA H200", "sm90_xmma_gemm_bf16bf16", 1.0),
        ("NVIDIA A100-SXM4-80GB", "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_bf16>", 1.0),
    ],
)
def test_a_kernel_made_for_ampere_reaches_a_part_of_hoppers_peak(device: str, name: str, share: float) -> None:
    kernel = _gemm(0.4e15 * LONG_NS / 1e9, name=name)
    point = roof_point(kernel, replace(DEVICE, name=device), None)
    assert point.compute_ns == pytest.approx(0.4 * share * LONG_NS)


def test_a_kernel_faster_than_its_kind_is_full_and_no_anomaly() -> None:
    name = "cutlass_80_tensorop_s16816gemm_bf16"
    point = roof_point(_gemm(0.8e15 * LONG_NS / 1e9, name=name), replace(DEVICE, name="NVIDIA H200"), None)
    assert point.compute_ns == pytest.approx(LONG_NS)
    assert point.anomaly is None


def test_efficient_attention_in_float32_is_three_products_in_tf32() -> None:
    name = "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>::Params)"
    kernel = _gemm(1e7 * 5, dtype="float32", name=name)
    assert roof_point(kernel, DEVICE, False).compute_ns == pytest.approx(3 * 5e7 / 5e14 * 1e9)


def test_sectors_across_the_cache_are_traffic_unless_it_cannot_have_given_them() -> None:
    device = replace(DEVICE, l2_bytes_per_s=1e13)
    transpose = Kernel("copy", LONG_NS, 0.0, 0.2 * 4e8, None, instructions=0.0, crossing_bytes=0.6e9)
    assert roof_point(transpose, device, None).part is Part.MEMORY
    assert roof_point(transpose, device, None).memory_ns == pytest.approx(60_000)
    nearer = roof_point(replace(transpose, crossing_bytes=2e9), device, None)
    assert nearer.part is Part.LATENCY
    assert nearer.memory_ns == pytest.approx(20_000)
    assert nearer.anomaly is None


def test_writes_that_only_the_cache_gets_cross_to_it_at_half_its_rate() -> None:
    device = replace(DEVICE, l2_bytes_per_s=1e13)
    copy = Kernel("copy", 10_000, 0.0, 2e7, None, instructions=0.0, read_bytes=1e7, unwritten_bytes=1e7)
    point = roof_point(copy, device, None)
    # 10 MB of memory's take 2,500 of 10,000 ns, and 10 + 2 × 10 MB of the cache's 3,000.
    assert point.memory_share == pytest.approx(0.30)
    assert point.part is Part.LATENCY
    assert point.memory_ns == pytest.approx(5_000), "what memory gets some time is the bound all the same"
    fill = replace(copy, read_bytes=0.0, unwritten_bytes=2e7)
    assert roof_point(fill, device, None).memory_share == pytest.approx(0.40)
    assert roof_point(fill, device, None).part is Part.MEMORY
    data_sheet = replace(device, source=Source.DATA_SHEET)
    assert roof_point(fill, data_sheet, None).memory_share == pytest.approx(0.40)


def test_what_only_writes_runs_as_fast_as_what_only_reads() -> None:
    device = replace(DEVICE, read_bytes_per_s=5e12)
    fill = Kernel("fill", LONG_NS, 0.0, 4.9e8, None, instructions=0.0, read_bytes=0.0)
    assert roof_point(fill, device, None).memory_ns == pytest.approx(98_000)
    assert roof_point(fill, device, None).part is Part.MEMORY


@pytest.mark.parametrize(("name", "part"), [("NVIDIA H200", Part.COMPUTE), ("NVIDIA L4", Part.UNKNOWN_KERNELS)])
def test_double_precision_has_a_roof_where_its_rate_is_known(name: str, part: Part) -> None:
    kernel = replace(_busy(0.3, 0.1), dtype="float64")
    assert roof_point(kernel, replace(PLAIN, name=name), None).part is part


def test_lighter_work_than_the_peaks_own_runs_at_a_higher_clock() -> None:
    """An H200's figures: 787 TFLOP/s at 93 % of the tensor cores' time, and 65.7 TFLOP/s outside them."""
    peaks = (Peak("bfloat16", 787e12), Peak(VECTOR, 65.7e12))
    hopper = replace(DEVICE, name="NVIDIA H200", peaks=peaks)

    def share(of_peak: float, device: Device = hopper, masked: float = 0.0) -> float:
        flops = of_peak * 787e12 * LONG_NS / 1e9
        found = roof_point(replace(_gemm(flops), masked_flops=masked * flops), device, None).compute_share
        assert found is not None
        return found

    full = 1.0 * REACHED_BY_PRODUCTS
    assert share(1.0) == pytest.approx(full)
    assert share(0.81) == pytest.approx(0.81**1.5 * full)
    # No clock is higher than that of arithmetic outside the matrix units.
    most = 16 * 65.7 / REACHED_BY_VECTORS / (787 / REACHED_BY_PRODUCTS)
    assert share(0.3) == pytest.approx(0.3 * full / most)
    assert share(0.2, masked=0.5) == pytest.approx(share(0.3))
    for other in (replace(hopper, name="NVIDIA A100"), replace(hopper, peaks=peaks[:1])):
        assert share(0.3, other) == pytest.approx(0.3 * full)


def test_too_few_blocks_for_the_device_explain_a_kernel_that_is_unknown() -> None:
    device = replace(DEVICE, l2_bytes_per_s=8e12)

    def part(share: float | None, kernel: Kernel) -> Part:
        return roof_point(replace(kernel, occupied_share=share), device, None).part

    unknown = Kernel("mine", LONG_NS, None, None, None)
    # An L2 of twice the memory's rate lets a fifth of the multiprocessors take 40 % of that.
    assert part(0.19, unknown) is Part.LATENCY
    assert part(0.21, unknown) is Part.UNKNOWN_KERNELS
    assert part(None, unknown) is Part.UNKNOWN_KERNELS
    counted = Kernel("mine", LONG_NS, None, 0.1 * 4e12 * LONG_NS / 1e9, None)
    assert part(0.39, counted) is Part.LATENCY
    assert part(0.41, counted) is Part.UNKNOWN_KERNELS
    assert roof_point(replace(unknown, occupied_share=0.1), replace(DEVICE, kind="cpu"), None).part is not Part.LATENCY


HOPPER = replace(PLAIN, name="NVIDIA H200")


def _fed(near: float, compute: float = 0.5, memory: float = 0.1) -> Kernel:
    """A product whose shared memory is busy for such a share of the time."""
    return replace(_gemm(compute * 1e11, moved=memory * 4e8), near_slots=near * 5e13 * LONG_NS / 1e9 / 2)


def test_shared_memory_that_is_busier_than_what_it_feeds_is_memory_and_as_busy_is_compute() -> None:
    assert roof_point(_fed(0.501), HOPPER, None).part is Part.MEMORY
    even = _fed(0.5)
    assert roof_point(even, HOPPER, None).near_share == roof_point(even, HOPPER, None).compute_share
    assert roof_point(even, HOPPER, None).part is Part.COMPUTE
    assert roof_point(_fed(0.499), HOPPER, None).part is Part.COMPUTE
    # What memory itself is asked for decides as ever.
    assert roof_point(_fed(0.52, memory=0.51), HOPPER, None).part is Part.MEMORY
    point = roof_point(_fed(0.8), HOPPER, None)
    assert (point.near_share, point.memory_share) == (pytest.approx(0.8), pytest.approx(0.1))


@pytest.mark.parametrize(("name", "share"), [("NVIDIA H200", 0.7), ("NVIDIA A100-SXM4-80GB", 0.3)])
def test_the_issue_slots_of_a_product_are_its_arithmetic_where_they_are_more(name: str, share: float) -> None:
    """On an A100 a multiply-add of a warp takes two slots, and its loads one: nothing is said of it."""
    kernel = replace(_gemm(0.3 * 1e11), issued_slots=0.7 * 5e13 * LONG_NS / 1e9 / 2)
    point = roof_point(kernel, replace(PLAIN, name=name), None)
    assert point.compute_share == pytest.approx(share)
    assert not point.is_rough
    assert roof_point(replace(kernel, issued_slots=1.0), HOPPER, None).compute_share == pytest.approx(0.3)


@pytest.mark.parametrize("allow_tf32", [None, True, False])
@pytest.mark.parametrize(
    "name", ["sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_ffma_x", "ampere_sgemm_64x64_tn"]
)
def test_a_kernel_of_multiply_adds_runs_in_float32_whatever_is_allowed(name: str, allow_tf32: bool | None) -> None:
    kernel = Kernel(name, LONG_NS, 1e9, 1e6, "float32")
    device = replace(DEVICE, peaks=(Peak("float32", 5e13), Peak("tf32", 4e14)))
    assert matrix_dtype(kernel, device, allow_tf32) == "float32"


def test_a_kernel_that_keeps_shared_memory_busy_does_not_wait() -> None:
    assert roof_point(_fed(0.3, compute=0.2), HOPPER, None).part is Part.LATENCY
    assert roof_point(_fed(0.5, compute=0.2), HOPPER, None).part is Part.MEMORY


@pytest.mark.parametrize("name", ["NVIDIA A100-SXM4-80GB", "NVIDIA GeForce RTX 4090", "AMD Instinct MI300X"])
def test_of_shared_memory_nothing_is_said_on_a_device_without_counters(name: str) -> None:
    point = roof_point(_fed(0.9), replace(PLAIN, name=name), None)
    assert point.part is Part.COMPUTE
    assert point.near_share == 0.0


def test_the_load_store_units_run_at_the_clock_of_the_matrix_units_that_they_feed() -> None:
    peaks = (Peak("bfloat16", 787e12), Peak(VECTOR, 65.7e12))
    device = replace(DEVICE, name="NVIDIA H200", peaks=peaks)
    most = 16 * 65.7 / REACHED_BY_VECTORS / (787 / REACHED_BY_PRODUCTS)

    def share(of_peak: float) -> float:
        kernel = replace(_gemm(of_peak * 787e12 * LONG_NS / 1e9), near_slots=0.5 * 65.7e12 * LONG_NS / 1e9 / 2)
        return roof_point(kernel, device, None).near_share

    assert share(0.1) == pytest.approx(0.5 * REACHED_BY_VECTORS)
    assert share(1.0) == pytest.approx(0.5 * REACHED_BY_VECTORS * most)

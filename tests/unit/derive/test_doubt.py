"""Kernels near a border of their class change it within the errors of counting; others do not."""

from __future__ import annotations

import numpy as np
import pytest

from analyzer.core.budget import Part
from analyzer.derive.doubt import CLASSES, MOST_KERNELS, KernelPoint, perturbed_classes

NONE = np.zeros(1)


def _ns(kernels: list[KernelPoint], arithmetic: float = 0.0, traffic: float = 0.0) -> dict[Part, int]:
    found = perturbed_classes(kernels, np.asarray([arithmetic]), np.asarray([traffic]))[0]
    return {part: round(ns) for part, ns in zip(CLASSES, found.tolist(), strict=True) if ns > 0.5}


def test_without_an_error_every_kernel_keeps_its_class() -> None:
    kernels = [
        KernelPoint(Part.COMPUTE, 100_000, 80_000.0, 20_000.0),
        KernelPoint(Part.MEMORY, 50_000, 1_000.0, 40_000.0),
        KernelPoint(Part.LATENCY, 3_000, 100.0, 200.0),
        KernelPoint(Part.UNKNOWN_KERNELS, 7_000, None, None),
    ]
    assert _ns(kernels) == {
        Part.COMPUTE: 100_000,
        Part.MEMORY: 50_000,
        Part.LATENCY: 3_000,
        Part.UNKNOWN_KERNELS: 7_000,
    }


def test_what_is_read_again_through_an_index_may_have_been_kept_or_not() -> None:
    gather = [KernelPoint(Part.COMPUTE, 100_000, 60_000.0, 20_000.0, again_ns=300_000.0)]
    assert _ns(gather) == {Part.COMPUTE: 100_000}
    assert _ns(gather, traffic=-1.0) == {Part.COMPUTE: 100_000}
    assert _ns(gather, traffic=0.5) == {Part.MEMORY: 100_000}
    little = [KernelPoint(Part.COMPUTE, 100_000, 60_000.0, 20_000.0, again_ns=5_000.0)]
    assert _ns(little, traffic=3.0) == {Part.COMPUTE: 100_000}


def test_a_kernel_near_both_roofs_goes_with_the_error() -> None:
    near = [KernelPoint(Part.COMPUTE, 100_000, 80_000.0, 75_000.0)]
    far = [KernelPoint(Part.COMPUTE, 100_000, 80_000.0, 20_000.0)]
    assert _ns(near, traffic=1.0) == {Part.MEMORY: 100_000}
    assert _ns(near, traffic=-1.0) == {Part.COMPUTE: 100_000}
    assert _ns(far, traffic=3.0) == {Part.COMPUTE: 100_000}


def test_a_short_kernel_near_the_border_of_latency_goes_with_the_error() -> None:
    short = [KernelPoint(Part.MEMORY, 5_000, 0.0, 2_100.0)]
    assert _ns(short, traffic=-1.0) == {Part.LATENCY: 5_000}
    assert _ns([KernelPoint(Part.LATENCY, 5_000, 0.0, 1_900.0)], traffic=1.0) == {Part.MEMORY: 5_000}
    assert _ns([KernelPoint(Part.MEMORY, 50_000, 0.0, 21_000.0)], traffic=-1.0) == {Part.MEMORY: 50_000}


def test_what_is_not_known_stays_so() -> None:
    kernels = [KernelPoint(Part.UNKNOWN_KERNELS, 9_000, 5.0, 5.0), KernelPoint(Part.LATENCY, 1_000, None, None)]
    assert _ns(kernels, 3.0, 3.0) == {Part.UNKNOWN_KERNELS: 9_000, Part.LATENCY: 1_000}


def test_no_kernel_is_no_time() -> None:
    assert perturbed_classes([], NONE, NONE).tolist() == [[0.0, 0.0, 0.0, 0.0]]


def test_many_kernels_are_stood_for_by_some_of_all_kinds() -> None:
    many = [KernelPoint(Part.MEMORY, 20_000 + i, 0.0, 18_000.0) for i in range(3 * MOST_KERNELS)]
    many += [KernelPoint(Part.COMPUTE, 20_000 + i, 18_000.0, 0.0) for i in range(MOST_KERNELS)]
    found = _ns(many)
    whole = sum(kernel.ns for kernel in many)
    assert sum(found.values()) == pytest.approx(whole, abs=4)
    assert found[Part.COMPUTE] / whole == pytest.approx(0.25, abs=0.02)


def test_the_order_of_the_kernels_does_not_matter() -> None:
    many = [KernelPoint(Part.MEMORY, 9_000 + 7 * i % 100, float(i), 4_000.0 + i) for i in range(2 * MOST_KERNELS)]
    errors = np.asarray([-1.0, 0.5, 2.0])
    assert np.array_equal(perturbed_classes(many, errors, errors), perturbed_classes(many[::-1], errors, errors))


def test_a_long_kernel_that_waits_may_be_bound_by_a_cache_that_no_trace_shows() -> None:
    long, short = (KernelPoint(Part.LATENCY, ns, 0.1 * ns, 0.1 * ns) for ns in (50_000, 5_000))
    assert _ns([long], traffic=0.5) == {Part.MEMORY: 50_000}
    assert _ns([long], traffic=-0.5) == {Part.LATENCY: 50_000}
    assert _ns([short], traffic=0.5) == {Part.LATENCY: 5_000}


def test_a_kernel_that_has_filled_the_gpu_is_less_often_bound_by_what_no_trace_shows() -> None:
    filled, empty = (KernelPoint(Part.LATENCY, ns, 0.1 * ns, 0.1 * ns, is_on_gpu=True) for ns in (8_000, 4_000))
    assert _ns([filled], traffic=1.5) == {Part.MEMORY: 8_000}
    assert _ns([filled], traffic=0.5) == {Part.LATENCY: 8_000}
    assert _ns([empty], traffic=1.5) == {Part.LATENCY: 4_000}


def test_instructions_counted_for_their_kind_are_doubted_less() -> None:
    rough = KernelPoint(Part.COMPUTE, 100_000, 80_000.0, 45_000.0, is_rough=True)
    counted = KernelPoint(Part.COMPUTE, 100_000, 80_000.0, 45_000.0, is_rough=True, is_counted=True)
    assert _ns([rough], arithmetic=-1.0) == {Part.MEMORY: 100_000}
    assert _ns([counted], arithmetic=-1.0) == {Part.COMPUTE: 100_000}


def test_a_long_kernel_near_the_border_of_latency_may_wait_on_a_gpu_alone() -> None:
    on_cpu, on_gpu = (
        KernelPoint(Part.MEMORY, 50_000, 0.0, 21_000.0, is_on_gpu=is_on_gpu) for is_on_gpu in (False, True)
    )
    assert _ns([on_cpu], traffic=-1.0) == {Part.MEMORY: 50_000}
    assert _ns([on_gpu], traffic=-1.0) == {Part.LATENCY: 50_000}
    assert _ns([on_gpu]) == {Part.MEMORY: 50_000}


def test_the_traffic_of_a_short_kernel_is_doubted_more_on_a_gpu_whose_cache_holds_it() -> None:
    on_cpu, on_gpu = (KernelPoint(Part.MEMORY, 6_000, 0.0, 3_600.0, is_on_gpu=is_on_gpu) for is_on_gpu in (False, True))
    long = KernelPoint(Part.MEMORY, 60_000, 0.0, 36_000.0, is_on_gpu=True)
    assert _ns([on_gpu], traffic=-1.0) == {Part.LATENCY: 6_000}
    assert _ns([on_cpu], traffic=-1.0) == {Part.MEMORY: 6_000}
    assert _ns([long], traffic=-1.0) == {Part.MEMORY: 60_000}


def test_a_rough_count_does_not_beat_a_full_bandwidth() -> None:
    full = KernelPoint(Part.MEMORY, 100_000, 90_000.0, 85_000.0, is_rough=True)
    assert _ns([full]) == {Part.MEMORY: 100_000}
    assert _ns([full], traffic=-1.0) == {Part.COMPUTE: 100_000}


def test_where_shared_memory_is_as_busy_as_the_matrix_units_it_feeds_either_may_be_the_nearer() -> None:
    tie, clear = (KernelPoint(Part.COMPUTE, 100_000, 80_000.0, 20_000.0, near_ns=near) for near in (80_000.0, 60_000.0))
    assert _ns([tie], traffic=0.1) == {Part.MEMORY: 100_000}
    assert _ns([tie], traffic=-0.1) == {Part.COMPUTE: 100_000}
    assert _ns([clear], traffic=2.0) == {Part.COMPUTE: 100_000}
    # What is wrong of the arithmetic is wrong of what feeds it too.
    assert _ns([clear], arithmetic=-2.0, traffic=0.0) == {Part.COMPUTE: 100_000}


def test_what_feeds_the_arithmetic_counts_to_it_whichever_of_the_two_is_the_busier() -> None:
    fed = [
        KernelPoint(part, 100_000, 80_000.0, 20_000.0, near_ns=near, is_fed=True)
        for part, near in ((Part.COMPUTE, 79_000.0), (Part.MEMORY, 81_000.0))
    ]
    for error in (-2.0, 0.0, 2.0):
        assert _ns(fed, arithmetic=error, traffic=error) == {Part.COMPUTE: 200_000}
    assert [point.counts_to for point in fed] == [Part.COMPUTE, Part.COMPUTE]
    beside = KernelPoint(Part.MEMORY, 100_000, 80_000.0, 20_000.0, near_ns=81_000.0)
    assert beside.counts_to is Part.MEMORY
    assert _ns([*fed, beside]) == {Part.COMPUTE: 200_000, Part.MEMORY: 100_000}


def test_what_feeds_the_arithmetic_and_waits_for_memory_is_memory() -> None:
    fed = KernelPoint(Part.MEMORY, 100_000, 30_000.0, 80_000.0, near_ns=60_000.0, is_fed=True)
    assert fed.counts_to is Part.MEMORY
    assert _ns([fed]) == {Part.MEMORY: 100_000}
    assert _ns([fed], arithmetic=1.0, traffic=-1.0) == {Part.COMPUTE: 100_000}


def test_a_kernel_that_a_near_cache_keeps_busy_does_not_wait() -> None:
    sorts = [KernelPoint(Part.MEMORY, 50_000, 0.0, 5_000.0, near_ns=35_000.0, is_on_gpu=True)]
    assert _ns(sorts, traffic=0.0) == {Part.MEMORY: 50_000}


def test_what_turning_tiles_asks_of_shared_memory_is_less_sure() -> None:
    name = "sm90_xmma_gemm_f32f32_tf32f32_f32_{}_n_tilesize128x128x32_warpgroupsize1x1x1_execute"
    shares: list[float] = []
    for layout in ("tn", "nn"):
        kernel = KernelPoint(Part.MEMORY, 50_000, 26_000.0, 11_000.0, near_ns=33_000.0, name=name.format(layout))
        rng = np.random.default_rng(0)
        draws = perturbed_classes([kernel], rng.standard_normal(400), rng.standard_normal(400))
        shares.append(float(np.mean(draws[:, CLASSES.index(Part.MEMORY)] > 0)))
    sure, turned = shares
    assert sure > 0.95
    assert 0.6 < turned < 0.9

"""What the kernels of a region count to, where shared memory bounds them on an H200."""

from __future__ import annotations

from typing import Final

import pytest

from analyzer.core.budget import Part
from analyzer.core.device import VECTOR, Device, Peak, Source
from analyzer.core.verdict import Bound
from analyzer.derive.attribution import attribute
from analyzer.derive.budget import Context, RegionBudget, region_budgets
from analyzer.derive.classify import verdict
from analyzer.derive.kernel_costs import kernel_costs
from analyzer.derive.reached_rates import REACHED_BY_COPIES
from analyzer.derive.region_kernels import RegionKernels, region_kernels
from analyzer.derive.steps import find_steps
from analyzer.derive.trace_budget import trace_budget
from tests.traces import Recording
from tests.unit.derive.runs import HALF, A, region, timing

H200: Final = Device(
    kind="cuda",
    name="NVIDIA H200",
    source=Source.MEASURED,
    peaks=(Peak("bfloat16", 787e12), Peak(VECTOR, 65.7e12)),
    memory_bytes_per_s=4.3e12,
    l2_bytes=50 << 20,
)
PRODUCT: Final = "nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT"
ACROSS: Final = "triton_poi_fused_add_0"
SIDE: Final = 8192
PRODUCT_US, ACROSS_US = 1_399, 301


def _recording(*, is_product: bool = True, is_across: bool = True) -> Recording:
    """A step of one graph: a product of 8192³, as an H200 ran it, and a kernel that reads across what it writes."""
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            if is_product:
                with run.op("aten::mm", ((SIDE, SIDE),) * 2, (HALF, HALF)):
                    run.launch(PRODUCT, us=PRODUCT_US)
            if is_across:
                strides = ((SIDE, 1), (1, SIDE), ())
                with run.op(ACROSS, ((SIDE, SIDE), (SIDE, SIDE), ()), (HALF, HALF, "Scalar"), strides=strides):
                    run.launch(ACROSS, us=ACROSS_US)
        run.synchronize()
    return run


def _kernels(run: Recording) -> RegionKernels:
    attribution = attribute(run.trace())
    (found,) = (r for r in region_kernels(attribution, kernel_costs(attribution), H200, None) if r.ns)
    return found


def _budget(run: Recording, elapsed_us: int) -> RegionBudget:
    clean = timing(region(A, elapsed_us * 1_000), step_ns=elapsed_us * 1_000)
    (found,) = (b for b in region_budgets(clean, attribute(run.trace()), Context(H200)) if b.region == A)
    return found


def _ns(found: RegionKernels, part: Part) -> float:
    (own,) = (p.ns for p in found.parts if p.part is part)
    return own


def test_of_two_kernels_that_shared_memory_bounds_the_one_that_it_feeds_counts_to_compute() -> None:
    found = _kernels(_recording())
    assert {p.name: (p.part, p.is_on_chip, p.is_fed) for p in found.different} == {
        PRODUCT: (Part.MEMORY, True, True),
        ACROSS: (Part.MEMORY, True, False),
    }
    assert _ns(found, Part.COMPUTE) == PRODUCT_US * 1_000
    assert _ns(found, Part.MEMORY) == ACROSS_US * 1_000
    assert found.ns == (PRODUCT_US + ACROSS_US) * 1_000


@pytest.mark.parametrize("elapsed_us", [1_500, 1_700, 2_003])
def test_the_parts_of_both_add_up_to_the_graph_exactly(elapsed_us: int) -> None:
    """In less time than they take, in as much and in more."""
    budget = _budget(_recording(), elapsed_us).budget
    assert budget is not None
    assert sum(part.ns for part in budget.parts) == budget.elapsed_ns == elapsed_us * 1_000
    of_both = budget.ns(Part.COMPUTE) + budget.ns(Part.MEMORY)
    assert of_both == min(elapsed_us, PRODUCT_US + ACROSS_US) * 1_000
    assert budget.ns(Part.COMPUTE) == pytest.approx(of_both * PRODUCT_US / (PRODUCT_US + ACROSS_US), abs=1)


def test_a_product_of_8192_is_compute_bound_and_sure() -> None:
    found = verdict(_budget(_recording(is_across=False), PRODUCT_US))
    assert found.bound is Bound.COMPUTE
    assert found.confidence is not None
    assert found.confidence >= 0.95
    assert "100 % of it keeps shared memory busier than the arithmetic that it feeds" in found.evidence[0]


def test_a_kernel_that_reads_across_what_it_writes_stays_memory_bound() -> None:
    found = verdict(_budget(_recording(is_product=False), ACROSS_US))
    assert found.bound is Bound.MEMORY
    assert "shared memory or the first cache bounds" in found.evidence[0]


@pytest.mark.parametrize(("inner", "us"), [(SIDE, PRODUCT_US), (256, 100)])
def test_without_the_arithmetic_nothing_is_left_of_what_fed_it_and_all_of_the_traffic(inner: int, us: int) -> None:
    """Of the second the traffic takes longer than the arithmetic, and shared memory longer than either."""
    run = Recording()
    with run.step():
        with run.graph(str(A)), run.op("aten::mm", ((SIDE, inner), (inner, SIDE)), (HALF, HALF)):
            run.launch("nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_TNT", us=us)
        run.synchronize()
    found = _kernels(run)
    (point,) = found.different
    (floor,) = (p.floor_ns for p in found.parts if p.part is Part.COMPUTE)
    assert (point.counts_to, point.is_on_chip) == (Part.COMPUTE, True)
    assert point.memory_ns is not None
    assert floor == pytest.approx(point.memory_ns / REACHED_BY_COPIES)
    assert floor is not None
    assert floor < us * 1_000


def test_a_trace_alone_counts_them_likewise_and_keeps_what_bounds_each() -> None:
    trace = _recording().trace()
    found = trace_budget(attribute(trace), find_steps(trace), H200)
    assert found is not None
    assert found.whole.ns(Part.COMPUTE) == PRODUCT_US * 1_000
    assert found.whole.ns(Part.MEMORY) == ACROSS_US * 1_000
    assert sum(part.ns for part in found.whole.parts) == found.whole.elapsed_ns
    assert [found.points[number].part for number in found.point_of.tolist()] == [Part.MEMORY, Part.MEMORY]

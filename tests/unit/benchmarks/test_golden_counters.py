"""What an H200's hardware counted of 84 items' kernels, and what we say of them: the agreement must not be lost.

The golden is `tests/golden/counters_h200`. Every figure is a floor just under what was reached when it was made.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.core.budget import Budget, BudgetPart, Part
from analyzer.core.verdict import Bound
from analyzer.derive.attribution import attribute
from analyzer.derive.budget import RegionBudget
from analyzer.derive.classify import verdict
from analyzer.derive.confidence import CEILING
from analyzer.derive.kernel_costs import kernel_costs
from analyzer.derive.region_kernels import region_kernels
from benchmarks.verdicts.evaluate_counters import LEAST_NS, counter_section, judge
from benchmarks.verdicts.held_kernels import Held, byte_error, hold, kernels_of_items, touched_error
from benchmarks.verdicts.recorded import CounterRecording
from benchmarks.verdicts.result import Section
from collectors.readers.kineto import read_trace
from tests.golden.archive import zip_traces
from tests.golden.counters_h200.load import HERE, load


@pytest.fixture(scope="module")
def recording() -> CounterRecording:
    return load()


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return zip_traces(tmp_path_factory.mktemp("counters") / "traces.zip", HERE)


@pytest.fixture(scope="module")
def section(recording: CounterRecording, traces: Path) -> Section:
    return counter_section(judge(recording, traces))


@pytest.fixture(scope="module")
def held(recording: CounterRecording, traces: Path) -> tuple[Held, ...]:
    traced = recording.traced
    kernels = kernels_of_items(traced.items, traced.batches, traces, recording.machine.device)
    return tuple(hold(traced.items, kernels, recording.counters))


def _of(held: tuple[Held, ...], item: str, kernel: str = "") -> Held:
    """The longest kernel of an item whose name holds `kernel`."""
    return max((h for h in held if h.item == item and kernel in h.ours.name), key=lambda h: h.ours.ns)


@pytest.mark.parametrize(
    ("figure", "floor"),
    [
        ("agreement by time, kernels ≥ 5 µs, unknown counted against us", 0.991),
        ("agreement by time where we judged and the throughputs are over 5 points apart", 0.98),
        ("not what is asked: the first figure, with either part right", 0.991),
        ("not what is asked: all that a kernel touches within 15 % of DRAM's", 0.759),
        ("the bytes that we expect memory to move within 15 % of DRAM's, kernels larger than the L2, unknown", 0.919),
    ],
)
def test_the_agreement_reached_is_kept(section: Section, figure: str, floor: float) -> None:
    (check,) = [c for c in section.checks if c.what.startswith(figure)]
    assert check.found is not None
    assert check.found >= floor


@pytest.mark.parametrize("half", [0, 1])
def test_both_halves_of_the_items_agree_where_counters_tell_two_parts_apart(held: tuple[Held, ...], half: int) -> None:
    own = [h for h in held if h.half == half and h.ours.ns >= LEAST_NS]
    agreed = sum(h.ours.ns for h in own if h.agrees_with_either)
    assert agreed / sum(h.ours.ns for h in own) > 0.975


def test_a_class_that_is_stated_as_sure_is_one_that_the_counters_could_say(held: tuple[Held, ...]) -> None:
    """Over 70 were stated so before a third set showed that traffic misses the counters by 30 % and not 15 %, and
    before products were doubted whose shared memory is as busy as the matrix units.
    """
    sure = [h for h in held if h.ours.ns >= LEAST_NS and (h.ours.confidence or 0.0) >= 0.9]
    assert len(sure) > 42
    assert [h.item for h in sure if not h.agrees_with_either] == []


def test_a_large_product_is_memory_by_the_counters_and_compute_in_the_budget_of_a_graph(
    recording: CounterRecording, held: tuple[Held, ...]
) -> None:
    item = _of(held, "mm_bf16_8192x8192x8192")
    assert item.ours.part is item.truth is Part.MEMORY
    assert item.ours.counts_to is Part.COMPUTE
    (batch,) = (i.batch for i in recording.traced.items if i.name == item.item)
    attribution = attribute(read_trace(HERE / recording.traced.batches[batch].trace))
    regions = region_kernels(attribution, kernel_costs(attribution), recording.machine.device, allow_tf32=False)
    (point,) = {p for region in regions for p in region.different if (p.name, p.ns) == (item.ours.name, item.ours.ns)}
    budget = Budget(point.ns, (BudgetPart(point.counts_to, point.ns),))
    said = verdict(RegionBudget(regions[0].region, budget, point.ns, 1.0, linked_share=1.0, kernels=(point,)))
    assert (said.bound, said.confidence) == (Bound.COMPUTE, CEILING)
    assert "100 % of it keeps shared memory busier than the arithmetic that it feeds" in said.evidence[0]


@pytest.mark.parametrize(
    ("item", "kernel", "part"),
    [
        # ATen's strided template: index arithmetic for each element, not traffic.
        ("broadcast_add_fp32_16384x4096", "", Part.COMPUTE),
        ("attention_math_fp32_4x16x512x64", "where", Part.COMPUTE),
        ("group_norm_bf16_16x320x64x64", "GroupNormKernelImpl", Part.COMPUTE),
        # A switch over the type of each element.
        ("to_fp32_bf16_67108864", "", Part.COMPUTE),
        # A sector for each element of two bytes.
        ("transpose_bf16_16384x16384", "", Part.MEMORY),
        # Writes alone run at the rate of reads alone.
        ("fill_fp32_134217728", "", Part.MEMORY),
        ("argmax_rows_fp32_8192x32000", "", Part.COMPUTE),
        ("amax_rows_fp32_16384x8192", "", Part.MEMORY),
        ("pow_fp32_33554432", "", Part.COMPUTE),
        ("digamma_fp64_16777216", "", Part.COMPUTE),
        ("layer_norm_weighted_bf16_16384x4096", "", Part.COMPUTE),
        ("layer_norm_fp32_4096x1024", "", Part.COMPUTE),
        ("layer_norm_fp32_65536x4096", "", Part.MEMORY),
        # The steps of one operator are under roofs of their own.
        ("batch_norm_train_fp32_64x256x56x56", "collect_statistics", Part.LATENCY),
        ("batch_norm_train_fp32_64x256x56x56", "transform_input", Part.MEMORY),
        ("sort_all_fp32_8388608", "Onesweep", Part.MEMORY),
        ("sort_all_fp32_8388608", "Histogram", Part.LATENCY),
        ("sort_all_fp32_8388608", "fill_reverse_indices", Part.COMPUTE),
        ("scatter_add_65536x64x262144", "", Part.COMPUTE),
        ("gather_16384x4096x1024", "", Part.MEMORY),
        # Ampere's instructions on Hopper.
        ("attention_flash_bf16_4x16x2048x64", "", Part.COMPUTE),
        ("attention_efficient_fp32_4x16x1024x64", "", Part.MEMORY),
        ("conv_dw_s1_fp32_nchw_32x96x112x112x96", "", Part.COMPUTE),
        ("conv_dw_s1_bf16_nhwc_32x96x112x112x96", "", Part.COMPUTE),
    ],
)
def test_a_kernel_is_under_the_roof_that_its_counters_show(
    held: tuple[Held, ...], item: str, kernel: str, part: Part
) -> None:
    one = _of(held, item, kernel)
    assert one.truth is part
    assert one.ours.part is part


@pytest.mark.parametrize(
    ("item", "kernel"),
    [
        ("mm_bf16_8192x8192x8192", ""),
        ("mm_tf32_8192x8192x8192", ""),
        ("mm_fp8_8192x8192x8192", ""),
        ("mm_fp16_4096x4096x4096", ""),
        ("mm_fp32_4096x4096x4096", ""),
        ("bmm_bf16_16x2048x2048x2048", ""),
        ("softmax_fp32_512x131072", ""),
        ("layer_norm_fp32_65536x4096", ""),
        ("batch_norm_train_fp32_64x256x56x56", "transform_input"),
        ("gather_16384x4096x1024", ""),
        ("sort_all_fp32_8388608", "Onesweep"),
    ],
)
def test_what_is_read_again_is_counted(held: tuple[Held, ...], item: str, kernel: str) -> None:
    error = byte_error(_of(held, item, kernel))
    assert error is not None
    assert abs(error) < 0.15


def test_writes_that_stay_in_the_cache_are_what_dram_did_not_count(held: tuple[Held, ...]) -> None:
    one = _of(held, "softmax_fp32_16384x1024")
    touched, expected = touched_error(one), byte_error(one)
    assert touched is not None
    assert expected is not None
    assert touched > 0.2 > 0.05 > abs(expected)


def test_no_kernel_of_five_microseconds_is_left_without_a_class(held: tuple[Held, ...]) -> None:
    assert [h.item for h in held if h.ours.ns >= LEAST_NS and not h.is_known] == []

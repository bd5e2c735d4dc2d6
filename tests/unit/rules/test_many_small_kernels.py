"""many_small_kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analyzer.core.activity import KernelSizes
from analyzer.core.graphs import GapKey
from analyzer.rules.many_small_kernels import judge
from analyzer.rules.rule import MissingData
from tests.reports import MS, a_budget, a_key, at
from tests.rule_facts import a_device, a_region, an_activity, facts


def _sizes(**changes: Any) -> KernelSizes:
    return replace(KernelSizes(a_key(1), 200.0, MS, 200.0, 180.0, MS // 2), **changes)


STARVED = (a_region(a_key(1), a_budget(starved=6.0, latency=1.0, memory=3.0)),)


def test_small_kernels_launched_one_by_one_are_found_with_what_the_region_loses() -> None:
    (finding,) = judge(facts(activity=an_activity(kernels=(_sizes(),)), regions=STARVED))
    assert finding.ns_per_step == 7 * MS
    assert finding.count == 180
    assert "180 of 200 kernels a step in a graph take no longer than 4.50 µs" in finding.message
    assert "reduce-overhead" in finding.remedy
    assert finding.where == at("/home/ada/net.py:10")


def test_in_a_gap_the_remedy_is_a_graph() -> None:
    gap = GapKey(None, a_key(1))
    regions = (a_region(gap, a_budget(starved=6.0)),)
    (finding,) = judge(facts(activity=an_activity(kernels=(_sizes(region=gap),)), regions=regions))
    assert "bring this code into a graph" in finding.remedy


@pytest.mark.parametrize(
    "sizes",
    [_sizes(count=19.0, launches=19.0, small_count=19.0), _sizes(small_count=99.0), _sizes(launches=2.0)],
    ids=["few", "mostly large", "replayed as a CUDA graph"],
)
def test_few_large_or_replayed_kernels_are_silent(sizes: KernelSizes) -> None:
    assert judge(facts(activity=an_activity(kernels=(sizes,)), regions=STARVED)) == ()


def test_a_region_that_loses_little_is_silent() -> None:
    regions = (a_region(a_key(1), a_budget(starved=0.9, memory=9.1)),)
    assert judge(facts(activity=an_activity(kernels=(_sizes(),)), regions=regions)) == ()


def test_without_a_budget_the_cost_is_unknown() -> None:
    (finding,) = judge(facts(activity=an_activity(kernels=(_sizes(),)), regions=(a_region(a_key(1)),)))
    assert finding.ns_per_step is None


def test_without_the_length_of_an_empty_kernel_it_cannot_tell() -> None:
    with pytest.raises(MissingData, match="empty kernel"):
        judge(facts(activity=an_activity(small_kernel_ns=None)))


def on_a_cpu(*, kernels: float = 100.0, empty_op_ns: float | None = 2_000.0, **parts: float) -> Any:
    region = replace(a_region(a_key(1), a_budget(**parts)), kernels_per_step=kernels)
    device = replace(a_device(), kind="cpu", empty_op_ns=empty_op_ns)
    return facts(activity=an_activity(is_host=True, small_kernel_ns=None), regions=(region,), device=device)


def test_on_a_cpu_kernels_shorter_than_what_lies_between_them_are_found() -> None:
    (finding,) = judge(on_a_cpu(starved=6.0, memory=0.5))
    assert finding.ns_per_step == 6 * MS
    assert finding.count == 100
    assert "take 5.00 µs on average" in finding.message
    assert "cpp_wrapper" in finding.remedy


@pytest.mark.parametrize(
    "flaw",
    [{"kernels": 19.0}, {"memory": 0.7}, {"starved": 0.4}, {"starved": 0.1, "memory": 0.09}],
    ids=["few", "too long", "busy", "little of the step"],
)
def test_on_a_cpu_few_long_or_busy_kernels_are_silent(flaw: dict[str, float]) -> None:
    assert judge(on_a_cpu(**{"starved": 6.0, "memory": 0.5, **flaw})) == ()


def test_on_a_cpu_it_needs_the_cost_of_an_operator() -> None:
    with pytest.raises(MissingData, match="operator without work"):
        judge(on_a_cpu(starved=6.0, memory=0.5, empty_op_ns=None))

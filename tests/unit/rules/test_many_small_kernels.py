"""many_small_kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analyzer.core.activity import InputWait, KernelSizes
from analyzer.core.graphs import CudaGraphSkip, GapKey
from analyzer.rules.many_small_kernels import judge
from analyzer.rules.rule import MissingData
from tests.reports import MS, a_budget, a_key, at
from tests.rule_facts import a_device, a_plan_of, a_region, an_activity, captured, facts


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


def test_of_a_graph_that_the_plan_replays_it_says_so_and_what_it_then_takes() -> None:
    planned = a_plan_of("grouped+cuda_graphs", 10 * MS, 4 * MS)
    regions = (a_region(a_key(1), a_budget(starved=6.0, latency=1.0, memory=3.0), planned=planned),)
    (finding,) = judge(facts(activity=an_activity(kernels=(_sizes(),)), regions=regions))
    assert finding.message.endswith("; under the plan (grouped+cuda_graphs) the graph takes 10.0 → 4.00 ms")
    assert "reduce-overhead" not in finding.remedy
    assert "apply the plan" in finding.remedy
    assert finding.ns_per_step == 7 * MS, "it is a finding of the default run"


def test_a_plan_without_a_replay_leaves_the_remedy_and_says_what_it_takes() -> None:
    planned = a_plan_of("cpp_wrapper", 9 * MS, 8 * MS)
    regions = (a_region(a_key(1), a_budget(starved=6.0, latency=1.0), planned=planned),)
    (finding,) = judge(facts(activity=an_activity(kernels=(_sizes(),)), regions=regions))
    assert "under the plan (cpp_wrapper) the graph takes 9.00 → 8.00 ms" in finding.message
    assert "reduce-overhead" in finding.remedy


def test_on_a_cpu_it_is_the_cpp_wrapper_that_a_plan_may_have() -> None:
    bare = on_a_cpu(starved=6.0, memory=0.5)
    (region,) = bare.regions
    (finding,) = judge(replace(bare, regions=(replace(region, planned=a_plan_of("frozen+cpp_wrapper")),)))
    assert "apply the plan" in finding.remedy
    assert "under the plan" not in finding.message, "it was not measured"


@pytest.mark.parametrize(
    ("reason", "is_refused"),
    [("skipping cudagraphs due to mutated inputs", True), ("cudagraph partition due to DeviceCopy ops", False)],
)
def test_what_torch_refuses_is_not_advised(reason: str, is_refused: bool) -> None:
    capture = captured(skips=(CudaGraphSkip(a_key(1), None, reason),))
    (finding,) = judge(facts(activity=an_activity(kernels=(_sizes(),)), regions=STARVED, capture=capture))
    assert ("reduce-overhead" in finding.remedy) is not is_refused
    assert ("cudagraph_skip" in finding.remedy) is is_refused


def test_the_operators_of_a_data_loader_are_input_starveds() -> None:
    loader = on_a_cpu(starved=6.0, memory=0.5)
    (region,) = loader.regions
    waits = (InputWait("_SingleProcessDataLoaderIter", region.region, 1.0, 4 * MS, None, 4 * MS),)
    assert judge(replace(loader, activity=replace(loader.activity, inputs=waits))) == ()


def _short(*, device_ns: int = MS, launch_ns: float | None = 8_000.0, **parts: float) -> Any:
    """200 kernels of which none is tiny, in a region of a step of 10 ms."""
    sizes = _sizes(small_count=20.0, small_ns=MS // 50, device_ns=device_ns)
    region = a_region(a_key(1), a_budget(**(parts or {"starved": 6.0, "latency": 1.0})))
    device = replace(a_device(), launch_ns=launch_ns)
    return facts(activity=an_activity(kernels=(sizes,)), regions=(region,), device=device)


def test_kernels_shorter_than_a_launch_of_the_host_are_found_where_the_region_starves() -> None:
    (finding,) = judge(_short())
    assert finding.ns_per_step == 7 * MS
    assert finding.count == 200
    assert "200 kernels a step in a graph take 5.00 µs on average" in finding.message
    assert "launching one takes the host 8.00 µs" in finding.message


@pytest.mark.parametrize(
    "quiet",
    [_short(device_ns=2 * MS), _short(launch_ns=None), _short(starved=3.0, latency=1.0, memory=6.0)],
    ids=["longer", "no launch was measured", "busy for more than half"],
)
def test_longer_kernels_and_regions_that_are_busy_are_silent(quiet: Any) -> None:
    assert judge(quiet) == ()

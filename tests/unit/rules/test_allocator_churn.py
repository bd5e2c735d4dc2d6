"""allocator_churn."""

from __future__ import annotations

from analyzer.core.activity import Activity, AllocatorCalls
from analyzer.core.graphs import GapKey
from analyzer.rules.allocator_churn import judge
from tests.reports import MS, a_key
from tests.rule_facts import an_activity, facts

FIRST = GapKey(None, a_key(1))


def _calling(*calls: str, cost_ns: int = MS, is_scaled: bool = True) -> Activity:
    allocations = tuple(AllocatorCalls(call, FIRST, 2.0, cost_ns, cost_ns) for call in calls)
    return an_activity(allocations=allocations, allocation_cost_ns=cost_ns, is_scaled=is_scaled)


def test_memory_taken_and_given_back_each_step_is_found() -> None:
    (finding,) = judge(facts(activity=_calling("cudaMalloc", "cudaFree")))
    assert finding.ns_per_step == MS
    assert finding.count == 4
    assert "10 % of the step: 2 cudaMalloc, 2 cudaFree" in finding.message
    assert "empty_cache()" in finding.remedy


def test_growing_and_pinning_have_remedies_of_their_own() -> None:
    (growing,) = judge(facts(activity=_calling("cudaMalloc")))
    (pinning,) = judge(facts(activity=_calling("cudaHostAlloc", "cudaFreeHost")))
    assert growing.remedy.startswith("PYTORCH_CUDA_ALLOC_CONF")
    assert "pin host memory once" in pinning.remedy


def test_calls_that_cost_nothing_and_none_at_all_are_silent() -> None:
    assert judge(facts(activity=_calling("cudaMalloc", cost_ns=MS // 10 - 1))) == ()
    assert judge(facts(activity=_calling())) == ()


def test_without_a_clean_pass_the_cost_is_unknown() -> None:
    (finding,) = judge(facts(activity=_calling("cudaMalloc", is_scaled=False)))
    assert finding.ns_per_step is None

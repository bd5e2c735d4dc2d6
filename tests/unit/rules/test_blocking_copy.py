"""blocking_copy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from analyzer.core.activity import CopyDirection, CopyGroup, HostMemory, HostWait
from analyzer.core.graphs import GapKey
from analyzer.core.ops import OpCall, OpLog, TensorFacts
from analyzer.rules.blocking_copy import judge
from tests.reports import MS, a_key, at
from tests.rule_facts import an_activity, facts

FIRST = GapKey(None, a_key(1))
OPS = ("aten::to", "aten::_to_copy", "aten::copy_")


def _wait(**changes: Any) -> HostWait:
    wait = HostWait("cudaMemcpyAsync", OPS, FIRST, CopyDirection.TO_DEVICE, 2.0, 2 * MS, MS, MS)
    return replace(wait, **changes)


def _copy(**changes: Any) -> CopyGroup:
    copy = CopyGroup(CopyDirection.TO_DEVICE, HostMemory.PAGEABLE, OPS, FIRST, 2.0, 8 << 20, MS, MS, holds_host=True)
    return replace(copy, **changes)


def test_a_copy_that_holds_the_host_is_found_with_its_size_and_cost() -> None:
    (finding,) = judge(facts(activity=an_activity(waits=(_wait(),), copies=(_copy(),))))
    assert finding.ns_per_step == MS
    assert finding.count == 2
    assert "from pageable memory of 4.00 MiB hold the host 2.00 ms a step, before the first graph" in finding.message
    assert "non_blocking=True" in finding.remedy


def test_a_few_bytes_are_a_constant_that_should_be_made_once() -> None:
    (finding,) = judge(facts(activity=an_activity(waits=(_wait(),), copies=(_copy(bytes=16),))))
    assert "register_buffer" in finding.remedy


def test_a_size_that_is_not_known_is_not_told() -> None:
    for copies in ((), (_copy(bytes=None),), (_copy(bytes=None), _copy(bytes=8))):
        (finding,) = judge(facts(activity=an_activity(waits=(_wait(),), copies=copies)))
        assert " of " not in finding.message
        assert "non_blocking=True" in finding.remedy


def test_copies_that_cost_nothing_or_go_the_other_way_or_do_not_wait_are_silent() -> None:
    quiet = (
        an_activity(waits=(_wait(cost_ns=MS // 10 - 1),), copies=(_copy(),)),
        an_activity(waits=(_wait(direction=CopyDirection.TO_HOST),), copies=(_copy(),)),
        an_activity(copies=(_copy(holds_host=False),)),
    )
    for activity in quiet:
        assert judge(facts(activity=activity)) == ()


def test_a_cost_that_is_not_known_is_none() -> None:
    (crossed,) = judge(facts(activity=an_activity(waits=(_wait(cost_ns=None),), copies=(_copy(),))))
    (profiled,) = judge(facts(activity=an_activity(waits=(_wait(),), copies=(_copy(),), is_scaled=False)))
    assert crossed.ns_per_step is None
    assert profiled.ns_per_step is None
    assert "with the profiler's load they cost 1.00 ms" in profiled.message


def test_copies_of_one_line_in_several_regions_are_one_finding() -> None:
    second = GapKey(a_key(1), a_key(2))
    log = OpLog(
        calls=(OpCall("aten::_to_copy", at("/home/ada/net.py:7"), (_tensor("cpu"),), (_tensor("cuda"),), 2, 0),),
        total=1,
        is_complete=True,
    )
    waits = tuple(_wait(region=region, count=1.0, cost_ns=60_000) for region in (FIRST, second))
    copies = tuple(_copy(region=region, count=1.0, bytes=1 << 20) for region in (FIRST, second))
    (finding,) = judge(facts(activity=an_activity(waits=waits, copies=copies), ops=log))
    assert (finding.where, finding.count, finding.ns_per_step) == (at("/home/ada/net.py:7"), 2, 120_000)
    assert "of 1.00 MiB hold the host 4.00 ms a step, at several places of the step" in finding.message


def _tensor(device: str) -> TensorFacts:
    return TensorFacts((8,), "float32", device, "contiguous")

"""The largest part is the bound; missing data is undecided, and says what to record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzer.core.budget import Budget, BudgetPart, HostKind, HostPart, Part
from analyzer.core.samples import Samples
from analyzer.core.trace import EventKind
from analyzer.core.verdict import Bound, Verdict
from analyzer.derive.attribution import attribute
from analyzer.derive.budget import NO_TIMING, NO_WORK, Context, PartFloor, RegionBudget, region_budgets
from analyzer.derive.classify import TOO_SHORT, UNLINKED, verdict
from analyzer.derive.confidence import CEILING
from analyzer.derive.doubt import KernelPoint
from tests.traces import Recording
from tests.unit.derive.runs import DEVICE, A, B, recording, region, timing

MS = 1_000_000


def _region(**ns: int) -> RegionBudget:
    parts = tuple(BudgetPart(Part[name], value) for name, value in ns.items() if value)
    return RegionBudget(
        region=A,
        budget=Budget(sum(ns.values()), parts),
        busy_ns=sum(ns.values()) - ns.get("STARVED", 0),
        kernels_per_step=4.0,
        spread=0.0,
        linked_share=1.0,
    )


@pytest.mark.parametrize(
    ("part", "bound"),
    [("STARVED", Bound.CPU), ("COMPUTE", Bound.COMPUTE), ("MEMORY", Bound.MEMORY), ("LATENCY", Bound.LATENCY)],
)
def test_the_largest_part_is_the_bound(part: str, bound: Bound) -> None:
    parts = dict.fromkeys(("STARVED", "COMPUTE", "MEMORY", "LATENCY"), MS) | {part: 5 * MS}
    assert verdict(_region(**parts)).bound is bound


def _confidence(found: RegionBudget) -> float:
    confidence = verdict(found).confidence
    assert confidence is not None
    return confidence


def test_confidence_grows_with_the_margin_and_has_a_ceiling() -> None:
    assert _confidence(_region(STARVED=9 * MS, COMPUTE=MS)) == CEILING
    assert 0.5 < _confidence(_region(STARVED=53 * MS, COMPUTE=47 * MS)) < 0.85


def test_what_is_not_known_lowers_confidence() -> None:
    sure = _region(STARVED=56 * MS, COMPUTE=44 * MS)
    unknown, known = (_region(STARVED=50 * MS, COMPUTE=40 * MS, **{p: 10 * MS}) for p in ("UNKNOWN_KERNELS", "MEMORY"))
    assert _confidence(unknown) < _confidence(known)
    assert _confidence(replace(sure, linked_share=0.95)) < _confidence(sure)
    spread = Samples(tuple(range(80 * MS, 121 * MS, 4 * MS)))
    assert _confidence(replace(sure, elapsed=spread)) < _confidence(sure)


def test_a_rival_that_is_near_is_named() -> None:
    near = verdict(_region(STARVED=53 * MS, MEMORY=47 * MS))
    assert any(text.startswith("memory is near: ") for text in near.evidence)
    clear = verdict(_region(STARVED=80 * MS, MEMORY=20 * MS))
    assert not any("is near" in text for text in clear.evidence)


def test_two_parts_too_near_to_tell_are_undecided_and_both_are_named() -> None:
    found = verdict(_region(STARVED=40 * MS, MEMORY=38 * MS, UNKNOWN_KERNELS=20 * MS))
    assert (found.bound, found.confidence) == (Bound.UNDECIDED, None)
    assert found.missing is not None
    assert found.missing.startswith("CPU 41 % and memory 39 % are too near")


def test_a_bound_that_hangs_on_kernels_near_an_edge_is_not_called_near_to_one_that_has_no_time() -> None:
    # A kernel in the latency class whose arithmetic and traffic may be those of the other classes.
    edge = KernelPoint(Part.LATENCY, 100 * MS, 0.0, 0.4)
    found = verdict(replace(_region(LATENCY=100 * MS), kernels=(edge,)))
    assert found.bound is Bound.UNDECIDED
    assert found.missing is not None
    assert found.missing.startswith("memory may be the larger all the same")
    assert "measure longer" not in found.missing


def test_a_region_that_two_events_cannot_time_is_undecided() -> None:
    found = verdict(_region(STARVED=1_200))
    assert (found.bound, found.missing) == (Bound.UNDECIDED, TOO_SHORT)


def test_waiting_for_the_device_is_the_hosts_doing_too() -> None:
    found = verdict(_region(SYNC=4 * MS, STARVED=2 * MS, MEMORY=5 * MS))
    assert found.bound is Bound.CPU
    assert "because the host waits" in found.evidence[0]
    assert found.savings[0].part is Part.SYNC


def test_what_the_host_did_follows_what_starved() -> None:
    region = _region(STARVED=80 * MS, MEMORY=20 * MS)
    assert region.budget is not None
    kinds = {HostKind.LAUNCH: 30 * MS, HostKind.GUARDS: 48 * MS, HostKind.PROLOGUE: 2 * MS}
    told = replace(region.budget, starved=tuple(HostPart(kind, ns) for kind, ns in kinds.items()))
    found = verdict(replace(region, budget=told))
    assert found.evidence[1] == "of it 60 % guards, 38 % launch calls, 2 % else (scaled from the profiled pass)"


def test_gaps_between_kernels_are_said() -> None:
    found = verdict(replace(_region(LATENCY=10 * MS, STARVED=MS), queued_ns=4 * MS))
    assert "4.00 ms of it in the gaps between them" in found.evidence[0]


@pytest.mark.parametrize("part", ["UNKNOWN_KERNELS", "COPIES", "OTHER"])
def test_a_largest_part_without_a_bound_is_undecided_and_says_what_is_missing(part: str) -> None:
    found = verdict(_region(**{part: 6 * MS, "STARVED": 4 * MS}))
    assert found.bound is Bound.UNDECIDED
    assert found.confidence is None
    assert found.missing


def _unknown(ns: int, name: str, memory_ns: float | None = None) -> KernelPoint:
    return KernelPoint(Part.UNKNOWN_KERNELS, ns, None, memory_ns, name=name)


def test_the_longest_kernels_that_no_roof_explains_are_named() -> None:
    region = _region(UNKNOWN_KERNELS=6 * MS, STARVED=4 * MS)
    kernels = (_unknown(3, "mine"), _unknown(2, "mine"), _unknown(1, "small"), _unknown(4, "void ns::k<4, int>(int*)"))
    missing = verdict(replace(region, kernels=kernels)).missing
    assert missing == "most of its time is in kernels whose operations and bytes are not known (mine, ns::k)"
    far = verdict(replace(region, kernels=(_unknown(9, "slow", 1.0), *kernels[2:3]))).missing
    assert far == "most of its time is in kernels so far from both roofs that neither explains it (slow)"


def test_profiled_times_alone_never_say_cpu_bound() -> None:
    run = Recording()
    with run.step(), run.graph(str(A)):
        run.launch("k", us=1)
        run.host(us=10_000)
    found = [verdict(b) for b in region_budgets(None, attribute(run.trace()), Context(DEVICE))]
    assert found
    assert all(v.bound is Bound.UNDECIDED and v.missing == NO_TIMING for v in found)


def test_kernels_that_nothing_links_may_be_what_the_device_did() -> None:
    found = verdict(replace(_region(STARVED=6 * MS, COMPUTE=4 * MS), linked_share=0.5))
    assert (found.bound, found.missing) == (Bound.UNDECIDED, UNLINKED)


def test_a_region_of_no_time_is_undecided() -> None:
    assert verdict(_region(STARVED=0)).bound is Bound.UNDECIDED


def test_a_graph_without_kernels_beside_others_with_some_is_cpu_bound() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.launch("k", us=50)
        with run.graph(str(B)):
            run.host(us=50)
        run.synchronize()
    clean = timing(region(A, 50_000), region(B, 50_000), step_ns=100_000)
    found = {b.region: verdict(b) for b in region_budgets(clean, attribute(run.trace()), Context(DEVICE))}
    assert found[B].bound is Bound.CPU


def test_evidence_has_the_numbers_strongest_first() -> None:
    clean = timing(region(A, 2 * MS), region(B, 100_000), step_ns=2_100_000)
    found = verdict(region_budgets(clean, attribute(recording().trace()), Context(DEVICE))[0])
    assert found.evidence[0] == "the device is idle for 1.70 ms of 2.00 ms (85 %), busy 300 µs in 2 kernels"
    assert found.evidence[1].startswith("200 µs of 2.00 ms (10 %) is in kernels nearer to the arithmetic peak")


def test_a_saving_is_at_most_what_the_part_takes_less_what_must_remain() -> None:
    parts = _region(STARVED=2 * MS, COMPUTE=5 * MS, UNKNOWN_KERNELS=MS)
    found = verdict(replace(parts, floors=(PartFloor(Part.COMPUTE, MS),)))
    assert [(s.part, s.at_most_ns) for s in found.savings] == [(Part.COMPUTE, 4 * MS), (Part.STARVED, 2 * MS)]


def test_no_saving_is_claimed_for_kernels_of_unknown_floor() -> None:
    found = verdict(_region(MEMORY=3 * MS, UNKNOWN_KERNELS=MS))
    assert found.savings == ()


def test_on_a_cpu_starved_is_the_framework() -> None:
    found = verdict(replace(_region(STARVED=2 * MS), is_host=True))
    assert found.bound is Bound.CPU
    assert found.evidence[0].endswith("goes to the host's own work (Python, dispatcher, wrapper, or a call that waits)")


def test_without_device_rows_nothing_is_decided() -> None:
    run = recording()
    run.rows = [r for r in run.rows if r.kind is not EventKind.KERNEL]
    found: Verdict = verdict(
        region_budgets(timing(region(A, MS), step_ns=MS), attribute(run.trace()), Context(DEVICE))[0]
    )
    assert found.bound is Bound.UNDECIDED
    assert found.missing == NO_WORK


def test_a_bound_that_hangs_on_what_a_near_cache_kept_is_not_named() -> None:
    def scattering(again_ns: float) -> RegionBudget:
        kernel = KernelPoint(Part.COMPUTE, MS, 0.42 * MS, 0.25 * MS, is_rough=True, again_ns=again_ns)
        return replace(_region(COMPUTE=10 * MS, MEMORY=MS), kernels=(kernel,) * 11, is_host=True)

    assert verdict(scattering(0.0)).bound is Bound.COMPUTE
    open_one = verdict(scattering(5.0 * MS))
    assert (open_one.bound, open_one.confidence) == (Bound.UNDECIDED, None)
    assert "through an index" in (open_one.missing or "")

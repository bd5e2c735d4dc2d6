"""A rival is called near where its own time is, and else by what would make it the larger."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzer.core.budget import Part
from analyzer.core.verdict import Bound
from analyzer.derive.budget import PartFloor, RegionBudget
from analyzer.derive.classify import verdict
from analyzer.derive.doubt import KernelPoint
from analyzer.derive.sentences import rival_sentence, sentence
from tests.reports import MS, a_budget, a_key


def test_near_is_what_has_a_comparable_time() -> None:
    said = rival_sentence(a_budget(memory=4.7, starved=5.3), Bound.CPU, Bound.MEMORY, 0.31)
    assert said == "memory is near: 47 % against 53 %, and within the errors of measuring the larger in 31 % of cases"


@pytest.mark.parametrize(
    ("parts", "bound", "rival", "why"),
    [
        ({"memory": 9.7, "latency": 0.3}, Bound.MEMORY, Bound.LATENCY, "its kernels lie near the edge between the two"),
        ({"memory": 10.0}, Bound.MEMORY, Bound.LATENCY, "its kernels lie near the edge between the two"),
        ({"memory": 8.0, "starved": 2.0}, Bound.MEMORY, Bound.CPU, "the host's time differs from pass to pass"),
        (
            {"compute": 4.0, "memory": 1.0, "unknown_kernels": 3.0},
            Bound.COMPUTE,
            Bound.MEMORY,
            "its kernels lie near the edge between the two, and 38 % is not explained and may be its",
        ),
    ],
)
def test_a_rival_with_little_of_its_own_is_not_called_near(
    parts: dict[str, float], bound: Bound, rival: Bound, why: str
) -> None:
    said = rival_sentence(a_budget(**parts), bound, rival, 0.2)
    assert "is near" not in said
    assert f": {why} (" in said
    assert said.endswith("as it was counted)")


def test_the_host_is_called_as_the_verdict_calls_it() -> None:
    assert rival_sentence(a_budget(memory=5.3, starved=4.7), Bound.MEMORY, Bound.CPU, 0.3).startswith("CPU is near")


def test_waiting_counts_to_the_host_as_in_the_verdict() -> None:
    said = rival_sentence(a_budget(memory=5.3, sync=4.0, starved=0.7), Bound.MEMORY, Bound.CPU, 0.3)
    assert said.startswith("CPU is near: 47 % against 53 %")


def test_a_verdict_whose_kernels_lie_at_an_edge_says_so_and_not_that_nothing_is_near() -> None:
    """All of it is memory as counted, and some of the draws call half of it something else."""
    kernels = tuple(KernelPoint(Part.MEMORY, 5 * MS, 4.8 * MS, 5.0 * MS, is_rough=True) for _ in range(2))
    budget = a_budget(memory=10.0)
    region = RegionBudget(
        region=a_key(1), budget=budget, busy_ns=10 * MS, kernels_per_step=2.0, spread=0.0, linked_share=1.0
    )
    found = verdict(
        replace(region, kernels=tuple(replace(k, memory_ns=4.0 * MS, compute_ns=3.9 * MS) for k in kernels))
    )
    said = [text for text in found.evidence if "of cases" in text]
    assert found.bound is Bound.MEMORY
    assert said
    assert said[0].startswith("compute may be the larger all the same")


def _said(*near_ns: float) -> str:
    """Of kernels of 5 ms each whose traffic takes 3 ms and whose shared memory so long."""
    kernels = tuple(KernelPoint(Part.MEMORY, 5 * MS, 2.0 * MS, 3.0 * MS, near_ns=ns) for ns in near_ns)
    busy = a_budget(memory=5.0 * len(near_ns))
    floors = (PartFloor(Part.MEMORY, 2 * MS),)
    region = RegionBudget(
        region=a_key(1), budget=busy, busy_ns=10 * MS, kernels_per_step=2.0, floors=floors, kernels=kernels
    )
    return sentence(region, busy, Part.MEMORY)


def test_kernels_that_the_devices_memory_bounds_are_nearer_to_its_bandwidth() -> None:
    said = _said(0.0, 2.9 * MS)
    assert "is in kernels nearer to the memory bandwidth; their arithmetic alone would take" in said


def test_kernels_that_shared_memory_bounds_are_not_said_to_be_near_the_memory_bandwidth() -> None:
    said = _said(4.0 * MS, 4.0 * MS)
    assert "memory bandwidth" not in said
    assert "kernels that shared memory or the first cache bounds, not the device's memory" in said
    assert "their arithmetic and traffic alone would take" in said


def test_of_products_it_is_said_how_much_shared_memory_feeds_more_slowly_than_is_multiplied() -> None:
    kernels = tuple(
        KernelPoint(part, 5 * MS, 3.0 * MS, 1.0 * MS, near_ns=near, is_fed=True)
        for part, near in ((Part.COMPUTE, 2.0 * MS), (Part.MEMORY, 4.0 * MS))
    )
    floors = (PartFloor(Part.COMPUTE, 2 * MS),)
    region = RegionBudget(a_key(1), a_budget(compute=10.0), 10 * MS, 2.0, floors=floors, kernels=kernels)
    assert sentence(region, a_budget(compute=10.0), Part.COMPUTE) == (
        "10.0 ms of 10.0 ms (100 %) is in kernels nearer to the arithmetic peak; 50 % of it keeps shared memory busier "
        "than the arithmetic that it feeds; their traffic alone would take 2.00 ms at the measured peaks"
    )
    slower = sentence(replace(region, kernels=kernels[:1]), a_budget(compute=10.0), Part.COMPUTE)
    assert "shared memory" not in slower


def test_of_both_kinds_it_is_said_how_much_is_which() -> None:
    said = _said(4.0 * MS, 0.0)
    assert "nearer to the memory bandwidth or, for 50 % of it, that shared memory or the first cache bounds" in said
    assert "their other work alone would take" in said

"""A rival is called near where its own time is, and else by what would make it the larger."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzer.core.budget import Part
from analyzer.core.verdict import Bound
from analyzer.derive.budget import RegionBudget
from analyzer.derive.classify import verdict
from analyzer.derive.doubt import KernelPoint
from analyzer.derive.sentences import rival_sentence
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

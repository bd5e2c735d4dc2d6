"""tf32_off."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.core.device import Peak
from analyzer.rules.facts import Facts
from analyzer.rules.rule import MissingData
from analyzer.rules.tf32_off import judge
from tests.reports import MS, a_budget, a_key
from tests.rule_facts import a_captured_graph, a_device, a_region, a_workload, an_environment, captured, facts

FLOAT32 = a_captured_graph(1, dtype="float32")


def _float32_bound(**changes: Any) -> Facts:
    regions = (a_region(a_key(1), a_budget(compute=8.0, memory=2.0)),)
    return facts(**{"capture": captured(FLOAT32), "regions": regions, **changes})


def test_a_compute_bound_float32_graph_costs_what_the_measured_peaks_would_save() -> None:
    (finding,) = judge(_float32_bound())
    # 8 ms of products at 50 TFLOP/s would take 1 ms at 400.
    assert finding.ns_per_step == 7 * MS
    assert "changes results" in finding.remedy


def test_graphs_are_one_finding_at_the_dearest() -> None:
    second = a_captured_graph(2, dtype="float32")
    regions = (a_region(a_key(1), a_budget(compute=8.0)), a_region(a_key(2), a_budget(compute=16.0)))
    (finding,) = judge(_float32_bound(capture=captured(FLOAT32, second), regions=regions))
    assert (finding.count, finding.ns_per_step, finding.where) == (2, 21 * MS, second.where)


def test_an_unknown_peak_leaves_the_cost_unknown() -> None:
    (finding,) = judge(_float32_bound(device=None))
    assert finding.ns_per_step is None


@pytest.mark.parametrize(
    "changes",
    [
        {"environment": an_environment(allows_tf32=True)},
        {"workload": a_workload(device="cpu")},
        {"capture": captured(a_captured_graph(1, dtype="bfloat16"))},
        {"regions": (a_region(a_key(1), a_budget(compute=2.0, memory=8.0)),)},
        {"device": a_device(peaks=(Peak("float32", 14.0e12), Peak("tf32", 14.2e12)))},
    ],
    ids=["allowed", "cpu", "bfloat16", "memory-bound", "no tensor cores for TF32"],
)
def test_it_is_silent_where_tf32_would_not_help(changes: dict[str, Any]) -> None:
    assert judge(_float32_bound(**changes)) == ()


@pytest.mark.parametrize(
    "changes",
    [{"environment": None}, {"workload": None}, {"capture": None}, {"regions": ()}, {"regions": (a_region(a_key(1)),)}],
    ids=["environment", "workload", "capture", "regions", "budgets"],
)
def test_without_its_data_it_cannot_tell(changes: dict[str, Any]) -> None:
    with pytest.raises(MissingData):
        judge(_float32_bound(**changes))

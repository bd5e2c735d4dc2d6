"""narrower_products."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.core.device import Peak
from analyzer.rules.facts import Facts
from analyzer.rules.narrower_products import judge
from analyzer.rules.rule import MissingData
from tests.reports import MS, a_budget, a_key
from tests.rule_facts import a_captured_graph, a_device, a_region, a_workload, an_environment, captured, facts

PEAKS = (Peak("float32", 50e12), Peak("tf32", 200e12), Peak("bfloat16", 400e12), Peak("float8_e4m3fn", 800e12))


def bound(dtype: str = "float32", **changes: Any) -> Facts:
    regions = (a_region(a_key(1), a_budget(compute=8.0, memory=2.0)),)
    graphs = captured(a_captured_graph(1, dtype=dtype))
    return facts(**{"capture": graphs, "regions": regions, "device": a_device(peaks=PEAKS), **changes})


def costs(given: Facts) -> dict[str, int | None]:
    return {finding.remedy.split()[1]: finding.ns_per_step for finding in judge(given)}


def test_each_narrower_type_costs_what_the_measured_peaks_would_save() -> None:
    # 8 ms of products at 50 TFLOP/s take 1 ms at 400 and 0.5 ms at 800; int8 was not measured.
    assert costs(bound()) == {"bf16": 7 * MS, "fp8": round(7.5 * MS)}


def test_float32_under_tf32_saves_less_and_a_half_type_has_eight_bits_alone() -> None:
    assert costs(bound(environment=an_environment(allows_tf32=True))) == {"bf16": 4 * MS, "fp8": 6 * MS}
    assert costs(bound("bfloat16")) == {"fp8": 4 * MS}


def test_eight_bits_are_for_inference() -> None:
    assert set(costs(bound(workload=a_workload(mode="training")))) == {"bf16"}


@pytest.mark.parametrize(
    "changes",
    [
        {"regions": (a_region(a_key(1), a_budget(compute=2.0, memory=8.0)),)},
        {"device": a_device(peaks=(Peak("float32", 50e12), Peak("bfloat16", 55e12)))},
        {"device": a_device(peaks=(Peak("float32", 50e12),))},
        {"capture": captured(a_captured_graph(1, dtype="float64"))},
    ],
    ids=["memory-bound", "no faster", "not measured", "float64"],
)
def test_it_is_silent_where_a_narrower_type_would_not_help_or_is_not_known(changes: dict[str, Any]) -> None:
    assert judge(bound(**changes)) == ()


@pytest.mark.parametrize("name", ["environment", "workload", "capture", "device"])
def test_without_its_data_it_cannot_tell(name: str) -> None:
    with pytest.raises(MissingData):
        judge(bound(**{name: None}))
    with pytest.raises(MissingData):
        judge(bound(regions=(a_region(a_key(1)),)))

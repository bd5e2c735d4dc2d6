"""half_precision_on_slow_path."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from analyzer.core.device import Peak
from analyzer.core.finding import Finding
from analyzer.rules.half_precision_on_slow_path import judge
from analyzer.rules.rule import MissingData
from tests.op_logs import a_tensor, an_op, an_op_log, logged
from tests.reports import MS, a_budget, a_key
from tests.rule_facts import a_captured_graph, a_device, a_region, a_workload, an_environment, captured, facts

X = a_tensor(8, 8, dtype="float16", device="cpu")
PRODUCT = an_op("mm", (X, X), (X,), count=2)


class Autocast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.layer(x)


def on_cpu(*peaks: Peak, **changes: Any) -> tuple[Finding, ...]:
    device = a_device(kind="cpu", name="EPYC", peaks=peaks)
    whole = {"ops": an_op_log(PRODUCT), "device": device, "environment": an_environment(cpu_half_dtypes=())}
    return judge(facts(workload=a_workload(device="cpu"), **(whole | changes)))


def test_a_half_type_below_the_float32_rate_is_found() -> None:
    (finding,) = on_cpu(Peak("float32", 1e12), Peak("float16", 2e10))
    assert finding.count == 2
    assert "0.02" in finding.message


def test_a_half_type_at_the_float32_rate_or_above_is_none() -> None:
    assert on_cpu(Peak("float32", 1e12), Peak("float16", 0.97e12)) == ()
    assert on_cpu(Peak("float32", 1e12), Peak("float16", 2e12)) == ()


def test_where_the_rate_is_not_known_the_instructions_tell() -> None:
    assert len(on_cpu()) == 1
    assert on_cpu(environment=an_environment(cpu_half_dtypes=("float16",))) == ()


def test_where_nothing_tells_it_says_so() -> None:
    with pytest.raises(MissingData, match="float16"):
        on_cpu(environment=None)
    with pytest.raises(MissingData, match="float16"):
        judge(facts(ops=an_op_log(PRODUCT), device=None))  # on a GPU no flag of the CPU counts


def test_without_a_product_in_a_half_type_nothing_has_to_be_known() -> None:
    cast = an_op("_to_copy", (X,), (a_tensor(8, 8, device="cpu"),))
    assert on_cpu(ops=an_op_log(cast), environment=None) == ()


def test_the_cost_is_the_compute_time_that_float32_would_not_take() -> None:
    graph = a_captured_graph(dtype="float16")
    regions = (a_region(a_key(1), a_budget(compute=8.0, memory=2.0)),)
    peaks = (Peak("float32", 1e12), Peak("float16", 0.25e12))
    (finding,) = on_cpu(*peaks, capture=captured(graph), regions=regions)
    assert finding.ns_per_step == 6 * MS


def test_float32_weights_under_autocast_are_told_to_leave_it_out() -> None:
    (cast,) = on_cpu(ops=logged(Autocast(), torch.randn(4, 8)))
    assert "leave out torch.autocast" in cast.remedy
    assert "model.float()" not in cast.remedy
    (stored,) = on_cpu(ops=logged(nn.Linear(8, 8).bfloat16(), torch.randn(4, 8).bfloat16()))
    assert "model.float()" in stored.remedy
    assert "autocast" not in stored.remedy


@pytest.mark.parametrize(("dtype", "number"), [(torch.float16, 1), (torch.bfloat16, 1), (torch.float32, 0)])
def test_in_real_logs_the_type_of_the_product_counts(dtype: torch.dtype, number: int) -> None:
    log = logged(nn.Linear(8, 8).to(dtype), torch.randn(4, 8).to(dtype))
    assert len(on_cpu(ops=log)) == number


def test_a_run_that_ended_before_the_device_was_measured_sends_nobody_to_the_doctor() -> None:
    with pytest.raises(MissingData, match="the run ended before") as raised:
        on_cpu(device=None, environment=None)
    assert "doctor" not in str(raised.value)

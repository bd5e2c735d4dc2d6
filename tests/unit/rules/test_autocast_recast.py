"""autocast_recast."""

from __future__ import annotations

import torch
from torch import nn

from analyzer.core.device import Peak
from analyzer.core.finding import Finding
from analyzer.core.settings import Mode
from analyzer.rules.autocast_recast import judge
from tests.op_logs import a_tensor, an_op, an_op_log, logged
from tests.rule_facts import a_device, a_workload, facts


class Autocast(nn.Module):
    def __init__(self, blocks: int = 1) -> None:
        super().__init__()
        self.layer = nn.Linear(32, 32)
        self.blocks = blocks

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(self.blocks):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                x = self.layer(self.layer(x))
        return x


def found(model: nn.Module, mode: Mode, dtype: torch.dtype = torch.float32) -> tuple[Finding, ...]:
    log = logged(model, torch.randn(4, 32).to(dtype), mode=mode)
    return judge(facts(ops=log, workload=a_workload(mode=mode.value)))


def test_in_inference_a_weight_cast_in_each_step_is_found() -> None:
    (finding,) = found(Autocast(), Mode.INFERENCE)
    assert "model.to(torch.bfloat16)" in finding.remedy
    assert finding.where is not None
    assert finding.where.function == "forward"


def test_weights_that_are_bfloat16_already_are_not_cast() -> None:
    assert found(Autocast().to(torch.bfloat16), Mode.INFERENCE, torch.bfloat16) == ()
    assert found(nn.Linear(32, 32), Mode.INFERENCE) == ()


def test_in_training_one_cast_of_each_weight_is_how_autocast_works() -> None:
    assert found(Autocast(), Mode.TRAINING) == ()


def test_in_training_a_second_cast_in_one_step_is_found() -> None:
    (finding,) = found(Autocast(blocks=2), Mode.TRAINING)
    assert "2 times" in finding.message
    assert "autocast" in finding.remedy


def test_where_the_half_type_is_slow_it_does_not_advise_it() -> None:
    cast = an_op("_to_copy", (a_tensor(64, 64, parameter="w"),), (a_tensor(64, 64, dtype="bfloat16"),))
    slow, fast = (a_device(peaks=(Peak("float32", 1e12), Peak("bfloat16", rate))) for rate in (2e10, 2e13))
    assert judge(facts(ops=an_op_log(cast), device=slow)) == ()
    assert len(judge(facts(ops=an_op_log(cast), device=fast))) == 1


def test_casting_activations_is_none() -> None:
    class Casts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(32, 32).to(torch.bfloat16)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x.to(torch.bfloat16)).float()

    assert found(Casts(), Mode.INFERENCE) == ()


def test_the_cost_is_what_moving_the_bytes_takes_where_no_cache_holds_them() -> None:
    weight = a_tensor(4096, 4096, parameter="w")
    cast = an_op("_to_copy", (weight,), (a_tensor(4096, 4096, dtype="bfloat16"),), count=2)
    device = a_device(memory_bytes_per_s=4e12, l2_bytes=2**20)
    (finding,) = judge(facts(ops=an_op_log(cast), device=device))
    assert finding.ns_per_step == round(2 * 6 * 4096**2 / 4e12 * 1e9)
    (cached,) = judge(facts(ops=an_op_log(cast), device=a_device(memory_bytes_per_s=4e12, l2_bytes=2**30)))
    assert cached.ns_per_step is None

"""The log of one eager step: what ran, where, how often; and that watching it changes nothing."""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.attention.flex_attention import flex_attention

from analyzer.core.settings import Mode
from collectors.op_log import record_ops
from tests.op_logs import logged
from tests.workloads import Mlp, a_stepper, a_workload

HERE = Path(__file__).resolve().parent


class Loop(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            x = self.layer(x).relu()
        return x


def test_equal_calls_of_one_line_are_one_row_with_a_count() -> None:
    log = logged(Loop(), torch.randn(4, 8))
    (product,) = log.named("aten::addmm")
    (relu,) = log.named("aten::relu")
    assert (product.count, relu.count) == (3, 3)
    assert product.first < relu.first
    assert log.total == sum(call.count for call in log.calls)
    assert log.is_complete


def test_a_row_says_where_what_and_which_parameter() -> None:
    (product,) = logged(Loop(), torch.randn(4, 8)).named("aten::addmm")
    assert product.where is not None
    assert Path(product.where.file).name == Path(__file__).name
    assert product.where.function == "forward"
    assert product.module == "Linear"
    assert [t.parameter for t in product.inputs] == ["layer.bias", None, "layer.weight"]
    assert [t.shape for t in product.outputs] == [(4, 8)]
    assert product.inputs[2].strides == (1, 8)  # the transposed view of the weight


def test_without_a_line_of_the_users_there_is_no_place() -> None:
    log = logged(nn.Sequential(nn.Linear(8, 8)), torch.randn(4, 8))
    assert log.calls
    assert all(call.where is None for call in log.calls)


def test_a_backward_is_told_apart_and_carries_the_lines_of_its_forward() -> None:
    log = logged(Mlp(), torch.randn(4, 8), mode=Mode.TRAINING)
    forward = {call.where.line for call in log.calls if call.where and not call.is_backward}
    backward = [call for call in log.named("aten::mm") if call.is_backward]
    assert backward
    assert {call.where.line for call in backward if call.where} <= forward


class Composite(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            return torch.nn.functional.linear(x, x).reshape(-1)


def test_in_inference_mode_the_parts_of_an_operator_are_logged_and_not_the_whole() -> None:
    log = logged(Composite(), torch.randn(4, 8))
    assert log.named("aten::mm")
    assert not log.named("aten::linear")


def test_results_gradients_and_random_numbers_are_those_of_a_step_that_nobody_watched() -> None:
    class Noisy(Mlp):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.dropout(super().forward(x), 0.5)

    work = a_workload(Noisy(), torch.randn(4, 8), Mode.TRAINING)
    stepper = a_stepper(work)
    results = []
    for step in (stepper.run, lambda: record_ops(stepper, HERE)):
        stepper.state.restore()
        step()
        results.append([value for _, value in stepper.gradients()] + [torch.rand(3)])
    for alone, watched in zip(*results, strict=True):
        torch.testing.assert_close(alone, watched, rtol=0, atol=0)


def test_an_error_of_ours_never_reaches_the_users_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> Any:
        raise RuntimeError("ours")

    monkeypatch.setattr("collectors.tensor_facts.TensorReader.facts", failing)
    log = logged(Mlp(), torch.randn(4, 8))
    assert log.calls == ()
    assert log.total > 0
    assert not log.is_complete


def test_an_error_of_the_users_is_theirs_and_leaves_nothing_behind() -> None:
    original = torch.cuda.empty_cache

    def broken(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("theirs")

    with pytest.raises(ValueError, match="theirs"):
        logged(broken, torch.ones(1))
    assert torch.cuda.empty_cache is original
    assert not torch.nn.modules.module._global_forward_pre_hooks
    assert not importlib.import_module("torch.optim.optimizer")._global_optimizer_pre_hooks
    assert not torch.utils._python_dispatch._get_current_dispatch_mode_stack()


def test_a_log_that_was_cut_says_so() -> None:
    log = record_ops(a_stepper(a_workload(Loop(), torch.randn(4, 8))), HERE, most_calls=2)
    assert sum(call.count for call in log.calls) == 2
    assert log.total > 2
    assert not log.is_complete


def test_a_higher_order_operator_runs_and_is_logged() -> None:
    def attend(x: torch.Tensor) -> torch.Tensor:
        return flex_attention(x, x, x)

    with pytest.warns(UserWarning, match="flex_attention"):
        log = logged(attend, torch.randn(1, 2, 16, 16))
    assert [call.op for call in log.calls if call.op.startswith("higher_order::")] == ["higher_order::flex_attention"]


def test_plain_arguments_are_text_and_a_long_one_is_cut() -> None:
    def shaped(x: torch.Tensor) -> torch.Tensor:
        return x.to(torch.bfloat16)[list(range(100))]

    log = logged(shaped, torch.randn(100))
    (cast,) = log.named("aten::_to_copy")
    assert cast.values == ("dtype=torch.bfloat16",)
    assert all(len(value) <= 80 for call in log.calls for value in call.values)


def test_reading_an_operator_takes_some_tens_of_microseconds() -> None:
    def many(x: torch.Tensor) -> torch.Tensor:
        for _ in range(2000):
            x = x + 1
        return x

    start_ns = time.process_time_ns()
    log = logged(many, torch.zeros(4))
    assert log.total == 2000
    # 0.1 ms, of the time of our own process: a crowd does not lengthen it.
    assert (time.process_time_ns() - start_ns) / 2000 < 3_000_000


def test_the_interpreters_profiler_is_left_alone() -> None:
    seen: list[str] = []
    sys.setprofile(lambda frame, event, arg: seen.append(event))
    try:
        logged(Mlp(), torch.randn(4, 8))
    finally:
        found = sys.getprofile()
        sys.setprofile(None)
    assert found is not None
    assert seen


class Traced(nn.Module):
    """Sets torch's anomaly detection inside its own step."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before = self.layer(x)
        with torch.autograd.set_detect_anomaly(True):
            return torch.relu(before).sum()


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_a_setting_made_inside_the_step_is_seen_with_the_line_that_first_runs_under_it() -> None:
    log = logged(Traced(), torch.randn(4, 8))
    use = log.mode("anomaly")
    (relu,) = log.named("aten::relu")
    assert use is not None
    assert use.where == relu.where
    assert use.operators == 2
    assert log.mode("deterministic") is None
    assert logged(Loop(), torch.randn(4, 8)).modes == ()


class Recording(Loop):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            return super().forward(x.abs())


def test_operators_that_record_a_gradient_are_counted_and_those_that_cannot_are_not() -> None:
    use = logged(Recording(), torch.randn(4, 8)).mode("gradients")
    assert use is not None
    assert use.where is not None
    assert use.operators >= 9  # view of the weight, product and relu, three times; of the input, abs has none
    assert logged(Recording().requires_grad_(False), torch.randn(4, 8)).mode("gradients") is None


@pytest.mark.parametrize(("records", "is_found"), [(Loop, False), (Recording, True)])
def test_that_autocast_casts_weights_with_gradients_on_says_nothing_of_the_step(
    records: type[Loop], is_found: bool
) -> None:
    class Autocast(records):  # type: ignore[misc, valid-type]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return super().forward(x)

    log = logged(Autocast(), torch.randn(4, 8))
    assert log.named("aten::_to_copy")
    assert (log.mode("gradients") is not None) is is_found

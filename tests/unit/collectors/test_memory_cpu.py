"""What a step needs on a CPU, against sums that can be done by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from analyzer.core.settings import Mode
from collectors.memory_cpu import held_bytes, peak_of, step_peak_bytes
from tests.workloads import a_stepper, a_workload

KIB = 1024


class Chain(nn.Module):
    """Three results of 256 KiB one after the other, of which a step holds two at a time without gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(256))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            x = x * self.weight
        return x


X = torch.ones(256, 256)


def test_a_step_holds_its_inputs_its_weights_and_two_results_at_a_time() -> None:
    stepper = a_stepper(a_workload(Chain(), X))
    assert held_bytes(stepper) == (256 + 1) * KIB
    assert step_peak_bytes(stepper) == (256 + 1 + 2 * 256) * KIB


def test_training_holds_what_the_backward_needs() -> None:
    inference = step_peak_bytes(a_stepper(a_workload(Chain(), X)))
    training = step_peak_bytes(a_stepper(a_workload(Chain(), X, mode=Mode.TRAINING)))
    assert inference is not None
    assert training is not None
    assert training >= inference + 256 * KIB


def test_a_storage_is_counted_once_however_many_tensors_show_it() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Parameter(torch.ones(KIB))
            self.register_buffer("second", self.first.detach()[:10])

        def forward(self, x: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
            return x[0] + x[1] + self.first

    x = torch.ones(KIB)
    assert held_bytes(a_stepper(a_workload(Tied(), (x, x.view(32, 32).view(-1))))) == 2 * 4 * KIB


def test_where_a_profiler_runs_already_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Can't disable Kineto profiler when it's not running")

    monkeypatch.setattr("collectors.memory_cpu.profile", refused)
    assert step_peak_bytes(a_stepper(a_workload())) is None


def row(ts: float, size: int, device: int = 0) -> dict[str, Any]:
    return {"ts": ts, "name": "[memory]", "args": {"Bytes": size, "Device Type": device}}


def test_rows_of_other_devices_and_releases_of_what_was_there_before_make_no_peak() -> None:
    assert peak_of([]) == 0
    assert peak_of([row(1, -50), row(2, 30), row(3, 900, device=1)]) == 0
    assert peak_of([row(3, 10), row(1, 100), row(2, -60)]) == 100


@given(st.lists(st.integers(1, 1000), max_size=30))
def test_what_is_allocated_and_never_released_is_all_there_at_the_end(sizes: list[int]) -> None:
    assert peak_of([row(at, size) for at, size in enumerate(sizes)]) == sum(sizes)

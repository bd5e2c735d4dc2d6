"""On a GPU: with the host ahead small kernels take their own time, and a step that waits has no figure."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from analyzer.core.graphs import GraphKey
from analyzer.session import Session
from collectors.host_ahead import RegionAhead
from collectors.workload import Workload

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
    # What torch itself warns of on a GPU (an empty CUDA graph, TF32 left off) is no fault of ours.
    pytest.mark.filterwarnings("default::UserWarning:torch"),
]


def ahead_of(model: nn.Module, step: Any = None) -> tuple[RegionAhead, ...] | None:
    workload = Workload.of(model.cuda(), (torch.randn(64, 256, device="cuda"),), device="cuda", step=step)
    session = Session(workload, lambda event: None)
    try:
        session.start()
        session.capture()
        return session.host_ahead()
    finally:
        session.close()


def small_layers() -> nn.Module:
    return nn.Sequential(*(layer for _ in range(32) for layer in (nn.Linear(256, 256), nn.ReLU())))


def test_a_graph_of_small_kernels_waits_for_no_launch_with_the_host_ahead() -> None:
    found = ahead_of(small_layers())
    assert found is not None
    (graph,) = [one for one in found if isinstance(one.region, GraphKey)]
    # Some 64 kernels of 2 to 3 µs, a microsecond apart; launched one by one, each takes the host 5 µs and more.
    assert 50_000 < graph.ahead_ns < 400_000
    assert graph.ahead_ns < graph.launched_ns


def test_a_step_that_waits_for_the_device_has_no_figure() -> None:
    def waiting(model: Any, value: torch.Tensor) -> torch.Tensor:
        first = model(value)
        return model(first * float(first.sum().item() != 0.0))

    assert ahead_of(small_layers(), step=waiting) is None

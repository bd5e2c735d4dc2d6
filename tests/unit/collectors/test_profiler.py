"""The profiled pass: a trace that is whole or not there, and a folder that cannot take it is no fault of the model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from analyzer.core.errors import UsageError
from collectors.probe import Probe
from collectors.profiler import profile_steps
from collectors.readers.kineto import read_trace
from collectors.step import Stepper
from tests.workloads import a_stepper, a_workload


def stepper() -> Stepper:
    return a_stepper(a_workload(nn.Linear(4, 4), (torch.randn(2, 4),)))


def test_a_trace_holds_its_steps_and_what_lay_between(tmp_path: Path) -> None:
    path = tmp_path / "before.trace.json.gz"
    assert profile_steps(stepper(), Probe("cpu"), path, steps=2) > 0
    names = read_trace(path).names
    assert {"ProfilerStep#0", "ProfilerStep#1", "graphbound::prepare"} <= set(names)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_trace_that_cannot_be_written_names_its_file_and_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "before.trace.json.gz"
    (path / "in the way").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"before\.trace\.json\.gz could not be written") as caught:
        profile_steps(stepper(), Probe("cpu"), path, steps=1)
    assert caught.value.hint == "choose a folder with --out"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]

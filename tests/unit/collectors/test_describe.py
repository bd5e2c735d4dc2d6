"""What a report says of a workload before anything is measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from collectors import describe
from collectors.cpu_name import cpu_name
from collectors.describe import device_name, first_line, given, workload_facts
from tests.workloads import a_workload


def test_the_device_is_known_by_its_name_before_it_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H200")
    assert device_name("cuda") == "NVIDIA H200"
    assert device_name("cpu") == cpu_name() != ""
    assert device_name("meta") is None


def test_the_facts_have_its_name_and_both_kinds_of_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describe, "cpu_name", lambda: "EPYC")
    work = a_workload()
    found = workload_facts(work, ("found when it ran",))
    assert (found.device, found.device_name, found.inputs) == ("cpu", "EPYC", ("float32[4, 8]",))
    assert found.notes == (*work.notes, "found when it ran")


class Doubling(torch.nn.Module):
    @torch._dynamo.disable  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def test_a_model_begins_at_its_own_forward_however_it_is_decorated() -> None:
    found = first_line(Doubling())
    assert found is not None
    assert (found.file, found.function) == (__file__, "forward")
    lines = Path(__file__).read_text().splitlines()
    assert "@torch._dynamo.disable" in lines[found.line - 1]
    assert first_line(torch.sin) is None


def test_what_a_step_is_given_is_told_with_the_file_that_gives_it() -> None:
    work = a_workload(torch.nn.Linear(8, 3), torch.randn(2, 5))
    assert given(work) == f"{work.source} gave it float32[2, 5]"
    assert given(replace(work, args=())) is None

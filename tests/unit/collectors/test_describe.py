"""What a report says of a workload before anything is measured."""

from __future__ import annotations

import pytest
import torch

from collectors import describe
from collectors.cpu_name import cpu_name
from collectors.describe import device_name, workload_facts
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

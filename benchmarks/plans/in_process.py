"""What both processes that run a model do: load it, compile it one way, and take its steps as the product does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import torch

from analyzer.core.settings import Mode, WorkloadSpec
from benchmarks.plans.recorded import Outcome, Way
from benchmarks.plans.rivals import Rival
from benchmarks.plans.suite import ROOT, Case
from collectors.loading import load_workload
from collectors.state import State
from collectors.step import Stepper
from collectors.workload import Workload

MOST_REASON: Final = 300
"""Characters of an exception that are kept."""


@dataclass(frozen=True, slots=True)
class Loaded:
    workload: Workload
    state: State


def loaded(case: Case, device: str) -> Loaded:
    workload = load_workload(WorkloadSpec(str(ROOT / case.target), mode=Mode(case.mode), device=device))
    return Loaded(workload, State(workload))


def compiled(model: Any, rival: Rival) -> Callable[..., Any]:
    run: Callable[..., Any] = model if rival.arguments is None else torch.compile(model, **rival.arguments)
    return run


def stepper(loading: Loaded, run: Callable[..., Any]) -> Stepper:
    """Steps as the product takes them: in the workload's mode, its inputs put back, to the device's end. The first
    state is put back once.
    """
    loading.state.restore()
    return Stepper(loading.workload, run, loading.state)


def failure(name: str, error: BaseException) -> Way:
    lines = str(error).strip().splitlines()
    said = f"{type(error).__name__}: {lines[0] if lines else ''}".replace(f"{ROOT}/", "")
    return Way(name, Outcome.FAILED, reason=said[:MOST_REASON])

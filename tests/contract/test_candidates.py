"""What holds for every candidate: its file, its settings, and when it is refused."""

from __future__ import annotations

import importlib

import pytest
import torch._inductor.config

from analyzer.core.graphs import Direction
from analyzer.core.plan import FUSED
from analyzer.core.settings import RunSettings, WorkloadSpec
from analyzer.targets import _STAGES_ON_CPU, _STAGES_ON_GPU, require_candidates
from optimizers.backend import candidate_of
from optimizers.candidates import CANDIDATES
from optimizers.candidates.base import Candidate

every_candidate = pytest.mark.parametrize("candidate", CANDIDATES, ids=lambda c: c.id)


def test_ids_are_unique_and_the_baseline_comes_first() -> None:
    ids = [candidate.id for candidate in CANDIDATES]
    assert len(ids) == len(set(ids))
    assert ids[0] == FUSED


@every_candidate
def test_it_is_named_after_its_file(candidate: Candidate) -> None:
    module = importlib.import_module(f"optimizers.candidates.{candidate.id}")
    assert getattr(module, candidate.id.upper()) is candidate
    assert candidate_of(candidate.id) is candidate


@every_candidate
def test_its_settings_are_inductors_and_are_complete(candidate: Candidate) -> None:
    """Whatever the user's own configuration says, a candidate is what its name says."""
    names = {name for name, _ in candidate.patches}
    assert names == (set() if candidate.is_eager else {"triton.cudagraphs", "cpp_wrapper"})
    with torch._inductor.config.patch(dict(candidate.patches)):  # raises for a name that Inductor does not know
        if not candidate.is_eager:
            assert torch._inductor.config.triton.cudagraphs is candidate.uses_cuda_graphs
            assert torch._inductor.config.cpp_wrapper is candidate.uses_cpp_wrapper


@every_candidate
def test_it_is_refused_on_a_device_it_cannot_run_on(candidate: Candidate) -> None:
    for device in ("cpu", "cuda"):
        refusal = candidate.refusal(device, Direction.INFERENCE)
        assert (refusal is None) is (device in candidate.devices)
        assert refusal is None or (candidate.title in refusal and device.upper() in refusal)


def test_the_baseline_is_never_refused() -> None:
    for device in ("cpu", "cuda"):
        for direction in Direction:
            assert candidate_of(FUSED).refusal(device, direction) is None


def test_every_candidate_but_the_baseline_is_tried_on_every_device() -> None:
    others = {candidate.id for candidate in CANDIDATES} - {FUSED}
    for stages in (_STAGES_ON_CPU, _STAGES_ON_GPU):
        assert {name for stage in stages for name in stage} == others


def test_an_unknown_name_is_no_candidate() -> None:
    with pytest.raises(KeyError):
        candidate_of("max_autotune_everything")
    require_candidates([candidate.id for candidate in CANDIDATES])
    assert RunSettings(WorkloadSpec("x.py")).candidates == ()

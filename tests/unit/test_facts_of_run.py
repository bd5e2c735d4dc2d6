"""What rules see of a run that tried candidates and has a plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.core.graphs import CudaGraphSkip
from analyzer.core.plan import EAGER, FUSED
from analyzer.core.timing import SetTiming
from analyzer.core.trial import Trial, TrialOutcome
from analyzer.diagnosis import Passes, diagnose
from analyzer.facts_of_run import capture_told, chosen, facts_of
from analyzer.measured import Measured
from optimizers.search import CandidateTrial
from tests.unit.derive.runs import DEVICE, A, B, recording
from tests.unit.fake_driver import VERSIONS, a_capture, a_timing, facts

MUTATED = CudaGraphSkip(A, None, "skipping cudagraphs due to mutated inputs (1 instances)")
COPY = CudaGraphSkip(A, None, "cudagraph partition due to DeviceCopy ops")


@pytest.fixture
def diagnosed(tmp_path: Path) -> Measured:
    found = Measured(facts=facts(), versions=VERSIONS, capture=a_capture(), timing=a_timing(), device=DEVICE)
    found.before = diagnose(Passes(a_timing(), recording().save(tmp_path / "t.json.gz"), found.capture), DEVICE)
    return found


def _tried(of: Measured, candidate: str, *skips: CudaGraphSkip) -> None:
    outcome = TrialOutcome.REFUSED if skips and not skips[0].is_partial else TrialOutcome.MEASURED
    of.trials.append(CandidateTrial(A.digest, candidate, None, Trial(outcome, skips=skips)))


@pytest.mark.parametrize("candidate", ["cuda_graphs", "frozen+cuda_graphs", "fused/cuda_graphs"])
@pytest.mark.parametrize("skip", [MUTATED, COPY], ids=["refused", "taken apart"])
def test_what_torch_said_in_a_trial_of_cuda_graphs_is_in_the_capture(
    diagnosed: Measured, candidate: str, skip: CudaGraphSkip
) -> None:
    _tried(diagnosed, candidate, skip, skip)
    told = capture_told(diagnosed)
    assert told is not None
    assert diagnosed.capture is not None
    assert told.skips == (replace(skip, where=diagnosed.capture.graphs[0].where),)
    assert diagnosed.capture.skips == ()
    assert facts_of(diagnosed, (), is_disturbed=False).capture == told


@pytest.mark.parametrize("candidate", ["cuda_graphs_whole", "cpp_wrapper_cuda_graph"])
def test_what_torch_said_of_stricter_forms_is_not(diagnosed: Measured, candidate: str) -> None:
    _tried(diagnosed, candidate, MUTATED)
    told = capture_told(diagnosed)
    assert told is not None
    assert told.skips == ()


def test_a_graph_that_is_none_of_the_capture_has_no_say(diagnosed: Measured) -> None:
    _tried(
        diagnosed, "cuda_graphs", replace(MUTATED, key=replace(A, digest="ffffffffffff")), replace(MUTATED, key=None)
    )
    told = capture_told(diagnosed)
    assert told is not None
    assert told.skips == ()
    assert capture_told(Measured()) is None


def test_a_region_has_what_the_plan_makes_of_it(diagnosed: Measured) -> None:
    diagnosed.plan = diagnosed.plan_of({A.digest: "cuda_graphs"})
    regions = {fact.region: fact.planned for fact in facts_of(diagnosed, (), is_disturbed=False).regions}
    planned = regions.pop(A)
    assert planned is not None
    assert (planned.candidate, planned.has_cuda_graph, planned.has_cpp_wrapper) == ("cuda_graphs", True, False)
    assert planned.after_ns is None, "the plan was not measured"
    assert set(regions.values()) == {None}, "gaps, and a graph that the plan leaves as it is"
    diagnosed.after = diagnosed.before
    (again,) = [fact.planned for fact in facts_of(diagnosed, (), is_disturbed=False).regions if fact.region == A]
    assert again is not None
    assert again.after_ns == again.before_ns == planned.before_ns
    assert again.after_ns is not None


def test_without_a_plan_a_graph_is_what_torch_compile_makes_of_it(diagnosed: Measured) -> None:
    assert chosen(B, diagnosed) == FUSED
    assert all(fact.planned is None for fact in facts_of(diagnosed, (), is_disturbed=False).regions)
    diagnosed.plan = diagnosed.plan_of({}, is_compiled=False)
    assert chosen(B, diagnosed) == EAGER


def test_of_several_sets_of_inputs_rules_know_how_many_calls_a_step_has(diagnosed: Measured) -> None:
    assert facts_of(diagnosed, (), is_disturbed=False).input_sets == 1
    assert diagnosed.timing is not None
    one = SetTiming(("float32[1]",), None, None, None, None, 0, None, None)
    diagnosed.timing = replace(diagnosed.timing, sets=(one, one, one))
    assert facts_of(diagnosed, (), is_disturbed=False).input_sets == 3

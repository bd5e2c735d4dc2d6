"""Trials in a session of real torch on the CPU: what each gives back, and what equal graphs share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from analyzer.core.graphs import Direction, GraphKey
from analyzer.core.plan import FUSED, Choice, Plan
from analyzer.core.samples import Samples
from analyzer.core.settings import Mode
from analyzer.core.trial import RegionTime, Trial, TrialOutcome
from analyzer.session import Session
from analyzer.session_ears import CompileClock
from analyzer.session_trials import Bench, _is_disturbed, own_times
from collectors.capture import GraphLog
from collectors.readers.kineto import read_trace
from optimizers.backend import OUT_OF_TIME, Failure
from optimizers.trials import with_samples
from tests.workloads import a_workload

LAYERS = 12


class Layer(nn.Module):
    """Broken in the middle, so that no graph spans two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        torch._dynamo.graph_break()
        return torch.tanh(self.second(x))


@pytest.fixture(scope="module")
def deep() -> Iterator[Session]:
    session = Session(a_workload(nn.Sequential(*(Layer() for _ in range(LAYERS)))), lambda event: None)
    session.start()
    try:
        yield session
    finally:
        session.close()


@pytest.mark.slow
def test_layers_that_are_equal_are_one_graph_each_side_of_the_break_and_tried_once(deep: Session) -> None:
    capture = deep.capture()
    digests = {graph.key.digest for graph in capture.graphs}
    assert len(digests) == 2
    assert set(deep.compile_times()) == digests
    deep.prepare_judge()
    first = capture.graphs[0].key.digest
    deep.build(dict.fromkeys(digests, ("eager",)))
    trial = deep.trial({first: "eager"})
    assert trial.outcome is TrialOutcome.MEASURED
    timed = {region.key.digest: region for region in trial.regions}
    assert set(timed) == digests
    assert trial.region_ns == timed[first].ns
    assert trial.peak_bytes is not None
    assert trial.pool_bytes is None
    assert trial.step_ns is not None
    taken = deep.in_turn({first: "eager"}, {}, trial.step_ns.median_ns)
    assert taken is not None
    again = with_samples(trial, *taken)
    assert again.step_ns is not None
    assert again.step_ns.ns[: len(trial.step_ns.ns)] == trial.step_ns.ns
    assert len(again.step_ns.ns) > len(trial.step_ns.ns)


@pytest.mark.slow
def test_no_candidate_is_begun_when_the_time_is_over(deep: Session) -> None:
    digest = deep.capture().graphs[0].key.digest
    deep.prepare_judge()
    deep.build({digest: ("cpp_wrapper",)}, 0.0)
    trial = deep.trial({digest: "cpp_wrapper"})
    assert (trial.outcome, trial.reason) == (TrialOutcome.UNTRIED, OUT_OF_TIME)
    assert deep.trial({}).outcome is TrialOutcome.MEASURED


@pytest.mark.slow
def test_a_backward_can_have_another_candidate_than_its_forward() -> None:
    session = Session(a_workload(nn.Sequential(nn.Linear(8, 8), nn.Tanh()), mode=Mode.TRAINING), lambda event: None)
    try:
        session.start()
        capture = session.capture()
        (digest,) = {graph.key.digest for graph in capture.graphs}
        session.prepare_judge()
        session.build({digest: ("fused/cpp_wrapper",)})
        trial = session.trial({digest: "fused/cpp_wrapper"})
        assert trial.outcome is TrialOutcome.MEASURED
        assert {region.key.direction for region in trial.regions} == {Direction.FORWARD, Direction.BACKWARD}
        assert trial.compile_ns
        default_ns = session.compile_times()[digest]
        assert default_ns > 0
    finally:
        session.close()


@pytest.mark.slow
def test_what_is_timed_is_what_production_compiles_and_only_what_is_profiled_has_rows(tmp_path: Path) -> None:
    session = Session(a_workload(nn.Sequential(nn.Linear(8, 8), nn.Tanh())), lambda event: None)
    try:
        session.start()
        (graph,) = session.capture().graphs
        session.profile(tmp_path / "before.json.gz")
        session.prepare_judge()
        session.build({graph.key.digest: ("cpp_wrapper",)})
        codes = [code.text for code in session.generated_code()]
        session.verify(Plan((Choice(graph.key, "cpp_wrapper"),), "cpu", session.versions()))
        codes += [code.text for code in session.generated_code()]
        session.profile_plan(tmp_path / "after.json.gz")
    finally:
        session.close()
    assert ["RecordFunction" in code for code in codes] == [False, False]
    for name in ("before", "after"):
        names = read_trace(tmp_path / f"{name}.json.gz").names
        assert "aten::addmm" in names
        assert any(name.startswith("cpp_fused") for name in names)


# -- what torch says of CUDA graphs ---------------------------------------------------------------------------------

KEY = GraphKey("0123456789ab", Direction.INFERENCE)
WHOLE_REFUSED = "skipping cudagraphs due to cpu device (arg1_1)"


def a_bench(*, is_partitioned: bool = False) -> Bench:
    """Where two CUDA-graph candidates were compiled, of which torch refused the whole one."""
    log = GraphLog(None)
    log.cuda_graphs.compiling = "cuda_graphs_whole"
    log.add_refusal(KEY, WHOLE_REFUSED)
    log.cuda_graphs.compiling = None
    backend: Any = SimpleNamespace(is_partitioned=lambda digest, candidate: is_partitioned)
    nobody: Any = None
    return Bench(nobody, backend, log, nobody, nobody, nobody, "cuda")


def test_choices_of_which_one_had_no_time_are_not_measured_as_if_they_stood() -> None:
    untried, refused = Failure(TrialOutcome.UNTRIED, OUT_OF_TIME), Failure(TrialOutcome.REFUSED, WHOLE_REFUSED)
    found = {("a", "cuda_graphs"): untried, ("b", "cuda_graphs"): refused}
    nobody: Any = None
    backend: Any = SimpleNamespace(failure=lambda digest, candidate: found.get((digest, candidate)))
    bench = Bench(nobody, backend, GraphLog(None), nobody, nobody, nobody, "cuda")
    assert bench.known_failure({"a": "cuda_graphs", "c": "cuda_graphs"}) is untried
    assert bench.known_failure({"b": "cuda_graphs", "c": "cuda_graphs"}) is None
    assert bench.known_failure({"b": "cuda_graphs"}) is refused


def test_a_graph_takes_no_longer_than_its_step() -> None:
    step = Samples((77_000, 78_000, 90_000))
    assert _is_disturbed(55_600_000, step)
    assert not _is_disturbed(76_000, step)
    assert not _is_disturbed(None, step)


def test_a_graph_that_torch_refuses_whole_is_not_refused_in_parts() -> None:
    bench = a_bench()
    assert bench._refusals({KEY.digest: "cuda_graphs_whole"}) == WHOLE_REFUSED
    assert bench._refusals({KEY.digest: "cuda_graphs"}) is None
    regions = [RegionTime(KEY, 1, 1)]
    assert [skip.reason for skip in bench._skips({KEY.digest: "cuda_graphs_whole"}, regions)] == [WHOLE_REFUSED]
    assert bench._skips({KEY.digest: "cuda_graphs"}, regions) == ()


def test_that_torch_took_a_graph_apart_is_told_where_it_has_it_from_its_cache_too() -> None:
    (skip,) = a_bench(is_partitioned=True)._skips({KEY.digest: "cuda_graphs"}, [RegionTime(KEY, 1, 1)])
    assert (skip.key, skip.is_partial) == (KEY, True)


# -- the clock of what compiles ---------------------------------------------------------------------------------------


class Ticks:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


def compile_for(clock: CompileClock, ticks: Ticks, ns: int, candidate: str = FUSED, *, inner: int = 1) -> None:
    """One compilation with `inner` programs announced within it."""
    for _ in range(inner + 1):
        clock.begin("a", candidate)
    ticks.now += ns
    for _ in range(inner + 1):
        clock.end("a", candidate)


def test_a_program_within_its_graphs_compilation_is_counted_once(ticks: Ticks) -> None:
    clock = CompileClock(ticks)
    compile_for(clock, ticks, 100, inner=2)
    assert clock.of({"a": FUSED}) == 100


def test_a_backward_that_is_compiled_later_is_added_and_the_time_between_is_not(ticks: Ticks) -> None:
    clock = CompileClock(ticks)
    compile_for(clock, ticks, 100)
    ticks.now += 5_000
    compile_for(clock, ticks, 40, inner=0)
    assert clock.of({"a": FUSED}) == 140


def test_of_several_builds_the_longest_counts(ticks: Ticks) -> None:
    """The second finds its kernels in torch's cache."""
    clock = CompileClock(ticks)
    compile_for(clock, ticks, 100)
    clock.begin_build()
    compile_for(clock, ticks, 30)
    assert clock.of({"a": FUSED}) == 100


def test_what_failed_within_does_not_stretch_the_next(ticks: Ticks) -> None:
    clock = CompileClock(ticks)
    clock.begin("a", "cpp_wrapper")
    clock.begin("a", "cpp_wrapper")
    ticks.now += 10
    clock.end("a", "cpp_wrapper")  # the inner one raised, and never said that it ended
    ticks.now += 1_000
    compile_for(clock, ticks, 100, "eager")
    assert clock.of({"a": "eager"}) == 100
    assert clock.of({"a": "cpp_wrapper"}) is None


def test_choices_are_added_up_and_one_that_was_not_compiled_makes_the_sum_unknown(ticks: Ticks) -> None:
    clock = CompileClock(ticks)
    compile_for(clock, ticks, 100)
    clock.begin("b", FUSED)
    ticks.now += 7
    clock.end("b", FUSED)
    assert clock.of({"a": FUSED, "b": FUSED}) == 107
    assert clock.of({"a": FUSED, "c": FUSED}) is None
    assert clock.of({}) is None


def test_an_end_that_nobody_began_is_none(ticks: Ticks) -> None:
    clock = CompileClock(ticks)
    clock.end("a", FUSED)
    assert clock.of({"a": FUSED}) is None


# -- arithmetic -------------------------------------------------------------------------------------------------------


def test_further_samples_stand_behind_those_there_are_pair_by_pair() -> None:
    trial = Trial(TrialOutcome.MEASURED, step_ns=Samples((1, 2)), against=Samples((3, 4)))
    more = with_samples(trial, Samples((30, 40)), Samples((10, 20)))
    assert more.step_ns == Samples((1, 2, 10, 20))
    assert more.against == Samples((3, 4, 30, 40))
    unmeasured = Trial(TrialOutcome.FAILED)
    assert with_samples(unmeasured, Samples((1,)), Samples((1,))) is unmeasured


def test_own_times_are_those_of_the_graphs_that_were_tried() -> None:
    def one(digest: str, direction: Direction, ns: int, against: int | None) -> RegionTime:
        return RegionTime(GraphKey(digest, direction), ns, against)

    regions = (
        one("a", Direction.FORWARD, 5, 6),
        one("a", Direction.BACKWARD, 7, 9),
        one("b", Direction.INFERENCE, 100, None),
    )
    assert own_times(regions, {"a": "x"}) == (12, 15)
    assert own_times(regions, {"b": "x"}) == (100, None)
    assert own_times(regions, {"c": "x"}) == (None, None)

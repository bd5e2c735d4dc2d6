"""Several candidates for each graph in one capture, and a plan carried out: compiled for real, on small graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.fx import GraphModule

from analyzer.core.graphs import CallOrder, Direction, GraphKey, KernelFacts
from analyzer.core.plan import Choice, Plan
from analyzer.core.trial import TrialOutcome
from collectors import memory, torch_compat
from collectors.probe import RANGE_PREFIX, Probe, ProbeMode
from collectors.versions import versions
from optimizers.backend import Failure, SwitchBackend, Watch, WatchedPlan, failure_of
from optimizers.candidates.base import Candidate
from optimizers.candidates.cpp_wrapper import CPP_WRAPPER
from optimizers.candidates.cuda_graphs import CUDA_GRAPHS
from optimizers.candidates.eager import EAGER
from optimizers.candidates.frozen import FROZEN
from optimizers.candidates.known import candidate_of
from tests.workloads import Mlp, captured, fresh_dynamo

X = torch.randn(4, 8)
BROKEN = Candidate(id="broken", title="broken", patches=(("no_such_setting", True),))


@dataclass
class Heard:
    """Takes the place of a session's ears."""

    events: list[tuple[str, str, str]] = field(default_factory=list)
    programs: dict[GraphKey, GraphModule | None] = field(default_factory=dict)

    def compiling(self, key: GraphKey, candidate: Candidate) -> None:
        self.events.append(("compiling", str(key.direction), candidate.id))

    def compiled(self, key: GraphKey, candidate: Candidate, dynamo: GraphModule, aot: GraphModule | None) -> None:
        self.programs[key] = aot

    def counted(
        self, key: GraphKey, candidate: Candidate, traffic_bytes: int | None, kernels: tuple[KernelFacts, ...]
    ) -> None:
        pass

    def ordered(self, key: GraphKey, candidate: Candidate, calls: CallOrder | None) -> None:
        pass

    def generated(self, key: GraphKey, candidate: Candidate, code: str) -> None:
        assert "async_compile" in code or "cpp" in code

    def refused(self, key: GraphKey, reasons: tuple[str, ...]) -> None:
        self.events.append(("refused", str(key.direction), *reasons))  # type: ignore[arg-type]

    def finished(self, key: GraphKey, candidate: Candidate) -> None:
        self.events.append(("finished", str(key.direction), candidate.id))


def a_watch(heard: Heard | None = None, device: str = "cpu") -> Watch:
    return Watch(device, Probe(device), heard or Heard())


def digests_of(model: Callable[..., Any], x: torch.Tensor) -> list[str]:
    from collectors.graph_key import graph_digest

    return [graph_digest(gm, inputs) for gm, inputs in captured(model, x)]


# -- switching --------------------------------------------------------------------------------------------------------


@dataclass
class Switched:
    model: Mlp
    compiled: Callable[..., Any]
    backend: SwitchBackend
    heard: Heard
    digests: list[str]


@pytest.fixture(scope="module")
def switched() -> Iterator[Switched]:
    """Two graphs: the first under every candidate and one that does not compile, the second under the baseline."""
    model = Mlp(talks=True)
    heard = Heard()
    with torch.no_grad():
        digests = digests_of(model, X)
        given_up = Candidate(id="given_up", title="given up")
        wanted = {digests[0]: (EAGER, CPP_WRAPPER, BROKEN, CUDA_GRAPHS, given_up)}
        skip = {(digests[0], given_up.id): Failure(TrialOutcome.CRASHED, "it took its process down")}
        backend = SwitchBackend(wanted, a_watch(heard), skip)
        compiled = torch_compat.compiled_model(model, backend)
        compiled(X)
    yield Switched(model, compiled, backend, heard, digests)
    torch_compat.reset()


def test_every_graph_has_the_baseline_and_those_asked_for_the_others(switched: Switched) -> None:
    first, second = switched.backend.graphs
    assert [first.digest, second.digest] == switched.digests
    assert set(first.variants) == {"fused", "eager", "cpp_wrapper"}
    assert set(second.variants) == {"fused"}


def test_the_digest_is_the_same_under_every_backend(switched: Switched) -> None:
    assert {key.digest for key in switched.heard.programs} == set(switched.digests)


@pytest.mark.parametrize("candidate", ["fused", "eager", "cpp_wrapper"])
def test_switching_gives_right_results_and_compiles_nothing(switched: Switched, candidate: str) -> None:
    told = len(switched.heard.events)
    switched.backend.select({switched.digests[0]: candidate})
    first, second = switched.backend.graphs
    with torch.no_grad():
        torch.testing.assert_close(switched.compiled(X), switched.model(X))
    assert first.active is first.variants[candidate]
    assert second.active is second.variants["fused"]
    assert len(switched.backend.graphs) == 2
    assert len(switched.heard.events) == told


def test_a_switched_graph_runs_what_was_selected(switched: Switched) -> None:
    """Eager calls an operator for each of its own, the fused graph one kernel for them all."""
    ran: dict[str, set[str]] = {}
    for candidate in ("eager", "fused"):
        switched.backend.select({switched.digests[0]: candidate})
        with torch.no_grad(), torch.profiler.profile() as recording:
            switched.compiled(X)
        ran[candidate] = {event.name for event in recording.events()}
    assert "aten::relu" in ran["eager"]
    assert "aten::relu" not in ran["fused"]


def test_what_is_not_selected_goes_back_to_the_baseline(switched: Switched) -> None:
    switched.backend.select({switched.digests[0]: "eager"})
    switched.backend.select({})
    assert switched.backend.graphs[0].active is switched.backend.graphs[0].variants["fused"]
    switched.backend.select({switched.digests[0]: "broken"})
    assert switched.backend.graphs[0].active is switched.backend.graphs[0].variants["fused"]


def test_a_candidate_that_does_not_compile_costs_itself_alone(switched: Switched) -> None:
    failure = switched.backend.failure(switched.digests[0], "broken")
    assert failure is not None
    assert failure.outcome is TrialOutcome.FAILED
    assert "no_such_setting" in failure.reason
    assert switched.backend.failure(switched.digests[0], "fused") is None
    assert switched.backend.failure(switched.digests[1], "broken") is None


def test_a_candidate_that_cannot_run_here_is_refused_without_being_tried(switched: Switched) -> None:
    failure = switched.backend.failure(switched.digests[0], "cuda_graphs")
    assert failure is not None
    assert failure.outcome is TrialOutcome.REFUSED
    assert "CUDA" in failure.reason
    assert not [event for event in switched.heard.events if event[2] == "cuda_graphs"]


def test_a_candidate_given_up_before_is_not_tried_again(switched: Switched) -> None:
    failure = switched.backend.failure(switched.digests[0], "given_up")
    assert failure == Failure(TrialOutcome.CRASHED, "it took its process down")
    assert not [event for event in switched.heard.events if event[2] == "given_up"]


def test_every_compilation_is_announced_before_and_after(switched: Switched) -> None:
    for candidate in ("fused", "eager", "cpp_wrapper", "broken"):
        mine = [what for what, _, name in switched.heard.events if name == candidate]
        assert mine[0] == "compiling"
        assert mine[-1] == "finished"


def test_where_nothing_compiles_the_graph_runs_as_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no compiler")

    monkeypatch.setattr(torch_compat, "compile_graph", failing)
    backend = SwitchBackend({}, a_watch())
    model = Mlp()
    with fresh_dynamo(), torch.no_grad():
        torch.testing.assert_close(torch_compat.compiled_model(model, backend)(X), model(X))
    failure = backend.failure(backend.graphs[0].digest, "fused")
    assert failure == Failure(TrialOutcome.FAILED, "RuntimeError: no compiler")


def test_where_torch_asks_to_capture_anew_it_does_and_nothing_failed() -> None:
    """A Python float that Inductor cannot turn into a tensor: torch then makes it a constant (torch 2.11 to 2.14)."""
    backend = SwitchBackend({}, a_watch())

    def shifted(x: torch.Tensor, by: float) -> torch.Tensor:
        return torch.clamp(x, max=by)

    with fresh_dynamo():
        compiled = torch.compile(shifted, backend=backend, dynamic=True)
        for by in (0.5, 0.25):
            assert torch.equal(compiled(X, by), shifted(X, by))
    assert backend.graphs
    assert not any(graph.failures for graph in backend.graphs)


def test_a_selection_holds_for_graphs_that_are_captured_later() -> None:
    model = Mlp()
    with torch.no_grad(), fresh_dynamo():
        (digest,) = digests_of(model, X)
        backend = SwitchBackend({digest: (EAGER,)}, a_watch())
        backend.select({digest: "eager"})
        torch_compat.compiled_model(model, backend)(X)
        (graph,) = backend.graphs
        assert graph.active is graph.variants["eager"]


def test_out_of_memory_is_an_outcome_of_its_own() -> None:
    assert failure_of(torch.OutOfMemoryError("CUDA out of memory")).outcome is TrialOutcome.OUT_OF_MEMORY
    assert failure_of(ValueError("no")) == Failure(TrialOutcome.FAILED, "ValueError: no")
    with pytest.raises(KeyError):
        candidate_of("nothing")


def test_what_we_raise_while_torch_compiles_is_our_own_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch_compat, "traffic_bytes")
    with torch.no_grad(), fresh_dynamo():
        backend = SwitchBackend({}, a_watch())
        torch_compat.compiled_model(Mlp(), backend)(X)
    failure = backend.graphs[0].failures["fused"]
    assert failure.is_ours
    assert failure.reason.startswith("failed in Graphbound itself, at backend.py:")


# -- a plan in training -----------------------------------------------------------------------------------------------


class Trained(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.linear(x)).sum()


@dataclass
class Training:
    model: Trained
    compiled: Callable[..., Any]
    backend: WatchedPlan
    watch: Watch
    heard: Heard
    digest: str


def gradients(model: Trained, run: Callable[..., Any]) -> list[torch.Tensor]:
    model.zero_grad(set_to_none=True)
    run(X).backward()
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


@pytest.fixture(scope="module")
def training() -> Iterator[Training]:
    """Forward fused, backward with the C++ wrapper, and one step done."""
    model = Trained()
    (digest,) = digests_of(model, X)
    choices = (
        Choice(GraphKey(digest, Direction.FORWARD), "fused"),
        Choice(GraphKey(digest, Direction.BACKWARD), "cpp_wrapper"),
    )
    heard = Heard()
    watch = a_watch(heard)
    backend = WatchedPlan(Plan(choices, "cpu", versions()), watch)
    compiled = torch_compat.compiled_model(model, backend)
    gradients(model, compiled)
    yield Training(model, compiled, backend, watch, heard, digest)
    torch_compat.reset()


def test_forward_and_backward_of_a_graph_may_differ_and_gradients_are_right(training: Training) -> None:
    found, expected = gradients(training.model, training.compiled), gradients(training.model, training.model)
    assert len(found) == len(expected) == 2
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert training.backend.unknown == []


def test_the_backward_has_a_key_and_a_program_of_its_own(training: Training) -> None:
    forward, backward = (GraphKey(training.digest, d) for d in (Direction.FORWARD, Direction.BACKWARD))
    assert set(training.heard.programs) == {forward, backward}
    assert training.heard.programs[forward] is not training.heard.programs[backward]


def test_both_directions_are_probed_apart(training: Training) -> None:
    probe = training.watch.probe
    probe.mode = ProbeMode.CLOCK
    try:
        probe.begin_step()
        gradients(training.model, training.compiled)
        calls = probe.calls(probe.end_step()).calls
    finally:
        probe.mode = ProbeMode.OFF
    assert [call.key.direction for call in calls] == [Direction.FORWARD, Direction.BACKWARD]
    assert calls[0].end_ns <= calls[1].start_ns


def test_both_directions_have_their_range_in_a_trace(training: Training) -> None:
    training.watch.probe.mode = ProbeMode.RANGE
    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as recording:
            gradients(training.model, training.compiled)
    finally:
        training.watch.probe.mode = ProbeMode.OFF
    names = [e.name.removeprefix(RANGE_PREFIX) for e in recording.events() if e.name.startswith(RANGE_PREFIX)]
    assert sorted(names) == [f"{training.digest}.backward", f"{training.digest}.forward"]


# -- compiling more, later --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wants_gradients", [False, True])
def test_a_candidate_is_added_without_compiling_anything_else_again(wants_gradients: bool) -> None:
    model = Mlp().eval()
    digest = digests_of(model, X)[0]
    heard = Heard()
    backend = SwitchBackend({}, a_watch(heard))
    with fresh_dynamo(), torch.set_grad_enabled(wants_gradients):
        compiled = torch.compile(model, backend=backend)
        expected = compiled(X)
        assert backend.is_open
        before = len(heard.events)
        backend.extend({digest: (CPP_WRAPPER, EAGER)})
        backend.select({})
        torch.testing.assert_close(compiled(X), expected)
        backend.extend({digest: (CPP_WRAPPER, EAGER)})
        torch.testing.assert_close(compiled(X), expected)
        added = {name for _, _, name in heard.events[before:]}
        assert added == {"cpp_wrapper", "eager"}
        for candidate in ("cpp_wrapper", "eager"):
            backend.select({digest: candidate})
            torch.testing.assert_close(compiled(X), expected)
    (graph,) = backend.graphs
    assert set(graph.variants) == {"fused", "cpp_wrapper", "eager"}
    assert not graph.failures


def test_what_fails_later_costs_itself_alone() -> None:
    model = Mlp().eval()
    digest = digests_of(model, X)[0]
    backend = SwitchBackend({}, a_watch())
    with fresh_dynamo(), torch.no_grad():
        compiled = torch.compile(model, backend=backend)
        expected = compiled(X)
        backend.extend({digest: (BROKEN,)})
        torch.testing.assert_close(compiled(X), expected)
    failure = backend.failure(digest, "broken")
    assert failure is not None
    assert failure.outcome is TrialOutcome.FAILED


def test_what_there_was_no_time_for_is_compiled_when_it_is_asked_for_again() -> None:
    model, is_over = Mlp().eval(), True
    digest = digests_of(model, X)[0]
    backend = SwitchBackend({digest: (EAGER,)}, replace(a_watch(), is_over=lambda: is_over))
    with fresh_dynamo(), torch.no_grad():
        compiled = torch.compile(model, backend=backend)
        compiled(X)
        failure = backend.failure(digest, "eager")
        assert failure is not None
        assert failure.outcome is TrialOutcome.UNTRIED
        is_over = False
        backend.extend({digest: (EAGER,)})
        compiled(X)
    assert backend.failure(digest, "eager") is None
    assert "eager" in backend.graphs[0].variants


@pytest.mark.parametrize("is_late", [False, True], ids=["in one capture", "in a later call"])
def test_what_other_candidates_keep_is_told_apart_from_what_is_tried(
    is_late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On an H200 the trials of a Granite grew from 688 to 1,264 MiB by the frozen weights of those before them."""
    # One look, which collects all garbage, before the first and after each; none for the default.
    held = iter([100, 120, 420])
    monkeypatch.setattr(memory, "_held_bytes", lambda device: next(held))
    model = Mlp().eval()
    digest = digests_of(model, X)[0]
    backend = SwitchBackend({digest: (FROZEN, EAGER)} if not is_late else {}, a_watch())
    with fresh_dynamo(), torch.no_grad():
        compiled = torch.compile(model, backend=backend)
        compiled(X)
        if is_late:
            backend.extend({digest: (FROZEN, EAGER)})
            compiled(X)
    assert next(held, None) is None
    assert backend.graphs[0].kept_bytes == {"frozen": 20, "eager": 300}
    assert backend.kept_bytes({}) == 320
    assert backend.kept_bytes({digest: "frozen"}) == 300


def test_a_graph_of_varying_sizes_is_not_compiled_later() -> None:
    backend = SwitchBackend({}, a_watch())
    with fresh_dynamo(), torch.no_grad():
        torch.compile(Mlp().eval(), backend=backend, dynamic=True)(X)
    assert backend.graphs
    assert not backend.is_open


# -- under DistributedDataParallel ------------------------------------------------------------------------------------


class Bucketed(nn.Module):
    """1 MiB a layer, the least that DDPOptimizer takes for a bucket."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(512, 512) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


@pytest.mark.slow
@pytest.mark.parametrize("is_late", [False, True], ids=["in one capture", "in a later call"])
def test_graphs_cut_at_the_buckets_of_ddp_have_every_candidate_and_each_learns(is_late: bool) -> None:
    if not (dist.is_available() and dist.is_gloo_available()):
        pytest.skip("this torch has no gloo")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    other = candidate_of("backend:aot_eager")
    try:
        model = Bucketed()
        wrapped = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=1)
        x = torch.randn(4, 512)
        with fresh_dynamo():
            digests = digests_of(wrapped, x)
            assert len(digests) == 2
            wanted = dict.fromkeys(digests, (other,))
            backend = SwitchBackend({} if is_late else wanted, a_watch())
            compiled = torch_compat.compiled_model(wrapped, backend)
            found = {}
            for candidate in ("fused", other.id):
                if is_late and candidate == other.id:
                    assert backend.is_open
                    backend.extend(wanted)
                backend.select(dict.fromkeys(digests, candidate))
                for _ in range(2):
                    model.zero_grad()
                    compiled(x).square().sum().backward()
                found[candidate] = [p.grad.clone() for p in model.parameters() if p.grad is not None]
            assert [graph.failures for graph in backend.graphs] == [{}, {}]
            assert all(other.id in graph.variants for graph in backend.graphs)
        model.zero_grad()
        model(x).square().sum().backward()
        for gradients in found.values():
            for own, parameter in zip(gradients, model.parameters(), strict=True):
                torch.testing.assert_close(own, parameter.grad, rtol=1e-3, atol=1e-4)
    finally:
        dist.destroy_process_group()

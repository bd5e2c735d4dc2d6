"""The `torch.compile` backends: one that holds several candidates for each graph, and one that carries out a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch.fx import GraphModule

from analyzer.core.graphs import Direction, GraphKey, KernelFacts
from analyzer.core.plan import Plan
from analyzer.core.trial import TrialOutcome
from collectors import torch_compat
from collectors.graph_key import graph_digest
from collectors.probe import Probe
from collectors.user_errors import describe, is_out_of_memory
from optimizers.candidates import CANDIDATES
from optimizers.candidates.base import Candidate
from optimizers.candidates.fused import FUSED


class Observer(Protocol):
    """Is told of every compilation as it happens, so that another process can say which one hung or crashed."""

    def compiling(self, key: GraphKey, candidate: Candidate) -> None: ...
    def compiled(self, key: GraphKey, candidate: Candidate, dynamo: GraphModule, aot: GraphModule | None) -> None: ...
    def counted(
        self, key: GraphKey, candidate: Candidate, traffic_bytes: int | None, kernels: tuple[KernelFacts, ...]
    ) -> None: ...
    def generated(self, key: GraphKey, candidate: Candidate, code: str) -> None: ...
    def refused(self, key: GraphKey, reasons: tuple[str, ...]) -> None: ...
    def finished(self, key: GraphKey, candidate: Candidate) -> None: ...


class CompileHooks(Protocol):
    """What one compilation asks and tells while it runs."""

    def patches(self) -> dict[str, object]: ...
    def before(self, direction: Direction, aot: GraphModule) -> None: ...
    def after(self, direction: Direction, output_code: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class Failure:
    """A candidate that could not be had for a graph."""

    outcome: TrialOutcome
    reason: str


Skips = Mapping[tuple[str, str], Failure]


@dataclass(slots=True)
class SwitchedGraph:
    """One captured graph with every candidate that compiled, and the one that runs now."""

    digest: str
    direction: Direction
    variants: dict[str, Callable[..., Any]] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    active: Callable[..., Any] | None = None

    def select(self, candidate: str) -> None:
        """Run `candidate` from the next call on; the baseline where it could not be had."""
        self.active = self.variants.get(candidate) or self.variants.get(FUSED.id) or next(iter(self.variants.values()))

    def __call__(self, *args: Any) -> Any:
        return self.active(*args)  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class Watch:
    """What is put around every compilation and call of a measured run. `extra` are further Inductor settings."""

    device: str
    probe: Probe
    observer: Observer
    extra: tuple[tuple[str, object], ...] = ()


class WatchedCompile:
    """One compilation of one graph, watched: each AOT program is announced, each call goes through the probe."""

    def __init__(self, watch: Watch, key: GraphKey, candidate: Candidate, dynamo: GraphModule) -> None:
        self.key = key
        """Its direction is corrected by AOTAutograd: a graph whose inputs want gradients and whose outputs cannot
        have any is an inference one after all."""
        self._watch = watch
        self._candidate = candidate
        self._dynamo = dynamo

    def compile(self, inputs: Sequence[Any], backward: Candidate) -> Callable[..., Any]:
        """The compiled graph, observed. Raises what the compiler raises."""
        observer = self._watch.observer
        observer.compiling(self.key, self._candidate)
        try:
            if self._candidate.is_eager:
                observer.compiled(self.key, self._candidate, self._dynamo, None)
            call = compile_candidate(self._dynamo, inputs, self._candidate, backward, self)
        finally:
            observer.finished(self.key, self._candidate)
        return self._watch.probe.around(self.key, call)

    def patches(self) -> dict[str, object]:
        return dict(self._watch.extra)

    def before(self, direction: Direction, aot: GraphModule) -> None:
        key = GraphKey(self.key.digest, direction)
        if direction is not Direction.BACKWARD:
            self.key = key
        self._watch.observer.compiling(key, self._candidate)
        self._watch.observer.compiled(key, self._candidate, self._dynamo, aot)

    def after(self, direction: Direction, output_code: Any) -> None:
        key = GraphKey(self.key.digest, direction)
        reasons = torch_compat.cuda_graph_refusals(output_code) if self._candidate.uses_cuda_graphs else ()
        kernels = torch_compat.kernel_facts(output_code)
        self._watch.observer.counted(key, self._candidate, torch_compat.traffic_bytes(output_code), kernels)
        code = torch_compat.generated_code(output_code)
        if code is not None:
            self._watch.observer.generated(key, self._candidate, code)
        if reasons:
            self._watch.observer.refused(key, reasons)
        if direction is Direction.BACKWARD:
            torch_compat.wrap_compiled(output_code, lambda call: self._watch.probe.around(key, call))
        self._watch.observer.finished(key, self._candidate)


class _Unwatched:
    """Production: nobody is told and nothing is put around a call."""

    def patches(self) -> dict[str, object]:
        return {}

    def before(self, direction: Direction, aot: GraphModule) -> None:
        pass

    def after(self, direction: Direction, output_code: Any) -> None:
        pass


class SwitchBackend:
    """Compiles each graph under several candidates in one capture, and switches between them without compiling.

    Trials can so be taken in turn, and Dynamo traces the model once, not once a candidate. Every graph gets the
    baseline, and those named in `wanted` (by digest) these candidates beside it. `skip` names (digest, candidate)
    pairs that must not be tried again, with what they did.
    """

    def __init__(self, wanted: Mapping[str, Sequence[Candidate]], watch: Watch, skip: Skips | None = None) -> None:
        self.graphs: list[SwitchedGraph] = []
        self._wanted = dict(wanted)
        self._watch = watch
        self._skip = dict(skip or {})
        self._selected: dict[str, str] = {}

    def __call__(self, gm: GraphModule, inputs: Sequence[Any], **_: Any) -> Callable[..., Any]:
        graph = SwitchedGraph(graph_digest(gm, inputs), _direction(inputs))
        for candidate in (FUSED, *(c for c in self._wanted.get(graph.digest, ()) if c is not FUSED)):
            self._add(graph, candidate, gm, inputs)
        if FUSED.id in graph.failures:
            self._leave_as_captured(graph, gm)
        graph.select(self._selected.get(graph.digest, FUSED.id))
        self.graphs.append(graph)
        return graph

    def select(self, choices: Mapping[str, str]) -> None:
        """Run each graph of `choices` (by digest) under its candidate and all others under the baseline."""
        self._selected = dict(choices)
        for graph in self.graphs:
            graph.select(choices.get(graph.digest, FUSED.id))

    def failure(self, digest: str, candidate: str) -> Failure | None:
        """What went wrong with a candidate for the graphs of this digest, None where it runs."""
        same = (graph for graph in self.graphs if graph.digest == digest)
        return next((graph.failures[candidate] for graph in same if candidate in graph.failures), None)

    def _leave_as_captured(self, graph: SwitchedGraph, gm: GraphModule) -> None:
        """The default could not be had: in its place the graph runs as captured, and its failures say why."""
        key = GraphKey(graph.digest, graph.direction)
        self._watch.observer.compiled(key, FUSED, gm, None)
        graph.variants[FUSED.id] = self._watch.probe.around(key, gm.forward)

    def _add(self, graph: SwitchedGraph, candidate: Candidate, gm: GraphModule, inputs: Sequence[Any]) -> None:
        refusal = candidate.refusal(self._watch.device, graph.direction)
        known = Failure(TrialOutcome.REFUSED, refusal) if refusal else self._skip.get((graph.digest, candidate.id))
        if known is not None:
            graph.failures[candidate.id] = known
            return
        watched = WatchedCompile(self._watch, GraphKey(graph.digest, graph.direction), candidate, gm)
        try:
            graph.variants[candidate.id] = watched.compile(inputs, candidate)
        except torch_compat.RestartAnalysis:
            raise  # Dynamo waits for it: the graph is captured anew
        except Exception as error:  # whatever a compiler raises costs the candidate, not the run
            graph.failures[candidate.id] = failure_of(error)
        graph.direction = watched.key.direction


def compile_candidate(
    gm: GraphModule, inputs: Sequence[Any], forward: Candidate, backward: Candidate, watch: CompileHooks
) -> Callable[..., Any]:
    """One Dynamo graph, its forward (or inference) under one candidate and its backward under another."""
    if forward.is_eager:
        return gm.forward

    def inner(aot: GraphModule, aot_inputs: Sequence[Any], **kwargs: Any) -> Any:
        direction = _inner_direction(kwargs)
        candidate = backward if direction is Direction.BACKWARD else forward
        patches = dict(candidate.patches)
        if direction is Direction.BACKWARD and backward is not forward:
            kwargs["cudagraphs"] = torch_compat.boxed_cudagraphs(candidate.uses_cuda_graphs)
            kwargs["cpp_wrapper"] = candidate.uses_cpp_wrapper
        if direction is Direction.BACKWARD and candidate.uses_cpp_wrapper:
            # A backward is compiled at its first call, outside the settings that torch put around its forward; in
            # torch 2.11 it then fails with "CudaKernelParamCache not populated".
            patches |= torch_compat.cpp_wrapper_patches(patches)
        watch.before(direction, aot)
        output_code = torch_compat.compile_inner(aot, aot_inputs, patches | watch.patches(), kwargs)
        watch.after(direction, output_code)
        return output_code

    return torch_compat.compile_graph(gm, inputs, patches=dict(forward.patches) | watch.patches(), inner=inner)


class PlanBackend:
    """Carries out a plan: each graph under its candidate, an unknown one under the fused default.

    `unknown` are the digests met that the plan does not name. Without a `watch` nothing stands around a call.
    """

    def __init__(self, plan: Plan, watch: Watch | None = None) -> None:
        self._choices = {(choice.key.digest, choice.key.direction): choice.candidate for choice in plan.choices}
        self._watch = watch
        self.unknown: list[str] = []

    def __call__(self, gm: GraphModule, inputs: Sequence[Any], **_: Any) -> Callable[..., Any]:
        key = GraphKey(graph_digest(gm, inputs), _direction(inputs))
        forward, backward = self._candidates(key)
        if self._watch is None:
            return compile_candidate(gm, inputs, forward, backward, _Unwatched())
        return WatchedCompile(self._watch, key, forward, gm).compile(inputs, backward)

    def _candidates(self, key: GraphKey) -> tuple[Candidate, Candidate]:
        # A graph with inputs that want gradients and outputs that have none is an inference one to AOTAutograd.
        chosen = self._choices.get((key.digest, key.direction))
        chosen = chosen or self._choices.get((key.digest, Direction.INFERENCE))
        if chosen is None:
            self.unknown.append(key.digest)
        forward = candidate_of(chosen or FUSED.id)
        backward = candidate_of(self._choices.get((key.digest, Direction.BACKWARD), forward.id))
        if backward.needs_same_forward and backward is not forward:
            backward = FUSED
        return forward, backward


def candidate_of(candidate_id: str) -> Candidate:
    """The candidate of this id. Raises KeyError where there is none."""
    found = next((candidate for candidate in CANDIDATES if candidate.id == candidate_id), None)
    if found is None:
        raise KeyError(candidate_id)
    return found


def failure_of(error: BaseException) -> Failure:
    """What an exception from compiling or running a candidate means for it."""
    outcome = TrialOutcome.OUT_OF_MEMORY if is_out_of_memory(error) else TrialOutcome.FAILED
    return Failure(outcome, describe(error))


def _direction(inputs: Sequence[Any]) -> Direction:
    """What AOTAutograd will make of a graph: it needs a backward where gradients are on and any input wants one."""
    wants = any(isinstance(value, torch.Tensor) and value.requires_grad for value in inputs)
    return Direction.FORWARD if wants and torch.is_grad_enabled() else Direction.INFERENCE


def _inner_direction(kwargs: Mapping[str, Any]) -> Direction:
    if kwargs.get("is_backward"):
        return Direction.BACKWARD
    return Direction.INFERENCE if kwargs.get("is_inference") else Direction.FORWARD

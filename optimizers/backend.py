"""The `torch.compile` backends: one that holds several candidates for each graph, and one that carries out a plan."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from torch.fx import GraphModule

from analyzer.core.graphs import CallOrder, Direction, GraphKey, KernelFacts
from analyzer.core.plan import Plan
from analyzer.core.trial import TrialOutcome
from collectors import torch_compat
from collectors.graph_key import graph_digest
from collectors.memory import Growth
from collectors.probe import Probe
from collectors.user_errors import describe, hook_fault, is_out_of_memory
from optimizers.candidates.base import Candidate, RefusedError
from optimizers.candidates.fused import FUSED
from optimizers.candidates.pair import AnyCandidate, Pair
from optimizers.compiling import compile_candidate
from optimizers.frozen_graph import FrozenWeightsChangedError
from optimizers.plan_backend import PlanBackend, direction_of
from optimizers.plan_candidates import chosen_candidates
from optimizers.python_fallbacks import python_fallbacks


class Observer(Protocol):
    """Is told of every compilation as it happens, so that another process can say which one hung or crashed."""

    def compiling(self, key: GraphKey, candidate: AnyCandidate) -> None: ...
    def compiled(
        self, key: GraphKey, candidate: AnyCandidate, dynamo: GraphModule, aot: GraphModule | None
    ) -> None: ...
    def counted(
        self, key: GraphKey, candidate: AnyCandidate, traffic_bytes: int | None, kernels: tuple[KernelFacts, ...]
    ) -> None: ...
    def ordered(self, key: GraphKey, candidate: AnyCandidate, calls: CallOrder | None) -> None: ...
    def generated(self, key: GraphKey, candidate: AnyCandidate, code: str) -> None: ...
    def refused(self, key: GraphKey, reasons: tuple[str, ...]) -> None: ...
    def finished(self, key: GraphKey, candidate: AnyCandidate) -> None: ...


@dataclass(frozen=True, slots=True)
class Failure:
    """A candidate that could not be had for a graph. `is_ours`: neither torch nor the model is at fault."""

    outcome: TrialOutcome
    reason: str
    is_ours: bool = False


OUT_OF_TIME: Final = "the search's time was over before it was compiled"

Skips = Mapping[tuple[str, str], Failure]


@dataclass(slots=True)
class SwitchedGraph:
    """One captured graph with every candidate that compiled, and the one that runs now. Keys are ids of pairs."""

    digest: str
    direction: Direction
    variants: dict[str, Callable[..., Any]] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    fallbacks: dict[str, list[str]] = field(default_factory=dict)
    compilations: dict[str, WatchedCompile] = field(default_factory=dict)
    kept_bytes: dict[str, int] = field(default_factory=dict)
    """What each beside the default keeps on the device, as frozen weights."""
    active: Callable[..., Any] | None = None
    next_call: Callable[..., Any] | None = None
    """What compiles further candidates in the next call, whatever is selected; None where none are wanted."""
    captured: GraphModule | None = None
    again: Callable[[], AbstractContextManager[None]] | None = None
    """What further candidates are compiled in after Dynamo has left; None where they cannot be."""

    def select(self, candidate: str) -> None:
        """Run `candidate` from the next call on; the baseline where it could not be had."""
        self.active = (
            self.next_call
            or self.variants.get(candidate)
            or self.variants.get(FUSED.id)
            or next(iter(self.variants.values()))
        )

    def has_failed(self, candidate: str) -> bool:
        """Whether it cannot be had; what there was no time for may be had later."""
        failure = self.failures.get(candidate)
        return failure is not None and failure.outcome is not TrialOutcome.UNTRIED

    def __call__(self, *args: Any) -> Any:
        return self.active(*args)  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class Watch:
    """What is put around every compilation and call of a measured run; what is compiled is what production compiles."""

    device: str
    probe: Probe
    observer: Observer
    is_over: Callable[[], bool] = lambda: False
    """Whether no time is left to compile anything but the default."""


class WatchedCompile:
    """One compilation of one graph, watched: each AOT program is announced, each call goes through the probe."""

    def __init__(self, watch: Watch, key: GraphKey, candidate: AnyCandidate, dynamo: GraphModule) -> None:
        self.key = key
        """Its direction is corrected by AOTAutograd: a graph whose inputs want gradients and whose outputs cannot
        have any is an inference one after all."""
        self.fallbacks: list[str] = []
        """The operators that its C++ wrapper calls through Python; a backward's are added as it is compiled."""
        self.is_partitioned = False
        """Whether torch made several programs of it; a backward's is added as it is compiled."""
        self._watch = watch
        self._named = candidate
        """What the observer is told: a pair under its own name, so that what it costs is not its forward's."""
        self._candidate = candidate.forward if isinstance(candidate, Pair) else candidate
        self._dynamo = dynamo

    def compile(self, inputs: Sequence[Any], backward: Candidate) -> Callable[..., Any]:
        """The compiled graph, observed. Raises what the compiler raises."""
        observer = self._watch.observer
        observer.compiling(self.key, self._named)
        try:
            if not self._candidate.is_inductors:
                observer.compiled(self.key, self._named, self._dynamo, None)
            call = compile_candidate(self._dynamo, inputs, self._candidate, backward, self)
        finally:
            observer.finished(self.key, self._named)
        return self._watch.probe.around(self.key, call)

    def before(self, direction: Direction, aot: GraphModule) -> None:
        key = GraphKey(self.key.digest, direction)
        if direction is not Direction.BACKWARD:
            self.key = key
        self._watch.observer.compiling(key, self._named)
        self._watch.observer.compiled(key, self._named, self._dynamo, aot)

    def compile_inner(
        self, aot: GraphModule, inputs: Sequence[Any], patches: dict[str, object], kwargs: Mapping[str, Any]
    ) -> Any:
        return torch_compat.compile_inner_noting(aot, inputs, patches, kwargs)

    def after(self, direction: Direction, output_code: Any) -> None:
        key = GraphKey(self.key.digest, direction)
        reasons = torch_compat.cuda_graph_refusals(output_code) if self._candidate.uses_cuda_graphs else ()
        kernels = torch_compat.kernel_facts(output_code)
        self._watch.observer.counted(key, self._named, torch_compat.traffic_bytes(output_code), kernels)
        self._watch.observer.ordered(key, self._named, torch_compat.call_order(output_code))
        code = torch_compat.generated_code(output_code)
        self.is_partitioned |= torch_compat.is_partitioned(output_code)
        if code is not None:
            self._watch.observer.generated(key, self._named, code)
            if self._candidate.uses_cpp_wrapper:
                called = python_fallbacks(code, self._watch.device)
                self.fallbacks += [op for op in called if op not in self.fallbacks]
        if reasons:
            self._watch.observer.refused(key, reasons)
        if direction is Direction.BACKWARD:
            torch_compat.wrap_compiled(output_code, lambda call: self._watch.probe.around(key, call))
        self._watch.observer.finished(key, self._named)

    def weights_changed(self) -> None:
        raise FrozenWeightsChangedError


class SwitchBackend:
    """Compiles each graph under several candidates in one capture, and switches between them without compiling.

    Trials can so be taken in turn, and Dynamo traces the model once, not once a candidate. Every graph gets the
    baseline, and those named in `wanted` (by digest) these candidates beside it; a Pair is one for the forward with
    another for the backward. `skip` names what must not be tried again, by (digest, id), with what it did.
    """

    def __init__(self, wanted: Mapping[str, Sequence[AnyCandidate]], watch: Watch, skip: Skips | None = None) -> None:
        self.graphs: list[SwitchedGraph] = []
        self._wanted = {digest: tuple(map(_pair, candidates)) for digest, candidates in wanted.items()}
        self._watch = watch
        self._skip = dict(skip or {})
        self._selected: dict[str, str] = {}

    def __call__(self, gm: GraphModule, inputs: Sequence[Any], **_: Any) -> Callable[..., Any]:
        again = torch_compat.compiling_again(gm)
        graph = SwitchedGraph(graph_digest(gm, inputs), direction_of(inputs), captured=gm, again=again)
        self._add(graph, (_pair(FUSED), *self._wanted.get(graph.digest, ())), gm, inputs)
        if FUSED.id in graph.failures:
            self._leave_as_captured(graph, gm)
        graph.select(self._selected.get(graph.digest, FUSED.id))
        self.graphs.append(graph)
        return graph

    @property
    def is_open(self) -> bool:
        """Whether `extend` can be had: for every graph there is a way to compile it once more."""
        return bool(self.graphs) and all(graph.again is not None for graph in self.graphs)

    def extend(self, wanted: Mapping[str, Sequence[AnyCandidate]]) -> None:
        """Compile these beside what there is, each graph in its next call, on the inputs of that call.

        Nothing that was compiled before is touched: neither Dynamo nor the default is asked again.
        """
        self._wanted = {digest: tuple(map(_pair, candidates)) for digest, candidates in wanted.items()}
        for graph in self.graphs:
            pairs = self._wanted.get(graph.digest, ())
            missing = [pair for pair in pairs if pair.id not in graph.variants and not graph.has_failed(pair.id)]
            if missing:
                graph.active = graph.next_call = partial(self._add_and_run, graph, missing)

    def _add_and_run(self, graph: SwitchedGraph, pairs: Sequence[Pair], *args: Any) -> Any:
        assert graph.again is not None
        assert graph.captured is not None
        self._add(graph, pairs, graph.captured, args, again=graph.again)
        graph.next_call = None
        graph.select(self._selected.get(graph.digest, FUSED.id))
        return graph(*args)

    def select(self, choices: Mapping[str, str]) -> None:
        """Run each graph of `choices` (by digest) under its candidate and all others under the baseline."""
        self._selected = dict(choices)
        for graph in self.graphs:
            graph.select(choices.get(graph.digest, FUSED.id))

    def failure(self, digest: str, candidate: str) -> Failure | None:
        """What went wrong with a candidate for the graphs of this digest, None where it runs."""
        same = (graph for graph in self.graphs if graph.digest == digest)
        return next((graph.failures[candidate] for graph in same if candidate in graph.failures), None)

    def python_fallbacks(self, digest: str, candidate: str) -> tuple[str, ...]:
        """The operators that the C++ wrapper of this candidate calls through Python, for the graphs of this digest."""
        same = (graph.fallbacks.get(candidate, ()) for graph in self.graphs if graph.digest == digest)
        return tuple(dict.fromkeys(op for ops in same for op in ops))

    def kept_bytes(self, besides: Mapping[str, str]) -> int:
        """What all candidates keep on the device, but for these choices (by digest)."""
        kept = ((graph.digest, name, size) for graph in self.graphs for name, size in graph.kept_bytes.items())
        return sum(size for digest, name, size in kept if name != besides.get(digest))

    def is_partitioned(self, digest: str, candidate: str) -> bool:
        """Whether torch made several programs of this candidate, forward or backward, for a graph of this digest."""
        same = (graph.compilations.get(candidate) for graph in self.graphs if graph.digest == digest)
        return any(compilation is not None and compilation.is_partitioned for compilation in same)

    def _leave_as_captured(self, graph: SwitchedGraph, gm: GraphModule) -> None:
        """The default could not be had: in its place the graph runs as captured, and its failures say why."""
        key = GraphKey(graph.digest, graph.direction)
        self._watch.observer.compiled(key, FUSED, gm, None)
        graph.variants[FUSED.id] = self._watch.probe.around(key, gm.forward)

    def _add(
        self,
        graph: SwitchedGraph,
        pairs: Sequence[Pair],
        gm: GraphModule,
        inputs: Sequence[Any],
        *,
        again: Callable[[], AbstractContextManager[None]] | None = None,
    ) -> None:
        """Compile these beside what there is, one right after another; `again` as in `SwitchedGraph`, after Dynamo has
        left.
        """
        growth: Growth | None = None
        for pair in pairs:
            if pair.id in graph.variants:
                continue
            known = self._known_failure(graph, pair)
            if known is not None:
                graph.failures[pair.id] = known
                continue
            if growth is None and pair.id != FUSED.id:  # the default lies beside every trial
                growth = Growth(self._watch.device)
            # The setting of each compilation is put up and taken down with it, as if Dynamo had asked for it alone.
            with contextlib.nullcontext() if again is None else again():
                self._compile(graph, pair, gm, inputs, is_late=again is not None)
            if growth is not None:
                graph.kept_bytes[pair.id] = growth.bytes()

    def _known_failure(self, graph: SwitchedGraph, pair: Pair) -> Failure | None:
        """Why it is not compiled; None where it is."""
        refusal = pair.refusal(self._watch.device, graph.direction, torch_compat.torch_version())
        known = Failure(TrialOutcome.REFUSED, refusal) if refusal else self._skip.get((graph.digest, pair.id))
        if known is None and pair.id != FUSED.id and self._watch.is_over():
            return Failure(TrialOutcome.UNTRIED, OUT_OF_TIME)
        return known

    def _compile(
        self, graph: SwitchedGraph, pair: Pair, gm: GraphModule, inputs: Sequence[Any], *, is_late: bool
    ) -> None:
        graph.failures.pop(pair.id, None)
        named = pair.forward if pair.is_single else pair
        watched = WatchedCompile(self._watch, GraphKey(graph.digest, graph.direction), named, gm)
        is_first = not graph.variants and not is_late
        try:
            with contextlib.nullcontext() if is_first else torch_compat.compiling_beside():
                graph.variants[pair.id] = watched.compile(inputs, pair.backward)
        except torch_compat.RestartAnalysis as error:
            if not is_late:
                raise  # Dynamo waits for it: the graph is captured anew
            graph.failures[pair.id] = failure_of(error)
        except Exception as error:  # whatever a compiler raises costs the candidate, not the run
            graph.failures[pair.id] = failure_of(error)
        graph.fallbacks[pair.id] = watched.fallbacks
        graph.compilations[pair.id] = watched
        graph.direction = watched.key.direction


def _pair(candidate: AnyCandidate) -> Pair:
    return candidate if isinstance(candidate, Pair) else Pair(candidate, candidate)


class WatchedPlan(PlanBackend):
    """Carries out a plan as production does, with every compilation and call watched."""

    def __init__(self, plan: Plan, watch: Watch) -> None:
        super().__init__(chosen_candidates(plan), FUSED)
        self._watch = watch

    def compile(
        self, gm: GraphModule, inputs: Sequence[Any], forward: Candidate, backward: Candidate
    ) -> Callable[..., Any]:
        key = GraphKey(graph_digest(gm, inputs), direction_of(inputs))
        return WatchedCompile(self._watch, key, forward, gm).compile(inputs, backward)


def failure_of(error: BaseException) -> Failure:
    """What an exception from compiling or running a candidate means for it."""
    if isinstance(error, RefusedError | FrozenWeightsChangedError):
        return Failure(TrialOutcome.REFUSED, str(error))
    place = hook_fault(error)
    if place is not None:
        return Failure(TrialOutcome.FAILED, f"failed in Graphbound itself, at {place}: {describe(error)}", is_ours=True)
    outcome = TrialOutcome.OUT_OF_MEMORY if is_out_of_memory(error) else TrialOutcome.FAILED
    return Failure(outcome, describe(error))

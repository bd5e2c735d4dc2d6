"""What the search is told of the diagnosis: what each graph costs, what is predicted for it, and what may be tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from analyzer.core.budget import Part
from analyzer.core.device import Device
from analyzer.core.errors import UsageError
from analyzer.core.graphs import Capture, Direction, GraphKey
from analyzer.core.quantities import NS_PER_S
from analyzer.core.settings import RunSettings
from analyzer.core.spelling import did_you_mean
from analyzer.core.timing import RegionTiming, Timing
from analyzer.core.verdict import Bound
from analyzer.derive.budget import RegionBudget
from analyzer.derive.predict import (
    Replayed,
    host_lead_ns,
    predict_cpp_wrapper,
    predict_cpp_wrapper_on_cpu,
    predict_cuda_graphs,
)
from analyzer.diagnosis import Judged
from analyzer.doubts import DRIFT
from analyzer.measured import Measured
from optimizers.candidates.combine import combined
from optimizers.candidates.cpp_wrapper import CPP_WRAPPER
from optimizers.candidates.cpp_wrapper_cuda_graph import CPP_WRAPPER_CUDA_GRAPH
from optimizers.candidates.cpp_wrapper_eager import CPP_WRAPPER_EAGER
from optimizers.candidates.cuda_graphs import CUDA_GRAPHS
from optimizers.candidates.cuda_graphs_whole import CUDA_GRAPHS_WHOLE
from optimizers.candidates.eager import EAGER
from optimizers.candidates.known import candidate_of, known_candidates
from optimizers.candidates.pair import AnyCandidate, changes_of, pair_of
from optimizers.candidates.registered_backend import PREFIX, backend_candidate
from optimizers.contenders import Contenders, Site, contenders
from optimizers.plan import read_plan, release_of
from optimizers.plan_candidates import chosen_candidates
from optimizers.trials import Target

_REPLAYED: Final = (CUDA_GRAPHS.id, CUDA_GRAPHS_WHOLE.id, CPP_WRAPPER_CUDA_GRAPH.id)
"""What is replayed is the same kernels, however they were recorded."""

_FROM_CPP: Final = (CPP_WRAPPER.id, CPP_WRAPPER_EAGER.id)

_FOR_TESTS: Final = "_TESTING_ONLY"
"""How torch's own backends end that fail on purpose."""

Ns = TypeVar("Ns", int, float)


def require_candidates(wanted: Sequence[str]) -> None:
    """Raises UsageError for a name that is no candidate's, no combination's and no pair's."""
    for name in wanted:
        try:
            pair_of(name)
        except KeyError as error:
            known = ", ".join(candidate.id for candidate in known_candidates())
            said = f"no such candidate: {error.args[0]}"
            raise UsageError(said, hint=f"choose of {known}, or join two that go together with +") from None


def named_backends(settings: RunSettings) -> tuple[str, ...]:
    """The backends of `torch.compile` that the user named, by flag, as candidates or in the plan to verify."""
    parts = (part.forward for name in settings.candidates for part in [pair_of(name)])
    named = (candidate.backend for candidate in parts if candidate.id.startswith(PREFIX))
    planned = chosen_candidates(read_plan(settings.plan)).values() if settings.plan is not None else ()
    return (
        *settings.backends,
        *(name for name in named if name is not None),
        *dict.fromkeys(candidate.backend for candidate in planned if candidate.backend is not None),
    )


def require_backends(wanted: Sequence[str], known: Sequence[str]) -> None:
    """Raises UsageError for a backend that torch does not know in the model's process."""
    for name in wanted:
        if name not in known:
            usable = [each for each in known if not each.endswith(_FOR_TESTS)]
            hint = did_you_mean(name, known) or f"there are {', '.join(usable)}"
            raise UsageError(f"torch.compile knows no backend {name!r} here", hint=hint)


def require_allowed(candidates: Sequence[str], allow: Sequence[str]) -> None:
    """Raises UsageError for a candidate that changes results in a way that was not allowed."""
    for name in candidates:
        missing = [change for change in changes_of([name]) if change not in allow]
        if missing:
            given = ",".join((*allow, *missing))
            raise UsageError(f"{name} may change the model's results", hint=f"allow it with --allow {given}")


def contenders_for(settings: RunSettings, measured: Measured) -> Contenders:
    """What may be tried: all that keeps the meaning, or what the user named; always the backends that were named, and
    the changes of meaning that were allowed.
    """
    backends = tuple(backend_candidate(name) for name in settings.backends)
    named = tuple(map(pair_of, settings.candidates))
    asked = (*(pair.forward if pair.is_single else pair for pair in named), *backends)
    known = [candidate for candidate in known_candidates(settings.backends) if not candidate.changes]
    some: tuple[AnyCandidate, ...] = asked if named else tuple(known)
    allowed = tuple(candidate_of(change) for change in settings.allow)
    some += tuple(candidate for candidate in allowed if candidate not in some)
    return contenders(some, combined, _site(measured), (candidate.id for candidate in asked))


def _site(measured: Measured) -> Site:
    device = measured.facts.device if measured.facts is not None else "cpu"
    return Site(device, release_of(measured.versions.torch) if measured.versions is not None else None)


def predictions(measured: Measured) -> dict[GraphKey, int]:
    """For each graph, what a step of it is predicted to take as a CUDA graph, in ns; graphs without one left out."""
    if measured.before is None or measured.device is None:
        return {}
    found: dict[GraphKey, int] = {}
    for judged in measured.before.regions:
        busy_ns, kernels = judged.budget.busy_ns, judged.budget.kernels_per_step
        if not isinstance(judged.region, GraphKey) or busy_ns is None or kernels is None:
            continue
        region = replayed(judged.region, (busy_ns, kernels), measured.timing, measured.capture)
        predicted = predict_cuda_graphs(region, measured.device)
        if predicted is not None:
            found[judged.region] = predicted
    return found


def targets_of(measured: Measured) -> tuple[Target, ...]:
    """One target a digest: its forward and backward together."""
    return tuple(target for digest in measured.digests if (target := _target(digest, measured)) is not None)


def _target(digest: str, measured: Measured) -> Target | None:
    timing = measured.timing
    if timing is None:
        return None
    step_ns = timing.step_ns.median_ns
    mine = [r for r in timing.regions if isinstance(r.region, GraphKey) and r.region.digest == digest]
    judged = [j for r in mine if measured.before and (j := measured.before.judged(r.region))]
    # Budgets are on the scale of steps without a probe, as are the predictions that are made of them.
    timed_ns = sum(region.elapsed_ns.median_ns for region in mine)
    elapsed_ns = round(_total(judged, _elapsed_ns) or timed_ns)
    if not elapsed_ns:
        return None  # captured, and not called in a steady step
    compile_ns = measured.compile_ns.get(digest)
    # Of a step that others stretched no share is that of the model, and nothing may be left out for it.
    relied_on = judged if _is_reliable(measured) else []
    return Target(
        digest=digest,
        elapsed_ns=elapsed_ns,
        share=min(elapsed_ns / step_ns, 1.0),
        predicted_ns=_predicted(mine, judged, measured, elapsed_ns),
        starved_share=_share_of(relied_on, step_ns, _starved_ns),
        bound=_bound(relied_on),
        kernel_room=_share_of(relied_on, step_ns, _room_ns),
        compile_s=None if compile_ns is None else compile_ns / NS_PER_S,
        has_backward=any(isinstance(r.region, GraphKey) and r.region.direction is Direction.BACKWARD for r in mine),
        outline=measured.outlines.get(digest),
        paced=frozenset((EAGER.id, *_FROM_CPP)),
    )


def _is_reliable(measured: Measured) -> bool:
    """Whether the clean pass shows the model alone: nobody else was busy, and its step is that of the steps in turn."""
    timing, default_ns = measured.timing, measured.default_ns
    if timing is None or (timing.crowd is not None and timing.crowd.is_crowded):
        return False
    if default_ns is None:
        return True
    passes = sorted((timing.step_ns.median_ns, default_ns.median_ns))
    return passes[1] <= DRIFT * passes[0]


def _predicted(
    mine: Sequence[RegionTiming], judged: Sequence[Judged], measured: Measured, elapsed_ns: int
) -> dict[str, int | None]:
    """By candidate, forward and backward together; None where either is not predicted."""
    keys = [r.region for r in mine if isinstance(r.region, GraphKey)]
    is_host = measured.facts is not None and measured.facts.device == "cpu"
    replay_ns = None if is_host else _sum([measured.predicted_ns.get(key) for key in keys])
    cpp_ns = _sum([_from_cpp_ns(j.budget, measured.device if is_host else None) for j in judged])
    found: dict[str, int | None] = {EAGER.id: _as_it_is_ns(mine, measured, elapsed_ns)}
    found.update(dict.fromkeys(_REPLAYED, replay_ns))
    # A direction that was timed and not seen by the profiler would be missing from the sum.
    found.update(dict.fromkeys(_FROM_CPP, cpp_ns if len(judged) == len(keys) else None))
    return found


def _from_cpp_ns(region: RegionBudget, cpu: Device | None) -> int | None:
    """With the C++ wrapper; `cpu` None: on a GPU."""
    if region.budget is None:
        return None
    if cpu is None:
        return predict_cpp_wrapper(region.budget)
    return predict_cpp_wrapper_on_cpu(region.budget, region.kernels_per_step, cpu)


def _as_it_is_ns(mine: Sequence[RegionTiming], measured: Measured, elapsed_ns: int) -> int | None:
    """What the only graph of a step takes without a compiler: all that the step without one takes longer, in turn.

    As a share of the default's step, for the machine may have drifted since the clean pass. None where that would
    leave it no time at all: what is saved then lies outside the graph.
    """
    timing, eager_ns, default_ns = measured.timing, measured.eager_ns, measured.default_ns
    graphs = [r for r in timing.regions if isinstance(r.region, GraphKey)] if timing else []
    if timing is None or len(graphs) != len(mine) or eager_ns is None or default_ns is None:
        return None
    longer = (eager_ns.median_ns - default_ns.median_ns) / max(default_ns.median_ns, 1)
    found_ns = round(elapsed_ns + longer * timing.step_ns.median_ns)
    return found_ns if found_ns > 0 else None


def _sum(values: Sequence[Ns | None]) -> Ns | None:
    """Of all of them; None where there is none, or any is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _elapsed_ns(region: RegionBudget) -> int | None:
    return None if region.budget is None else region.budget.elapsed_ns


def _starved_ns(region: RegionBudget) -> int | None:
    return None if region.budget is None else region.budget.ns(Part.STARVED)


def _room_ns(region: RegionBudget) -> float | None:
    """What the kernels take beyond the higher of their two roofs; a kernel without a roof has all its time as room."""
    total = sum(kernel.ns for kernel in region.kernels)
    if region.busy_ns is None or not total:
        return None
    roofs = (max(kernel.compute_ns or 0.0, kernel.memory_ns or 0.0) for kernel in region.kernels)
    room = sum(max(0.0, kernel.ns - roof) for kernel, roof in zip(region.kernels, roofs, strict=True))
    return region.busy_ns * room / total


def _share_of(judged: Sequence[Judged], step_ns: int, ns_of: Callable[[RegionBudget], float | None]) -> float | None:
    total_ns = _total(judged, ns_of)
    return None if total_ns is None else total_ns / step_ns


def _total(judged: Sequence[Judged], ns_of: Callable[[RegionBudget], float | None]) -> float | None:
    """Of all of them together; None where it is not known of any."""
    return _sum([ns_of(j.budget) for j in judged])


def _bound(judged: Sequence[Judged]) -> Bound:
    """The verdict of the costlier direction."""
    timed = [(j.budget.budget.elapsed_ns, j.verdict.bound) for j in judged if j.budget.budget is not None]
    return max(timed, key=lambda pair: pair[0])[1] if timed else Bound.UNDECIDED


def replayed(key: GraphKey, work: tuple[int, float], timing: Timing | None, capture: Capture | None) -> Replayed:
    """What is to be predicted of a graph; `work` is its device time in ns and its kernels, of a step."""
    busy_ns, kernels = work
    graph = next((g for g in capture.graphs if g.key == key), None) if capture else None
    timed = next((r for r in timing.regions if r.region == key), None) if timing else None
    return Replayed(
        busy_ns=busy_ns,
        kernels=kernels,
        calls=timed.calls_per_step if timed else 1.0,
        lead_ns=host_lead_ns(timing, key) if timing else 0,
        copied_bytes=graph.copied_bytes if graph else None,
        inputs=graph.inputs if graph else None,
    )

"""What the search is told of the diagnosis: which graphs cost what, and what is predicted for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from analyzer.core.budget import Part
from analyzer.core.errors import UsageError
from analyzer.core.graphs import Capture, GraphKey
from analyzer.core.timing import Timing
from analyzer.derive.predict import Replayed, host_lead_ns, predict_cuda_graphs
from analyzer.diagnosis import Judged
from analyzer.measured import Measured
from optimizers.candidates import CANDIDATES
from optimizers.candidates.cpp_wrapper import CPP_WRAPPER
from optimizers.candidates.cuda_graphs import CUDA_GRAPHS
from optimizers.candidates.eager import EAGER
from optimizers.search import Target

# The C++ wrapper takes 1.1 to 8 times as long to compile, so what is cheap to try goes before it.
_STAGES_ON_GPU: Final = ((CUDA_GRAPHS.id, EAGER.id), (CPP_WRAPPER.id,))
_STAGES_ON_CPU: Final = ((CUDA_GRAPHS.id, CPP_WRAPPER.id, EAGER.id),)


def require_candidates(wanted: Sequence[str]) -> None:
    """Raises UsageError for a name that is no candidate's."""
    known = [candidate.id for candidate in CANDIDATES]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise UsageError(f"no such candidate: {', '.join(unknown)}", hint=f"choose of {', '.join(known)}")


def stages_for(measured: Measured, wanted: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The candidates to try, in groups compiled together; `wanted` empty means all."""
    is_cpu = measured.facts is not None and measured.facts.device == "cpu"
    stages = _STAGES_ON_CPU if is_cpu else _STAGES_ON_GPU
    chosen = (tuple(c for c in stage if not wanted or c in wanted) for stage in stages)
    return tuple(stage for stage in chosen if stage)


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
    elapsed_ns = sum(region.elapsed_ns.median_ns for region in mine)
    if not elapsed_ns:
        return None  # captured, and not called in a steady step
    judged = [j for r in mine if measured.before and (j := measured.before.judged(r.region))]
    predicted = [measured.predicted_ns.get(r.region) for r in mine if isinstance(r.region, GraphKey)]
    known = [ns for ns in predicted if ns is not None]
    together = sum(known) if known and len(known) == len(predicted) else None
    return Target(
        digest=digest,
        elapsed_ns=elapsed_ns,
        share=min(elapsed_ns / step_ns, 1.0),
        predicted_ns={CUDA_GRAPHS.id: together},
        starved_share=_starved_share(judged, step_ns),
    )


def _starved_share(judged: Sequence[Judged], step_ns: int) -> float | None:
    budgets = [j.budget.budget for j in judged]
    if not budgets or any(budget is None for budget in budgets):
        return None
    return sum(budget.ns(Part.STARVED) for budget in budgets if budget is not None) / step_ns


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
    )

"""What is kept of a case's run, and what its report says bounds it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from analyzer.core.budget import Part
from analyzer.core.verdict import Bound

_BOUND_OF_PART: Final = {
    Part.STARVED.value: Bound.CPU,
    Part.COMPUTE.value: Bound.COMPUTE,
    Part.MEMORY.value: Bound.MEMORY,
    Part.LATENCY.value: Bound.LATENCY,
}

CASE_LIMIT_S: Final = 300.0
"""One case at most: the slowest compile seen takes 60 s on two cores, and is captured twice in training."""

STOPPED: Final = -1
"""The exit code that a run is given which was stopped, or not begun."""

_KEPT: Final = (
    "headline",
    "workload",
    "device",
    "versions",
    "findings",
    "rule_failures",
    "step_budget",
    "linked_share",
    "profiler_slowdown",
    "notes",
    "partial",
    "stages",
)
_KEPT_OF_REGION: Final = ("key", "where", "calls_per_step", "kernels_per_step", "verdict", "budget")
_KEPT_OF_CANDIDATE: Final = ("candidate", "outcome", "reason", "measured_ns", "baseline_ns")


@dataclass(frozen=True, slots=True)
class CaseRun:
    """One `analyze CASE`. `report` is the JSON it printed, trimmed; None where it printed none, and `error` says why.

    `step_ns` is the median clean step. `date` None: that of the recording.
    """

    case: str
    mode: str
    exit_code: int
    wall_s: float
    step_ns: int | None = None
    report: dict[str, Any] | None = None
    error: str | None = None
    date: str | None = None

    @property
    def is_cut_short(self) -> bool:
        """Whether the time of the whole recording ended before the case's own: that says nothing of the product."""
        return self.report is None and self.exit_code == STOPPED and self.wall_s < CASE_LIMIT_S


@dataclass(frozen=True, slots=True)
class CaseRecording:
    """`date` is that of its last session; a run of an earlier one names its own."""

    device: str
    date: str
    runs: tuple[CaseRun, ...]
    notes: tuple[str, ...] = field(default=())


def trimmed(report: dict[str, Any]) -> dict[str, Any]:
    """The report without its samples and captured sources; of a candidate what became of it, and why."""
    kept = {name: report.get(name) for name in _KEPT}
    for regions in ("graphs", "eager_gaps"):
        kept[regions] = [{name: r.get(name) for name in _KEPT_OF_REGION} for r in report.get(regions, ())]
    for graph, whole in zip(kept["graphs"], report.get("graphs", ()), strict=True):
        tried = whole.get("candidates") or ()
        graph["candidates"] = [{name: one.get(name) for name in _KEPT_OF_CANDIDATE} for one in tried]
    capture = report.get("capture") or {}
    kept["capture"] = {name: capture.get(name) for name in ("breaks", "recompiles", "skips", "compile_ns")}
    return kept


@dataclass(frozen=True, slots=True)
class Observed:
    """The bound of the whole step, by the largest part of its budget; UNDECIDED where that part has no bound.

    `confidence` is that of the region which takes most of the step, where it has the same bound; None elsewhere.
    `share` is the largest part's, `part` its name.
    """

    bound: Bound
    part: str | None
    share: float | None
    confidence: float | None
    rules: tuple[str, ...]


def observed(report: dict[str, Any]) -> Observed:
    budget = report.get("step_budget")
    rules = tuple(dict.fromkeys(f["rule"] for f in report.get("findings") or ()))
    if not budget or not budget["parts"]:
        return Observed(Bound.UNDECIDED, None, None, None, rules)
    largest = max(budget["parts"], key=lambda part: part["ns"])
    bound = _BOUND_OF_PART.get(largest["name"], Bound.UNDECIDED)
    share = largest["ns"] / budget["elapsed_ns"] if budget["elapsed_ns"] else None
    return Observed(bound, largest["name"], share, _confidence(report, bound), rules)


def sure_verdicts(report: dict[str, Any], least: float) -> tuple[tuple[str, Bound, float, float], ...]:
    """Every region's verdict of confidence `least` and more: its key, bound, confidence and share of the step."""
    whole = (report.get("step_budget") or {}).get("elapsed_ns") or 0
    found = []
    for region in _regions(report):
        verdict, budget = region["verdict"], region.get("budget")
        if verdict["confidence"] is None or verdict["confidence"] < least or not budget or not whole:
            continue
        share = budget["elapsed_ns"] / whole
        found.append((str(region["key"]), Bound(verdict["bound"]), float(verdict["confidence"]), float(share)))
    return tuple(found)


def _regions(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [*(report.get("graphs") or ()), *(report.get("eager_gaps") or ())]


def _confidence(report: dict[str, Any], bound: Bound) -> float | None:
    timed = [r for r in _regions(report) if r.get("budget")]
    same = [r for r in timed if r["verdict"]["bound"] == bound.value and r["verdict"]["confidence"] is not None]
    if not same or bound is Bound.UNDECIDED:
        return None
    return float(max(same, key=lambda r: r["budget"]["elapsed_ns"])["verdict"]["confidence"])

"""What a budget says would go away, against what went away when the graph was replayed or its work was halved."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from analyzer.core.budget import Budget, Part
from analyzer.core.device import Device
from analyzer.core.errors import GraphboundError
from analyzer.core.verdict import Bound, Verdict
from analyzer.derive.predict import predict_cuda_graphs
from analyzer.diagnosis import diagnose
from benchmarks.verdicts.judged_kernels import judged_kernels
from benchmarks.verdicts.recorded import InterventionRecording, ModelRun, Scaled, ScaledRuns, region_of, timing_of
from benchmarks.verdicts.result import Check, Section, Stated, Table
from benchmarks.verdicts.scaled_ratio import median_ratio

ASKED_GRAPHS: Final = 40
ASKED_MEDIAN: Final = 0.05
ASKED_TAIL: Final = 0.15
FOLLOWS_WITHIN: Final = 0.15
"""Of the ratio that the verdict foretells, as a difference of ratios: two kernels of one kind reach their roof
equally well only to within some ten per cent."""

KERNEL_PARTS: Final = (Part.COMPUTE, Part.MEMORY, Part.LATENCY, Part.UNKNOWN_KERNELS)
_KERNEL_BOUNDS: Final = (Bound.COMPUTE, Bound.MEMORY, Bound.LATENCY)


@dataclass(frozen=True, slots=True)
class ReplayedGraph:
    """One graph, its budget before, and the step with it replayed. `predicted_ns` is our prediction of what the
    replay saves (starved time less the gaps and the replay itself), None where the device lacks a figure.
    """

    model: str
    key: str
    step_ns: int
    budget: Budget
    verdict: Verdict
    removed_ns: int
    predicted_ns: int | None

    @property
    def starved_ns(self) -> int:
        return self.budget.ns(Part.STARVED)

    @property
    def error(self) -> float:
        """Predicted starved time against what went away, as a share of the step."""
        return (self.starved_ns - self.removed_ns) / self.step_ns

    @property
    def prediction_error(self) -> float | None:
        return None if self.predicted_ns is None else (self.predicted_ns - self.removed_ns) / self.step_ns

    @property
    def is_right(self) -> bool | None:
        """Whether the verdict holds: more went away than its largest kernel part, or less. None where undecided."""
        largest = max(self.budget.ns(part) for part in KERNEL_PARTS)
        if self.verdict.bound is Bound.CPU:
            return self.removed_ns >= largest
        return self.removed_ns <= largest if self.verdict.bound in _KERNEL_BOUNDS else None


def evaluate_interventions(recording: InterventionRecording, traces: Path) -> Section:
    """The section on interventions. `traces` is the zip of traces."""
    device = recording.machine.device
    graphs: list[ReplayedGraph] = []
    notes: list[str] = list(recording.notes)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(traces) as archive:
        for run in recording.models:
            found, reasons = _graphs(run, archive, Path(folder), device)
            graphs += found
            notes += reasons
        scaled = _scaled(recording.scaled, archive, Path(folder), device) if recording.scaled is not None else ()
    if device.kind != "cuda" and scaled:
        # In miniature both of a pair may be cut to one size, so that its ratios say nothing.
        scaled = ()
        notes.append("the pairs were recorded in miniature: their times are not judged")
    stated = tuple(_stated(graphs))
    return Section(
        title="Interventions",
        where=f"{device.name}, torch {recording.machine.versions.torch}, {recording.machine.date}",
        checks=(*_replay_checks(graphs), *_scaled_checks(scaled)),
        tables=(_error_table(graphs), _all_graphs(graphs), _verdicts(graphs), _scaled_table(scaled)),
        stated=stated,
        notes=tuple(notes),
    )


def _graphs(
    run: ModelRun, archive: zipfile.ZipFile, folder: Path, device: Device
) -> tuple[list[ReplayedGraph], list[str]]:
    if run.error is not None or run.timing is None or run.trace is None:
        return [], [f"{run.name}: {run.error or 'not measured'}"]
    try:
        diagnosis = diagnose(
            timing_of(run.timing), Path(archive.extract(run.trace, folder)), run.capture, device, run.environment
        )
    except GraphboundError as error:
        return [], [f"{run.name}: {error.message}"]
    found: list[ReplayedGraph] = []
    notes: list[str] = []
    for replay in run.replays:
        if replay.key is None:
            continue
        judged = diagnosis.judged(region_of(replay.key))
        if replay.step_ns is None or replay.against_ns is None:
            notes.append(f"{run.name} {replay.key}: {replay.outcome}: {replay.reason or 'no reason given'}"[:200])
            continue
        if judged is None or judged.budget.budget is None:
            notes.append(f"{run.name} {replay.key}: no budget: {judged.budget.missing if judged else 'no such region'}")
            continue
        budget, before = judged.budget, replay.against_ns.median_ns
        after_ns = (
            predict_cuda_graphs(budget.busy_ns, budget.kernels_per_step, device)
            if budget.busy_ns is not None and budget.kernels_per_step is not None
            else None
        )
        found.append(
            ReplayedGraph(
                model=run.name,
                key=replay.key,
                step_ns=before,
                budget=judged.budget.budget,
                verdict=judged.verdict,
                removed_ns=before - replay.step_ns.median_ns,
                predicted_ns=None if after_ns is None else judged.budget.budget.elapsed_ns - after_ns,
            )
        )
    return found, notes


def _replay_checks(graphs: Sequence[ReplayedGraph]) -> tuple[Check, ...]:
    errors = [abs(g.error) for g in graphs]
    predicted = [abs(e) for g in graphs if (e := g.prediction_error) is not None]
    return (
        Check("graphs replayed", ASKED_GRAPHS, float(len(graphs)), len(graphs)),
        Check(
            "starved time against what went away, median error of the step",
            ASKED_MEDIAN,
            _quantile(errors, 0.5),
            len(errors),
            True,
        ),
        Check("the same, 90th percentile", ASKED_TAIL, _quantile(errors, 0.9), len(errors), True),
        Check(
            "predicted saving of a replay against measured, median error",
            ASKED_MEDIAN,
            _quantile(predicted, 0.5),
            len(predicted),
            True,
        ),
        Check("the same, 90th percentile", ASKED_TAIL, _quantile(predicted, 0.9), len(predicted), True),
    )


def _quantile(values: Sequence[float], share: float) -> float | None:
    return float(np.quantile(np.asarray(values), share)) if values else None


def _stated(graphs: Sequence[ReplayedGraph]) -> Iterator[Stated]:
    for g in graphs:
        if g.verdict.confidence is not None and g.is_right is not None:
            yield Stated(f"{g.model} {g.key}: {g.verdict.bound.value}-bound", g.verdict.confidence, g.is_right)


def _error_table(graphs: Sequence[ReplayedGraph]) -> Table:
    edges = (0.0, 0.02, 0.05, 0.10, 0.15, 0.30, float("inf"))
    rows = []
    for low, high in itertools.pairwise(edges):
        own = [g.error for g in graphs if low <= abs(g.error) < high]
        rows.append((f"{low:.0%} to {high:.0%}", str(len(own)), str(sum(e > 0 for e in own))))
    columns = ("error, of the step", "graphs", "of them predicted too high")
    return Table("Starved time against what went away", columns, tuple(rows))


def _all_graphs(graphs: Sequence[ReplayedGraph]) -> Table:
    rows = tuple(
        (
            g.model,
            g.key.split(".")[0],
            _us(g.step_ns),
            _us(g.budget.elapsed_ns),
            _us(g.starved_ns),
            _us(g.removed_ns),
            f"{g.error:+.1%}",
            "—" if g.predicted_ns is None else _us(g.predicted_ns),
            g.verdict.bound.value,
            "—" if g.verdict.confidence is None else f"{g.verdict.confidence:.2f}",
            "—" if g.is_right is None else "right" if g.is_right else "wrong",
            _reason(g),
        )
        for g in sorted(graphs, key=lambda g: -abs(g.error))
    )
    columns = (
        "model",
        "graph",
        "step µs",
        "graph µs",
        "starved",
        "went away",
        "error",
        "predicted saving",
        "verdict",
        "confidence",
        "held",
        "reason",
    )
    return Table("Every graph, the largest error first", columns, rows, "Times are medians, in µs a step.")


def _reason(g: ReplayedGraph) -> str:
    if abs(g.error) <= ASKED_MEDIAN:
        return ""
    better = g.prediction_error is not None and abs(g.prediction_error) <= ASKED_MEDIAN
    if better:
        return "the replay's own cost and its gaps, which the prediction counts"
    if g.error > 0:
        return "less went away: another part of the step was waited for instead"
    return "more went away: the host's time outside the graph, or the kernels, became shorter too"


def _verdicts(graphs: Sequence[ReplayedGraph]) -> Table:
    count = Counter((g.verdict.bound.value, g.is_right) for g in graphs)
    rows = tuple(
        (bound.value, str(count[bound.value, True]), str(count[bound.value, False]), str(count[bound.value, None]))
        for bound in Bound
    )
    note = "A replay tells the host from the device, and not which roof a kernel is under."
    return Table("Verdicts against the replay", ("verdict", "right", "wrong", "not tested"), rows, note)


@dataclass(frozen=True, slots=True)
class FollowedPair:
    """`part` is what most of the time of the larger one is, by us; `foretold` the ratio that follows from it."""

    pair: Scaled
    part: Part
    share: float
    measured: float
    foretold: float | None

    @property
    def follows(self) -> bool | None:
        return None if self.foretold is None else abs(self.measured - self.foretold) <= FOLLOWS_WITHIN


def _scaled(runs: ScaledRuns, archive: zipfile.ZipFile, folder: Path, device: Device) -> tuple[FollowedPair, ...]:
    batch = runs.batches[0]
    kernels = judged_kernels(Path(archive.extract(batch.trace, folder)), batch.graphs, device, frozenset())
    found = []
    for pair in runs.pairs:
        measured, ns = median_ratio(pair), Counter[Part]()
        for kernel in kernels:
            if kernel.step == pair.step:
                ns[kernel.part] += kernel.ns
        if measured is None or not ns:
            continue
        part, largest = ns.most_common(1)[0]
        found.append(FollowedPair(pair, part, largest / sum(ns.values()), measured, _foretold(pair, part)))
    return tuple(found)


def _foretold(pair: Scaled, part: Part) -> float | None:
    """What the time of the smaller one is of the larger one's, if the verdict holds; None where nothing is claimed."""
    match part:
        case Part.COMPUTE:
            return pair.flops_ratio
        case Part.MEMORY:
            return pair.bytes_ratio
        case Part.LATENCY:
            return 1.0
        case _:
            return None


def _scaled_checks(pairs: Sequence[FollowedPair]) -> tuple[Check, ...]:
    judged = [p.follows for p in pairs if p.follows is not None]
    share = statistics.fmean(judged) if judged else None
    return (Check("half the bytes or arithmetic: time follows the verdict", 0.9, share, len(judged)),)


def _scaled_table(pairs: Sequence[FollowedPair]) -> Table:
    rows = tuple(
        (
            p.pair.name,
            f"{p.part.value} ({p.share:.0%})",
            f"{p.pair.flops_ratio:.2f}",
            f"{p.pair.bytes_ratio:.2f}",
            "—" if p.foretold is None else f"{p.foretold:.2f}",
            f"{p.measured:.2f}",
            "—" if p.follows is None else "yes" if p.follows else "no",
        )
        for p in pairs
    )
    columns = ("pair", "verdict on the larger", "operations", "bytes", "time foretold", "time measured", "follows")
    return Table("Half the bytes, or half the arithmetic", columns, rows, "Ratios of the second to the first.")


def _us(ns: float) -> str:
    return f"{ns / 1e3:.0f}"

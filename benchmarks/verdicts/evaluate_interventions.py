"""What a budget says would go away, against what went away when the host was taken out or the work was halved."""

from __future__ import annotations

import itertools
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from analyzer.core.device import Device
from analyzer.core.verdict import Bound
from analyzer.derive.predict import REPLAY_HOST_SHARE
from benchmarks.verdicts.evaluate_pairs import followed_pairs, pair_checks, pair_table
from benchmarks.verdicts.evaluate_replays import ReplayedGraph, replayed_graphs
from benchmarks.verdicts.recorded import InterventionRecording, KernelCounters
from benchmarks.verdicts.result import Check, Section, Stated, Table

ASKED_GRAPHS: Final = 40
ASKED_MEDIAN: Final = 0.05
ASKED_TAIL: Final = 0.15

PLAIN: Final = "Interventions"
AHEAD: Final = "Interventions, with the host ahead"
"""The sections of recordings without and with steps that were queued whole before the device began."""


def evaluate_interventions(
    recording: InterventionRecording, traces: Path, counters: Sequence[KernelCounters] = ()
) -> Section:
    """The section on interventions. `traces` is the zip of traces; `counters`, where recorded, explain the pairs."""
    device = recording.machine.device
    graphs: list[ReplayedGraph] = []
    notes: list[str] = list(recording.notes)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(traces) as archive:
        for run in recording.models:
            own = run.machine.device if run.machine is not None else device
            found, reasons = replayed_graphs(run, archive, Path(folder), own)
            graphs += found
            notes += reasons
        runs = recording.scaled
        pairs = followed_pairs(runs, archive, Path(folder), device, counters) if runs is not None else ()
    if device.kind != "cuda" and pairs:
        # In miniature both of a pair may be cut to one size, so that its ratios say nothing.
        pairs = ()
        notes.append("the pairs were recorded in miniature: their times are not judged")
    return Section(
        title=AHEAD if any(run.ahead for run in recording.models) else PLAIN,
        where=_where(recording),
        checks=(*_checks(graphs), *pair_checks(pairs)),
        tables=(_error_table(graphs), _all_graphs(graphs), _verdicts(graphs), pair_table(pairs)),
        stated=tuple(_stated(graphs)),
        notes=(*notes, *_drift_note(graphs), *_device_note(device)),
    )


def _where(recording: InterventionRecording) -> str:
    """Every machine that something was recorded on, once."""
    machines = (recording.machine, *(run.machine for run in recording.models if run.machine is not None))
    return "; ".join(dict.fromkeys(f"{m.device.name}, torch {m.versions.torch}, {m.date}" for m in machines))


def _checks(graphs: Sequence[ReplayedGraph]) -> tuple[Check, ...]:
    ahead = [g.ahead_error for g in graphs if g.ahead is not None]
    return (
        Check("graphs replayed", ASKED_GRAPHS, float(len(graphs)), len(graphs)),
        *_error_checks("starved time against what went away with the host ahead, of the step", ahead),
        *_error_checks(
            "starved time, less what a replay itself was foretold to cost, against what went away of the graph",
            [g.net_error for g in graphs],
        ),
        *_error_checks(
            "predicted saving of a replay against what went away of the step", [g.saving_error for g in graphs]
        ),
    )


def _error_checks(what: str, errors: Sequence[float | None]) -> tuple[Check, ...]:
    sizes = [abs(error) for error in errors if error is not None]
    return (
        Check(f"{what}: median error", ASKED_MEDIAN, _quantile(sizes, 0.5), len(sizes), True),
        Check(f"{what}: 90th percentile", ASKED_TAIL, _quantile(sizes, 0.9), len(sizes), True),
    )


def _quantile(values: Sequence[float], share: float) -> float | None:
    return float(np.quantile(np.asarray(values), share)) if values else None


def _stated(graphs: Sequence[ReplayedGraph]) -> Iterator[Stated]:
    for g in graphs:
        if g.verdict.confidence is not None and g.is_right is not None:
            yield Stated(f"{g.model} {g.key}: {g.verdict.bound.value}-bound", g.verdict.confidence, g.is_right)


def _drift_note(graphs: Sequence[ReplayedGraph]) -> tuple[str, ...]:
    """How far the clean pass and the moment of the replay are apart, and what a replay costs if it is not counted."""
    if not graphs:
        return ()
    drift = [abs(g.own_ns / g.budget.elapsed_ns - 1.0) for g in graphs if g.budget.elapsed_ns]
    raw = [abs(g.error) for g in graphs]
    return (
        "a graph's own time beside its replay differs from the clean pass, probes and drift together, by "
        f"{_share(drift, 0.5)} in the median and {_share(drift, 0.9)} at the 90th percentile",
        "with nothing taken off for what a replay itself costs, starved time misses what went away by "
        f"{_share(raw, 0.5)} of the step in the median and {_share(raw, 0.9)} at the 90th percentile",
    )


def _device_note(device: Device) -> tuple[str, ...]:
    if device.kind != "cuda" or device.replay_host_ns is not None:
        return ()
    return (
        "this device was measured before a replay's cost inside the graph's call was told apart: it is taken to be "
        f"{REPLAY_HOST_SHARE:.0%} of a whole replay, a share that was read off this recording and two others",
    )


def _share(values: Sequence[float], share: float) -> str:
    return f"{_quantile(values, share) or 0.0:.1%}"


def _error_table(graphs: Sequence[ReplayedGraph]) -> Table:
    edges = (0.0, 0.02, 0.05, 0.10, 0.15, 0.30, float("inf"))
    errors = [g.net_error if g.net_error is not None else g.error for g in graphs]
    rows = []
    for low, high in itertools.pairwise(edges):
        own = [e for e in errors if low <= abs(e) < high]
        rows.append((f"{low:.0%} to {high:.0%}", str(len(own)), str(sum(e > 0 for e in own))))
    columns = ("error, of the step", "graphs", "of them predicted too high")
    return Table("Starved time, less a replay's own cost, against what went away", columns, tuple(rows))


_COLUMNS: Final = (
    "model",
    "graph",
    "step µs",
    "graph, clean pass",
    "graph, in turn",
    "starved",
    "a replay's cost",
    "went away",
    "error",
    "host ahead",
    "error ahead",
    "of the step went away",
    "error of the saving",
    "verdict",
    "confidence",
    "held",
    "reason",
)


def _all_graphs(graphs: Sequence[ReplayedGraph]) -> Table:
    rows = tuple(
        (
            g.model,
            g.key.split(".")[0],
            _us(g.step_ns),
            _us(g.budget.elapsed_ns),
            _us(g.own_ns),
            _us(g.starved_ns),
            _us(g.cost_ns),
            _us(g.removed_ns),
            _signed(g.net_error),
            "—" if g.ahead is None else _us(g.ahead.launched_ns - g.ahead.ahead_ns),
            _signed(g.ahead_error),
            _us(g.removed_step_ns),
            _signed(g.saving_error),
            g.verdict.bound.value,
            "—" if g.verdict.confidence is None else f"{g.verdict.confidence:.2f}",
            "not tested" if g.is_right is None else "right" if g.is_right else "wrong",
            _reason(g),
        )
        for g in sorted(graphs, key=lambda g: -abs(g.net_error if g.net_error is not None else g.error))
    )
    note = (
        "Medians, in µs a step. The graph's own time is taken in turn with its replay, and so is what went away of it; "
        "starved is what the budget's other parts leave of it. A replay's cost is foretold from the device, and the "
        "error is starved less that cost against what went away. A verdict counts as tested where no cost of a replay "
        "between none and 2.5 times the foretold one would turn it."
    )
    return Table("Every graph, the largest error first", _COLUMNS, rows, note)


def _reason(g: ReplayedGraph) -> str:
    error = g.net_error
    if error is None or abs(error) <= ASKED_MEDIAN:
        return ""
    if error > 0:
        return "the replay cost more than foretold: a slow minute of the host, or inputs copied and not counted"
    return "the replay cost less than foretold, or its kernels were faster than when profiled"


def _verdicts(graphs: Sequence[ReplayedGraph]) -> Table:
    count = Counter((g.verdict.bound.value, g.is_right) for g in graphs)
    rows = tuple(
        (bound.value, str(count[bound.value, True]), str(count[bound.value, False]), str(count[bound.value, None]))
        for bound in Bound
    )
    note = "An intervention on the host tells it from the device, and not which roof a kernel is under."
    return Table("Verdicts against the intervention", ("verdict", "right", "wrong", "not tested"), rows, note)


def _signed(value: float | None) -> str:
    return "—" if value is None else f"{value:+.1%}"


def _us(ns: float | None) -> str:
    return "—" if ns is None else f"{ns / 1e3:.0f}"

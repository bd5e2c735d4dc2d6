"""One graph under an intervention: what the budget says was starved, against what went away.

Everything is taken at the minute of the intervention: the clean pass gave the budget, but a host drifts by half within
a minute, so the graph's elapsed time is the one taken in turn with the replay. Device time does not drift.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analyzer.core.budget import Budget, Part
from analyzer.core.device import Device
from analyzer.core.errors import GraphboundError
from analyzer.core.graphs import GraphKey
from analyzer.core.samples import Samples
from analyzer.core.verdict import Bound, Verdict
from analyzer.derive.confidence import TIMER_NS
from analyzer.derive.predict import predict_cuda_graphs
from analyzer.diagnosis import Diagnosis, Judged, Passes, diagnose
from analyzer.targets import replayed
from benchmarks.verdicts.judged_kernels import KERNEL_PARTS
from benchmarks.verdicts.recorded import Ahead, ModelRun, Replay, region_of, timing_of

_KERNEL_BOUNDS: Final = (Bound.COMPUTE, Bound.MEMORY, Bound.LATENCY)

MOST_COST: Final = 2.5
"""Times what is predicted of a replay's own cost, it was at most (173 µs of 75, in the slowest of 27 processes): a
verdict whose truth depends on where between none and this it lay was not tested."""


@dataclass(frozen=True, slots=True)
class ReplayedGraph:
    """One graph, its budget and verdict from the default run, and its interventions.

    `own_ns` and `replayed_ns` are its own time by default and replayed, taken in turn; `step_ns` and `removed_step_ns`
    those of the whole step and what went away of it. `predicted_ns` is `replayed_ns` as foretold, None where the device
    lacks a figure. `ahead` is the other intervention, None where it was not recorded.
    """

    model: str
    key: str
    step_ns: int
    removed_step_ns: int
    own_ns: int
    replayed_ns: int
    budget: Budget
    verdict: Verdict
    predicted_ns: int | None
    ahead: Ahead | None

    @property
    def starved_ns(self) -> int:
        """Starved time, at the minute of the replay."""
        return self.starved_of(self.own_ns)

    def starved_of(self, elapsed_ns: int) -> int:
        """What the budget's other parts leave of this elapsed time."""
        return max(0, self.budget.ns(Part.STARVED) + elapsed_ns - self.budget.elapsed_ns)

    @property
    def removed_ns(self) -> int:
        return self.own_ns - self.replayed_ns

    @property
    def cost_ns(self) -> int | None:
        """What the device waits during a replay, as predicted: over what the default does without being starved."""
        if self.predicted_ns is None:
            return None
        return self.predicted_ns - (self.budget.elapsed_ns - self.budget.ns(Part.STARVED))

    @property
    def error(self) -> float:
        """Starved time against what went away, as a share of the step; a replay's own cost is all in it."""
        return (self.starved_ns - self.removed_ns) / self.step_ns

    @property
    def net_error(self) -> float | None:
        """The same with the replay's own cost, as predicted, taken off the starved time."""
        return None if self.cost_ns is None else (self.starved_ns - self.cost_ns - self.removed_ns) / self.step_ns

    @property
    def saving_error(self) -> float | None:
        """The saving predicted for the graph against what went away of the whole step, as a share of the step."""
        if self.predicted_ns is None:
            return None
        return (self.own_ns - self.predicted_ns - self.removed_step_ns) / self.step_ns

    @property
    def ahead_error(self) -> float | None:
        """Starved time against what went away with the host ahead, as a share of the step."""
        if self.ahead is None:
            return None
        return (self.starved_of(self.ahead.launched_ns) - self._gone_ahead_ns(self.ahead)) / self.step_ns

    @property
    def is_right(self) -> bool | None:
        """Whether the verdict holds: more was starved than its largest kernel part took, or less.

        None where it is undecided, and where the intervention cannot tell: a replay's own cost is as large as the
        difference.
        """
        low_ns, high_ns = self._truth_ns()
        largest = max(self.budget.ns(part) for part in KERNEL_PARTS)
        match self.verdict.bound:
            case Bound.CPU:
                return _is_over(low_ns, high_ns, largest)
            case bound if bound in _KERNEL_BOUNDS:
                is_over = _is_over(low_ns, high_ns, largest)
                return None if is_over is None else not is_over
            case _:
                return None

    def _truth_ns(self) -> tuple[float, float]:
        """What was starved, by the intervention: at least and at most."""
        if self.ahead is not None:
            gone = self._gone_ahead_ns(self.ahead)
            return gone - 2 * TIMER_NS, gone + 2 * TIMER_NS
        return self.removed_ns, self.removed_ns + MOST_COST * max(self.cost_ns or 0, 0)

    @staticmethod
    def _gone_ahead_ns(ahead: Ahead) -> int:
        return ahead.launched_ns - ahead.ahead_ns


def _said(error: str) -> str:
    """What it is and its last line: a traceback between them names folders of the machine that recorded."""
    lines = error.strip().splitlines()
    return error if len(lines) < 2 else f"{lines[0].partition(':')[0]}: {lines[-1].strip()}"


def _is_over(low_ns: float, high_ns: float, largest_ns: int) -> bool | None:
    if low_ns >= largest_ns:
        return True
    return False if high_ns < largest_ns else None


def replayed_graphs(
    run: ModelRun, archive: zipfile.ZipFile, folder: Path, device: Device
) -> tuple[list[ReplayedGraph], list[str]]:
    """The graphs of one model that were replayed, and why others were not."""
    if run.error is not None or run.timing is None or run.trace is None:
        return [], [f"{run.name}: {_said(run.error or 'not measured')}"]
    try:
        trace = Path(archive.extract(run.trace, folder))
        diagnosis = diagnose(Passes(timing_of(run.timing), trace, run.capture), device, run.environment)
    except GraphboundError as error:
        return [], [f"{run.name}: {error.message}"]
    found = tuple(_replays(run, diagnosis, device))
    return [g for g in found if isinstance(g, ReplayedGraph)], [note for note in found if isinstance(note, str)]


def _replays(run: ModelRun, diagnosis: Diagnosis, device: Device) -> Iterator[ReplayedGraph | str]:
    for replay in run.replays:
        if replay.key is None:
            continue
        judged = diagnosis.judged(region_of(replay.key))
        if replay.step_ns is None or replay.against_ns is None:
            yield f"{run.name} {replay.key}: {replay.outcome}: {replay.reason or 'no reason given'}"[:200]
        elif judged is None or judged.budget.budget is None:
            yield f"{run.name} {replay.key}: no budget: {judged.budget.missing if judged else 'no such region'}"
        elif replay.region_ns is None or replay.region_against_ns is None:
            yield f"{run.name} {replay.key}: its own time was not taken in turn with its replay"
        else:
            yield _replayed(run, replay, (judged, judged.budget.budget), (replay.step_ns, replay.against_ns), device)


def _replayed(
    run: ModelRun, replay: Replay, judged: tuple[Judged, Budget], steps: tuple[Samples, Samples], device: Device
) -> ReplayedGraph:
    region, budget = judged
    after_ns, before_ns = (samples.median_ns for samples in steps)
    return ReplayedGraph(
        model=run.name,
        key=str(replay.key),
        step_ns=before_ns,
        removed_step_ns=before_ns - after_ns,
        own_ns=replay.region_against_ns or 0,
        replayed_ns=replay.region_ns or 0,
        budget=budget,
        verdict=region.verdict,
        predicted_ns=_predicted_ns(run, region, device),
        ahead=next((one for one in run.ahead if one.region == replay.key), None),
    )


def _predicted_ns(run: ModelRun, judged: Judged, device: Device) -> int | None:
    """What the product predicts, before any trial."""
    busy_ns, kernels = judged.budget.busy_ns, judged.budget.kernels_per_step
    if busy_ns is None or kernels is None or not isinstance(judged.region, GraphKey) or run.timing is None:
        return None
    region = replayed(judged.region, (busy_ns, kernels), timing_of(run.timing), run.capture)
    return predict_cuda_graphs(region, device)

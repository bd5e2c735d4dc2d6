"""Base and head timed in turn on this machine, in fresh processes: what disturbs one disturbs the other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analyzer.checking.subjects import COMPILE_LIMIT_S, standing_in
from analyzer.core.errors import GraphboundError
from analyzer.core.quantities import count
from analyzer.core.samples import Samples
from analyzer.core.settings import WorkloadSpec
from analyzer.core.timing import Crowd, Timing
from analyzer.driver import ChildDriver, Driver
from analyzer.gate.times import InTurn
from analyzer.lab import LOAD_LIMIT_S
from analyzer.narrator import Narrator
from analyzer.progress import Progress

PROCESSES: Final = 3
"""Pairs of fresh processes. One process is a few per cent faster than the next of the same program, for as long as it
lives (the first pair of benchmarks/results/gate_turns.json: 3 %): a single pair would find that."""

TURNS: Final = 12
"""A side, of each pair of processes: 36 in all, of up to sixty steps each."""

TURN_LIMIT_S: Final = 600.0

MOST_CROWDED: Final = 0.5
"""Of all turns. Beyond it the step times are those of the machine's other users."""


@dataclass(frozen=True, slots=True)
class Side:
    """A workload, the folder that its processes are started in and the root of the checkout it belongs to."""

    spec: WorkloadSpec
    folder: Path
    root: Path


Start = Callable[[Side, Path], Driver]


def time_in_turn(base: Side, head: Side, scratch: Path, progress: Progress, start: Start | None = None) -> InTurn:
    """Their steps under torch.compile's defaults. What fails is the reason for which there are none."""
    told = Narrator(progress)
    told.stage("timing base and head in turn")
    begin = start or _started(told)
    samples: tuple[list[Samples], list[Samples]] = ([], [])
    crowds: list[Crowd] = []
    try:
        for pair in range(PROCESSES):
            with ExitStack() as open_drivers:
                drivers = []
                for side in (base, head):
                    drivers.append(begin(side, scratch))
                    open_drivers.callback(drivers[-1].close)
                for turn in range(TURNS):
                    told.step(pair * TURNS + turn, PROCESSES * TURNS, "")
                    # Every second turn goes backwards, so that neither side is always the second.
                    for which in (0, 1) if turn % 2 == 0 else (1, 0):
                        timing: Timing = drivers[which].call("time", limit_s=TURN_LIMIT_S)
                        samples[which].append(timing.step_ns)
                        crowds += [timing.crowd] if timing.crowd is not None else []
    except GraphboundError as error:
        return InTurn(reason=error.message)
    return InTurn(tuple(samples[0]), tuple(samples[1]), processes=PROCESSES, crowd=crowd_text(crowds))


def crowd_text(crowds: list[Crowd]) -> str | None:
    """Who else was busy, as a clause; None where most turns had their cores to themselves."""
    crowded = [crowd for crowd in crowds if crowd.is_crowded]
    if not crowds or len(crowded) <= MOST_CROWDED * len(crowds):
        return None
    most = max(crowd.other_cores for crowd in crowded)
    return f"other programs kept up to {count(most)} of {crowds[0].cores} cores busy meanwhile"


def _started(told: Narrator) -> Start:
    def start(side: Side, scratch: Path) -> Driver:
        driver = ChildDriver(side.spec, scratch / "program.log", told.hear)
        try:
            with standing_in(side.folder, side.root):
                driver.start((), LOAD_LIMIT_S)
            driver.call("start", limit_s=LOAD_LIMIT_S)
            driver.call("capture", limit_s=COMPILE_LIMIT_S)
        except BaseException:
            driver.close()
            raise
        return driver

    return start

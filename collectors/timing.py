"""The clean pass: steps and regions timed without the profiler, and what the warm-up before them cost."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from analyzer.core.graphs import GapKey, GraphKey, Region
from analyzer.core.samples import Samples
from analyzer.core.timing import RegionTiming, Timing
from collectors.capture import GraphLog
from collectors.probe import Probe, StepCalls
from collectors.step import Stepper

MIN_WARMUP_STEPS: Final = 4
"""CUDA graphs need three calls: one eager, one recorded, one replayed; one more to see it."""
MAX_WARMUP_STEPS: Final = 24
"""Dynamo gives up on a frame after 8 recompiles; three frames may do so one after another."""
MAX_WARMUP_S: Final = 120.0
MIN_SAMPLES: Final = 7
MAX_SAMPLES: Final = 60
PROBE_ROUNDS: Final = 3
PROBES_A_ROUND: Final = 5
MIN_ROUNDS: Final = 5
MAX_ROUNDS: Final = 20
TURN_S: Final = 0.05
MAX_TURN_STEPS: Final = 8
"""Eight steps a turn: on an H200 the second step after a switch of a 0.6 ms step is still 10 % slow, the fourth not."""
TARGET_S: Final = 1.5
"""Wall time one set of samples aims at: enough for 60 samples of 25 ms."""


def warm_up(stepper: Stepper, log: GraphLog) -> tuple[tuple[int, ...], bool]:
    """Steps until nothing is compiled any more. Returns their times in ns and whether a steady state was reached."""
    times: list[int] = []
    quiet = 0
    deadline = time.monotonic() + MAX_WARMUP_S
    while quiet < MIN_WARMUP_STEPS - 1 and len(times) < MAX_WARMUP_STEPS:
        before = log.compiles + len(log.recompiles)
        times.append(stepper.timed())
        quiet = quiet + 1 if log.compiles + len(log.recompiles) == before else 0
        if time.monotonic() > deadline and len(times) >= MIN_WARMUP_STEPS:
            break
    return tuple(times), quiet >= MIN_WARMUP_STEPS - 1


def turn_count(step_ns: int, ways: int, target_s: float = TARGET_S) -> int:
    """How many rounds of `sample_in_turn` over so many ways fit the time aimed at; at least MIN_ROUNDS."""
    steps = 1 + max(1, min(MAX_TURN_STEPS, int(TURN_S * 1e9 / max(step_ns, 1))))
    return max(MIN_ROUNDS, min(MAX_ROUNDS, int(target_s * 1e9 / max(step_ns * steps * ways, 1))))


def sample_count(step_ns: int, target_s: float = TARGET_S) -> int:
    """How many samples of a step of this length fit the time aimed at."""
    return max(MIN_SAMPLES, min(MAX_SAMPLES, int(target_s * 1e9 / max(step_ns, 1))))


def sample_steps(stepper: Stepper, count: int) -> Samples:
    return Samples(tuple(stepper.timed() for _ in range(count)))


def sample_in_turn(ways: Sequence[tuple[Stepper, Callable[[], None]]], rounds: int) -> tuple[Samples, ...]:
    """Samples of several ways to run the same step, taken in turn so that a drift of the machine hits all alike.

    Each way comes with what must be switched before its turn. A turn is a few steps, the first of which is not
    counted: it meets the caches another way left. Every second round goes backwards.
    """
    times: list[list[int]] = [[] for _ in ways]
    for round_number in range(rounds):
        order = range(len(ways)) if round_number % 2 == 0 else range(len(ways) - 1, -1, -1)
        turns: dict[int, list[int]] = {}
        for index in order:
            stepper, switch = ways[index]
            switch()
            settled_ns = stepper.timed()
            count = max(1, min(MAX_TURN_STEPS, int(TURN_S * 1e9 / max(settled_ns, 1))))
            turns[index] = [stepper.timed() for _ in range(count)]
        # As many of each round, pair by pair: the shortest way may have had more steps a turn.
        fewest = min(map(len, turns.values()))
        for index, turn in turns.items():
            times[index] += _thinned(turn, fewest)
    return tuple(Samples(tuple(values)) for values in times)


def as_it_is() -> None:
    """What precedes the step of a way that is set up once and for all: nothing."""


def _thinned(values: list[int], count: int) -> list[int]:
    """`count` of the values, evenly spread over the time in which they were taken."""
    return [values[index * len(values) // count] for index in range(count)]


def time_workload(stepper: Stepper, probe: Probe, warmup: tuple[tuple[int, ...], bool]) -> Timing:
    """The clean pass over a warmed-up workload: whole steps first, then steps with a clock around every graph."""
    warmup_ns, is_steady = warmup
    count = sample_count(min(warmup_ns))
    step_ns = sample_steps(stepper, count)
    probed = probe_steps(stepper, probe, count)
    return Timing(
        step_ns=step_ns,
        probed_step_ns=Samples(tuple(step.host_ns for step in probed)),
        regions=_regions(probed),
        warmup_ns=warmup_ns,
        is_steady=is_steady,
    )


def probe_steps(stepper: Stepper, probe: Probe, count: int) -> tuple[StepCalls, ...]:
    """`count` steps with a clock around every graph."""
    with probe.clocking():
        return tuple(_probed_step(stepper, probe) for _ in range(count))


def probe_in_turn(
    stepper: Stepper, probe: Probe, ways: Sequence[Callable[[], None]]
) -> tuple[tuple[StepCalls, ...], ...]:
    """Probed steps of several ways to run the same step, taken in turn; each way is what must be switched before."""
    steps: list[list[StepCalls]] = [[] for _ in ways]
    for _ in range(PROBE_ROUNDS):
        for seen, switch in zip(steps, ways, strict=True):
            switch()
            stepper.timed()  # not counted: it meets the caches another way left
            seen += probe_steps(stepper, probe, PROBES_A_ROUND)
    return tuple(map(tuple, steps))


def region_medians(steps: Sequence[StepCalls]) -> tuple[tuple[Region, int], ...]:
    """Each region's median elapsed time a step, in ns."""
    return tuple((timing.region, timing.elapsed_ns.median_ns) for timing in _regions(steps))


def _probed_step(stepper: Stepper, probe: Probe) -> StepCalls:
    stepper.prepare()
    probe.begin_step()
    result = stepper.run()
    end = probe.end_step()
    stepper.wait()
    calls = probe.calls(end)
    del result
    return calls


def _regions(steps: Sequence[StepCalls]) -> tuple[RegionTiming, ...]:
    """Each region's total in each step. The regions of a step follow one another without a hole."""
    order: dict[Region, None] = {}
    elapsed: list[dict[Region, int]] = []
    host: list[dict[Region, int]] = []
    calls: dict[Region, int] = defaultdict(int)
    for step in steps:
        elapsed.append(defaultdict(int))
        host.append(defaultdict(int))
        for region, elapsed_ns, host_ns in _partition(step):
            order.setdefault(region)
            calls[region] += 1
            elapsed[-1][region] += elapsed_ns
            host[-1][region] += host_ns
    return tuple(
        RegionTiming(
            region=region,
            calls_per_step=calls[region] / len(steps),
            elapsed_ns=Samples(tuple(step.get(region, 0) for step in elapsed)),
            host_ns=Samples(tuple(step.get(region, 0) for step in host)),
        )
        for region in order
    )


def _partition(step: StepCalls) -> list[tuple[Region, int, int]]:
    """A step cut into graphs and the gaps between them, as (region, elapsed ns, host ns)."""
    parts: list[tuple[Region, int, int]] = []
    previous: GraphKey | None = None
    at_ns = host_at_ns = 0
    for call in step.calls:
        gap = (GapKey(previous, call.key), max(call.start_ns - at_ns, 0), max(call.host_start_ns - host_at_ns, 0))
        parts += [gap, (call.key, max(call.end_ns - call.start_ns, 0), call.host_end_ns - call.host_start_ns)]
        previous, at_ns, host_at_ns = call.key, max(call.end_ns, at_ns), call.host_end_ns
    last = (GapKey(previous, None), max(step.device_ns - at_ns, 0), max(step.host_ns - host_at_ns, 0))
    return [*parts, last]

"""How sure a verdict is: in what share of budgets, perturbed within the errors of measuring, the same bound wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.core.budget import Budget, Part
from analyzer.core.samples import Samples
from analyzer.core.verdict import Bound
from analyzer.derive.doubt import CLASSES, KernelPoint, perturbed_classes

BOUNDS: Final = (Bound.CPU, Bound.COMPUTE, Bound.MEMORY, Bound.LATENCY)

PARTS: Final[tuple[tuple[Part, Bound], ...]] = (
    (Part.STARVED, Bound.CPU),
    (Part.SYNC, Bound.CPU),
    (Part.COMPUTE, Bound.COMPUTE),
    (Part.MEMORY, Bound.MEMORY),
    (Part.LATENCY, Bound.LATENCY),
)
"""Which bound each part counts to. A device left idle by the host is starved by it, whether the host was late or
waited."""

DRAWS: Final = 400
"""The share of draws then repeats to 2.5 % at 50 %, and to 1 % at 95 %; a region takes under 5 ms."""

CEILING: Final = 0.97
"""No verdict is stated surer: what no perturbation here shows (rows put to the wrong region, a kernel counted by a
wrong formula) is taken to spoil one in thirty. Of the verdicts given with 0.9 and more that interventions on an H200
could test (`tests/golden/interventions_h200`), some thirty, all held: the next then holds with 30 / 31 (Laplace)."""

TIMER_NS: Final = 1_000
"""What a region's clean time is uncertain by: two device events resolve 0.5 µs each (CUDA runtime documentation of
cudaEventElapsedTime). A part that is not twice as large decides nothing."""

BUSY_ERROR: Final = 0.02
"""One standard deviation of device time between two passes: 0.90 and 0.92 ms in the design's run, 2 % in the golden."""

HOST_BUSY_ERROR: Final = 0.10
"""The same where it is host time scaled to the clean pass: the profiler stretches operators more or less than the
whole."""

EDGE_NS: Final = 2_000
"""Of a region's idle time, so much may be no lateness of the host's: a kernel that was launched well ahead still
follows the event before it, and the event after follows it, by a gap of 1.1 µs each (`launch_gap_ns` of an H200)."""

IDLE_ERROR: Final = 0.075
"""One standard deviation of the idle time, as a share of the region: the two passes are two runs. Graphs of an H200
that were busy for 80 % of their time and more took 4 % (root mean square of 14) to 11 % (at most) longer or shorter
when they were timed again some seconds later."""

HOST_DRIFT: Final = 0.3
"""One standard deviation, as a logarithm, of how much slower the host is at another minute, and with it the time in
which the device waits for it: beside an H200, two of three graphs were starved within 23 % of the clean pass when they
were timed again, nine of ten within 48 %. Where the host is the device, both sides of a verdict drift alike."""

PROBE_ERROR: Final = 0.5
"""What probes cost is given back to the regions by their idle time; a region may have cost so much of its part more or
less. An assumption: up to twice the mean, and as little as nothing, would be 1."""

GAP_ERROR: Final = 0.20
"""One standard deviation of the device's gaps between queued kernels, which the profiler may lengthen: 0.81 µs a kernel
in the golden's profiled replays against 0.8 µs without it (design, prediction), 0.51 against 0.43 on another H200."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a region's budget rests on. `elapsed` None: not sampled. `queued_ns` is the part of LATENCY that is gaps.

    `busy_spread` is half the range of the recorded steps' busy time, as a share. `unlinked_share` is device time of
    the whole trace that nothing links: it may have run here. `host_drift` is as HOST_DRIFT, which it is at least.
    """

    budget: Budget
    elapsed: Samples | None = None
    kernels: tuple[KernelPoint, ...] = ()
    queued_ns: int = 0
    busy_spread: float = 0.0
    unlinked_share: float = 0.0
    is_host: bool = False
    host_drift: float = HOST_DRIFT


@dataclass(frozen=True, slots=True)
class Odds:
    """In what share of the draws each of BOUNDS is the largest; what is missing to 1 has no bound at all."""

    shares: tuple[tuple[Bound, float], ...]

    def of(self, bound: Bound) -> float:
        return next((share for b, share in self.shares if b is bound), 0.0)

    def rival(self, bound: Bound) -> tuple[Bound, float] | None:
        """The bound that wins most of the other draws; None where none ever does."""
        others = [(b, share) for b, share in self.shares if b is not bound and share > 0]
        return max(others, key=lambda item: item[1]) if others else None


def bound_ns(budget: Budget, bound: Bound) -> int:
    """The time of the parts that count to a bound."""
    return sum(budget.ns(part) for part, b in PARTS if b is bound)


def odds(evidence: Evidence, bound: Bound) -> Odds:
    """How often `bound` wins, and who else does. The same evidence gives the same odds: the seed is fixed.

    A draw takes one of the clean steps for the elapsed time (so a host with two speeds is seen with both), device time
    within its error, and classes of kernels under other counts and peaks; time that nothing explains, and device time
    that nothing links, goes in each draw to the strongest rival of `bound`, from none of it to all.
    """
    rng = np.random.default_rng(0)
    values = _drawn(evidence, rng)
    own = BOUNDS.index(bound)
    rivals = values.copy()
    rivals[:, own] = -1.0
    strongest = np.argmax(rivals, axis=1)
    against = _unexplained(evidence.budget) * rng.random(DRAWS)
    if bound is Bound.CPU:
        # Only idle time can hide device time: against another bound it is worst left where it is.
        unlinked = np.minimum(values[:, 0], evidence.unlinked_share * evidence.budget.elapsed_ns * rng.random(DRAWS))
        values[:, 0] -= unlinked
        against += unlinked
    values[np.arange(DRAWS), strongest] += against
    nobody = max(float(evidence.budget.ns(Part.COPIES)), 2.0 * TIMER_NS)
    winner = np.where(values.max(axis=1) > nobody, np.argmax(values, axis=1), len(BOUNDS))
    return Odds(tuple((b, float(np.mean(winner == number))) for number, b in enumerate(BOUNDS)))


def _unexplained(budget: Budget) -> int:
    return budget.ns(Part.UNKNOWN_KERNELS) + budget.ns(Part.OTHER)


def _drawn(evidence: Evidence, rng: np.random.Generator) -> Floats:
    """Nanoseconds by draw and bound, before anything unknown is given away."""
    budget = evidence.budget
    known_ns = sum(budget.ns(part) for part in CLASSES) - evidence.queued_ns
    error = max(HOST_BUSY_ERROR if evidence.is_host else BUSY_ERROR, evidence.busy_spread)
    busy = np.maximum(0.0, known_ns * (1.0 + error * rng.standard_normal(DRAWS)))
    idle = bound_ns(budget, Bound.CPU) + evidence.queued_ns + _elapsed_change(evidence, rng) - (busy - known_ns)
    idle = np.maximum(0.0, idle)
    gaps = np.clip(evidence.queued_ns * (1.0 + GAP_ERROR * rng.standard_normal(DRAWS)), 0.0, idle)
    starved = idle - gaps
    if not evidence.is_host:
        late = np.maximum(0.0, starved - EDGE_NS * rng.random(DRAWS))
        starved = late * np.exp(evidence.host_drift * rng.standard_normal(DRAWS))
    classes = _shares(evidence, rng) * busy[:, None]
    return np.column_stack((starved, classes[:, 0], classes[:, 1], classes[:, 2] + gaps))


def _elapsed_change(evidence: Evidence, rng: np.random.Generator) -> Floats:
    """How much longer than the median the region takes in each draw."""
    change: Floats = rng.uniform(-TIMER_NS, TIMER_NS, DRAWS)
    change += IDLE_ERROR * evidence.budget.elapsed_ns * rng.standard_normal(DRAWS)
    samples = evidence.elapsed
    if samples is None:
        return change
    # The budget's elapsed time is the median, fitted to the step.
    scale = evidence.budget.elapsed_ns / max(samples.median_ns, 1)
    probing = samples.median_ns - evidence.budget.elapsed_ns
    change += PROBE_ERROR * probing * rng.uniform(-1.0, 1.0, DRAWS)
    # Sorted: in what order the steps came must not matter to which one a draw takes.
    steps = np.sort(samples.array())[rng.integers(0, len(samples.ns), DRAWS)]
    return change + (steps - samples.median_ns) * scale


def _shares(evidence: Evidence, rng: np.random.Generator) -> Floats:
    """What share of the kernels' time each of CLASSES has, by draw."""
    arithmetic, traffic = rng.standard_normal(DRAWS), rng.standard_normal(DRAWS)
    nominal = np.asarray([evidence.budget.ns(part) for part in CLASSES], dtype=np.float64)
    nominal[CLASSES.index(Part.LATENCY)] -= evidence.queued_ns
    total = nominal.sum()
    if not total:
        return np.zeros((DRAWS, len(CLASSES)))
    kernel_ns = float(sum(kernel.ns for kernel in evidence.kernels))
    if not kernel_ns:
        return np.tile(nominal / total, (DRAWS, 1))
    now = perturbed_classes(evidence.kernels, arithmetic, traffic)
    unmoved = perturbed_classes(evidence.kernels, np.zeros(1), np.zeros(1))
    # Only what moves is taken from the kernels: the shares themselves are the budget's.
    shares = np.maximum(0.0, nominal / total + (now - unmoved) / kernel_ns)
    normed: Floats = shares / shares.sum(axis=1, keepdims=True)
    return normed

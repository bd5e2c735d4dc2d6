"""Whether one side is slower than the other: a factor and a rank test, both, over turns that lie apart in time.

Steps of one turn share its clock rate, its caches and its neighbours, so that sixty of them are one observation of the
machine; a rank test over steps finds differences between any two runs of one program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.core.samples import Interval, Samples
from analyzer.core.trial import Change
from analyzer.derive.rank_test import smallest_p, two_sided

P_LIMIT: Final = 0.002
"""asv's (asv/step_detect and `asv compare`): one comparison of five hundred is by chance."""

STORED_FACTOR: Final = 1.1
"""asv's default for `asv compare`: what another day may differ by without any change."""

TURN_FACTOR: Final = 1.03
"""Of sides taken in turn. Measured in benchmarks/results/ci.md: 1.1 would find no slow-down of 5 %."""

DRAWS: Final = 1000
"""Of the bootstrap of the ratio, as `samples.BOOTSTRAP_DRAWS`, halved: it only tells SAME from NOISY."""


@dataclass(frozen=True, slots=True)
class Slowdown:
    """`ratio` is head over base: above 1 is slower. `p` is that of the rank test, `interval` the ratio's 95 %.

    `is_paired`: the ratio is the median of those of turns that were taken together, and `base_ns` and `head_ns` are of
    the pair that has it; else they are the medians of the two sides, whose ratio it is.
    """

    outcome: Change
    ratio: float
    p: float
    interval: Interval
    base_ns: int
    head_ns: int
    is_paired: bool = False


def turns_needed() -> int:
    """The fewest turns a side with which the rank test can find anything."""
    return next(turns for turns in range(2, 100) if smallest_p(turns, turns) < P_LIMIT)


def compare_turns(
    base: Sequence[Samples], head: Sequence[Samples], factor: float, *, in_turn: bool, processes: int = 1
) -> Slowdown:
    """SLOWER or FASTER where the ratio passes `factor` and the ranks differ; SAME where the interval of the ratio stays
    within it; else NOISY. `in_turn`: turn n of both was taken together, so that a drift of both cancels.

    `processes`: the turns are those of so many pairs of processes, one after another, and every pair has to agree on
    the side: turns of one process are not independent (the false alarms in benchmarks/results/ci.md).
    """
    left, right = turn_levels(base), turn_levels(head)
    is_paired = in_turn and left.size == right.size
    interval = _interval(left, right, is_paired)
    ratio = _ratio(left, right, is_paired)
    p = two_sided(left.tolist(), right.tolist())
    outcome = _outcome(ratio, p, interval, factor)
    if outcome in (Change.SLOWER, Change.FASTER) and is_paired and not _agree(left, right, processes, ratio):
        outcome = Change.NOISY
    base_ns, head_ns = _middle(left, right, is_paired)
    return Slowdown(outcome, ratio, p, interval, base_ns, head_ns, is_paired)


def _agree(base: NDArray[np.float64], head: NDArray[np.float64], processes: int, ratio: float) -> bool:
    pairs = zip(np.array_split(base, processes), np.array_split(head, processes), strict=True)
    own = [_ratio(left, right, True) for left, right in pairs if left.size]
    return all((one > 1) == (ratio > 1) for one in own)


def _outcome(ratio: float, p: float, interval: Interval, factor: float) -> Change:
    if p < P_LIMIT and ratio > factor:
        return Change.SLOWER
    if p < P_LIMIT and ratio < 1 / factor:
        return Change.FASTER
    is_within = interval.high <= factor and interval.low >= 1 / factor
    return Change.SAME if is_within else Change.NOISY


def turn_levels(turns: Sequence[Samples]) -> NDArray[np.float64]:
    """In ns, one number a turn: its lower quartile. What disturbs a step only ever lengthens it."""
    # A third of the time of np.percentile, which a thousand turns would spend a second in.
    return np.asarray([sorted(turn.ns)[(len(turn.ns) - 1) // 4] for turn in turns], dtype=np.float64)


def _ratio(base: NDArray[np.float64], head: NDArray[np.float64], is_paired: bool) -> float:
    if is_paired:
        return float(np.median(head / np.maximum(base, 1)))
    return float(np.median(head) / max(float(np.median(base)), 1.0))


def _middle(base: NDArray[np.float64], head: NDArray[np.float64], is_paired: bool) -> tuple[int, int]:
    """The two levels whose ratio is told, in ns. Of pairs the medians of the sides may be the other way round than the
    ratio, where the machine drifted: two pairs in the middle, of an even number, are averaged.
    """
    if not is_paired:
        return int(np.median(base)), int(np.median(head))
    order = np.argsort(head / np.maximum(base, 1), kind="stable")
    middle = order[(order.size - 1) // 2 : order.size // 2 + 1]
    return int(base[middle].mean()), int(head[middle].mean())


def _interval(base: NDArray[np.float64], head: NDArray[np.float64], is_paired: bool) -> Interval:
    # A fixed seed: the same samples must give the same verdict.
    random = np.random.default_rng(0)
    left = random.integers(0, base.size, (DRAWS, base.size))
    if is_paired:
        ratios = np.median((head / np.maximum(base, 1))[left], axis=1)
    else:
        right = random.integers(0, head.size, (DRAWS, head.size))
        ratios = np.median(head[right], axis=1) / np.maximum(np.median(base[left], axis=1), 1)
    low, high = np.percentile(ratios, (2.5, 97.5))
    return Interval(float(low), float(high))

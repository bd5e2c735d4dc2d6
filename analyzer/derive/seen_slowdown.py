"""How small a slow-down a comparison of turns could have seen, by the noise of the turns themselves.

The power of a test by the bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, ch. 25), with the
test inverted instead of repeated: the shift at which a Mann-Whitney test turns is one of the pairwise differences
(Hodges and Lehmann, Annals of Mathematical Statistics 34, 1963), so that a draw gives its own smallest slow-down.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.core.samples import Samples
from analyzer.derive.rank_test import pairs_needed
from analyzer.derive.slower import P_LIMIT, STORED_FACTOR, turn_levels

POWER: Final = 0.95
"""Of true slow-downs of this size, how many are found (issue 7 asks for so many)."""

DRAWS: Final = 200
"""Ten of them lie above the 95 % point. What is claimed of it is held against true slow-downs in
benchmarks/results/ci.md."""

HIDDEN_BY_A_DAY: Final = STORED_FACTOR
"""Of stored samples: one process of another day tells nothing of how much the next would differ. What two days may
differ by without any change may hide as much of a slow-down."""

Levels = NDArray[np.float64]


def seen_slowdown(
    base: Sequence[Samples], head: Sequence[Samples], factor: float, *, in_turn: bool, processes: int = 1
) -> float | None:
    """The share (0.12: 12 %) from which on a slow-down of the head is called SLOWER in 95 of 100 comparisons like this
    one; never below what `factor` lets pass. None where there are too few turns for the test to call anything.

    The arguments are those of `slower.compare_turns`. The turns are resampled as if the sides did not differ, by pairs
    of processes and within them, so that what one process differs from the next by is noise too. Sides that were not
    taken in turn are of different days, which the samples do not tell of: HIDDEN_BY_A_DAY is added.
    """
    left, right = np.log(turn_levels(base)), np.log(turn_levels(head))
    needed = pairs_needed(left.size, right.size, P_LIMIT)
    if needed is None:
        return None
    is_paired = in_turn and left.size == right.size
    blocks = processes if is_paired else 1
    right = right - (np.median(right - left) if is_paired else np.median(right) - np.median(left))
    # A fixed seed: the same samples must give the same text.
    random = np.random.default_rng(0)
    shifts = np.empty(DRAWS)
    for draw in range(DRAWS):
        first, second = _resampled(random, left, right, blocks, is_paired)
        shifts[draw] = _shift_found(first, second, np.log(factor), needed, blocks, is_paired)
    found = float(np.quantile(shifts, POWER, method="higher"))
    if not in_turn:
        return math.expm1(found + math.log(HIDDEN_BY_A_DAY))
    return math.expm1(max(found, _between_processes(right - left, blocks) if is_paired else 0.0))


def _between_processes(ratio: Levels, blocks: int) -> float:
    """The shift at which every one of so many pairs of processes agrees on the side in 95 of 100 comparisons, if what
    one pair differs from the next by is normal. So few pairs tell little of it: their deviation is taken as what it is
    where it came out at its median (of chi squared, by Wilson and Hilferty, PNAS 17, 1931).
    """
    if blocks < 2:
        return 0.0
    own = [float(np.median(part)) for part in np.array_split(ratio, blocks)]
    freedom = blocks - 1
    deviation = float(np.std(own, ddof=1)) / math.sqrt((1 - 2 / (9 * freedom)) ** 3)
    return NormalDist().inv_cdf(POWER ** (1 / blocks)) * deviation


def _resampled(
    random: np.random.Generator, left: Levels, right: Levels, blocks: int, is_paired: bool
) -> tuple[Levels, Levels]:
    if not is_paired:
        return random.choice(left, left.size), random.choice(right, right.size)
    parts = np.array_split(np.arange(left.size), blocks)
    drawn = [random.choice(parts[block], parts[place].size) for place, block in enumerate(_blocks(random, blocks))]
    rows = np.concatenate(drawn)
    return left[rows], right[rows]


def _blocks(random: np.random.Generator, blocks: int) -> list[int]:
    return [int(block) for block in random.integers(0, blocks, blocks)]


def _shift_found(left: Levels, right: Levels, least: float, needed: int, blocks: int, is_paired: bool) -> float:
    """The smallest shift of `right`, in logarithms, by which `compare_turns` calls it slower: each of its conditions
    gives one, and all have to hold.
    """
    by_rank = float(np.partition((left[:, None] - right[None, :]).ravel(), needed - 1)[needed - 1])
    if not is_paired:
        return max(by_rank, least - float(np.median(right) - np.median(left)))
    ratio = right - left
    by_process = max(-float(np.median(part)) for part in np.array_split(ratio, blocks))
    return max(by_rank, least - float(np.median(ratio)), by_process)

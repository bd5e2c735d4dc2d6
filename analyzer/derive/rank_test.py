"""The Mann-Whitney test: whether one set of samples tends to lie above another, whatever their distribution.

H. B. Mann and D. R. Whitney, Annals of Mathematical Statistics 18 (1947). The exact distribution is counted with ties
(of all ways to deal out the pooled ranks), so that no assumption is left but that the samples are exchangeable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

EXACT_SAMPLES: Final = 80
"""Both sides together. Counting 80 takes some 50 ms; beyond it the normal approximation is within 1e-4 of the exact
probability (tested at the border)."""


def two_sided(first: Sequence[float], second: Sequence[float]) -> float:
    """The probability of ranks at least so uneven, to either side, if both came from one distribution.

    Raises ValueError where a side is empty.
    """
    if not first or not second:
        raise ValueError("a rank test needs samples on both sides")
    ranks = _doubled_ranks(np.asarray([*first, *second], dtype=np.float64))
    drawn = int(ranks[: len(first)].sum())
    if ranks.size <= EXACT_SAMPLES:
        return _exact(ranks, len(first), drawn)
    return _approximate(ranks, len(first), drawn)


def smallest_p(first: int, second: int) -> float:
    """The least that `two_sided` can give for so many samples of each, without ties."""
    return min(1.0, 2 / math.comb(first + second, first))


def _doubled_ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Twice the rank of each value, from 2; equal values share the mean of their ranks, so that twice is whole."""
    ordered = np.sort(values)
    below = np.searchsorted(ordered, values, side="left")
    up_to = np.searchsorted(ordered, values, side="right")
    doubled: NDArray[np.int64] = (below + up_to + 1).astype(np.int64)
    return doubled


def _exact(ranks: NDArray[np.int64], drawn_count: int, drawn_sum: int) -> float:
    total = int(ranks.sum())
    # ways[k, s]: in how many ways k of the ranks seen so far add up to s. Exact in a double up to 2**53, and beyond it
    # to fifteen digits.
    ways = np.zeros((drawn_count + 1, total + 1))
    ways[0, 0] = 1.0
    for rank in ranks.tolist():
        ways[1:, rank:] += ways[:-1, : total + 1 - rank].copy()
    dealt = ways[drawn_count]
    all_ways = dealt.sum()
    at_most, at_least = dealt[: drawn_sum + 1].sum() / all_ways, dealt[drawn_sum:].sum() / all_ways
    return float(min(1.0, 2 * min(at_most, at_least)))


def _approximate(ranks: NDArray[np.int64], drawn_count: int, drawn_sum: int) -> float:
    """Normal, with the variance of the ranks that there are (which is the correction for ties) and of continuity."""
    size = ranks.size
    mean = drawn_count * ranks.mean()
    variance = drawn_count * (size - drawn_count) / (size - 1) * ranks.var()
    if variance == 0:
        return 1.0
    # Doubled ranks: half a rank is one.
    away = max(abs(drawn_sum - mean) - 1.0, 0.0)
    return float(math.erfc(away / math.sqrt(2 * variance)))

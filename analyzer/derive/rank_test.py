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


def pairs_needed(first: int, second: int, p_limit: float) -> int | None:
    """Of all pairs of one sample of each, the fewest in which the second has to lie above the first for `two_sided` to
    fall below `p_limit`, without ties; None where not even all of them do.
    """
    size, most = first + second, first * second
    if size > EXACT_SAMPLES:
        mean, deviation = most / 2, math.sqrt(most * (size + 1) / 12)
        counts = range(most // 2, most + 1)
        return next((n for n in counts if math.erfc((n - mean - 0.5) / (deviation * math.sqrt(2))) < p_limit), None)
    ways = _ways(np.arange(1, size + 1, dtype=np.int64), second)
    # The sum of the second's ranks is the number of such pairs, and what it is without any.
    above = np.cumsum(ways[second * (second + 1) // 2 :][: most + 1][::-1])[::-1] / ways.sum()
    found = np.flatnonzero(2 * above < p_limit)
    return int(found[0]) if found.size else None


def _doubled_ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Twice the rank of each value, from 2; equal values share the mean of their ranks, so that twice is whole."""
    ordered = np.sort(values)
    below = np.searchsorted(ordered, values, side="left")
    up_to = np.searchsorted(ordered, values, side="right")
    doubled: NDArray[np.int64] = (below + up_to + 1).astype(np.int64)
    return doubled


def _exact(ranks: NDArray[np.int64], drawn_count: int, drawn_sum: int) -> float:
    dealt = _ways(ranks, drawn_count)
    all_ways = dealt.sum()
    at_most, at_least = dealt[: drawn_sum + 1].sum() / all_ways, dealt[drawn_sum:].sum() / all_ways
    return float(min(1.0, 2 * min(at_most, at_least)))


def _ways(ranks: NDArray[np.int64], drawn_count: int) -> NDArray[np.float64]:
    """By each sum, in how many ways so many of these ranks add up to it. Exact up to 2**53, and beyond it to fifteen
    digits.
    """
    total = int(ranks.sum())
    # ways[k, s]: in how many ways k of the ranks seen so far add up to s.
    ways = np.zeros((drawn_count + 1, total + 1))
    ways[0, 0] = 1.0
    for rank in ranks.tolist():
        ways[1:, rank:] += ways[:-1, : total + 1 - rank].copy()
    dealt: NDArray[np.float64] = ways[drawn_count]
    return dealt


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

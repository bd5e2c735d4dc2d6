"""Repeated measurements of one quantity, and what may honestly be said of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

BOOTSTRAP_DRAWS: Final = 2000
"""Resamples for a percentile interval; the 2.5 % points then repeat to within a few per cent of the width
(Efron & Tibshirani, An Introduction to the Bootstrap, 1993, ch. 19 asks for 1,000 and more)."""

CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % bootstrap interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Samples:
    """Times of one thing, in nanoseconds, in the order taken. Never empty."""

    ns: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.ns:
            raise ValueError("samples may not be empty")

    @property
    def median_ns(self) -> int:
        return int(np.median(self.array()))

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, as a share of the median; 0.0 for one sample."""
        low, high = np.percentile(self.array(), (25, 75))
        median = self.median_ns
        return float((high - low) / 2 / median) if median else 0.0

    def thinned(self, most: int) -> Samples:
        """At most `most` of them, evenly over the time in which they were taken, the first among them."""
        count = len(self.ns)
        return self if count <= most else Samples(tuple(self.ns[index * count // most] for index in range(most)))

    def interval(self) -> Interval:
        """The bootstrap interval of the median, in nanoseconds."""
        medians = _resampled_medians(self.array(), seed=0)
        return _percentiles(medians)

    def array(self) -> NDArray[np.int64]:
        return np.asarray(self.ns, dtype=np.int64)


def median_ratio(before: Samples, after: Samples) -> float:
    """How many times faster `after` is: the median ratio of pairs taken in turn, as many on each side; else the ratio
    of the medians.

    A host that is slow for some of the steps moves either median from one of its speeds to the other, and a pair hardly
    at all: of 40 pairs of a step of two speeds on an H200 host (4.1 and 6.6 ms) the medians said 1.05, between 0.92
    and 1.12, and the pairs 1.08, between 1.06 and 1.10.
    """
    if len(before.ns) == len(after.ns):
        return float(np.exp(np.median(_log_ratios(before, after))))
    return before.median_ns / max(after.median_ns, 1)


def ratio_interval(before: Samples, after: Samples) -> Interval:
    """The bootstrap interval of `median_ratio`: above 1 means that `after` is faster."""
    if len(before.ns) == len(after.ns):
        logs = _log_ratios(before, after)
        return _percentiles(np.exp(np.median(logs[_indices(logs.size, seed=0)], axis=1)))
    left, right = before.array(), after.array()
    return _percentiles(_resampled_medians(left, seed=0) / np.maximum(_resampled_medians(right, seed=1), 1))


def _log_ratios(before: Samples, after: Samples) -> NDArray[np.float64]:
    """Of each pair. Logarithms, so that swapping the sides inverts the ratio, of an even number of pairs as well."""
    left, right = np.maximum(before.array(), 1), np.maximum(after.array(), 1)
    logs: NDArray[np.float64] = np.log(left / right)
    return logs


def _resampled_medians(values: NDArray[np.int64], *, seed: int) -> NDArray[np.float64]:
    medians: NDArray[np.float64] = np.median(values[_indices(values.size, seed=seed)], axis=1)
    return medians


def _indices(size: int, *, seed: int) -> NDArray[np.int64]:
    # A fixed seed: the same samples must give the same report, byte for byte.
    return np.random.default_rng(seed).integers(0, size, (BOOTSTRAP_DRAWS, size))


def _percentiles(values: NDArray[np.float64]) -> Interval:
    tail = 100 * (1 - CONFIDENCE) / 2
    # Outwards to draws that were made: between two draws 1 / x is no straight line, and swapping the sides of a
    # ratio would not invert its interval.
    low, high = np.percentile(values, tail, method="lower"), np.percentile(values, 100 - tail, method="higher")
    return Interval(low=float(low), high=float(high))

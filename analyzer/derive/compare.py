"""Before against after: FASTER only if it is, beyond noise."""

from __future__ import annotations

from typing import Final

from analyzer.core.samples import Samples, median_ratio, ratio_interval
from analyzer.core.trial import Accuracy, Change, Comparison

MIN_CHANGE: Final = 0.01
"""A change under 1 % is called SAME however sure: interleaved medians of one and the same H200 step differed by up to
that in the runs of benchmarks/results."""

NOISY_WIDTH: Final = 0.10
"""An interval wider than a tenth of the ratio that also holds 1 decides nothing."""


def compare(before: Samples, after: Samples, accuracy: Accuracy | None = None) -> Comparison:
    """Two sets of steps, taken in turn. `ratio` is before over after, with its 95 % interval.

    The change is real when the whole interval lies more than MIN_CHANGE from 1.
    """
    interval = ratio_interval(before, after)
    return Comparison(
        outcome=_outcome(interval.low, interval.high, accuracy),
        before_ns=before.median_ns,
        after_ns=after.median_ns,
        ratio=median_ratio(before, after),
        interval=interval,
        accuracy=accuracy,
    )


def _outcome(low: float, high: float, accuracy: Accuracy | None) -> Change:
    if accuracy is not None and not accuracy.is_right:
        return Change.WRONG_RESULT
    if low > 1 + MIN_CHANGE:
        return Change.FASTER
    if high < 1 / (1 + MIN_CHANGE):
        return Change.SLOWER
    return Change.NOISY if high - low > NOISY_WIDTH else Change.SAME

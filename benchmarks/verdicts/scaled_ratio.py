"""How long the smaller of a pair takes, as a share of the larger."""

from __future__ import annotations

import statistics

from benchmarks.verdicts.recorded import Scaled


def median_ratio(pair: Scaled) -> float | None:
    """The second's time over the first's; None where it was not measured."""
    if pair.before_ns is None or pair.after_ns is None:
        return None
    return statistics.median(pair.after_ns.ns) / max(statistics.median(pair.before_ns.ns), 1)

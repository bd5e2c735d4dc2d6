"""Whether samples of time are whole ticks of a scheduler: then they are its turns, and no time of the model's."""

from __future__ import annotations

from typing import Final

import numpy as np

from analyzer.core.samples import Samples

TICKS_NS: Final = (10_000_000, 4_000_000, 3_333_333, 1_000_000)
"""Linux's ticks: CONFIG_HZ of 100, 250, 300 and 1000 (kernel/Kconfig.hz). The longest that fits is taken."""

NEAR: Final = 0.04
"""Of a tick, to either side. Steps that end anywhere lie so near to one in 8 % of cases: seven of seven by chance once
in 50 million times."""

FEWEST: Final = 7
"""Samples. With fewer, chance alone does it too often."""

FEWEST_APART: Final = 2
"""Samples that have to lie at another tick than most: a step that repeats to a per cent may be 8 ms long."""

MATTERS: Final = 0.1
"""Of the median, for half a tick. A choice: above the few per cent to which a step repeats, and below what decides
between two bounds."""


def tick_of(samples: Samples) -> int | None:
    """The tick, in ns, of which all samples are whole multiples, and not all the same one; None where there is none."""
    times = samples.array()
    if times.size < FEWEST:
        return None
    for tick in TICKS_NS:
        number = np.rint(times / tick)
        is_near = np.abs(times - number * tick) <= NEAR * tick
        apart = int((number != np.median(number)).sum())
        if is_near.all() and (number >= 1).all() and apart >= FEWEST_APART:
            return tick
    return None


def is_decisive(samples: Samples, tick_ns: int) -> bool:
    """Whether half a tick is more of the median than its parts can do without."""
    return tick_ns / 2 > MATTERS * samples.median_ns

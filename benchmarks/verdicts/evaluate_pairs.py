"""The same work with half the bytes or half the arithmetic: does its time follow what bounds it?"""

from __future__ import annotations

import re
import statistics
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analyzer.core.budget import Part
from analyzer.core.device import Device
from benchmarks.verdicts.judged_kernels import judged_kernels
from benchmarks.verdicts.recorded import KernelCounters, Scaled, ScaledRuns
from benchmarks.verdicts.result import Check, Table
from benchmarks.verdicts.scaled_ratio import median_ratio

FOLLOWS_WITHIN: Final = 0.15
"""Of the ratio that the verdict foretells, as a difference of ratios: two kernels of one kind reach their roof
equally well only to within some ten per cent."""
ASKED: Final = 0.9

_CHANGED_TYPE: Final = re.compile(r"(?P<op>.+)_(?P<before>\w+?)_to_(?P<after>\w+)")


@dataclass(frozen=True, slots=True)
class FollowedPair:
    """`part` is what most of the time of the larger one is, by us; `foretold` the ratio that follows from it.

    `smaller` are the counters of the smaller one's kernel, where the other recording has them.
    """

    pair: Scaled
    part: Part
    share: float
    measured: float
    foretold: float | None
    smaller: KernelCounters | None = None

    @property
    def follows(self) -> bool | None:
        return None if self.foretold is None else abs(self.measured - self.foretold) <= FOLLOWS_WITHIN


def followed_pairs(
    runs: ScaledRuns, archive: zipfile.ZipFile, folder: Path, device: Device, counters: Sequence[KernelCounters]
) -> tuple[FollowedPair, ...]:
    """Pairs without a time, or without a kernel of ours, are left out."""
    batch = runs.batches[0]
    kernels = judged_kernels(Path(archive.extract(batch.trace, folder)), batch.graphs, device, frozenset())
    found = []
    for pair in runs.pairs:
        measured, ns = median_ratio(pair), Counter[Part]()
        for kernel in kernels:
            if kernel.step == pair.step:
                ns[kernel.counts_to] += kernel.ns
        if measured is None or not ns:
            continue
        part, largest = ns.most_common(1)[0]
        smaller = _counted(pair.name, counters)
        found.append(FollowedPair(pair, part, largest / sum(ns.values()), measured, foretold(pair, part), smaller))
    return tuple(found)


def foretold(pair: Scaled, part: Part) -> float | None:
    """What the time of the smaller one is of the larger one's, if the verdict holds; None where nothing is claimed."""
    match part:
        case Part.COMPUTE:
            return pair.flops_ratio
        case Part.MEMORY:
            return pair.bytes_ratio
        case Part.LATENCY:
            return 1.0
        case _:
            return None


def _counted(name: str, counters: Sequence[KernelCounters]) -> KernelCounters | None:
    """The counters of an item that does the pair's work in the smaller type (`gelu_bf16_…`)."""
    changed = _CHANGED_TYPE.fullmatch(name)
    if changed is None:
        return None
    wanted = f"{changed['op']}_{changed['after']}_"
    return next((one for one in counters if one.item is not None and one.item.startswith(wanted)), None)


def pair_checks(pairs: Sequence[FollowedPair]) -> tuple[Check, ...]:
    judged = [p.follows for p in pairs if p.follows is not None]
    share = statistics.fmean(judged) if judged else None
    return (Check("half the bytes or arithmetic: time follows the verdict", ASKED, share, len(judged)),)


def pair_table(pairs: Sequence[FollowedPair]) -> Table:
    rows = tuple(
        (
            p.pair.name,
            f"{p.part.value} ({p.share:.0%})",
            f"{p.pair.flops_ratio:.2f}",
            f"{p.pair.bytes_ratio:.2f}",
            "—" if p.foretold is None else f"{p.foretold:.2f}",
            f"{p.measured:.2f}",
            "—" if p.follows is None else "yes" if p.follows else "no",
            reason(p),
        )
        for p in pairs
    )
    columns = (
        "pair",
        "verdict on the larger",
        "operations",
        "bytes",
        "time foretold",
        "time measured",
        "follows",
        "reason",
    )
    return Table("Half the bytes, or half the arithmetic", columns, rows, "Ratios of the second to the first.")


def reason(pair: FollowedPair) -> str:
    """Why the time does not follow, as far as the facts say; empty where it does."""
    if pair.follows is not False or pair.foretold is None:
        return ""
    if pair.measured < pair.foretold:
        return "the smaller one is faster than the verdict allows: the verdict on the larger is wrong"
    text = f"the smaller one reaches {pair.foretold / pair.measured:.0%} of the larger one's rate"
    counted = pair.smaller
    if counted is None or counted.sm_percent is None or counted.memory_percent is None:
        return text
    throughputs = f"counters of the smaller: SM {counted.sm_percent:.0f} %, memory {counted.memory_percent:.0f} %"
    if pair.part is Part.MEMORY and counted.sm_percent > counted.memory_percent:
        return f"{text}: its arithmetic did not halve and bounds it now ({throughputs}); the larger is not refuted"
    return f"{text} ({throughputs})"

"""A kernel as we judge it beside what the hardware counted of it: the truth, and how far from it we are."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analyzer.core.budget import Part
from analyzer.core.device import Device
from benchmarks.verdicts.judged_kernels import JudgedKernel, judged_kernels
from benchmarks.verdicts.matching import match
from benchmarks.verdicts.recorded import KernelCounters, TracedBatch, TracedItem

LATENCY_PERCENT: Final = 40.0
"""Under it for both throughputs a kernel is bound by latency: issue 3."""
BYTES_WITHIN: Final = 0.15
NEAR_PERCENT: Final = 5.0
"""Two throughputs this near each other are told apart by the next run of ncu either way."""


@dataclass(frozen=True, slots=True)
class Held:
    """One kernel, by us and by the counters."""

    item: str
    family: str
    ours: JudgedKernel
    counters: KernelCounters
    truth: Part

    @property
    def agrees(self) -> bool:
        return self.ours.part is self.truth

    @property
    def agrees_with_either(self) -> bool:
        """Whether the part is one that the counters could say the next time."""
        return self.ours.part in accepted(self.counters)

    @property
    def half(self) -> int:
        """0 or 1, by the item's name: formulas are chosen on the one half and seen to hold on the other."""
        return hashlib.sha256(self.item.encode()).digest()[-1] % 2

    @property
    def is_known(self) -> bool:
        return self.ours.part is not Part.UNKNOWN_KERNELS


def truth(counters: KernelCounters) -> Part | None:
    """Which of the two throughputs is nearer its peak; LATENCY where both are under 40 %; None where one is missing."""
    sm, memory = counters.sm_percent, counters.memory_percent
    if sm is None or memory is None:
        return None
    if max(sm, memory) < LATENCY_PERCENT:
        return Part.LATENCY
    return Part.COMPUTE if sm > memory else Part.MEMORY


def accepted(counters: KernelCounters) -> frozenset[Part]:
    """Every part that the counters say if they are a few points off: of two throughputs that near either may be the
    nearer, and at the edge of 40 % a kernel may be counted to latency or to its nearer peak. Empty where one is
    missing.
    """
    true, sm, memory = truth(counters), counters.sm_percent, counters.memory_percent
    if true is None or sm is None or memory is None:
        return frozenset()
    found, top = {true}, max(sm, memory)
    if abs(top - LATENCY_PERCENT) < NEAR_PERCENT:
        found |= {Part.LATENCY, Part.COMPUTE if sm > memory else Part.MEMORY}
    if top >= LATENCY_PERCENT - NEAR_PERCENT and abs(sm - memory) < NEAR_PERCENT:
        found |= {Part.COMPUTE, Part.MEMORY}
    return frozenset(found)


def is_near(held: Held) -> bool:
    return len(accepted(held.counters)) > 1


def kernels_of_items(
    items: Sequence[TracedItem], batches: Sequence[TracedBatch], traces: Path, device: Device
) -> dict[str, tuple[JudgedKernel, ...]]:
    """The judged kernels of each item that ran."""
    found: dict[str, tuple[JudgedKernel, ...]] = {}
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(traces) as archive:
        for number, batch in enumerate(batches):
            path = Path(archive.extract(batch.trace, folder))
            own = {i.step: i for i in items if i.batch == number and i.step is not None}
            tf32 = frozenset(step for step, item in own.items() if step is not None and item.tf32)
            kernels: dict[int, list[JudgedKernel]] = defaultdict(list)
            for kernel in judged_kernels(path, batch.graphs, device, tf32):
                kernels[kernel.step].append(kernel)
            found |= {item.name: tuple(kernels[step]) for step, item in own.items() if step is not None}
    return found


def hold(
    items: Sequence[TracedItem], kernels: dict[str, tuple[JudgedKernel, ...]], counted: Sequence[KernelCounters]
) -> Iterable[Held]:
    family = {item.name: item.family for item in items}
    for pair in match({name: [k.name for k in own] for name, own in kernels.items()}, counted):
        true = truth(pair.counted)
        if true is not None:
            yield Held(pair.item, family[pair.item], kernels[pair.item][pair.traced], pair.counted, true)


def byte_error(held: Held) -> float | None:
    """What we expect memory to move while the kernel runs alone over what DRAM moved, less 1; None where either is
    unknown.
    """
    return _over_dram(held, held.ours.memory_bytes)


def touched_error(held: Held) -> float | None:
    """As `byte_error`, of all that a kernel reads and writes, which memory gets some time."""
    return _over_dram(held, held.ours.bytes)


def _over_dram(held: Held, ours: float | None) -> float | None:
    moved = held.counters.dram_bytes
    return ours / moved - 1.0 if ours is not None and moved else None


def agreed(held: Sequence[Held]) -> float | None:
    return _share_of_time(held, [h.agrees for h in held])


def agreed_with_either(held: Sequence[Held]) -> float | None:
    return _share_of_time(held, [h.agrees_with_either for h in held])


def _share_of_time(held: Sequence[Held], is_counted: Sequence[bool]) -> float | None:
    total = sum(h.ours.ns for h in held)
    return sum(h.ours.ns for h, counts in zip(held, is_counted, strict=True) if counts) / total if total else None


def share_within(held: Sequence[Held]) -> float | None:
    return _share_of_errors([byte_error(h) for h in held])


def share_touched_within(held: Sequence[Held]) -> float | None:
    return _share_of_errors([touched_error(h) for h in held])


def _share_of_errors(errors: Sequence[float | None]) -> float | None:
    return sum(e is not None and abs(e) <= BYTES_WITHIN for e in errors) / len(errors) if errors else None

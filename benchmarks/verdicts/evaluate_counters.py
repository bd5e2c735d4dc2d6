"""Our verdict on each kernel against the device's counters, and our bytes against those that DRAM moved."""

from __future__ import annotations

import itertools
import tempfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analyzer.core.budget import Part
from analyzer.core.device import Device
from benchmarks.verdicts.judged_kernels import JudgedKernel, judged_kernels
from benchmarks.verdicts.matching import match
from benchmarks.verdicts.recorded import CounterRecording, KernelCounters, TracedBatch, TracedItem
from benchmarks.verdicts.result import Check, Section, Table

LATENCY_PERCENT: Final = 40.0
"""Under it for both throughputs a kernel is bound by latency: issue 3."""
LEAST_NS: Final = 5_000
ASKED_AGREEMENT: Final = 0.95
BYTES_WITHIN: Final = 0.15
ASKED_BYTES_SHARE: Final = 0.75
NEAR_PERCENT: Final = 5.0
"""Two throughputs this near each other are told apart by the next run of ncu either way."""

KERNEL_PARTS: Final = (Part.COMPUTE, Part.MEMORY, Part.LATENCY, Part.UNKNOWN_KERNELS)


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


def evaluate_counters(recording: CounterRecording, traces: Path) -> Section:
    """The section on counters. `traces` is the zip of traces. Raises UnreadableFileError."""
    device = recording.machine.device
    kernels = kernels_of_items(recording.traced.items, recording.traced.batches, traces, device)
    held = tuple(hold(recording.traced.items, kernels, recording.counters))
    of_issue = [h for h in held if h.ours.ns >= LEAST_NS]
    large = [h for h in held if _is_large(h, device)]
    traced = sum(map(len, kernels.values()))
    return Section(
        title="Counters",
        where=f"{device.name}, torch {recording.machine.versions.torch}, {recording.machine.date}, "
        f"{recording.ncu or 'no ncu'}",
        checks=(*_agreement_checks(of_issue), *_byte_checks(large)),
        tables=(
            _confusion(of_issue),
            _by_family(of_issue),
            _byte_errors(large),
            _disagreements(of_issue, device),
            _wrong_bytes(large),
        ),
        notes=(
            f"{traced} kernels of {len(kernels)} items under torch.profiler, {len(recording.counters)} launches under "
            f"ncu, {len(held)} matched by item, name and order",
            *_failed(recording.traced.items),
            *recording.notes,
        ),
    )


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


def _agreement_checks(held: Sequence[Held]) -> tuple[Check, ...]:
    known = [h for h in held if h.is_known]
    clear = [h for h in known if not _is_near(h)]
    return (
        Check(
            "agreement by time, kernels ≥ 5 µs, unknown counted against us", ASKED_AGREEMENT, _agreed(held), len(held)
        ),
        Check("agreement by time where we judged", ASKED_AGREEMENT, _agreed(known), len(known)),
        Check(
            f"agreement by time where we judged and the throughputs are over {NEAR_PERCENT:g} points apart",
            ASKED_AGREEMENT,
            _agreed(clear),
            len(clear),
        ),
    )


def _agreed(held: Sequence[Held]) -> float | None:
    total = sum(h.ours.ns for h in held)
    return sum(h.ours.ns for h in held if h.agrees) / total if total else None


def _is_near(held: Held) -> bool:
    sm, memory = held.counters.sm_percent or 0.0, held.counters.memory_percent or 0.0
    at_edge = abs(max(sm, memory) - LATENCY_PERCENT) < NEAR_PERCENT
    return at_edge or (max(sm, memory) >= LATENCY_PERCENT and abs(sm - memory) < NEAR_PERCENT)


def _is_large(held: Held, device: Device) -> bool:
    """Whether it moved more than the cache holds, by our count or by DRAM's: neither alone may choose the sample."""
    moved = held.counters.dram_bytes
    return moved is not None and device.l2_bytes is not None and max(moved, held.ours.bytes or 0.0) > device.l2_bytes


def _byte_checks(large: Sequence[Held]) -> tuple[Check, ...]:
    known = [h for h in large if h.ours.bytes is not None]
    what = "our bytes within 15 % of DRAM's, kernels larger than the L2"
    return (
        Check(f"{what}, unknown counted against us", ASKED_BYTES_SHARE, _within(large), len(large)),
        Check(f"{what}, where we know them", ASKED_BYTES_SHARE, _within(known), len(known)),
    )


def _within(held: Sequence[Held]) -> float | None:
    errors = [byte_error(h) for h in held]
    return sum(e is not None and abs(e) <= BYTES_WITHIN for e in errors) / len(errors) if errors else None


def byte_error(held: Held) -> float | None:
    """Our bytes over DRAM's, less 1; None where either is unknown."""
    moved = held.counters.dram_bytes
    return held.ours.bytes / moved - 1.0 if held.ours.bytes is not None and moved else None


def _confusion(held: Sequence[Held]) -> Table:
    ns: Counter[tuple[Part, Part]] = Counter()
    count: Counter[tuple[Part, Part]] = Counter()
    for h in held:
        ns[h.truth, h.ours.part] += h.ours.ns
        count[h.truth, h.ours.part] += 1
    total = sum(ns.values()) or 1
    rows = tuple(
        (true.value, *(f"{ns[true, part] / total:.1%} ({count[true, part]})" for part in KERNEL_PARTS))
        for true in KERNEL_PARTS[:3]
    )
    columns = ("counters say", *(f"we say {part.value}" for part in KERNEL_PARTS))
    return Table("Confusion, by time (and kernels)", columns, rows, "Kernels of 5 µs and more.")


def _by_family(held: Sequence[Held]) -> Table:
    rows = []
    for family in sorted({h.family for h in held}):
        own = [h for h in held if h.family == family]
        unknown = sum(h.ours.ns for h in own if not h.is_known) / sum(h.ours.ns for h in own)
        judged = _agreed([h for h in own if h.is_known])
        agreed = "—" if judged is None else f"{judged:.1%}"
        rows.append((family, str(len(own)), agreed, f"{unknown:.1%}"))
    return Table("By family", ("family", "kernels", "agreement where judged", "unknown, of time"), tuple(rows))


def _byte_errors(large: Sequence[Held]) -> Table:
    errors = sorted(e for h in large if (e := byte_error(h)) is not None)
    edges = (-1.0, -0.5, -0.15, -0.05, 0.05, 0.15, 0.5, float("inf"))
    rows = []
    for low, high in itertools.pairwise(edges):
        rows.append((f"{low:+.0%} to {high:+.0%}", str(sum(low <= e < high for e in errors))))
    rows.append(("unknown", str(sum(byte_error(h) is None for h in large))))
    return Table("Our bytes over DRAM's, kernels larger than the L2", ("error", "kernels"), tuple(rows))


def _disagreements(held: Sequence[Held], device: Device) -> Table:
    wrong = sorted((h for h in held if not h.agrees), key=lambda h: (-h.ours.ns, h.item))
    rows = tuple(
        (
            h.item,
            h.ours.name[:48],
            f"{h.ours.ns / 1e3:.1f}",
            h.truth.value,
            h.ours.part.value,
            f"{h.counters.sm_percent:.0f}/{h.counters.memory_percent:.0f}",
            _percent(h.counters.dram_percent),
            _percent(h.counters.tensor_percent),
            _our_shares(h, device),
            reason(h),
        )
        for h in wrong
    )
    columns = (
        "item",
        "kernel",
        "µs",
        "counters",
        "we",
        "SM/memory %",
        "DRAM %",
        "tensor %",
        "our bytes/bw %",
        "reason",
    )
    return Table("Every disagreement", columns, rows)


def _our_shares(held: Held, device: Device) -> str:
    if held.ours.bytes is None or not device.memory_bytes_per_s or not held.ours.ns:
        return "—"
    return f"{held.ours.bytes / device.memory_bytes_per_s * 1e9 / held.ours.ns:.0%}"


def _percent(value: float | None) -> str:
    return "—" if value is None else f"{value:.0f}"


def reason(held: Held) -> str:
    """What the numbers say of a disagreement, in the order in which a cause excludes the next."""
    ours, counters = held.ours, held.counters
    sm, memory = counters.sm_percent or 0.0, counters.memory_percent or 0.0
    if ours.part is Part.UNKNOWN_KERNELS:
        return "cost unknown" if ours.bytes is None else "far from both of our roofs: nothing claimed"
    if _is_near(held):
        return "near the edge: the counters themselves are a few points apart"
    if held.truth is Part.COMPUTE and not ours.flops:
        return "arithmetic beside matrix products is not counted by us"
    if held.truth is Part.MEMORY and (counters.dram_percent or 0.0) < memory / 2:
        return "bound by a cache or shared memory, not by DRAM, whose bandwidth is our roof"
    if held.truth is Part.LATENCY:
        return f"both throughputs under {LATENCY_PERCENT:g} %: we hold it against measured peaks, not elapsed cycles"
    error = byte_error(held)
    if error is not None and abs(error) > BYTES_WITHIN:
        return f"our bytes are off by {error:+.0%}"
    return f"throughputs {sm:.0f} and {memory:.0f} %: no single cause seen"


def _wrong_bytes(large: Sequence[Held]) -> Table:
    rows = []
    for h in sorted(large, key=lambda h: h.item):
        error = byte_error(h)
        if error is None or abs(error) > BYTES_WITHIN:
            ours = "unknown" if h.ours.bytes is None else f"{h.ours.bytes / 1e6:.1f}"
            dram = f"{(h.counters.dram_bytes or 0.0) / 1e6:.1f}"
            cold = "flushed" if h.counters.is_cold else "warm"
            rows.append(
                (
                    h.item,
                    h.ours.name[:48],
                    h.ours.op or "—",
                    ours,
                    dram,
                    "—" if error is None else f"{error:+.0%}",
                    cold,
                )
            )
    columns = ("item", "kernel", "operator", "our MB", "DRAM MB", "error", "caches")
    return Table("Bytes off by more than 15 %", columns, tuple(rows))


def _failed(items: Sequence[TracedItem]) -> tuple[str, ...]:
    return tuple(f"{i.name} did not run: {i.error}" for i in items if i.error is not None)

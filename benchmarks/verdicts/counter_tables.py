"""The tables of a recording of counters: where we agree, where not and why, and how far our counts are off."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Final

from analyzer.core.budget import Part
from analyzer.core.device import Device
from benchmarks.verdicts.held_kernels import (
    BYTES_WITHIN,
    LATENCY_PERCENT,
    NEAR_PERCENT,
    Held,
    agreed,
    agreed_with_either,
    byte_error,
    is_near,
    share_touched_within,
    share_within,
)
from benchmarks.verdicts.judged_kernels import KERNEL_PARTS
from benchmarks.verdicts.result import BINS, Table

COLDER: Final = 1.4
"""Times as long as in the trace, from which on the counters are of another run of the kernel: most take 0.95 to 1.1,
and the shortest some 2 µs more."""


def confusion(held: Sequence[Held]) -> Table:
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


def by_family(held: Sequence[Held]) -> Table:
    rows = []
    for family in sorted({h.family for h in held}):
        own = [h for h in held if h.family == family]
        unknown = sum(h.ours.ns for h in own if not h.is_known) / sum(h.ours.ns for h in own)
        judged = agreed([h for h in own if h.is_known])
        share = "—" if judged is None else f"{judged:.1%}"
        rows.append((family, str(len(own)), share, f"{unknown:.1%}"))
    return Table("By family", ("family", "kernels", "agreement where judged", "unknown, of time"), tuple(rows))


def by_half(held: Sequence[Held], large: Sequence[Held]) -> Table:
    rows = []
    for half in (0, 1):
        own, moved = [h for h in held if h.half == half], [h for h in large if h.half == half]
        figures = (agreed(own), agreed_with_either(own), share_within(moved), share_touched_within(moved))
        rows.append((str(half), str(len(own)), *("—" if f is None else f"{f:.1%}" for f in figures)))
    columns = ("half", "kernels", "agreement", "with either", "bytes", "all bytes touched")
    return Table("By half of the items", columns, tuple(rows), "The halves are drawn by a hash of the item's name.")


def by_set(sets: Sequence[tuple[str, Sequence[Held], Sequence[Held]]]) -> Table:
    """Of each name its kernels that count for agreement, and those larger than the cache."""
    rows = []
    for name, own, moved in sets:
        ns = [h.ours.ns for h in own]
        clear = [h for h in own if h.is_known and not is_near(h)]
        figures = (
            max(ns) / sum(ns) if ns else None,
            agreed(own),
            agreed(clear),
            agreed_with_either(own),
            share_within(moved),
        )
        texts = ("—" if f is None else f"{f:.1%}" for f in figures)
        rows.append((name, str(len(own)), f"{sum(ns) / 1e6:.1f}", *texts))
    columns = (
        "set",
        "kernels",
        "ms",
        "the longest kernel's share",
        "agreement",
        "clear",
        "with either",
        "bytes",
    )
    note = f"Kernels of 5 µs and more. Clear: judged, with throughputs over {NEAR_PERCENT:g} points apart."
    return Table("By set", columns, tuple(rows), note)


def class_reliability(held: Sequence[Held]) -> Table:
    """By class and confidence: how often the counters agree. A class is right to about its confidence."""
    rows = []
    for part, (low, high) in itertools.product(KERNEL_PARTS[:3], itertools.pairwise(BINS)):
        own = [h for h in held if h.ours.part is part and _is_in(h.ours.confidence, low, high)]
        if own:
            mean = sum(h.ours.confidence or 0.0 for h in own) / len(own)
            strict, either = (sum(right) / len(own) for right in _rights(own))
            rows.append(
                (part.value, f"{low:.1f}–{high:.1f}", str(len(own)), f"{mean:.2f}", f"{strict:.2f}", f"{either:.2f}")
            )
    columns = ("we say", "confidence", "kernels", "mean confidence", "right", "right with either")
    note = "Of the kernels of a class given with confidence p, about p should be right. Kernels of 5 µs and more."
    return Table("Reliability of a kernel's class", columns, tuple(rows), note)


def _rights(held: Sequence[Held]) -> tuple[list[bool], list[bool]]:
    return [h.agrees for h in held], [h.agrees_with_either for h in held]


def _is_in(confidence: float | None, low: float, high: float) -> bool:
    return confidence is not None and (low <= confidence < high or high == confidence == BINS[-1])


def count_errors(held: Sequence[Held]) -> Table:
    """What we take kernels to reach of the hardware's rates, over what the counters say: median and middle half."""
    rows = []
    for name, ratios in (
        ("arithmetic of products, over the SM throughput", _ratios(held, is_product=True)),
        ("instructions, over the SM throughput", _ratios(held, is_product=False)),
        ("traffic, over the memory throughput", _memory_ratios(held)),
    ):
        if ratios:
            low, middle, high = (ratios[len(ratios) * n // 4] for n in (1, 2, 3))
            rows.append((name, str(len(ratios)), f"{low:.2f}", f"{middle:.2f}", f"{high:.2f}"))
    note = "Kernels of the class that the figure decides: compute for the first two, memory for the last."
    return Table(
        "What our counts are off by",
        ("figure", "kernels", "lower quarter", "median", "upper quarter"),
        tuple(rows),
        note,
    )


def _ratios(held: Sequence[Held], *, is_product: bool) -> list[float]:
    return sorted(
        100.0 * h.ours.compute_share / h.counters.sm_percent
        for h in held
        if h.truth is Part.COMPUTE
        and bool(h.ours.flops) is is_product
        and h.ours.compute_share
        and h.counters.sm_percent
    )


def _memory_ratios(held: Sequence[Held]) -> list[float]:
    return sorted(
        100.0 * h.ours.memory_share / h.counters.memory_percent
        for h in held
        if h.truth is Part.MEMORY and h.ours.part is Part.MEMORY and h.ours.memory_share and h.counters.memory_percent
    )


def byte_errors(large: Sequence[Held]) -> Table:
    errors = sorted(e for h in large if (e := byte_error(h)) is not None)
    edges = (-1.0, -0.5, -0.15, -0.05, 0.05, 0.15, 0.5, float("inf"))
    rows = []
    for low, high in itertools.pairwise(edges):
        rows.append((f"{low:+.0%} to {high:+.0%}", str(sum(low <= e < high for e in errors))))
    rows.append(("unknown", str(sum(byte_error(h) is None for h in large))))
    return Table("Bytes as we expect them over DRAM's, kernels larger than the L2", ("error", "kernels"), tuple(rows))


def disagreements(held: Sequence[Held], device: Device) -> Table:
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
    if counters.ns is not None and ours.ns and counters.ns > COLDER * ours.ns:
        return f"counted while it took {counters.ns / ours.ns:.1f} times as long: its caches were cold there"
    if is_near(held) and min(sm, memory) >= LATENCY_PERCENT and (counters.tensor_percent or 0.0) > sm - NEAR_PERCENT:
        # A warp group's 64 × 64 outputs load as many bytes for a product as shared memory gives in its time.
        return "near the edge: shared memory, which feeds the tensor cores, is as full as they are"
    if is_near(held):
        return "near the edge: the counters themselves are a few points apart"
    if held.truth is Part.COMPUTE and not ours.flops:
        return "arithmetic beside matrix products is not counted by us"
    if held.truth is Part.MEMORY and (counters.dram_percent or 0.0) < memory / 2:
        return "bound by a cache or shared memory, not by DRAM, whose bandwidth is our roof"
    if held.truth is Part.LATENCY:
        return f"both throughputs under {LATENCY_PERCENT:g} %: we hold it against measured peaks, not elapsed cycles"
    error = byte_error(held)
    if error is not None and abs(error) > BYTES_WITHIN:
        return f"the bytes that we expect memory to move are off by {error:+.0%}"
    return f"throughputs {sm:.0f} and {memory:.0f} %: no single cause seen"


def wrong_bytes(large: Sequence[Held]) -> Table:
    rows = []
    for h in sorted(large, key=lambda h: h.item):
        error = byte_error(h)
        if error is None or abs(error) > BYTES_WITHIN:
            ours = "unknown" if h.ours.memory_bytes is None else f"{h.ours.memory_bytes / 1e6:.1f}"
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
    columns = ("item", "kernel", "operator", "expected MB", "DRAM MB", "error", "caches")
    return Table("Bytes off by more than 15 %", columns, tuple(rows))

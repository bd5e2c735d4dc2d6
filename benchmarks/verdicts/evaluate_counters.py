"""Our verdict on each kernel against the device's counters, and our bytes against those that DRAM moved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from analyzer.core.device import Device
from benchmarks.verdicts.counter_tables import (
    by_family,
    by_half,
    byte_errors,
    class_reliability,
    confusion,
    count_errors,
    disagreements,
    wrong_bytes,
)
from benchmarks.verdicts.held_kernels import (
    NEAR_PERCENT,
    Held,
    agreed,
    agreed_with_either,
    hold,
    is_near,
    kernels_of_items,
    share_within,
)
from benchmarks.verdicts.recorded import CounterRecording, TracedItem
from benchmarks.verdicts.result import Check, Section

LEAST_NS: Final = 5_000
ASKED_AGREEMENT: Final = 0.95
ASKED_BYTES_SHARE: Final = 0.75

IN_SAMPLE: Final = (
    "Instructions an element of ATen's kernels, the rates that measured peaks reach and how products read again were "
    "taken from counters of an H200 with torch 2.11: on that recording agreement says how well they describe these "
    "kernels, and only another one how well they hold for others."
)


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
        checks=(*_agreement_checks(of_issue), *_byte_checks(large, device)),
        tables=(
            confusion(of_issue),
            by_family(of_issue),
            by_half(of_issue, large, device),
            class_reliability(of_issue),
            count_errors(of_issue),
            byte_errors(large),
            disagreements(of_issue, device),
            wrong_bytes(large),
        ),
        notes=(
            f"{traced} kernels of {len(kernels)} items under torch.profiler, {len(recording.counters)} launches under "
            f"ncu, {len(held)} matched by item, name and order",
            *_failed(recording.traced.items),
            IN_SAMPLE,
            *recording.notes,
        ),
    )


def _agreement_checks(held: Sequence[Held]) -> tuple[Check, ...]:
    known = [h for h in held if h.is_known]
    clear = [h for h in known if not is_near(h)]
    return (
        Check(
            "agreement by time, kernels ≥ 5 µs, unknown counted against us", ASKED_AGREEMENT, agreed(held), len(held)
        ),
        Check("agreement by time where we judged", ASKED_AGREEMENT, agreed(known), len(known)),
        Check(
            f"agreement by time where we judged and the throughputs are over {NEAR_PERCENT:g} points apart",
            ASKED_AGREEMENT,
            agreed(clear),
            len(clear),
        ),
        Check(
            f"not what is asked: the first figure, with either part right where the throughputs, or the higher and the "
            f"edge of latency, are under {NEAR_PERCENT:g} points apart",
            ASKED_AGREEMENT,
            agreed_with_either(held),
            len(held),
        ),
    )


def _is_large(held: Held, device: Device) -> bool:
    """Whether it moved more than the cache holds, by our count or by DRAM's: neither alone may choose the sample."""
    moved = held.counters.dram_bytes
    return moved is not None and device.l2_bytes is not None and max(moved, held.ours.bytes or 0.0) > device.l2_bytes


def _byte_checks(large: Sequence[Held], device: Device) -> tuple[Check, ...]:
    known = [h for h in large if h.ours.bytes is not None]
    what = "our bytes within 15 % of DRAM's, kernels larger than the L2"
    return (
        Check(f"{what}, unknown counted against us", ASKED_BYTES_SHARE, share_within(large, None), len(large)),
        Check(f"{what}, where we know them", ASKED_BYTES_SHARE, share_within(known, None), len(known)),
        Check(
            "not what is asked: the first of these, less the writes that stay in the L2 when a kernel ends",
            ASKED_BYTES_SHARE,
            share_within(large, device),
            len(large),
        ),
    )


def _failed(items: Sequence[TracedItem]) -> tuple[str, ...]:
    return tuple(f"{i.name} did not run: {i.error}" for i in items if i.error is not None)

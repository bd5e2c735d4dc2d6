"""What the roofline says in words: of a mark, of a recording, of the peaks. Draws nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from analyzer.core import quantities
from analyzer.core.budget import Part
from analyzer.core.device import VECTOR, Device, Source
from analyzer.derive.roofline import Anomaly
from analyzer.derive.sentences import ON_CHIP
from analyzer.reporting.plain_text import plain
from dashboard.roofline import Mark, Roofline, RoofSide

NAME_LIMIT: Final = 90
"""Characters of a kernel's name in a hover text and a table: templates reach 2,000."""


def peak_name(dtype: str) -> str:
    return "float32 vector" if dtype == VECTOR else dtype


def bound_words(mark: Mark) -> str:
    """What most of a mark's time is bound by. A budget counts shared memory that feeds arithmetic to compute."""
    match mark.part:
        case Part.COMPUTE:
            return "compute"
        case Part.MEMORY if mark.is_on_chip:
            return ON_CHIP
        case Part.MEMORY:
            return "memory"
        case Part.LATENCY:
            return "latency: far under both roofs"
        case _:
            return "not decided: some of its work is not known"


def per(side: RoofSide) -> str:
    return "a step" if side.steps else "in the recording"


def mark_lines(mark: Mark, side: RoofSide) -> Iterator[str]:
    """Of one mark, a line each."""
    yield plain(mark.name, NAME_LIMIT)
    yield f"{side.name} · {plain(mark.graph_label, NAME_LIMIT)}"
    yield f"{quantities.count(mark.calls)} calls, {quantities.duration(mark.ns)} {per(side)}"
    yield f"flops a call: {flops_text(mark)}"
    floor = ", at least: it may move several times that" if mark.is_floor else ""
    yield f"bytes a call: {quantities.byte_count(mark.bytes)}, {quantities.rate(mark.bytes_per_s, 'B')}{floor}"
    yield roof_text(mark)
    yield f"bound by {bound_words(mark)}"
    if mark.anomaly is not None:
        yield anomaly_text(mark.anomaly)


def flops_text(mark: Mark) -> str:
    if mark.flops is None:
        return "not counted, so that it stands at the left edge by its bytes alone"
    rough = ", instructions counted by kind, to a factor of two" if mark.is_rough else ""
    return f"{quantities.count(round(mark.flops))}, {quantities.rate(mark.flops_per_s, 'FLOP')}{rough}"


def roof_text(mark: Mark) -> str:
    """Its shares of the roofs that are drawn."""
    memory = f"{quantities.share(mark.memory_share)} of the memory roof"
    if mark.flops is None:
        return memory
    if mark.unit is None:
        return f"{memory}; float32 or TF32: the trace does not say which, so that no peak can be named"
    return f"{memory}, {quantities.share(mark.compute_share)} of {peak_name(mark.unit)}"


def anomaly_text(anomaly: Anomaly) -> str:
    match anomaly:
        case Anomaly.ARITHMETIC:
            return "anomaly: over 105 % of the arithmetic peak; the count or the peak is wrong"
        case Anomaly.BANDWIDTH:
            return "anomaly: over 105 % of the memory bandwidth; a cache served it, or the count is too high"


def peaks_words(device: Device) -> str:
    """Where the roofs come from, and those that are missing."""
    if not device.peaks and device.memory_bytes_per_s is None:
        why = " ".join(device.notes) or "it was not measured"
        return plain(
            f"No roof is known of {device.name}: {why}. Run `analyze model.py` on it, which measures them.", 600
        )
    match device.source:
        case Source.MEASURED:
            source = f"Peaks measured on this {device.name}, sustained"
        case Source.DATA_SHEET:
            source = f"Peaks from the data sheet of {device.name}, not measured: {'; '.join(device.notes)}"
    absent = [] if device.peaks else ["arithmetic peaks"]
    absent += [] if device.memory_bytes_per_s is not None else ["memory bandwidth"]
    absent += [] if device.l2_bytes_per_s is not None or device.kind == "cpu" else ["L2 bandwidth"]
    missing = f" Not known: {', '.join(absent)}." if absent else ""
    return plain(f"{source}.{missing}", 600)


def side_words(side: RoofSide, shown: int) -> Iterator[str]:
    """What of a recording's time is in the figure, and what is not and why."""
    kernels = "operators" if side.is_host else "kernels"
    left = "operator" if side.is_host else "kernel"
    left += "" if side.unknown_calls == 1 else "s"
    whole = quantities.duration(side.kernel_ns)
    placed = len(side.marks)
    marks = "one mark" if placed == 1 else f"{quantities.count(placed)} marks"
    yield f"{side.name}: {whole} of {kernels} {per(side)}, {marks} by name and graph."
    if side.unknown_ns > 0:
        names = ", ".join(f"{plain(one.name, 48)} {quantities.duration(one.ns)}" for one in side.unknown)
        yield (
            f"Not placed, since their bytes are not known: {quantities.count(side.unknown_calls)} {left} {per(side)}"
            f", {quantities.duration(side.unknown_ns)}, {quantities.share(_share(side.unknown_ns, side))} of the time "
            f"(longest: {names})."
        )
    if placed > shown:
        left_ns = sum(mark.ns for mark in side.marks[shown:])
        yield (
            f"The {shown} longest marks are drawn; the other {quantities.count(placed - shown)} take "
            f"{quantities.duration(left_ns)}, {quantities.share(_share(left_ns, side))} of the time."
        )
    beside = [
        f"{what} {quantities.duration(ns)}"
        for what, ns in (
            ("copies", side.copy_ns),
            ("collectives", side.collective_ns),
            (f"{kernels} outside of the steps, in all", side.outside_ns),
        )
        if ns > 0
    ]
    if beside:
        yield f"Under no roof: {', '.join(beside)}."


def legend_words(found: Roofline) -> Iterator[str]:
    """How to read the marks."""
    marks = [mark for side in found.sides for mark in side.marks]
    what = "an operator" if all(side.is_host for side in found.sides) else "a kernel"
    yield f"A mark is {what} by name and graph; its area goes with its time, its colour and shape with its graph."
    if len(found.sides) > 1:
        first, second = found.sides[0].name, found.sides[1].name
        yield f"Hollow: {first}. Filled: {second}. An arrow leads from one to the other where it moved by over 10 %."
    if any(mark.flops is None for mark in marks):
        yield "At the left edge stand kernels without counted arithmetic, as far under the memory roof as they are."


def _share(ns: float, side: RoofSide) -> float | None:
    return ns / side.kernel_ns if side.kernel_ns else None

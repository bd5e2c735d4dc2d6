"""How it was measured: versions, the device and its peaks, the stages, what was not linked or judged; and the ranks."""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.device import VECTOR, Device
from analyzer.core.ranks import RanksReport
from analyzer.core.report import Report
from analyzer.reporting.html_markup import NOTHING, Html, folded, items, joined, paragraph, shown, table, tag
from analyzer.reporting.ranks_text import RANK_TITLES, exposed_text, late_text, ranks_head, shown_ranks
from analyzer.reporting.report_text import attribution_text, notes_text

MOST_RANKS: Final = 64
MOST_LOST: Final = 40
MOST_RANK_NOTES: Final = 40
MOST_INPUTS: Final = 20


def how_section(report: Report, most_notes: int) -> Html:
    """With at most so many notes; the rest are counted."""
    blocks = [tag("dl", *_facts(report)), tag("h3", shown("Device")), tag("dl", *_device(report.device))]
    blocks += [paragraph(note, "quiet") for note in report.device.notes[:most_notes]]
    if report.stages:
        rows = [[shown(stage.name, 120), shown(quantities.clock(stage.ns))] for stage in report.stages]
        blocks += [tag("h3", shown("Stages of the run")), table(("stage", "time"), rows, (1,))]
    if report.attributed is not None:
        blocks += [tag("h3", shown("Kernel time of the profiled pass")), items(_attributed(report))]
    notes = notes_text(report)
    if notes:
        more = [f"and {len(notes) - most_notes} more in report.json"] if len(notes) > most_notes else []
        blocks += [tag("h3", shown("Notes")), items([*notes[:most_notes], *more])]
    return folded("How it was measured", *blocks, id_="how")


def ranks_section(report: Report) -> Html:
    ranks = report.ranks
    if ranks is None:
        return NOTHING
    titles = tuple(f"{title}, ms" if title not in ("rank", "hidden") else title for title in RANK_TITLES)
    rows = [[shown(cell) for cell in cells] for cells in shown_ranks(ranks, MOST_RANKS)]
    more = len(ranks.ranks) - MOST_RANKS
    lost = [f"lost: {one.source}: {one.reason}" for one in ranks.lost]
    lost = [*lost[:MOST_LOST], *([f"and {len(lost) - MOST_LOST} more were lost"] if len(lost) > MOST_LOST else [])]
    return folded(
        _head(ranks),
        items(late_text(ranks)),
        table(titles, rows, range(len(titles))),
        *([paragraph(f"and {quantities.count(more)} more ranks in report.json")] if more > 0 else []),
        items(exposed_text(ranks)),
        items([*lost, *ranks.notes[:MOST_RANK_NOTES]]),
        id_="ranks",
    )


def _head(ranks: RanksReport) -> str:
    """Without the unit of the terminal's table."""
    return ranks_head(ranks).removesuffix("; ms")


def _facts(report: Report) -> list[Html]:
    facts, versions = report.workload, report.versions
    inputs = [*facts.inputs[:MOST_INPUTS], *(["…"] if len(facts.inputs) > MOST_INPUTS else [])]
    pairs: list[tuple[str, str | None]] = [
        ("model", facts.name),
        ("source", facts.source),
        ("mode", facts.mode),
        ("inputs", ", ".join(inputs)),
        ("parameters", "" if facts.parameters is None else quantities.count(facts.parameters)),
        ("graphbound", versions.graphbound),
        ("Python", versions.python),
        ("torch", versions.torch),
        ("triton", versions.triton),
        ("CUDA", versions.cuda),
        ("driver", versions.driver),
        ("system", versions.platform),
    ]
    return _pairs(pairs)


def _device(device: Device) -> list[Html]:
    pairs: list[tuple[str, str | None]] = [
        ("name", device.name),
        ("figures", device.source.value if device.peaks or device.memory_bytes_per_s is not None else None),
        ("threads", None if device.threads is None else quantities.count(device.threads)),
        ("memory", None if device.memory_bytes is None else quantities.byte_count(device.memory_bytes)),
        ("last cache", None if device.l2_bytes is None else quantities.byte_count(device.l2_bytes)),
    ]
    pairs += [(_peak_name(peak.dtype), quantities.rate(peak.flops_per_s, "FLOP")) for peak in device.peaks]
    rates = (
        ("memory bandwidth", device.memory_bytes_per_s),
        ("reading alone", device.read_bytes_per_s),
        ("last cache's bandwidth", device.l2_bytes_per_s),
    )
    pairs += [(name, None if value is None else quantities.rate(value, "B")) for name, value in rates]
    costs = (
        ("a launch, on the host", device.launch_ns),
        ("gap between launched kernels", device.launch_gap_ns),
        ("gap in a CUDA graph", device.kernel_gap_ns),
        ("a replay", device.replay_ns),
        ("an empty kernel", device.empty_kernel_ns),
        ("an operation without work", device.empty_op_ns),
    )
    pairs += [(name, None if ns is None else quantities.duration(ns)) for name, ns in costs]
    return _pairs(pairs)


def _peak_name(dtype: str) -> str:
    return "float32 outside matrix units" if dtype == VECTOR else f"dense {dtype} products"


def _pairs(pairs: list[tuple[str, str | None]]) -> list[Html]:
    """What is not known has no line: the notes say what was not measured."""
    return [joined((tag("dt", shown(name)), tag("dd", shown(value)))) for name, value in pairs if value]


def _attributed(report: Report) -> list[str]:
    assert report.attributed is not None
    is_recorded = report.is_recorded
    lines = [f"{'' if is_recorded else 'before: '}{attribution_text(report.attributed, is_recorded=is_recorded)}"]
    if report.attributed_after is not None:
        lines.append(f"after: {attribution_text(report.attributed_after, is_recorded=is_recorded)}")
    return lines

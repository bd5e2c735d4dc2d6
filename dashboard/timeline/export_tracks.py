"""Our own tracks of an exported file: the window's budget, the graphs with what bounds them, the gaps with their
causes, the findings. They add up to the budget with what the rows of work are counted as.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from analyzer.core import quantities
from analyzer.core.finding import Finding
from analyzer.core.graphs import GraphKey
from analyzer.core.trace import ADDED_CATEGORY
from analyzer.reporting.plain_text import plain
from analyzer.reporting.rows import place
from dashboard.timeline.chrome import event, process, thread
from dashboard.timeline.export_rows import Placed
from dashboard.timeline.gaps import CAUSES
from dashboard.timeline.judged import Judged
from dashboard.timeline.lane import Lane, LaneKind
from dashboard.timeline.shades import fixed_label
from dashboard.timeline.timeline import Group

OWN: Final = 1
"""The number of our process after the side's first."""
_WINDOW: Final = 1
_FINDINGS: Final = 2
_LANES: Final = 3
"""Numbers of its tracks: those of lanes follow the others."""
MOST_FINDINGS: Final = 40
"""Stacked on one track; the rest are counted. Nobody reads a deeper stack."""
CAUSE_WORD: Final = "Graphbound: ns"


def track_lines(side: Placed, judged: Judged) -> Iterator[str]:
    pid = side.first_pid + OWN
    yield from process(pid, f"{plain(side.name)}: Graphbound", pid)
    yield from _window(side, judged)
    yield from _findings(side, judged)
    for group in _graph_groups(side):
        yield from _lanes(side, group, judged)


def _graph_groups(side: Placed) -> list[Group]:
    """Gaps, and the graphs on the device; on a CPU, which has no other place for them, those of the host."""
    found = {group.kind: group for group in side.timeline.groups}
    graphs = found.get(LaneKind.DEVICE_GRAPHS) or found.get(LaneKind.GRAPHS)
    gaps = found.get(LaneKind.GAPS)
    return [group for group in (graphs, gaps) if group is not None]


def _span(side: Placed) -> tuple[int, int]:
    budget = side.timeline.recording.budget
    start, end = (
        (side.timeline.start_ns, side.timeline.end_ns)
        if budget is None
        else (budget.window.start_ns, budget.window.end_ns)
    )
    return start + side.shift_ns, end + side.shift_ns


def _window(side: Placed, judged: Judged) -> Iterator[str]:
    budget, where = side.timeline.recording.budget, (side.first_pid + OWN, _WINDOW)
    yield from thread(where, "the recorded window", _WINDOW)
    args: dict[str, Any] = {"elapsed": quantities.duration(_span(side)[1] - _span(side)[0])}
    if budget is not None:
        args |= {f"{CAUSE_WORD} {part.part.value}": part.ns for part in budget.whole.parts}
    args |= {f"note {number + 1}": plain(told, 1_000) for number, told in enumerate(judged.caveats)}
    yield event(plain(judged.headline) or "the recorded window", ADDED_CATEGORY, where, _span(side), args)


def _findings(side: Placed, judged: Judged) -> Iterator[str]:
    """They have a place in the source and none in time: each spans the window, the one that costs most on top."""
    if not judged.findings:
        return
    where = (side.first_pid + OWN, _FINDINGS)
    yield from thread(where, "findings, each over the whole window", _FINDINGS)
    for finding in judged.findings[:MOST_FINDINGS]:
        yield event(_finding_name(finding), ADDED_CATEGORY, where, _span(side), _finding_args(finding))
    left = len(judged.findings) - MOST_FINDINGS
    if left > 0:
        yield event(f"{left} more findings in the report", ADDED_CATEGORY, where, _span(side), {})


def _finding_name(finding: Finding) -> str:
    cost = "" if finding.ns_per_step is None else f", {quantities.duration(finding.ns_per_step)} a step"
    return f"{plain(finding.rule)}: {place(finding.where)}{cost}"


def _finding_args(finding: Finding) -> dict[str, Any]:
    args: dict[str, Any] = {
        "what": plain(finding.message, 1_000),
        "remedy": plain(finding.remedy, 1_000),
        "confidence": finding.confidence.value,
        "times": finding.count,
    }
    if finding.where is not None:
        args["place"] = plain(str(finding.where))
    if finding.ns_per_step is not None:
        args["ns a step"] = finding.ns_per_step
    return args


def _lanes(side: Placed, group: Group, judged: Judged) -> Iterator[str]:
    """A loop over events, of which there are about as many as kernels: counted in `export_rows._rows`."""
    pid = side.first_pid + OWN
    label = group.label if group.kind is LaneKind.GAPS else f"{group.label}: what bounds them"
    for level in range(group.count):
        where = (pid, _LANES + group.first + level)
        beside = f", beside it ({level})" if level else ""
        yield from thread(where, f"{label}{beside}", where[1])
        lane = side.timeline.lanes[group.first + level]
        for at in range(len(lane)):
            name, args = _gap(side, lane, at) if group.kind is LaneKind.GAPS else _graph(side, group, lane, at, judged)
            window = (int(lane.start_ns[at]) + side.shift_ns, int(lane.end_ns[at]) + side.shift_ns)
            yield event(name, ADDED_CATEGORY, where, window, args)


def _gap(side: Placed, lane: Lane, at: int) -> tuple[str, dict[str, Any]]:
    ns = side.timeline.gaps.ns[int(lane.row[at])].tolist()
    causes = {f"{CAUSE_WORD} {fixed_label(cause)}": own for cause, own in zip(CAUSES, ns, strict=True) if own}
    return fixed_label(int(lane.by_graph[at])), causes


def _graph(side: Placed, group: Group, lane: Lane, at: int, judged: Judged) -> tuple[str, dict[str, Any]]:
    timeline, row = side.timeline, int(lane.row[at])
    if group.kind is LaneKind.GRAPHS:
        key, label, rows = timeline.graph_keys[row], timeline.graph_labels[row], {}
    else:
        number = int(timeline.stretches.region[row])
        key, label = timeline.recording.regions[number].key, timeline.region_labels[number]
        rows = {"device rows": int(timeline.stretches.rows[row])}
    return f"{plain(label)}: {judged.phrase(key)}", {"graph": str(key), **rows, **_verdict(judged, key)}


def _verdict(judged: Judged, key: GraphKey) -> dict[str, Any]:
    verdict = judged.verdicts.get(key)
    if verdict is None:
        return {"bound": judged.phrase(key)}
    told: dict[str, Any] = {"bound": verdict.bound.value}
    if verdict.confidence is not None:
        told["confidence"] = round(verdict.confidence, 3)
    told |= {f"evidence {number + 1}": plain(line, 1_000) for number, line in enumerate(verdict.evidence)}
    return told | ({"missing": plain(verdict.missing, 1_000)} if verdict.missing is not None else {})

"""What was measured: each way to run the model with its samples, one mark each, on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from analyzer.core import quantities
from analyzer.core.report import DEFAULT_PLAN, PlanTrial, Report
from analyzer.core.samples import Samples
from analyzer.core.timing import Crowd, SetTiming
from analyzer.reporting.html_markup import NOTHING, Html, items, joined, paragraph, shown, table, tag
from analyzer.reporting.report_text import plan_error, plan_memory, plan_speed

MOST_MARKS: Final = 200
"""Samples of one row that are drawn, evenly taken from the sorted ones; all count in the median and the spread."""
MOST_ROWS: Final = 60
MOST_REASONS: Final = 20
_SCALE_PERCENTILE: Final = 95
"""Of each row: the scale ends at the longest of these, or one slow step would press all others together."""
_STRIP_PX: Final = 22
_ROOM: Final = 1.06
_NUMBERS: Final = (1, 3, 4, 5, 6, 7)
"""The columns of figures, with the strip between them."""


def measured_section(report: Report) -> Html:
    """Nothing that was not measured; where nothing was, the sentence that says so."""
    blocks = [_plans(report), _steps(report), _sets(report.input_sets)]
    found = [block for block in blocks if block]
    crowd = _crowd(report.crowd)
    found += [paragraph(crowd, "loud")] if crowd else []
    return joined(found) if found else paragraph("No step was timed.", "empty")


def _plans(report: Report) -> Html:
    timed = [plan for plan in report.plans if plan.step_ns is not None]
    if not timed:
        return NOTHING
    default = next((plan for plan in report.plans if plan.name == DEFAULT_PLAN), None)
    scale = _scale([plan.step_ns for plan in timed if plan.step_ns is not None])
    has_memory = any(plan.peak_bytes is not None for plan in timed)
    titles = ["", "a step", f"0 to {quantities.duration(scale)}", "spread", "samples", "speed", "error", "memory"]
    rows = [_plan(plan, default, scale) for plan in timed[:MOST_ROWS]]
    if not has_memory:
        titles, rows = titles[:-1], [row[:-1] for row in rows]
    rest = [f"{plan.name}: {plan.outcome.value}, {plan.reason}" for plan in report.plans if plan.reason is not None]
    told = (
        "Steps of the whole model without the profiler, each mark one, the line their median. Spread is half the "
        "distance between the quartiles. Speed is against torch.compile, of steps taken in turn; * is the plan."
    )
    return joined((paragraph(told, "quiet"), table(titles, rows, _NUMBERS), items(rest[:MOST_REASONS])))


def _plan(plan: PlanTrial, default: PlanTrial | None, scale: int) -> list[Html]:
    assert plan.step_ns is not None
    name = f"* {plan.name}" if plan.is_chosen else plan.name
    return [
        tag("strong", shown(name, 80)) if plan.is_chosen else shown(name, 80),
        *_figures(plan.step_ns, scale),
        shown(plan_speed(plan, default)),
        shown(plan_error(plan)),
        shown(plan_memory(plan)),
    ]


def _steps(report: Report) -> Html:
    """The first clean pass, where no ways were laid beside it; of a trace, the steps that were recorded."""
    if report.step_ns is None or any(plan.step_ns is not None for plan in report.plans):
        return NOTHING
    what = "steps as recorded, with what recording cost" if report.is_recorded else "steps without the profiler"
    scale = _scale([report.step_ns])
    titles = ("", "a step", f"0 to {quantities.duration(scale)}", "spread", "samples")
    return table(titles, [[shown(what), *_figures(report.step_ns, scale)]], _NUMBERS)


def _sets(sets: Sequence[SetTiming]) -> Html:
    if not sets:
        return NOTHING
    titles = ("inputs of one set", "eager", "default", "plan", "compiled for it", "compiled again")
    rows = [
        [
            shown(", ".join(one.inputs), 200),
            *(shown(_median(samples)) for samples in (one.eager_ns, one.default_ns, one.plan_ns)),
            *(shown("" if number is None else quantities.count(number)) for number in (one.compiles, one.recompiles)),
        ]
        for one in sets[:MOST_ROWS]
    ]
    more = [f"and {len(sets) - MOST_ROWS} more sets in report.json"] if len(sets) > MOST_ROWS else []
    return joined((table(titles, rows, range(1, 6)), items(more)))


def _median(samples: Samples | None) -> str:
    return "" if samples is None else quantities.duration(samples.median_ns, spread=samples.spread)


def _figures(samples: Samples, scale: int) -> list[Html]:
    spread = f"± {quantities.share(samples.spread)}" if len(samples.ns) > 1 else ""
    number = quantities.count(len(samples.ns))
    return [shown(_median(samples)), _strip(samples, scale), shown(spread), shown(number)]


def _scale(rows: Sequence[Samples]) -> int:
    longest = max(float(np.percentile(row.array(), _SCALE_PERCENTILE)) for row in rows)
    return max(round(longest * _ROOM), 1)


def _strip(samples: Samples, scale: int) -> Html:
    ordered = np.sort(samples.array())
    inside = ordered[ordered <= scale]
    beyond = int(ordered.size - inside.size)
    if inside.size > MOST_MARKS:
        inside = inside[np.linspace(0, inside.size - 1, MOST_MARKS).astype(np.int64)]
    middle = _STRIP_PX / 2
    marks = [tag("circle", cx=f"{ns / scale:.2%}", cy=middle, r=3) for ns in inside.tolist()]
    at = f"{min(samples.median_ns / scale, 1.0):.2%}"
    low, high = quantities.durations((int(ordered[0]), int(ordered[-1])), separator="|").split("|")
    label = f"{quantities.count(len(samples.ns))} samples from {low} to {high}"
    return tag(
        "div",
        tag(
            "svg",
            tag("line", x1=0, x2="100%", y1=middle, y2=middle, class_="base"),
            tag("g", *marks, class_="dot"),
            tag("line", x1=at, x2=at, y1=2, y2=_STRIP_PX - 2, class_="median"),
            height=_STRIP_PX,
            role="img",
            aria_label=label,
            class_="strip",
        ),
        *([tag("span", shown(f"{beyond} beyond the scale"), class_="quiet")] if beyond else []),
    )


def _crowd(crowd: Crowd | None) -> str | None:
    if crowd is None or not crowd.is_crowded:
        return None
    return (
        f"Other programs kept {quantities.count(crowd.other_cores)} of {crowd.cores} cores busy while steps were timed "
        f"with {crowd.threads} threads: times may be too long."
    )

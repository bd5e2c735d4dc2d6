"""Which colour each graph has, the same in every panel and on both timelines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from analyzer.core.graphs import GapKey, GraphKey, Region
from analyzer.core.report import Report
from analyzer.reporting.palette import GREY, OKABE_ITO
from analyzer.reporting.rows import region_rows
from dashboard.step_view import StepView

OTHER_GRAPHS: Final = "#444444"
LAUNCHES: Final = "#000000"
WAITS: Final = "#D9D9D9"


@dataclass(frozen=True, slots=True)
class Shade:
    """`label` names it in the legend, in the words of the report; `outline` None is a line of the same colour."""

    label: str
    colour: str
    outline: str | None = None


EAGER_GAPS: Final = Shade("eager gaps", GREY)
NOT_LINKED: Final = Shade("not linked", "#FFFFFF", outline="#666666")


@dataclass(frozen=True, slots=True)
class Colours:
    """The longest graphs have a colour each, as many as there are colours that can be told apart."""

    graphs: tuple[tuple[GraphKey, Shade], ...]
    others: Shade

    def of(self, region: Region | None) -> Shade:
        if region is None:
            return NOT_LINKED
        if isinstance(region, GapKey):
            return EAGER_GAPS
        return next((shade for key, shade in self.graphs if key == region), self.others)


def choose_colours(report: Report | None, views: tuple[StepView, ...]) -> Colours:
    """Colours by time in the step: that of the report, else that of the bars which are drawn."""
    named = _by_report(report) if report is not None and report.graphs else _by_bars(views)
    shades = tuple((key, Shade(label, colour)) for (key, label), colour in zip(named, OKABE_ITO, strict=False))
    more = max(len(named) - len(shades), 0)
    return Colours(graphs=shades, others=Shade(f"{more} shorter graphs" if more else "other graphs", OTHER_GRAPHS))


def _by_report(report: Report) -> list[tuple[GraphKey, str]]:
    rows = sorted(region_rows(report), key=lambda row: -(row.before_ns or 0))
    return [(row.region, row.label) for row in rows if isinstance(row.region, GraphKey)]


def _by_bars(views: tuple[StepView, ...]) -> list[tuple[GraphKey, str]]:
    total_ns: dict[GraphKey, int] = {}
    for view in views:
        for bar in view.bars:
            if isinstance(bar.region, GraphKey):
                total_ns[bar.region] = total_ns.get(bar.region, 0) + bar.duration_ns
    return [(key, str(key)) for key in sorted(total_ns, key=lambda key: (-total_ns[key], key))]

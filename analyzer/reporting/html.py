"""The report as one file: it opens offline, loads nothing and runs no script. The blocks of the terminal, to be read
and printed; below them, folded, everything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from analyzer.core.report import Report
from analyzer.reporting.device_text import peaks_text
from analyzer.reporting.html_bars import step_section
from analyzer.reporting.html_document import MOST_BYTES, document, warnings_of
from analyzer.reporting.html_findings import all_section, top_section
from analyzer.reporting.html_graphs import graphs_section
from analyzer.reporting.html_how import how_section, ranks_section
from analyzer.reporting.html_markup import Html, command, paragraph, prose, shown, tag
from analyzer.reporting.html_measured import measured_section
from analyzer.reporting.html_models import render_gate, render_runs
from analyzer.reporting.html_path import path_section
from analyzer.reporting.html_timeline import timeline_section, without_lanes
from analyzer.reporting.plain_text import plain
from analyzer.reporting.renderer import Page, Renderer
from analyzer.reporting.report_text import outcome_text
from analyzer.reporting.shown_step import ShownStep

NO_ROOM: Final = "Its lanes were left out for want of room: `analyze dashboard RUN` shows them."


@dataclass(frozen=True, slots=True)
class _Detail:
    """How much of the folded part there is room for."""

    cards: int
    findings: int
    notes: int
    has_rules: bool
    has_lanes: bool


_DETAILS: Final = (
    _Detail(cards=60, findings=100, notes=100, has_rules=True, has_lanes=True),
    _Detail(cards=60, findings=100, notes=100, has_rules=True, has_lanes=False),
    _Detail(cards=20, findings=40, notes=40, has_rules=False, has_lanes=False),
    _Detail(cards=0, findings=10, notes=20, has_rules=False, has_lanes=False),
)
"""The least that is dropped first; the blocks of the first screen never are."""


def render(report: Report, page: Page) -> str:
    """The whole page, in at most `page.most_bytes` or MOST_BYTES as far as dropping details does it."""
    text = ""
    for detail in _DETAILS:
        text = _page(report, page, detail)
        if len(text.encode()) <= (page.most_bytes or MOST_BYTES):
            break
    return text


def _page(report: Report, page: Page, detail: _Detail) -> str:
    return document(report.workload.name, _head(report), _main(report, page, detail))


def _main(report: Report, page: Page, detail: _Detail) -> Iterator[Html]:
    steps: Sequence[ShownStep] = page.steps if detail.has_lanes else without_lanes(page.steps, NO_ROOM)
    rules = page.rules if detail.has_rules else ()
    title = "Where the recorded time goes" if report.is_recorded else "Where a step goes"
    yield _section("step", title, step_section(report))
    yield path_section(report)
    yield _section("findings", "What costs most", top_section(report))
    yield _section("measured", "What was measured", measured_section(report))
    yield _section("next", "Next", _command(report))
    yield _section("timeline", _timeline_title(steps), timeline_section(steps))
    yield ranks_section(report)
    yield graphs_section(report, detail.cards)
    yield all_section(report, rules, detail.findings)
    yield how_section(report, detail.notes)


def _head(report: Report) -> Iterator[Html]:
    """The reasons not to believe what follows come before it."""
    facts = report.workload
    what = (facts.name, facts.mode, report.device.name, *peaks_text(report.device), f"torch {report.versions.torch}")
    yield paragraph(" · ".join(plain(word, 80) for word in what), "quiet")
    yield from warnings_of(report)
    yield tag("h1", prose(report.headline))
    outcome = outcome_text(report)
    if outcome is not None:
        yield paragraph(outcome, "outcome")


def _section(id_: str, title: str, *inner: Html) -> Html:
    return tag("section", tag("h2", shown(title)), *inner, id=id_)


def _command(report: Report) -> Html:
    return tag("pre", tag("code", command(report.next_command)), class_="command")


def _timeline_title(steps: Sequence[ShownStep]) -> str:
    return "One step, before and after" if len(steps) > 1 else "One step as recorded"


RENDERER: Final = Renderer(
    id="html",
    summary="one file for a browser, which loads nothing",
    render=render,
    render_gate=render_gate,
    render_runs=render_runs,
)

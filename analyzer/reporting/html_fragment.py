"""The report as a small piece of HTML for a notebook cell: no script, no style sheet, nothing from the network."""

from __future__ import annotations

from html import escape
from typing import Final

from analyzer.core import quantities
from analyzer.core.budget import Budget, Part
from analyzer.core.report import Report
from analyzer.reporting.budget_bar import part_title, parts_in
from analyzer.reporting.caveats import chosen_caveats
from analyzer.reporting.device_text import peaks_text
from analyzer.reporting.palette import part_colour
from analyzer.reporting.plain_text import COMMAND_LIMIT, plain, plain_command
from analyzer.reporting.renderer import Page, Renderer
from analyzer.reporting.report_text import HONESTY_TITLE, outcome_text, warnings_text
from analyzer.reporting.rows import RegionRow, place, region_rows, verdict_text

SENTENCE_LIMIT: Final = 400
_BAR_PX: Final = 160
_MAX_HONESTY: Final = 20
_MAX_ROWS: Final = 100
"""Rows of a table in a notebook: more make the page slow, and nobody scrolls that far. The rest are counted."""


def render(report: Report, page: Page) -> str:
    """One `<div>` with every text of the user's program escaped; the page changes nothing."""
    parts = [
        _line("p", " · ".join(_what(report)), "color:#666;margin:0"),
        *_warnings(report),
        _line("p", report.headline, "font-weight:bold;margin:4px 0"),
        *_outcome(report),
        _regions(report),
        _legend(report),
        _findings(report),
        *(_line("p", line, "margin:2px 0") for line in chosen_caveats(report)),
        f'<code style="white-space:pre-wrap">{escape(plain_command(report.next_command, COMMAND_LIMIT))}</code>',
    ]
    return f'<div class="graphbound-report" style="font-size:13px">{"".join(parts)}</div>\n'


def _what(report: Report) -> tuple[str, ...]:
    return (report.workload.name, report.workload.mode, report.device.name, *peaks_text(report.device))


def _warnings(report: Report) -> list[str]:
    style = "color:#b00020;font-weight:bold;margin:4px 0"
    warnings = [_line("p", warning, style) for warning in warnings_text(report)]
    if report.honesty:
        warnings.append(_line("p", HONESTY_TITLE, style))
        more = len(report.honesty) - _MAX_HONESTY
        told = [*report.honesty[:_MAX_HONESTY], *([f"and {more} more in report.json"] if more > 0 else [])]
        warnings.append(f"<ul>{''.join(_line('li', sentence, '') for sentence in told)}</ul>")
    return warnings


def _outcome(report: Report) -> list[str]:
    outcome = outcome_text(report)
    return [] if outcome is None else [_line("p", outcome, "margin:4px 0")]


def _regions(report: Report) -> str:
    rows = region_rows(report)
    if not rows:
        return ""
    titles = ("graph", "bound by", "share", "budget", "plan", "before → after")
    head = "".join(_line("th", title, "text-align:left;padding:2px 8px") for title in titles)
    body = "".join(_region(row) for row in rows[:_MAX_ROWS])
    more = len(rows) - _MAX_ROWS
    tail = _line("p", f"and {more} more in report.json", "") if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{tail}"


def _region(row: RegionRow) -> str:
    cells = (
        row.label,
        verdict_text(row.verdict),
        quantities.share(row.share),
        None,
        row.chosen or "eager",
        quantities.durations((row.before_ns, row.after_ns))
        if row.after_ns is not None
        else quantities.duration(row.before_ns),
    )
    style = "text-align:left;padding:2px 8px"
    return "<tr>" + "".join(_bar(row.budget) if c is None else _line("td", c, style) for c in cells) + "</tr>"


def _bar(budget: Budget | None) -> str:
    if budget is None:
        return _line("td", quantities.UNKNOWN, "padding:2px 8px")
    spans = "".join(_bar_part(part, budget) for part in Part if budget.ns(part) > 0)
    return f'<td style="padding:2px 8px"><div style="display:flex;width:{_BAR_PX}px;height:12px">{spans}</div></td>'


def _bar_part(part: Part, budget: Budget) -> str:
    title = escape(part_title(budget, part))
    width = budget.share(part) * _BAR_PX
    return f'<span title="{title}" style="width:{width:.1f}px;background:{part_colour(part)}"></span>'


def _legend(report: Report) -> str:
    names = (
        f'<span style="color:{part_colour(part)}">■</span> {escape(part.value)}'
        for part in parts_in(row.budget for row in region_rows(report))
    )
    return f'<p style="margin:2px 0">{" &nbsp; ".join(names)}</p>'


def _findings(report: Report) -> str:
    items = "".join(
        _line(
            "li", f"{place(f.where)} {f.rule}, {quantities.duration(f.ns_per_step)} a step: {f.message}. {f.remedy}", ""
        )
        for f in report.findings[:_MAX_ROWS]
    )
    return f"<ul>{items}</ul>" if items else ""


def _line(tag: str, text: str, style: str) -> str:
    attribute = f' style="{style}"' if style else ""
    return f"<{tag}{attribute}>{escape(plain(text, SENTENCE_LIMIT))}</{tag}>"


RENDERER: Final = Renderer(id="html_fragment", summary="a piece of HTML for a notebook", render=render)

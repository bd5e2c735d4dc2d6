"""The frame of a page that loads nothing and runs no script, and the blocks of one report that any such page has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from analyzer.core.report import Report
from analyzer.reporting.html_markup import Html, items, paragraph, shown, tag
from analyzer.reporting.html_patterns import definitions
from analyzer.reporting.html_style import STYLE, policy
from analyzer.reporting.report_text import HONESTY_TITLE, warnings_text

MOST_BYTES: Final = 1_000_000
"""What a page may have: less than what is worth a thought when it is sent by mail."""

MOST_HONESTY: Final = 30

FOLDS: Final = "This browser prints what is folded only where it was opened: open it on the page, and print again."
"""On paper alone, and only of a browser that cannot open folds by style (Firefox before 143)."""


def document(title: str, header: Iterator[Html], main: Iterator[Html]) -> str:
    """The whole page, which ends in a newline."""
    body = tag(
        "body",
        definitions(),
        tag("header", *header),
        tag("main", *main),
        tag(
            "footer",
            paragraph("Made by Graphbound. Every figure is a field of report.json."),
            paragraph(FOLDS, "on-paper"),
        ),
    )
    return f'<!doctype html>\n<html lang="en">{_meta(title)}{body}</html>\n'


def warnings_of(report: Report) -> Iterator[Html]:
    """The reasons not to believe what follows, in one block; nothing where there are none."""
    said = [paragraph(warning, "loud") for warning in warnings_text(report)]
    if report.honesty:
        more = len(report.honesty) - MOST_HONESTY
        said.append(paragraph(HONESTY_TITLE, "loud"))
        said.append(items([*report.honesty[:MOST_HONESTY], *([f"and {more} more in report.json"] if more > 0 else [])]))
    if said:
        yield tag("div", *said, class_="warnings", role="note")


def _meta(title: str) -> Html:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy()),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", shown(f"Graphbound: {title}", 120)),
        tag("style", Html(STYLE)),
    )

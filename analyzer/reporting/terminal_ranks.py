"""The sections of the terminal report that only recorded traces have: what cannot be believed, and the ranks.

Imports rich: only terminal_sections.py imports this module.
"""

from __future__ import annotations

from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from analyzer.core.ranks import RanksReport
from analyzer.core.report import Report
from analyzer.reporting.plain_text import plain
from analyzer.reporting.ranks_text import RANK_TITLES, exposed_text, late_text, ranks_head, shown_ranks
from analyzer.reporting.report_text import HONESTY_TITLE

MOST_RANKS: Final = 16
"""Rows of a screen: those that were latest, then those that waited most."""
_LIMIT: Final = 300


def honesty_section(report: Report, width: int) -> list[RenderableType]:
    """What the trace cannot be believed in, before any of its figures."""
    if not report.honesty:
        return []
    lines = [_indented(Text(plain(text, _LIMIT))) for text in report.honesty]
    return [Text(HONESTY_TITLE, style="bold yellow"), *lines]


def ranks_section(report: Report, width: int) -> list[RenderableType]:
    """The ranks side by side, who was late, and which collectives were exposed."""
    ranks = report.ranks
    if ranks is None:
        return []
    blocks: list[RenderableType] = [Text(ranks_head(ranks), style="bold"), _table(ranks)]
    blocks += [_indented(Text(line)) for line in late_text(ranks)]
    blocks += [_indented(Text(line)) for line in exposed_text(ranks)]
    return blocks


def _table(ranks: RanksReport) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    for title in RANK_TITLES:
        table.add_column(title.rjust(6) if title == RANK_TITLES[0] else title, justify="right", no_wrap=True)
    for cells in shown_ranks(ranks, MOST_RANKS):
        table.add_row(*cells)
    if len(ranks.ranks) > MOST_RANKS:
        table.add_row(f"and {len(ranks.ranks) - MOST_RANKS} more", *("" for _ in RANK_TITLES[1:]))
    return table


def _indented(text: Text) -> RenderableType:
    return Padding(text, (0, 0, 0, 2))

"""The critical path of a recorded trace, on the first screen of the page."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.core.critical_path import PathRow
from analyzer.core.report import Report
from analyzer.reporting.html_markup import NOTHING, Html, folded, items, paragraph, shown, tag
from analyzer.reporting.path_text import MOST_SHOWN, path_lines
from analyzer.reporting.plain_text import WHOLE_NAME, plain


def path_section(report: Report, id_: str | None = "path") -> Html:
    """What it leads through and what is most on it, or why it is not known; nothing of a run of a model."""
    path = report.critical_path
    lines = path_lines(path)
    if path is None or not lines:
        return NOTHING
    rows = [items(lines[1:]), _whole_names(path.rows[:MOST_SHOWN], lines[1:])] if len(lines) > 1 else []
    return tag("section", tag("h2", shown("Critical path")), paragraph(lines[0]), *rows, id=id_)


def _whole_names(rows: Sequence[PathRow], lines: Sequence[str]) -> Html:
    """Folded, of the rows whose line had no room for their name."""
    names = [plain(row.name, WHOLE_NAME) for row in rows]
    said = "\n".join(lines)
    cut = [name for name in names if name not in said]
    if not cut:
        return NOTHING
    title = "Its name in full" if len(cut) == 1 else "Their names in full"
    return folded(title, tag("ul", *(tag("li", tag("code", shown(name, WHOLE_NAME))) for name in cut)), class_="inner")

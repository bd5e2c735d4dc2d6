"""The results as text for people."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.verdicts.result import Check, Section, Table, reliability


def page(sections: Sequence[Section]) -> str:
    """The whole of `verdicts.md`."""
    lines = [
        "# Verdicts against counters, interventions and cases",
        "",
        "Made by `python -m benchmarks.verdicts evaluate FOLDER…` from recordings of raw facts; figures in "
        "`verdicts.json`. A figure over nothing is *not measured*, never met.",
        "",
        *_checks(sections),
    ]
    for section in sections:
        lines += [f"## {section.title}", "", f"{section.where}.", ""]
        for table in section.tables:
            lines += _table(table)
        if section.notes:
            lines += ["Notes:", "", *(f"- {_cell(note)}" for note in section.notes), ""]
    lines += ["## Confidence", "", *_table(reliability(tuple(s for section in sections for s in section.stated)))]
    for section in sections:
        if section.stated:
            lines += [f"From {section.title.lower()}:", "", *_table(reliability(section.stated))]
    return "\n".join(lines).rstrip() + "\n"


def _checks(sections: Sequence[Section]) -> list[str]:
    rows = tuple(
        (section.title, check.what, asked(check), found(check), str(check.of), check.meets.value)
        for section in sections
        for check in section.checks
    )
    return _table(Table("What was asked", ("part", "figure", "asked", "found", "over", ""), rows))


def asked(check: Check) -> str:
    return f"{'at most' if check.is_at_most else 'at least'} {_figure(check.asked)}"


def found(check: Check) -> str:
    return "—" if check.found is None else _figure(check.found)


def _figure(value: float) -> str:
    return f"{value:.0f}" if value > 1 or value == 0 else f"{value:.1%}"


def _table(table: Table) -> list[str]:
    lines = [f"### {table.title}", ""]
    if table.note:
        lines += [table.note, ""]
    if not table.rows:
        return [*lines, "None.", ""]
    lines += [_row(table.columns), _row(["---"] * len(table.columns))]
    return [*lines, *(_row(row) for row in table.rows), ""]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    """A cell may hold what torch or a header said: no line break, no column of its own, no markup."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("`", "'")

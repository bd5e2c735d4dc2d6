"""The ledger of predictions over time: `python -m benchmarks.ledger add RUN...` appends the trials of run folders.

Only this writes `benchmarks/ledger.json`; a user's runs keep theirs in their own reports. Without arguments it prints
how far the predictions of each candidate were off, over all that was added.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analyzer.core.report import Report
from analyzer.derive.ledger import Entry, ledger, reliance
from analyzer.reporting.json import read_report

LEDGER: Final = Path(__file__).resolve().parent / "ledger.json"
SCHEMA: Final = 1
ASKED_MEDIAN: Final = 0.05
ASKED_TAIL: Final = 0.15
"""Of the step, over every trial (issue 4)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One trial, with what it was of. `date` is the day of the run, as YYYY-MM-DD."""

    model: str
    mode: str
    device: str
    torch: str
    date: str
    entry: Entry


def rows_of(report: Report, date: str) -> tuple[Row, ...]:
    work, versions = report.workload, report.versions
    return tuple(Row(work.name, work.mode, report.device.name, versions.torch, date, entry) for entry in ledger(report))


def read_rows(path: Path = LEDGER) -> tuple[Row, ...]:
    """The rows in the order added; none where there is no ledger yet. Raises ValueError for another schema."""
    if not path.exists():
        return ()
    found = json.loads(path.read_text())
    if found["schema"] != SCHEMA:
        raise ValueError(f"{path} has schema {found['schema']}, this reads {SCHEMA}")
    return tuple(_row(one) for one in found["trials"])


def append(rows: Iterable[Row], path: Path = LEDGER) -> int:
    """Add rows behind those there are; one that is there already is not added again. Returns how many were added."""
    known = read_rows(path)
    new = [row for row in dict.fromkeys(rows) if row not in known]
    trials = [_plain(row) for row in (*known, *new)]
    path.write_text(json.dumps({"schema": SCHEMA, "trials": trials}, indent=1) + "\n")
    return len(new)


def table(rows: Sequence[Row]) -> str:
    """Per candidate and over all: trials, median and 90th percentile of the error, as shares of the step."""
    names = sorted({row.entry.candidate for row in rows})
    groups = [(name, [row.entry for row in rows if row.entry.candidate == name]) for name in names]
    lines = [f"{'candidate':<32} {'trials':>6} {'median':>7} {'90 %':>7}"]
    for name, entries in (*groups, ("all", [row.entry for row in rows])):
        found = reliance(entries)
        if found is not None:
            lines.append(f"{name:<32} {found.entries:>6} {found.median:>7.1%} {found.tail:>7.1%}")
    lines.append(f"{'asked':<32} {'':>6} {ASKED_MEDIAN:>7.1%} {ASKED_TAIL:>7.1%}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ledger", description=__doc__)
    parser.add_argument("--ledger", type=Path, default=LEDGER)
    commands = parser.add_subparsers(dest="command")
    add = commands.add_parser("add", help="append the trials of these run folders")
    add.add_argument("date", help="the day of the runs, YYYY-MM-DD")
    add.add_argument("runs", nargs="+", type=Path)
    asked = parser.parse_args(arguments)
    if asked.command == "add":
        rows = [row for run in asked.runs for row in rows_of(read_report(run / "report.json"), asked.date)]
        print(f"{append(rows, asked.ledger)} of {len(rows)} trials added to {asked.ledger}")
    print(table(read_rows(asked.ledger)))
    return 0


def _plain(row: Row) -> dict[str, Any]:
    entry = row.entry
    return {
        "model": row.model,
        "mode": row.mode,
        "device": row.device,
        "torch": row.torch,
        "date": row.date,
        "graph": entry.digest,
        "candidate": entry.candidate,
        "predicted_ns": entry.predicted_ns,
        "measured_ns": entry.measured_ns,
        "step_ns": entry.step_ns,
    }


def _row(one: dict[str, Any]) -> Row:
    entry = Entry(one["graph"], one["candidate"], one["predicted_ns"], one["measured_ns"], one["step_ns"])
    return Row(one["model"], one["mode"], one["device"], one["torch"], one["date"], entry)


if __name__ == "__main__":
    raise SystemExit(main())

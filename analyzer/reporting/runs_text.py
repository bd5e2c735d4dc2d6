"""The runs of several models for a terminal: a line each, with what bounds it, what its plan did and where its report
lies; below it why there is none.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.errors import ExitCode
from analyzer.core.model_runs import ModelRun, ModelRuns
from analyzer.core.shell import shell_path
from analyzer.reporting.model_words import bound_text, outcome_text, step_text
from analyzer.reporting.plain_text import ELLIPSIS, plain, plain_command

NAME_LIMIT: Final = 40
PATH_LIMIT: Final = 4_096
"""Of a folder, which is to be copied: what Linux takes."""
ERROR_LIMIT: Final = 1_000

_TITLES: Final = ("model", "bound by", "a step", "plan", "report")
DID_NOT_RUN: Final = "did not run"


def runs_text(runs: ModelRuns) -> str:
    """Ends in a newline. Hostile names are escaped; the last column, a path, is never cut."""
    rows = [_row(run) for run in runs.runs]
    widths = [max(len(row[column]) for row in (_TITLES, *rows)) for column in range(len(_TITLES) - 1)]
    lines = [plain(runs.headline, ERROR_LIMIT), "", _line(_TITLES, widths)]
    for run, row in zip(runs.runs, rows, strict=True):
        lines.append(_line(row, widths))
        lines += [f"  → {reason}" for reason in _reasons(run)]
    lines += ["", plain_command(runs.command, PATH_LIMIT)]
    return "\n".join(lines) + "\n"


def _row(run: ModelRun) -> tuple[str, ...]:
    folder = "-" if run.folder is None else plain_command(shell_path(run.folder), PATH_LIMIT)
    name = _tail(plain(run.name))
    report = run.report
    if report is None:
        return name, "-", "-", DID_NOT_RUN, folder
    bound = quantities.UNKNOWN if report.capture is None else bound_text(report)
    return name, bound, step_text(report), _plan(run), folder


def _plan(run: ModelRun) -> str:
    assert run.report is not None
    return outcome_text(run.report) if run.report.partial is None else "partial report"


def _reasons(run: ModelRun) -> list[str]:
    partial = run.report.partial if run.report is not None else None
    said = [text for text in (run.error, partial) if text]
    if not said and run.exit_code != ExitCode.OK:
        said = [f"it ended with exit code {run.exit_code}"]
    return [plain(text, ERROR_LIMIT) for text in said]


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    padded = [f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=False)]
    return "  ".join((*padded, cells[-1])).rstrip()


def _tail(name: str) -> str:
    """The end of a long path says more than its beginning."""
    return name if len(name) <= NAME_LIMIT else ELLIPSIS + name[-NAME_LIMIT + 1 :]

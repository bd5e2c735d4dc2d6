"""What a run folder holds, as far as it can be read: a part that is missing says what would make it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analyzer.core.errors import GraphboundError, UnreadableFileError
from analyzer.core.report import Report
from analyzer.reporting.json import REPORT_FILE, read_report
from collectors.readers.kineto import read_trace
from dashboard.step_view import StepView, view_median_step

BEFORE_FILE: Final = "before.trace.json.gz"
AFTER_FILE: Final = "after.trace.json.gz"

NO_BEFORE: Final = (
    f"There is no {BEFORE_FILE} in this folder: the run ended before its profiled pass. "
    "Run `analyze model.py` again and let it finish."
)
NO_AFTER: Final = (
    f"There is no {AFTER_FILE} in this folder: no plan was measured. "
    "It is written by `analyze model.py` without --no-optimize, when a plan changes the model."
)
NO_STEP: Final = "This trace marks no step (ProfilerStep#N), so that none can be shown. Open it in Perfetto instead."


@dataclass(frozen=True, slots=True)
class Side:
    """One timeline. Where `view` is None, `missing` says why and what to do."""

    name: str
    view: StepView | None
    missing: str | None


@dataclass(frozen=True, slots=True)
class RunData:
    """Where `report` is None, `missing` says why and what to do."""

    folder: str
    report: Report | None
    missing: str | None
    before: Side
    after: Side


def read_run(folder: Path) -> RunData:
    """All that can be read of a run folder. Raises nothing for a file that is absent, cut or not what it should be."""
    report, missing = _report(folder)
    return RunData(
        folder=str(folder),
        report=report,
        missing=missing,
        before=_side("before", folder / BEFORE_FILE, NO_BEFORE),
        after=_side("after", folder / AFTER_FILE, NO_AFTER),
    )


def _report(folder: Path) -> tuple[Report | None, str | None]:
    if not folder.is_dir():
        return None, f"There is no folder {folder}. `analyze model.py` writes one; its last line names it."
    if not (folder / REPORT_FILE).exists():
        return None, f"There is no {REPORT_FILE} in {folder}. Run `analyze model.py --out {folder}`."
    try:
        return read_report(folder), None
    except UnreadableFileError as error:
        return None, _sentence(error)


def _side(name: str, path: Path, absent: str) -> Side:
    if not path.exists():
        return Side(name, None, absent)
    try:
        view = view_median_step(read_trace(path))
    except UnreadableFileError as error:
        return Side(name, None, _sentence(error))
    return Side(name, view, None if view is not None else NO_STEP)


def _sentence(error: GraphboundError) -> str:
    return error.message if error.hint is None else f"{error.message}. {error.hint}"

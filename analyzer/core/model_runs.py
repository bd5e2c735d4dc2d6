"""Several models, run one after another in one command: what became of each."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.core.errors import ExitCode
from analyzer.core.graphs import SourceLine
from analyzer.core.report import Report


@dataclass(frozen=True, slots=True)
class ModelRun:
    """One model of several. `name` is how it was asked for, `folder` its run folder, None where there is none.

    `report` None: nothing of it was measured, and `error` says why, `error_at` at which line of the user's or of which
    file. A run that ended early has a report that says so.
    `exit_code` is what a command of its own would have ended with.
    """

    name: str
    report: Report | None
    folder: str | None
    exit_code: int = int(ExitCode.OK)
    error: str | None = None
    error_at: SourceLine | None = None


@dataclass(frozen=True, slots=True)
class ModelRuns:
    """`headline` is the first line of whatever shows them. `command` runs the same models again."""

    headline: str
    runs: tuple[ModelRun, ...]
    command: str

    @property
    def exit_code(self) -> int:
        """The worst: a signal that ended all of it, then 4, 3 and 2."""
        return max((run.exit_code for run in self.runs), default=int(ExitCode.OK))

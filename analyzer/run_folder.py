"""The folder a run leaves behind. The only place that knows its files' names."""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analyzer.code_files import clear_code
from analyzer.core.errors import UsageError
from analyzer.core.plan import Plan
from analyzer.core.report import Report
from analyzer.reporting.html import RENDERER as PAGE_RENDERER
from analyzer.reporting.json import write_report, write_whole
from analyzer.reporting.renderer import Page
from analyzer.reporting.shown_step import ShownStep
from analyzer.reporting.word import Word
from analyzer.rules import RULES
from optimizers.plan import write_plan

PAGE_FILE: Final = "report.html"
_LOCK: Final = ".running"
"""Holds the number of the process that writes the folder."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """`path` is absolute: the user's program may change the working directory. `shown` is as it was asked for."""

    path: Path
    shown: Path

    @staticmethod
    def create(name: str, out: str | None) -> RunFolder:
        """`out`, or `runs/NAME-TIME/`. Raises UsageError, before anything is measured, where it cannot be written."""
        safe = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.") or "model"
        path = Path(out) if out else Path("runs") / f"{safe}-{time.strftime('%Y%m%d-%H%M%S')}"
        try:
            if out:
                path.mkdir(parents=True, exist_ok=True)
            else:
                path = _made_anew(path)
            probe = path / ".writable"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise UsageError(
                f"cannot write the run folder {path}: {error.strerror}", hint="choose another with --out DIR"
            ) from error
        return RunFolder(path.absolute(), path)

    @property
    def report(self) -> Path:
        return self.path / "report.json"

    @property
    def page(self) -> Path:
        """The report as one file for a browser."""
        return self.path / PAGE_FILE

    @property
    def plan(self) -> Path:
        return self.path / "plan.json"

    @property
    def before_trace(self) -> Path:
        return self.path / "before.trace.json.gz"

    @property
    def after_trace(self) -> Path:
        return self.path / "after.trace.json.gz"

    @property
    def package(self) -> Path:
        """The model itself, where it was exported."""
        return self.path / "model.pt2"

    @property
    def program_log(self) -> Path:
        """What the user's program printed."""
        return self.path / "program.log"

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Hold the folder for one run. Raises UsageError where another run holds it, naming its process.

        The kernel's lock ends with the process that holds it, however that ends, so none is ever stale. Where the file
        system has no locks, nothing is held.
        """
        held = _lock(self.path / _LOCK, self.shown)
        try:
            yield
        finally:
            if held is not None:
                with suppress(OSError):
                    (self.path / _LOCK).unlink()  # while it is held: whoever opened it meanwhile sees that it is gone
                os.close(held)

    def clear(self) -> None:
        """Remove what an earlier run left under the same name, so that no file is of another run than its neighbour."""
        for old in (
            self.report,
            self.page,
            self.plan,
            self.before_trace,
            self.after_trace,
            self.package,
            self.program_log,
        ):
            old.unlink(missing_ok=True)
        clear_code(self.path)

    def save_report(self, report: Report, steps: tuple[ShownStep, ...] = ()) -> None:
        """Both forms of it; `steps` are those of the traces, for the page. Raises OSError."""
        write_report(report, self.report)
        write_page(report, self.page, steps)

    def save_plan(self, plan: Plan) -> None:
        write_plan(plan, self.plan)


def write_page(report: Report, path: Path, steps: tuple[ShownStep, ...] = ()) -> None:
    """`report.html`, or what `path` calls it, whole or not at all. Raises OSError."""
    page = Page(rules=tuple(Word(rule.id, rule.doc) for rule in RULES), steps=steps)
    write_whole(path, PAGE_RENDERER.render(report, page).encode())


def name_of(target: str) -> str:
    """What a run is called after its target: a file's name without its ending, or what follows `timm:`."""
    return Path(target).stem if target.endswith(".py") else target.rpartition(":")[2]


def _made_anew(path: Path) -> Path:
    """A new folder of this name, numbered where another run of the same second has it."""
    number = 1
    while True:
        tried = path if number == 1 else path.with_name(f"{path.name}-{number}")
        try:
            tried.mkdir(parents=True)
            return tried
        except FileExistsError:
            number += 1


def _lock(path: Path, shown: Path) -> int | None:
    """The open, locked file; None where it cannot be locked at all. Raises UsageError where another run has it."""
    while True:
        try:
            opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError:
            return None
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(opened, path):
                os.truncate(opened, 0)
                os.pwrite(opened, str(os.getpid()).encode(), 0)
                return opened
            os.close(opened)  # the run that held it has just ended and removed it
        except BlockingIOError:
            holder = os.pread(opened, 20, 0).decode(errors="replace").strip() or "unknown"
            os.close(opened)
            raise UsageError(
                f"the run folder {shown} is being written by another run (process {holder})",
                hint="wait for it, or choose another with --out DIR",
            ) from None
        except OSError:  # no locks on this file system
            os.close(opened)
            return None


def _is_at(opened: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(opened), path.stat())
    except OSError:
        return False

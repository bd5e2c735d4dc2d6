"""The user's files as a check sees them: paths from the repository's root, lines, comments that silence."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from analyzer.core.graphs import SourceLine
from analyzer.core.report import Report
from analyzer.gate.silence import Silences, joined, read_silences
from analyzer.reporting.repository import INSTALLED


def storable(name: str) -> str:
    """The name of a file as UTF-8 can hold it: bytes of it that are none are written out, as `\\xff`."""
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")


@dataclass(frozen=True, slots=True)
class FileSources:
    """`root` is what paths are shown from. A relative path of a report is looked for from `folder`, then from `root`.

    `stale_ns`: a file that was written after this moment (since 1970) is not what ran, and has no lines; None: all are.
    """

    root: Path
    folder: Path
    stale_ns: int | None = None
    _read: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False)

    def path(self, file: str) -> str:
        """From the root, with `/`; of an installed file from the name of its package; as it is elsewhere."""
        parts = Path(file).parts
        installed = [number for number, part in enumerate(parts) if part in INSTALLED]
        if installed:
            return "/".join(parts[installed[-1] + 1 :])
        whole = self._whole(file)
        return storable(whole.relative_to(self.root).as_posix() if whole.is_relative_to(self.root) else file)

    def is_own(self, file: str) -> bool:
        whole = self._whole(file)
        return whole.is_relative_to(self.root) and not INSTALLED.intersection(whole.parts)

    def text(self, where: SourceLine) -> str:
        """The line without the space around it; empty where it cannot be read."""
        lines = self._lines(where.file)
        return lines[where.line - 1].strip() if 0 < where.line <= len(lines) else ""

    def silences(self, report: Report, known: Iterable[str]) -> Silences:
        """The comments of every file of the user's in which a finding lies."""
        wheres = (finding.where for finding in report.findings)
        files = sorted({where.file for where in wheres if where is not None and self.is_own(where.file)})
        rules = tuple(known)
        found = [
            replace(read, notes=tuple(note.replace(file, self.path(file), 1) for note in read.notes))
            for file in files
            for read in (read_silences(file, "\n".join(self._lines(file)) + "\n", rules),)
        ]
        return joined(found)

    def _whole(self, file: str) -> Path:
        if file.startswith("<"):  # `<string>`
            return Path(file)
        from_folder = Path(os.path.normpath(self.folder / file))
        whole = from_folder if from_folder.exists() else Path(os.path.normpath(self.root / file))
        return whole.resolve() if whole.exists() else from_folder

    def _lines(self, file: str) -> tuple[str, ...]:
        if file not in self._read:
            self._read[file] = self._read_lines(self._whole(file))
        return self._read[file]

    def _read_lines(self, whole: Path) -> tuple[str, ...]:
        try:
            if self.stale_ns is not None and whole.stat().st_mtime_ns > self.stale_ns:
                return ()
            return tuple(whole.read_text(encoding="utf-8", errors="replace").split("\n"))
        except (OSError, ValueError):
            return ()

"""The repository that the user works in, as it lies on this machine, and what its lines say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from analyzer.core.gate import GateResult
from analyzer.core.graphs import SourceLine
from analyzer.core.model_runs import ModelRuns
from analyzer.core.report import Report
from analyzer.reporting.repository import LineText, Repository
from collectors.checkout_root import root_above

RUNNER_FOLDERS: Final = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
"""Where GitHub's and GitLab's runners say that they put the repository."""

MOST_SOURCE_BYTES: Final = 4 * 2**20
"""Of a file whose lines are read; a source that is longer was not written by hand."""


def found_repository(shown: Report | GateResult | ModelRuns) -> Repository:
    """The repository around the working directory, else the one that the runner names, else that directory itself;
    with the lines that are spoken of, as far as they can be read here.
    """
    folder = Path.cwd()
    root = root_above(folder) or _root_of_runner() or folder
    roots = tuple(dict.fromkeys((str(root), os.path.realpath(root))))
    bare = Repository(roots, str(folder))
    return Repository(roots, str(folder), tuple(_lines(bare, root, _places(shown))))


def _root_of_runner() -> Path | None:
    named = (os.environ.get(name) for name in RUNNER_FOLDERS)
    return next((Path(name) for name in named if name and Path(name).is_dir()), None)


def _places(shown: Report | GateResult | ModelRuns) -> Iterator[SourceLine]:
    if isinstance(shown, Report):
        yield from (finding.where for finding in shown.findings if finding.where is not None)
        return
    for one in shown.runs if isinstance(shown, ModelRuns) else shown.models:
        if one.report is not None:
            yield from _places(one.report)
    for model in shown.models if isinstance(shown, GateResult) else ():
        yield from (check.where for check in model.checks if check.where is not None)


def _lines(repository: Repository, root: Path, places: Iterator[SourceLine]) -> Iterator[LineText]:
    texts: dict[str, list[str]] = {}
    for where in dict.fromkeys(places):
        path = repository.path(where.file)
        if path is None:
            continue
        lines = texts.get(path)
        if lines is None:
            lines = texts[path] = _read(root / path)
        if 0 < where.line <= len(lines):
            yield LineText(where, lines[where.line - 1].strip())


def _read(file: Path) -> list[str]:
    try:
        if file.stat().st_size > MOST_SOURCE_BYTES:
            return []
        # By `\n` alone: Python's line numbers do not count a form feed or U+2028.
        return file.read_text(encoding="utf-8", errors="replace").split("\n")
    except (OSError, ValueError):  # a path with a NUL
        return []

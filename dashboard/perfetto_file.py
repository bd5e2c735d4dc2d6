"""Writes the timelines of a run folder, of a trace or of ranks into a file for Perfetto. Needs no dash."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analyzer.core.errors import UnreadableFileError, UsageError
from dashboard.run_folder import read_target
from dashboard.timeline.export import Exported, first_origin_ns, gzipped, json_chunks
from dashboard.timelines import timeline_page

_UNFINISHED: Final = ".part"


@dataclass(frozen=True, slots=True)
class Written:
    """`events` of the recordings, ours apart; `sides` names them: `before, after`; `notes` are what of them is not
    there.
    """

    events: int
    sides: str
    notes: tuple[str, ...] = ()


def write_perfetto(target: Path, file: Path) -> Written:
    """All sides of a target, aligned at their steps of median length. A name that ends in `.gz` is packed.

    Raises UnreadableFileError where there is no timeline, UsageError where the file cannot be written.
    """
    if not target.exists():
        raise UnreadableFileError(
            f"{target}: there is no such run folder or trace", hint="`analyze model.py` writes one"
        )
    data = read_target(target)
    shown = timeline_page(data).shown
    if not shown:
        reason = next((side.missing for side in data.sides if side.missing is not None), data.missing)
        raise UnreadableFileError(f"{target}: there is no timeline in it", hint=reason)
    chunks = json_chunks([Exported(one, first_origin_ns(one)) for one in shown])
    _write(file, gzipped(chunks) if file.suffix == ".gz" else chunks)
    cut = (one.name for one in shown if one.timeline.recording.trace.facts.lacks_rows)
    notes = (
        *(f"{name}: the file is cut, and rows are missing from it" for name in cut),
        *(f"{side.name}: {side.missing}" for side in data.sides if side.missing is not None),
    )
    events = sum(len(one.timeline.recording.trace) for one in shown)
    return Written(events, ", ".join(one.name for one in shown), notes)


def _write(file: Path, chunks: Iterator[bytes]) -> None:
    """Under another name until it is whole: half a file would open, and look like all of it."""
    unfinished = file.with_name(file.name + _UNFINISHED)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with unfinished.open("wb") as out:
                out.writelines(chunks)
            os.replace(unfinished, file)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot write {file}: {error.strerror or error}", hint="name a file in a folder of yours"
        ) from error

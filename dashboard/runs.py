"""Where a run lies among others: what may be compared with it, and opened in its place. Reads no report."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote

from analyzer.reporting.html_names import ToldApart, told_apart
from analyzer.run_listing import ListedRun, RunListing, list_runs

MOST_RUNS: Final = 1_000
"""Runs that can be chosen and that a history holds, the newest: as many as a list of a browser is still quick with."""

RUN_PREFIX: Final = "/run/"
_STAMPED: Final = re.compile(r"(?P<model>.+)-\d{8}-\d{6}(?:-\d+)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Among:
    """The runs of one folder, and the one that is shown; `name` is None where that is none of them.

    `can_open`: the server shows the others as well, each under its own address.
    """

    listing: RunListing
    name: str | None
    can_open: bool = False

    @property
    def choices(self) -> tuple[ListedRun, ...]:
        """The newest MOST_RUNS."""
        return self.listing.runs[:MOST_RUNS]

    @property
    def names(self) -> ToldApart:
        """How the choices, and the one that is shown, are written beside each other."""
        return told_apart([*(run.name for run in self.choices), *([] if self.name is None else [self.name])])

    @property
    def left_out(self) -> int:
        """Runs, and entries of the folder that were not looked at, beyond those that can be chosen."""
        return max(0, len(self.listing.runs) - MOST_RUNS) + self.listing.left_out

    @property
    def pair(self) -> tuple[str, str] | None:
        """What is compared before one chooses: the run that is shown with the one before it, of the same model as far
        as names say so. None with fewer than two.
        """
        names = [run.name for run in self.choices]
        if len(names) < 2:
            return None
        after = self.name if self.name in names else names[0]
        older = names[names.index(after) + 1 :]
        if not older:
            return after, names[0]
        return next((name for name in older if _model_in(name) == _model_in(after)), older[0]), after


def among(folder: Path) -> Among:
    """A run folder among those beside it."""
    whole = folder.absolute()
    return Among(list_runs(whole.parent), whole.name)


def relisted(here: Among) -> Among:
    """As the folder is now."""
    return replace(here, listing=list_runs(here.listing.folder))


def address_of(name: str) -> str:
    """The address of a run among several, from the server's root."""
    return f"{RUN_PREFIX}{quote(name, safe='')}/"


def minute(seconds: float) -> str:
    """A moment since 1970 as `2026-01-31 12:00`, UTC: the same on whichever machine it is read."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def when_changed(here: Among, build: Callable[[Among], object]) -> Callable[[], object]:
    """What `build` makes of the runs that are there now; made anew only where those have changed."""
    kept: list[tuple[Among, object]] = [(here, build(here))]

    def current() -> object:
        now = relisted(here)
        if now != kept[0][0]:
            kept[0] = (now, build(now))
        return kept[0][1]

    return current


def _model_in(name: str) -> str:
    """What a run folder is named after: `gptlite` of `gptlite-20260101-120000`."""
    stamped = _STAMPED.fullmatch(name)
    return name if stamped is None else stamped["model"]

"""Two runs of a folder beside each other, as `analyze compare` lays them: made when asked for, the latest ones kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analyzer.comparing import AFTER, BEFORE, compare_paths
from analyzer.core.compared import Compared
from analyzer.core.errors import GraphboundError
from analyzer.core.shell import shell_path
from analyzer.reporting.html_names import ALONE, ToldApart, told_apart
from analyzer.reporting.plain_text import plain
from analyzer.run_listing import RunListing
from analyzer.unlike import unlike_facts
from collectors.readers.settings import DEFAULTS
from dashboard.runs_read import GlanceReader, RunGlance, UnreadRun

MOST_OF_A_WARNING: Final = 400
"""Characters: the same wherever it is cut, so that one that two sources say is shown once."""
MOST_KEPT: Final = 16
"""Comparisons: some 100 kB each, and a second or more to make."""


@dataclass(frozen=True, slots=True)
class RunPair:
    """Two runs. `compared` is None where their traces cannot be laid beside each other; `refused` says why.

    `warnings` are what makes the comparison another thing than it looks like, the worst first. `names` are those of
    all runs of the folder.
    """

    before: RunGlance | UnreadRun
    after: RunGlance | UnreadRun
    compared: Compared | None
    refused: str | None
    warnings: tuple[str, ...]
    names: ToldApart = ALONE


class RunComparer:
    """Compares runs of one folder. Two that ask for the same at once wait for one answer."""

    def __init__(self, folder: Path, reader: GlanceReader) -> None:
        self._folder = folder
        self._reader = reader
        self._kept: OrderedDict[tuple[str, int, str, int], RunPair] = OrderedDict()
        self._lock = threading.Lock()

    def pair(self, listing: RunListing, before: str, after: str) -> RunPair | str:
        """The two, or a sentence that says which of the names is no run of the folder. Raises nothing of a user's."""
        left, right = listing.run(before), listing.run(after)
        if left is None or right is None:
            return f"There is no run {plain(before if left is None else after)} in {plain(str(self._folder))} any more."
        key = (left.name, left.written_ns, right.name, right.written_ns)
        # Held while a comparison is made: two at once would only take turns at the processor, and twice the memory.
        with self._lock:
            if key not in self._kept:
                names = told_apart(run.name for run in listing.runs)
                self._kept[key] = self._make(self._reader.read(left), self._reader.read(right), names)
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            return self._kept[key]

    def _make(self, before: RunGlance | UnreadRun, after: RunGlance | UnreadRun, names: ToldApart) -> RunPair:
        compared, refused = None, self._lacks_trace(names, before, after)
        warned = warnings(before, after, names)
        if refused is not None:
            return RunPair(before, after, None, refused, warned, names)
        try:
            compared = compare_paths(str(self._folder / before.name), str(self._folder / after.name), DEFAULTS)
        except GraphboundError as error:
            refused = error.message if error.hint is None else f"{error.message} ({error.hint})"
        except (OSError, MemoryError, ValueError, ArithmeticError, LookupError) as error:
            # A trace that trips a derivation over costs this comparison, as it costs a rank its summary.
            refused = f"{type(error).__name__}: {error}"
        return RunPair(before, after, compared, refused, warned, names)

    def _lacks_trace(self, names: ToldApart, *runs: RunGlance | UnreadRun) -> str | None:
        """Which of the runs holds no trace, and what to do; None where both do."""
        for one in runs:
            if any((self._folder / one.name / trace).is_file() for trace in (BEFORE, AFTER)):
                continue
            if isinstance(one, RunGlance) and one.is_recorded:
                command = f"`analyze compare {shell_path(one.facts.source)} OTHER`"
                return f"{names.of(one.name)} is the report of a trace, which it does not hold: {command}"
            why = "its run ended before the profiled pass. Run it again and let it finish"
            return f"{names.of(one.name)} holds no trace: {why}"
        return None


def warnings(before: RunGlance | UnreadRun, after: RunGlance | UnreadRun, names: ToldApart = ALONE) -> tuple[str, ...]:
    """Why times of the two say nothing of a change, or less than it seems; empty where nothing speaks against it."""
    if isinstance(before, UnreadRun) or isinstance(after, UnreadRun):
        return tuple(f"{names.of(one.name)}: {one.reason}" for one in (before, after) if isinstance(one, UnreadRun))
    found = [plain(text, MOST_OF_A_WARNING) for text in unlike_facts(before.facts, after.facts)]
    if before.versions.torch != after.versions.torch:
        found.append(
            f"another torch: {plain(before.versions.torch, 120)} before, {plain(after.versions.torch, 120)} after"
        )
    machine = before.machine.difference(after.machine)
    if machine is not None:
        found.insert(0, f"{plain(machine, 300)} (here: before, there: after)")
    for side, one in (("before", before), ("after", after)):
        if one.partial is not None:
            found.append(f"{side}: a partial report: {plain(one.partial, 200)}")
        if one.is_recorded:
            found.append(f"{side}: a recorded trace, which has no times without the profiler")
    return tuple(found)

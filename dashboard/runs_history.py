"""The runs of a folder as lines over time: one for each model, mode, set of inputs, device and machine. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from analyzer.core.baseline import MachineClass
from analyzer.reporting.plain_text import plain
from dashboard.runs_read import RunGlance, UnreadRun

_LONGEST: Final = 160
"""Characters of a line's name: it stands in the address."""


@dataclass(frozen=True, slots=True)
class Line:
    """Runs whose times may be laid on one line, the oldest first. `name` tells the line from every other one."""

    name: str
    runs: tuple[RunGlance, ...]


@dataclass(frozen=True, slots=True)
class History:
    """`lines` by their newest run, the newest first. `untimed` runs have no step time to draw: they ended too early, or
    are recorded traces. `left_out` runs were not read.
    """

    lines: tuple[Line, ...]
    untimed: tuple[RunGlance, ...]
    unread: tuple[UnreadRun, ...]
    left_out: int = 0

    @property
    def runs(self) -> tuple[RunGlance, ...]:
        """All that were read, the newest first."""
        found = [*(run for line in self.lines for run in line.runs), *self.untimed]
        return tuple(sorted(found, key=lambda run: (-run.began_s, run.name)))


def history_of(read: Sequence[RunGlance | UnreadRun], left_out: int = 0) -> History:
    """The lines of these runs. Machines of which times cannot be compared (`MachineClass.difference`) share none."""
    glances = [one for one in read if isinstance(one, RunGlance)]
    timed = sorted((one for one in glances if one.before or one.after), key=lambda one: (one.began_s, one.name))
    groups: list[list[RunGlance]] = []
    for one in timed:
        # By the first run of a line: where hosts drift apart step by step, the line ends.
        home = next((group for group in groups if _is_alike(group[0], one)), None)
        if home is None:
            groups.append([one])
        else:
            home.append(one)
    groups.sort(key=lambda group: (-group[-1].began_s, group[-1].name))
    names = _names(groups)
    return History(
        lines=tuple(Line(name, tuple(group)) for name, group in zip(names, groups, strict=True)),
        untimed=tuple(one for one in glances if not (one.before or one.after)),
        unread=tuple(one for one in read if isinstance(one, UnreadRun)),
        left_out=left_out,
    )


def only(history: History, name: str | None) -> History:
    """With the line of this name alone; all of it for None and for a name that no line has."""
    chosen = tuple(line for line in history.lines if line.name == name)
    return replace(history, lines=chosen) if chosen else history


def _is_alike(one: RunGlance, other: RunGlance) -> bool:
    return _kind(one) == _kind(other) and one.machine.difference(other.machine) is None


def _kind(one: RunGlance) -> tuple[str, str, str, tuple[str, ...]]:
    return one.facts.name, one.facts.mode, one.facts.device, one.facts.inputs


def _names(groups: Sequence[Sequence[RunGlance]]) -> list[str]:
    """As short as tells them apart: model and mode, then device, then inputs, then the machine, then a number."""
    firsts = [group[0] for group in groups]
    words = [
        (f"{one.facts.name}, {one.facts.mode}", one.machine.device, " ".join(one.facts.inputs), _machine(one.machine))
        for one in firsts
    ]
    names = []
    for mine in words:
        name = f"{mine[0]}, {mine[1]}"
        for place in (2, 3):
            same_so_far = [others for others in words if others[:place] == mine[:place]]
            if len({others[place] for others in same_so_far}) > 1 and mine[place]:
                name += f", {mine[place]}"
        names.append(plain(name, _LONGEST))
    return [
        name if names.count(name) == 1 else f"{name} ({names[: number + 1].count(name)})"
        for number, name in enumerate(names)
    ]


def _machine(machine: MachineClass) -> str:
    threads = "" if machine.threads is None else f", {machine.threads} threads"
    return f"{machine.system}{threads}"

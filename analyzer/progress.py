"""Says how far a run is, on stderr, while it works. Never writes to stdout, and starts no thread: a clock that ticks by
itself would take time from what is being measured. To let the clock go on, call `step` again with the same numbers.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol, TextIO

from analyzer.core.quantities import NS_PER_S, clock
from analyzer.reporting.plain_text import plain

if TYPE_CHECKING:
    from rich.live import Live

Clock = Callable[[], int]
"""Nanoseconds from any fixed moment."""

REFRESH_NS: Final = NS_PER_S // 10
"""A live line is drawn at most ten times a second; more is not seen."""

PLAIN_EVERY_NS: Final = 10 * NS_PER_S
"""In a pipe or a log, at most one line in ten seconds within a stage: a run of minutes stays under a screenful."""


class Progress(Protocol):
    """What the pipeline tells. `note` says something that should stay readable after the run."""

    def stage(self, name: str) -> None: ...
    def step(self, done: int, total: int, note: str = "") -> None: ...
    def note(self, text: str) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Position:
    """Where a run is. `total` 0 means that the stage has not said how many steps it has."""

    run_started_ns: int
    stage_started_ns: int
    stage: str = ""
    done: int = 0
    total: int = 0
    note: str = ""

    def left_ns(self, now_ns: int) -> int | None:
        """The time left in this stage, if its steps go on taking what they took; None before the first is done."""
        if not 0 < self.done <= self.total:
            return None
        return (now_ns - self.stage_started_ns) * (self.total - self.done) // self.done


def position_line(position: Position, now_ns: int) -> str:
    """`[38 s] trying candidates 3/12, 1 min 54 s left: cuda_graphs`."""
    count = f" {position.done}/{position.total}" if position.total else ""
    left_ns = position.left_ns(now_ns)
    left = f", {clock(left_ns)} left" if left_ns else ""
    note = f": {plain(position.note)}" if position.note else ""
    return f"[{clock(now_ns - position.run_started_ns)}] {plain(position.stage)}{count}{left}{note}"


class SilentProgress:
    """Tells nobody. For `--quiet`, notebooks and tests."""

    def stage(self, name: str) -> None:
        pass

    def step(self, done: int, total: int, note: str = "") -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def close(self) -> None:
        pass


@dataclass(slots=True)
class PlainProgress:
    """For pipes and logs: a line for each stage and note, and now and then one within a long stage."""

    stream: TextIO
    now: Clock = time.monotonic_ns
    position: Position = field(init=False)
    last_line_ns: int = field(init=False)

    def __post_init__(self) -> None:
        started = self.now()
        self.position = Position(run_started_ns=started, stage_started_ns=started)
        self.last_line_ns = started

    def stage(self, name: str) -> None:
        self.position = _next_stage(self.position, name, self.now())
        self._say_where()

    def step(self, done: int, total: int, note: str = "") -> None:
        self.position = replace(self.position, done=done, total=total, note=note)
        if self.now() - self.last_line_ns >= PLAIN_EVERY_NS:
            self._say_where()

    def note(self, text: str) -> None:
        _write(self.stream, f"note: {plain(text)}\n")

    def close(self) -> None:
        pass

    def _say_where(self) -> None:
        self.last_line_ns = self.now()
        _write(self.stream, position_line(self.position, self.last_line_ns) + "\n")


@dataclass(slots=True)
class LiveProgress:
    """For a terminal: one line that is drawn over, gone when the run ends; notes stay above it."""

    stream: TextIO
    now: Clock = time.monotonic_ns
    position: Position = field(init=False)
    drawn_ns: int = field(init=False)
    live: Live | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        started = self.now()
        self.position = Position(run_started_ns=started, stage_started_ns=started)
        self.drawn_ns = started - REFRESH_NS

    def stage(self, name: str) -> None:
        self.position = _next_stage(self.position, name, self.now())
        self._draw(is_forced=True)

    def step(self, done: int, total: int, note: str = "") -> None:
        self.position = replace(self.position, done=done, total=total, note=note)
        self._draw(is_forced=total > 0 and done == total)

    def note(self, text: str) -> None:
        self._started().console.print(f"note: {plain(text)}", markup=False, highlight=False, emoji=False)

    def close(self) -> None:
        if self.live is not None:
            self.live.stop()
            self.live = None

    def _draw(self, *, is_forced: bool) -> None:
        now = self.now()
        if is_forced or now - self.drawn_ns >= REFRESH_NS:
            # rich is slow to import; a run that is over at once does without it.
            from rich.text import Text

            self.drawn_ns = now
            line = Text(position_line(self.position, now), style="cyan", no_wrap=True, overflow="ellipsis")
            self._started().update(line, refresh=True)

    def _started(self) -> Live:
        if self.live is None:
            from rich.console import Console
            from rich.live import Live

            # Without redirection: whatever else is printed belongs to whoever prints it.
            self.live = Live(
                console=Console(file=self.stream),
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self.live.start()
        return self.live


def make_progress(*, quiet: bool, stream: TextIO | None = None) -> Progress:
    """The progress that fits the stream, stderr by default."""
    target = sys.stderr if stream is None else stream
    if quiet or target is None:  # None: whoever started us closed it
        return SilentProgress()
    return LiveProgress(target) if target.isatty() else PlainProgress(target)


def _next_stage(position: Position, name: str, now_ns: int) -> Position:
    return Position(run_started_ns=position.run_started_ns, stage_started_ns=now_ns, stage=name)


def _write(stream: TextIO, text: str) -> None:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, errors="replace").decode(encoding))
    stream.flush()

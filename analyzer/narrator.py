"""Keeps the thread between what a session says it does and the progress a person sees."""

from __future__ import annotations

from analyzer.core.run import Event
from analyzer.progress import Progress


class Narrator:
    """Passes stages, counts and notes to `progress`; an event becomes the note of the present count, and a tick
    repeats the last, so that the clock goes on.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._done = 0
        self._total = 0
        self._note = ""

    def stage(self, name: str) -> None:
        self._done, self._total, self._note = 0, 0, ""
        self._progress.stage(name)

    def step(self, done: int, total: int, note: str) -> None:
        self._done, self._total, self._note = done, total, note
        self._progress.step(done, total, note)

    def note(self, text: str) -> None:
        self._progress.note(text)

    def hear(self, event: Event | None) -> None:
        """An event of the session; None is a tick."""
        if event is not None:
            self._note = event.doing if event.key is None else f"{event.doing}, graph {event.key.digest}"
        self._progress.step(self._done, self._total, self._note)

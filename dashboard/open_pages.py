"""The pages that are in memory: each as it was read, beside a newer one of the same run where that was written since.

A page that somebody looks at keeps asking about what it was made of, and is not answered from another run's numbers.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from analyzer.core.errors import GraphboundError

MOST_OPEN: Final = 4
"""Pages in memory at most."""
MOST_EVENTS: Final = 4_000_000
"""Of the timelines of all pages in memory, some 300 B each; the page asked for last stays, however large."""

StampOf = Callable[[str], str | None]
"""Of a run, by name: another one whenever it is written, None where it is not there."""


@dataclass(frozen=True, slots=True)
class OpenPage:
    """The WSGI application of what was read, and how many events it holds. `problem` is why nothing can be shown of
    the version that it stands for: it is then the page of an older one, or one that says so.
    """

    application: Any
    events: int
    problem: str | None = None


ReadPage = Callable[[str, str | None], OpenPage]
"""Of the run of this name and its stamp. Raises GraphboundError where nothing of it can be read."""


class OpenPages:
    """By name and stamp, the ones asked for last."""

    def __init__(self, stamp_of: StampOf, read: ReadPage, *, is_kept_when_gone: bool = False) -> None:
        self._stamp_of = stamp_of
        self._read = read
        self._is_kept_when_gone = is_kept_when_gone
        self._open: OrderedDict[tuple[str, str | None], OpenPage] = OrderedDict()
        self._lock = threading.Lock()
        self._reading: dict[str, threading.Lock] = {}

    def must_read(self, name: str) -> bool:
        """Whether this run is there and not in memory as it is now, so that its page has to be waited for."""
        stamp = self._stamp_of(name)
        with self._lock:
            return stamp is not None and (name, stamp) not in self._open

    def put(self, name: str, stamp: str | None, page: OpenPage) -> None:
        with self._lock:
            self._open[name, stamp] = page
            self._open.move_to_end((name, stamp))
            while len(self._open) > 1 and (
                len(self._open) > MOST_OPEN or sum(one.events for one in self._open.values()) > MOST_EVENTS
            ):
                self._open.popitem(last=False)

    def is_gone(self, name: str) -> bool:
        return self._stamp_of(name) is None

    def as_read(self, name: str, stamp: str | None) -> OpenPage | None:
        """The page of the run as it was read under this stamp; read now where that is what it still is. None where it
        is no longer kept. Raises as `newest`.
        """
        known = self._kept(name, stamp)
        if known is None and stamp is not None and stamp == self._stamp_of(name):
            self.newest(name)
            return self._kept(name, stamp)
        return known

    def any_of(self, name: str) -> OpenPage | None:
        """A page of this run, for what is the same in all of them, as a script that an open page asks for late: the one
        asked for last, read only where there is none. None and raises as `newest`.
        """
        known = self._last(name)
        return known if known is not None else self.newest(name)

    def newest(self, name: str) -> OpenPage | None:
        """Of the run as it is now; None where it is gone. Where it cannot be read, the page that was there before, with
        its problem. Raises GraphboundError where there was none.
        """
        if self.is_gone(name):
            return self._last(name) if self._is_kept_when_gone else None
        # One that is being read is waited for, not read twice; the others are served meanwhile.
        with self._lock:
            reading = self._reading.setdefault(name, threading.Lock())
        with reading:
            stamp = self._stamp_of(name)
            known = self._kept(name, stamp) if stamp is not None else None
            if known is not None:
                return known
            if stamp is None:
                return self._last(name) if self._is_kept_when_gone else None
            page = self._read_or_last(name, stamp)
            if self._stamp_of(name) is None and not self._is_kept_when_gone:
                return None  # it went while it was read: what was found of it is not what it was
            self.put(name, stamp, page)
            return page

    def _read_or_last(self, name: str, stamp: str) -> OpenPage:
        try:
            return self._read(name, stamp)
        except GraphboundError as error:
            last = self._last(name)
            if last is None:
                raise
            said = error.message if error.hint is None else f"{error.message}. {error.hint}"
            return replace(last, events=0, problem=said)

    def _kept(self, name: str, stamp: str | None) -> OpenPage | None:
        with self._lock:
            known = self._open.get((name, stamp))
            if known is not None:
                self._open.move_to_end((name, stamp))
            return known

    def _last(self, name: str) -> OpenPage | None:
        with self._lock:
            return next((page for (own, _), page in reversed(self._open.items()) if own == name), None)

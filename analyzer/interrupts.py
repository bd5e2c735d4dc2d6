"""What ends a run from outside: Ctrl-C, and the signals of `timeout`, batch systems and a closed terminal."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Final

from analyzer.core.errors import SIGNALLED

_ENDING: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Terminated(KeyboardInterrupt):
    """A signal asked the run to end. It ends as with Ctrl-C: what was measured is written down."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.signal = signal.Signals(number)


def exit_code_of(ended: KeyboardInterrupt) -> int:
    """What a shell gives a command that such a signal ended."""
    return SIGNALLED + (ended.signal if isinstance(ended, Terminated) else signal.SIGINT)


def what_ended(ended: KeyboardInterrupt) -> str:
    return f"ended by {ended.signal.name}" if isinstance(ended, Terminated) else "interrupted by Ctrl-C"


@contextlib.contextmanager
def ending_signals_interrupt() -> Iterator[None]:
    """SIGTERM and SIGHUP raise Terminated while the block runs, where nobody has taken or ignored them (`nohup`)."""
    with _handled(_raise, [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]):
        yield


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """No signal ends the block, which must be short: a second Ctrl-C would lose what the first one saved."""
    with _handled(signal.SIG_IGN, [signal.SIGINT, *_ENDING]):
        yield


@contextlib.contextmanager
def _handled(handler: signal._HANDLER, numbers: list[int]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # signals belong to the main thread, and so does whoever is interrupted
        return
    old = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, before in old.items():
            if before is not None:  # None: a handler that was not set from Python
                signal.signal(number, before)


def _raise(number: int, frame: object) -> None:
    raise Terminated(number)

"""The process that runs the user's code and the trials, and that the command can lose.

The parent's side starts it, asks it for one thing at a time and notices when it dies or hangs; `main` is the child's.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, Final

from analyzer.core.errors import GraphboundError, InternalError, UsageError, UserProgramError
from analyzer.core.run import Event, LostChildError, PoisonedDeviceError, Skip
from analyzer.core.settings import WorkloadSpec
from analyzer.last_words import hung_at, last_words

POLL_S: Final = 0.1
KILL_GRACE_S: Final = 2.0
ASKED_WHERE: Final = signal.SIGUSR2
"""To a process that does not answer: it writes the lines that its threads are at into its log, whatever it is doing."""
PR_SET_PDEATHSIG: Final = 1
"""linux/prctl.h"""

_DOING: Final = {
    "load": "loading the model",
    "capture": "compiling it with torch.compile's defaults",
    "time_eager": "timing it without torch.compile",
    "time": "timing its steps",
    "profile": "recording its steps",
}
"""What is asked for, until the session says what it is doing."""

CACHE_FOLDERS: Final = "TORCHINDUCTOR_CACHE_DIR and TMPDIR, where they are set, must name folders that can be written"

ROOT: Final = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Answer:
    value: Any


@dataclass(frozen=True, slots=True)
class _Refusal:
    error: GraphboundError


class Child:
    """A session in a process of its own. What the user's program prints goes to `log`, not to our output.

    `spec` is the model that `start` loads; None where none is wanted.
    """

    def __init__(self, spec: WorkloadSpec | None, log: Path, on_event: Callable[[Event | None], None]) -> None:
        self._spec = spec
        self._log = log
        self._on_event = on_event
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection[Any, Any] | None = None

    def start(self, skip: tuple[Skip, ...], limit_s: float | None) -> None:
        """A fresh process with the workload loaded; an old one is ended. Raises what loading raises."""
        self.spawn()
        self.call("load", self._spec, skip, limit_s=limit_s)

    def spawn(self) -> None:
        """A fresh process with nothing loaded."""
        self.close()
        ours, theirs = Pipe()
        code = (
            f"import sys; sys.path.insert(0, {str(ROOT)!r}); from analyzer.child import main; main({theirs.fileno()})"
        )
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                # -P: the folder we were started in must not shadow the packages that we or torch import.
                [sys.executable, "-P", "-c", code],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C is the parent's to handle: it ends the child when it has written what was measured.
                start_new_session=True,
            )
        theirs.close()
        self._pipe = ours

    def call(
        self, method: str, *arguments: Any, limit_s: float | None = None, compile_limit_s: float | None = None
    ) -> Any:
        """The session's answer. `limit_s` is the longest silence: every event starts it anew. `compile_limit_s`
        stands for it while one candidate compiles.

        Raises what the session raised (GraphboundError), or LostChildError when the process died or was silent for
        too long; it is gone then.
        """
        if self._pipe is None:
            raise InternalError("the child process was not started")
        last: Event | None = None
        try:
            self._pipe.send(_Request(method, arguments))
            while True:
                is_compiling = last is not None and last.key is not None and not last.is_over
                has_own_limit = is_compiling and compile_limit_s is not None
                message = self._receive(compile_limit_s if has_own_limit else limit_s, last, method)
                match message:
                    case Event():
                        last = message
                        self._on_event(message)
                    case _Answer(value):
                        return value
                    case _Refusal(error):
                        raise error
                    case _:
                        raise InternalError(f"unexpected message from the child process: {type(message).__name__}")
        except (EOFError, ConnectionError) as error:
            raise self._lost(last, method) from error

    def _receive(self, limit_s: float | None, last: Event | None, method: str) -> Any:
        assert self._pipe is not None
        deadline = None if limit_s is None else time.monotonic() + limit_s
        while not self._pipe.poll(POLL_S):
            if self._is_dead() and not self._pipe.poll():
                raise EOFError  # what it started may live on and hold its end of the pipe
            self._on_event(None)
            if deadline is not None and time.monotonic() > deadline:
                at = self._where_it_is()
                self.close()
                raise LostChildError(
                    f"no answer for {limit_s:.0f} s {_moment(last, method)}",
                    hint=f"it was at {at}" if at else None,
                    event=last,
                    hung=True,
                )
        return self._pipe.recv()

    def _where_it_is(self) -> str:
        """The line that a process which does not answer is at; empty where it does not say even that."""
        assert self._process is not None
        with contextlib.suppress(OSError):
            said = self._log.stat().st_size
            os.kill(self._process.pid, ASKED_WHERE)
            deadline = time.monotonic() + KILL_GRACE_S
            size, grown = said, said
            while (grown == said or grown != size) and time.monotonic() < deadline:
                time.sleep(POLL_S)
                size, grown = grown, self._log.stat().st_size
            with self._log.open("rb") as log:
                log.seek(said)
                return hung_at(log.read().decode(errors="replace"), self._folder())
        return ""

    def _folder(self) -> Path | None:
        """The one of the user's file; None where there is none."""
        if self._spec is None:
            return None
        target = Path(self._spec.target).resolve()
        return target.parent if target.exists() else None

    def _is_dead(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def _lost(self, last: Event | None, method: str) -> LostChildError:
        code = self._process.wait() if self._process else None
        self.close()
        how = (
            f"was ended by {signal.Signals(-code).name}" if code is not None and code < 0 else f"left with code {code}"
        )
        said = self._last_words()
        return LostChildError(
            f"the process that runs the model {how} {_moment(last, method)}",
            hint=f"its last words: {said}" if said else None,
            event=last,
        )

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            return last_words(self._log.read_text(errors="replace"), self._folder())
        return ""

    def close(self) -> None:
        """End the process and all that it started."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if self._process is not None:
            _end(self._process)
            self._process = None


def _moment(last: Event | None, method: str) -> str:
    if last is None:
        return f"while {_DOING.get(method, 'starting')}"
    return f"after it had {last.doing}" if last.is_over else f"while {last.doing}"


def _end(process: subprocess.Popen[bytes]) -> None:
    # Inductor's compile workers are in the same session; a process group of its own means none is left behind.
    for kill in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, kill)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=KILL_GRACE_S)
            if kill is signal.SIGKILL:
                return


def main(fd: int) -> None:
    """The child's side: answer requests until the parent is gone."""
    parent = os.getppid()
    _die_with_parent()
    threading.Thread(target=_leave_with_parent, args=(parent,), daemon=True).start()
    faulthandler.enable()  # a crash then names the user's line in the log
    faulthandler.register(ASKED_WHERE)  # and so does one that hangs, when it is asked
    pipe: Connection[Any, Any] = Connection(fd)
    own = os.getpid()

    def send(message: object) -> None:
        if os.getpid() != own:
            os._exit(0)  # a copy that the user's program forked and let come back: the parent asked one process
        pipe.send(message)

    session: Any = None
    while True:
        try:
            request: _Request = pipe.recv()
        except (EOFError, ConnectionError):
            break
        try:
            # Imported here, not above: importing torch takes seconds, and its failure is an answer like any other.
            match request:
                case _Request("load", (spec, skip)):
                    session = _session_type().load(spec, send, skip)
                    send(_Answer(None))
                case _Request("known_device", (kind,)):
                    from collectors.device import known_device

                    send(_Answer(known_device(kind)))
                case _Request("measure_device", (kind, renew)):
                    from collectors.device import measure_device

                    send(_Answer(measure_device(kind, renew=renew)))
                case _:
                    send(_Answer(getattr(session, request.method)(*request.arguments)))
        except PoisonedDeviceError as error:
            with contextlib.suppress(OSError):  # a full disk
                print(error.message, file=sys.stderr, flush=True)
            os._exit(70)
        except GraphboundError as error:
            _log_traceback()
            send(_Refusal(error))
        except Exception as error:
            _log_traceback()
            send(_Refusal(InternalError(f"{type(error).__name__} in {request.method}: {error}")))
        except SystemExit as error:
            send(_Refusal(UserProgramError(f"the program called sys.exit({error.code!r})")))
        except KeyboardInterrupt:
            # Ctrl-C goes to the parent; here the program raised it itself.
            send(_Refusal(UserProgramError("the program raised KeyboardInterrupt")))
    os._exit(0)  # not sys.exit: a user's threads or a broken device must not keep the process alive


def _session_type() -> Any:
    """`Session`. Raises UsageError where torch cannot make the folders that it makes as it is imported."""
    try:
        from analyzer.session import Session
    except OSError as error:
        if error.filename is None:
            raise
        raise UsageError(
            f"torch could not be imported: {error.strerror}: {error.filename}", hint=CACHE_FOLDERS
        ) from error
    return Session


def _die_with_parent() -> None:
    """Where the kernel offers it: our own thread cannot run while the model hangs in C and keeps the GIL."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _leave_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(0)


def _log_traceback() -> None:
    with contextlib.suppress(
        OSError
    ):  # the log is for whoever looks for more: on a full disk the answer still goes out
        traceback.print_exc(file=sys.stderr)

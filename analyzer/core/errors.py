"""Every error a user can meet: a message, the next step, and the exit code of the command."""

from __future__ import annotations

from enum import IntEnum

from analyzer.core.graphs import SourceLine


class ExitCode(IntEnum):
    """What the `analyze` command returns, the same in every sub-command."""

    OK = 0
    GATE_FAILED = 1
    USAGE = 2
    USER_PROGRAM = 3
    INTERNAL = 4


SIGNALLED = 128
"""What a shell adds to the number of the signal that ended a command. The report is then partial."""

INTERRUPTED = SIGNALLED + 2
"""Ctrl-C."""


class GraphboundError(Exception):
    """An error that knows how to show itself.

    `message` is one sentence naming the file and line where there is one; `hint` is the next step. `where` is that line
    of the user's source, None where the error belongs to none.
    """

    exit_code: ExitCode = ExitCode.INTERNAL

    def __init__(self, message: str, *, hint: str | None = None, where: SourceLine | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where
        if hint is not None:
            self.add_note(f"hint: {hint}")  # where a traceback is all that is shown, as in a notebook

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.hint, self.where))


def _rebuild(kind: type[GraphboundError], message: str, hint: str | None, where: SourceLine | None) -> GraphboundError:
    return kind(message, hint=hint, where=where)


class UsageError(GraphboundError):
    """The command was given something it cannot use: a missing file, a wrong flag, an absent device."""

    exit_code = ExitCode.USAGE


class MissingExtraError(UsageError):
    """An optional package is needed; the hint is the line that installs it."""


class UserProgramError(GraphboundError):
    """The user's own code raised, hung or took its process down."""

    exit_code = ExitCode.USER_PROGRAM


class UnreadableFileError(UsageError):
    """A trace, a plan or a report could not be read; the message names the byte offset where there is one."""


class NotATraceError(UnreadableFileError):
    """A file is whole and something else: settings that lie beside the traces, a report."""


class InternalError(GraphboundError):
    """Our own fault."""

    exit_code = ExitCode.INTERNAL

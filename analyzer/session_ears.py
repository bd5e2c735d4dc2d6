"""What a session hears and passes on: the user's exceptions as one message, the compiler's doings as events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from analyzer.core.errors import GraphboundError, InternalError
from analyzer.core.graphs import GraphKey, KernelFacts
from analyzer.core.plan import FUSED
from analyzer.core.run import Event
from analyzer.derive.cpu_causes import graph_loops
from collectors.capture import GraphLog
from collectors.step import is_in_users_step
from collectors.user_errors import describe, own_fault, user_error
from optimizers.candidates.base import Candidate


class Telling:
    """Turns whatever the user's program raises inside into one message about it, and what we raise into ours."""

    def __init__(self, doing: str, root: Path) -> None:
        self._doing = doing
        self._root = root

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception | SystemExit) and not isinstance(error, GraphboundError):
            if not is_in_users_step(error.__traceback__) and (place := own_fault(error)) is not None:
                said = f"{self._doing} failed in Graphbound itself, at {place}: {describe(error)}"
                raise InternalError(said, hint="the model is not at fault: please report it") from error
            raise user_error(error, root=self._root, doing=self._doing) from error


class Announcer:
    """Passes what the backend does on to the session's owner and into the log."""

    def __init__(self, announce: Callable[[Event], None], log: GraphLog) -> None:
        self._announce = announce
        self._log = log

    def compiling(self, key: GraphKey, candidate: Candidate) -> None:
        self._log.compiling = key
        self._announce(Event(f"compiling {candidate.title}", key, candidate.id))

    def compiled(self, key: GraphKey, candidate: Candidate, dynamo: Any, aot: Any) -> None:
        self._log.add_graph(key, dynamo, aot)

    def counted(
        self, key: GraphKey, candidate: Candidate, traffic_bytes: int | None, kernels: tuple[KernelFacts, ...]
    ) -> None:
        if traffic_bytes is not None:
            self._log.add_traffic(key, traffic_bytes)
        self._log.add_kernels(key, kernels)

    def generated(self, key: GraphKey, candidate: Candidate, code: str) -> None:
        if candidate.id == FUSED:
            found = graph_loops(key, code)
            if found.loops:
                self._log.add_loops(key, found.loops, found.scalar)

    def refused(self, key: GraphKey, reasons: tuple[str, ...]) -> None:
        for reason in reasons:
            self._log.add_refusal(key, reason)

    def finished(self, key: GraphKey, candidate: Candidate) -> None:
        self._log.compiling = None
        self._announce(Event(f"compiled {candidate.title}", key, candidate.id, is_over=True))

"""What a session hears and passes on: the user's exceptions as one message, the compiler's doings as events."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from analyzer.core.errors import GraphboundError, InternalError
from analyzer.core.graphs import CallOrder, GraphKey, KernelFacts
from analyzer.core.plan import FUSED
from analyzer.core.run import Event
from analyzer.derive.cpu_causes import graph_loops
from collectors.capture import GraphLog
from collectors.code_size import code_bytes
from collectors.kept_code import KeptCode
from collectors.step import is_in_users_step
from collectors.user_errors import describe, hook_fault, own_fault, user_error
from optimizers.candidates.pair import AnyCandidate


class Telling:
    """Turns whatever the user's program raises inside into one message about it, and what we raise into ours.

    `given` is what the step was called with and by whom: all there is to say where no line of the user's is at fault.
    """

    def __init__(self, doing: str, root: Path, given: str | None = None) -> None:
        self._doing = doing
        self._root = root
        self._given = given

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception | SystemExit) and not isinstance(error, GraphboundError):
            is_theirs = is_in_users_step(error.__traceback__)
            place = hook_fault(error) if is_theirs else own_fault(error)
            if place is not None:
                said = f"{self._doing} failed in Graphbound itself, at {place}: {describe(error)}"
                raise InternalError(said, hint="the model is not at fault: please report it") from error
            raise user_error(error, root=self._root, doing=self._doing, given=self._given) from error


class CompileClock:
    """What compiling each candidate of each graph took, forward and backward together: the longest of all builds.

    A later build finds its kernels in torch's cache. `now` is in ns.
    """

    def __init__(self, now: Callable[[], int] = time.perf_counter_ns) -> None:
        self._now = now
        self._open: list[tuple[str, str, int]] = []
        self._this_build: dict[tuple[str, str], int] = {}
        self._longest: dict[tuple[str, str], int] = {}

    def begin_build(self) -> None:
        """From here on everything is compiled anew."""
        self._open.clear()
        self._this_build.clear()

    def begin(self, digest: str, candidate: str) -> None:
        """Compiling begins, perhaps within a compilation of the same that has begun."""
        if self._open and self._open[-1][:2] != (digest, candidate):
            self._open.clear()  # what failed within has not said that it ended
        self._open.append((digest, candidate, self._now()))

    def end(self, digest: str, candidate: str) -> None:
        if not self._open or self._open[-1][:2] != (digest, candidate):
            return
        *outer, (_, _, start_ns) = self._open
        self._open = outer
        if not outer:
            pair = (digest, candidate)
            self._this_build[pair] = self._this_build.get(pair, 0) + self._now() - start_ns
            self._longest[pair] = max(self._longest.get(pair, 0), self._this_build[pair])

    def of(self, choices: Mapping[str, str]) -> int | None:
        """In ns, of these candidates by digest together; None where one of them was not compiled."""
        found = [self._longest.get(pair) for pair in choices.items()]
        known = [ns for ns in found if ns is not None]
        return sum(known) if known and len(known) == len(found) else None


class Announcer:
    """Passes what the backend does on to the session's owner and into the log."""

    def __init__(
        self, announce: Callable[[Event], None], log: GraphLog, clock: CompileClock, kept: KeptCode | None = None
    ) -> None:
        self._announce = announce
        self._log = log
        self._clock = clock
        self._kept = kept

    def compiling(self, key: GraphKey, candidate: AnyCandidate) -> None:
        self._clock.begin(key.digest, candidate.id)
        self._log.compiling, self._log.cuda_graphs.compiling = key, candidate.id
        self._announce(Event(f"compiling {candidate.title}", key, candidate.id))

    def compiled(self, key: GraphKey, candidate: AnyCandidate, dynamo: Any, aot: Any) -> None:
        self._log.add_graph(key, dynamo, aot)

    def counted(
        self, key: GraphKey, candidate: AnyCandidate, traffic_bytes: int | None, kernels: tuple[KernelFacts, ...]
    ) -> None:
        if traffic_bytes is not None:
            self._log.add_traffic(key, traffic_bytes)
        if self._kept is None or self._kept.is_of(candidate.id):
            self._log.add_kernels(key, kernels)

    def ordered(self, key: GraphKey, candidate: AnyCandidate, calls: CallOrder | None) -> None:
        if self._kept is None or self._kept.is_of(candidate.id):
            self._log.add_calls(key, calls)

    def generated(self, key: GraphKey, candidate: AnyCandidate, code: str) -> None:
        if self._kept is not None:
            self._kept.add(key, candidate.id, code)
        if candidate.id == FUSED:
            self._log.add_code(key, code_bytes(code))
            found = graph_loops(key, code)
            if found.loops:
                self._log.add_loops(key, found.loops, found.scalar)

    def refused(self, key: GraphKey, reasons: tuple[str, ...]) -> None:
        for reason in reasons:
            self._log.add_refusal(key, reason)

    def finished(self, key: GraphKey, candidate: AnyCandidate) -> None:
        self._clock.end(key.digest, candidate.id)
        self._log.compiling = self._log.cuda_graphs.compiling = None
        self._announce(Event(f"compiled {candidate.title}", key, candidate.id, is_over=True))

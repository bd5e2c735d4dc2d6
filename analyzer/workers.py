"""Runs the per-rank function over many trace files: here, in worker processes, or on a Dask cluster.

Only summaries come back, a few kB each. A worker that dies, or a file that cannot be read, costs its rank, not the run.
"""

from __future__ import annotations

import importlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any, Final

from analyzer.core.errors import GraphboundError, MissingExtraError, NotATraceError, UsageError
from analyzer.core.ranks import LostRank, RankSummary
from analyzer.core.trace_facts import TraceFacts
from analyzer.derive.rank_summary import RankName, summarize_rank
from collectors.readers.kineto import read_trace
from collectors.readers.settings import DEFAULTS, ReadSettings

if TYPE_CHECKING:
    from collectors.readers.sources import Source

CLUSTER_EXTRA: Final = 'pip install "graphbound[cluster]"'

RETRIES: Final = 2
"""Times that a cluster may give a rank to another worker after the one that had it died."""


@dataclass(frozen=True, slots=True)
class RankTask:
    """One file to summarise. `place` is its number in the list; picklable."""

    source: Source
    place: int
    settings: ReadSettings = DEFAULTS

    @property
    def name(self) -> str:
        return str(self.source)


@dataclass(frozen=True, slots=True)
class NoTrace:
    """A file among the traces that is whole and something else: no rank."""

    source: str
    reason: str


Outcome = RankSummary | LostRank | NoTrace
Work = Callable[[RankTask], Outcome]


def summarize_file(task: RankTask) -> Outcome:
    """Reads one file where it lies, and summarises it. What it cannot read is a lost rank, with the reason; a file of
    something else is none.
    """
    try:
        trace = read_trace(task.source, task.settings)
        if trace.facts.lacks_rows:
            # With half its kernels it would seem to be idle, and to wait for the others.
            return LostRank(task.name, _why_lacking(trace.facts))
        return summarize_rank(trace, RankName(task.name, task.place, task.source.rank_hint))
    except NotATraceError as error:
        return NoTrace(task.name, error.message.removeprefix(f"{task.name}: "))
    except GraphboundError as error:
        return LostRank(task.name, error.message.removeprefix(f"{task.name}: "))
    except (OSError, MemoryError, ValueError, ArithmeticError, LookupError) as error:
        # A file that trips the reader or a derivation over is one rank of thousands.
        return LostRank(task.name, f"{type(error).__name__}: {error}")


def _why_lacking(facts: TraceFacts) -> str:
    if facts.damage is not None:
        return f"only what comes before byte {facts.damage.byte} can be read: {facts.damage.reason}"
    return f"{facts.lost_share:.0%} of it could not be read: it has a hole, is damaged, or has rows without times"


def run_here(tasks: Sequence[RankTask], work: Work = summarize_file) -> tuple[Outcome, ...]:
    """The outcomes in the order of the tasks, one for each: as the other ways to run them give them."""
    return tuple(work(task) for task in tasks)


def run_in_processes(workers: int, tasks: Sequence[RankTask], work: Work = summarize_file) -> tuple[Outcome, ...]:
    """In `workers` spawned processes. One that dies loses the rank it had; a fresh one goes on with the rest."""
    context = multiprocessing.get_context("spawn")
    outcomes: dict[int, Outcome] = {}
    left = list(range(len(tasks)))[::-1]
    busy: dict[Connection, tuple[BaseProcess, int]] = {}
    try:
        while left or busy:
            while left and len(busy) < workers:
                ours, process = _started(context, work)
                _give(ours, process, left.pop(), tasks, busy)
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                process, number = busy.pop(ready)
                try:
                    outcomes[number] = ready.recv()
                except EOFError:
                    process.join()
                    outcomes[number] = LostRank(tasks[number].name, f"its worker died ({_how(process.exitcode)})")
                    ready.close()
                    continue
                if left:
                    _give(ready, process, left.pop(), tasks, busy)
                else:
                    ready.close()
                    process.join()
    finally:
        for connection, (process, _) in busy.items():
            connection.close()
            process.terminate()
            process.join()
    return tuple(outcomes[number] for number in range(len(tasks)))


def _started(context: multiprocessing.context.SpawnContext, work: Work) -> tuple[Connection, BaseProcess]:
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, work), daemon=True)
    with _without_interrupts():
        process.start()
    theirs.close()
    return ours, process


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """What is started meanwhile never hears Ctrl-C, which a terminal sends to all: it would end in a traceback of its
    own, and whoever started it ends it anyway.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # Starting it would let the signal through again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _give(
    ours: Connection,
    process: BaseProcess,
    number: int,
    tasks: Sequence[RankTask],
    busy: dict[Connection, tuple[BaseProcess, int]],
) -> None:
    busy[ours] = (process, number)
    try:
        ours.send(tasks[number])
    except BrokenPipeError:
        return  # it died meanwhile: reading from it says so


def _serve(connection: Connection, work: Work) -> None:
    """A worker: takes tasks until nobody gives it any more."""
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        connection.send(work(task))


def _how(exit_code: int | None) -> str:
    if exit_code is None:
        return "nobody knows how"
    return f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"


def run_on_cluster(address: str, tasks: Sequence[RankTask], work: Work = summarize_file) -> tuple[Outcome, ...]:
    """On the Dask cluster at `address`, each file read by the worker that takes it: its path or URL must mean the same
    there, and Graphbound must be installed. Raises MissingExtraError without dask.distributed, UsageError where no
    scheduler answers.
    """
    try:
        # Optional, 0.5 s to import, and without types in some of its releases.
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise MissingExtraError("--cluster needs dask.distributed", hint=CLUSTER_EXTRA) from None
    try:
        client = distributed.Client(address, timeout="20s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(
            f"no Dask scheduler answers at {address}: {error}",
            hint="start one with `dask scheduler`, and workers to it",
        ) from error
    outcomes: dict[int, Outcome] = {}
    with client, client.as_current():
        futures = client.map(work, list(tasks), pure=False, retries=RETRIES)
        numbers = {future.key: number for number, future in enumerate(futures)}
        for future in distributed.as_completed(futures):
            number = numbers[future.key]
            lost = future.exception() if future.status != "finished" else None
            outcomes[number] = (
                future.result()
                if future.status == "finished"
                else LostRank(tasks[number].name, f"its worker was lost ({type(lost).__name__})")
            )
            future.release()
    return tuple(outcomes[number] for number in range(len(tasks)))

"""Several ranks of one run: what each did, who was late and for what. Small values, fit to be sent between machines."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Temporal:
    """A rank's window from its first device row to its last. The four add up to `elapsed_ns`, exactly.

    `compute_ns` is when a kernel that computes ran; the exposed ones ran with none of the former beside them.
    """

    elapsed_ns: int
    compute_ns: int
    exposed_collective_ns: int
    exposed_copy_ns: int
    idle_ns: int

    def __post_init__(self) -> None:
        parts = self.compute_ns + self.exposed_collective_ns + self.exposed_copy_ns + self.idle_ns
        if parts != self.elapsed_ns:
            raise ValueError("the parts of a window must add up to it")


@dataclass(frozen=True, slots=True)
class IdleBreakdown:
    """Why a rank's device was idle. They add up to `Temporal.idle_ns`.

    `host_late_ns`: the next row had not been launched; `host_waited_ns`: the host waited for the device, or had;
    `queued_ns`: gaps before rows launched in time; `unknown_ns`: what was recorded does not say.
    """

    host_late_ns: int
    host_waited_ns: int
    queued_ns: int
    unknown_ns: int


@dataclass(frozen=True, slots=True)
class CollectiveUse:
    """All kernels of one collective in one process group. `group` None: the trace does not name it.

    `kernel_ns` adds up their durations, `exposed_ns` the time in which no kernel computed beside them.
    """

    what: str
    group: str | None
    count: int
    kernel_ns: int
    exposed_ns: int
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class RankSteps:
    """What a rank's device did between the marks of each step of `RankSummary.steps_ns`, in that order.

    The four columns of a step add up to its time. `compute_ns` and the exposed ones are as in `Temporal`; a device that
    lags behind its host works there on an earlier step. `collectives` counts those that began in the step. `numbers`
    are those that torch.profiler gave the steps, None where others marked them. `marked` steps were recorded: more than
    are kept here, where there are many.
    """

    numbers: tuple[int, ...] | None
    marked: int
    compute_ns: tuple[int, ...]
    exposed_collective_ns: tuple[int, ...]
    exposed_copy_ns: tuple[int, ...]
    idle_ns: tuple[int, ...]
    collectives: tuple[int, ...]

    def __post_init__(self) -> None:
        columns = (self.compute_ns, self.exposed_collective_ns, self.exposed_copy_ns, self.idle_ns, self.collectives)
        if len({len(column) for column in (*columns, *((self.numbers,) if self.numbers is not None else ()))}) != 1:
            raise ValueError("the columns of a rank's steps must be of one length")


@dataclass(frozen=True, slots=True)
class CollectiveMark:
    """One collective kernel, to be found again in the other ranks. Times are on the recorder's clock, in ns.

    `step` is the place in `RankSummary.steps_ns` of the step in which it began; None: in none that is kept there.
    """

    what: str
    group: str | None
    start_ns: int
    end_ns: int
    step: int | None = None


@dataclass(frozen=True, slots=True)
class RankSummary:
    """What is kept of one rank's trace: a few kB, whatever the size of the file. None is unknown.

    `rank` is what the file says, else what its name hints, else its place in the list (`is_rank_known` False).
    `collective_ns` is when any collective ran, `overlapped_ns` the part of it beside a computing kernel. `data_ns` is
    the host's time in a DataLoader, `marks` the last collectives of the window, in order. `has_clock`: absolute times.
    """

    rank: int
    is_rank_known: bool
    source: str
    device_name: str | None
    world_size: int | None
    events: int
    kernels: int
    unlinked_kernels: int
    steps_ns: tuple[int, ...]
    temporal: Temporal | None
    idle: IdleBreakdown | None
    collective_ns: int
    overlapped_ns: int
    collectives: tuple[CollectiveUse, ...]
    marks: tuple[CollectiveMark, ...]
    data_ns: int
    has_clock: bool
    notes: tuple[str, ...] = ()
    steps: RankSteps | None = None
    """None: no step is marked, no device worked, or it is one of too many ranks (`RanksReport.notes` say so)."""

    @property
    def overlap_share(self) -> float | None:
        """The share of the time of its collectives that was hidden behind computing kernels; None without any."""
        return self.overlapped_ns / self.collective_ns if self.collective_ns else None


@dataclass(frozen=True, slots=True)
class LostRank:
    """A rank that is missing from everything: its file, or the worker that read it."""

    source: str
    reason: str


class LateFor(StrEnum):
    """What a late rank likely spent its time on: it had more of it than the others in its whole recording, which need
    not be when it was late. The value reads on after `late, ` and a time.
    """

    HOST = "likely for its host, which launches later"
    KERNELS = "likely for its kernels, which take longer"
    DATA = "likely for its data, which it waits for"
    UNKNOWN = "for a reason that its trace does not show"


@dataclass(frozen=True, slots=True)
class RankWait:
    """How long a rank waited in matched collectives for the others.

    `span_ns` is from the end of its first matched collective to the end of its last: ranks that took part in the same
    ones have the same, whatever each recording holds besides. `late_ns` is how much less than the median of the others
    it waited in it, never below 0: so much later it came. `late_for` is None where that is too little to ask.
    `steps_ns` is what it waited in each of its steps that are kept, in their order, the first collective included; None
    where not every collective of the step was matched.
    """

    rank: int
    span_ns: int
    waited_ns: int
    late_ns: int
    late_for: LateFor | None
    steps_ns: tuple[int | None, ...] = ()


class ClockSource(StrEnum):
    """How the clocks of the ranks were brought together; the value is the word shown to people."""

    COLLECTIVES = "by their collectives"
    RECORDED = "by the recorded time of day"
    NONE = "not at all"


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """What has to be taken off a rank's times. `spread_ns` is half of what its collectives disagree by; None where no
    collective was matched.
    """

    rank: int
    offset_ns: int
    spread_ns: int | None


@dataclass(frozen=True, slots=True)
class RanksReport:
    """`matched` collectives were found in every rank of their group; `unmatched` were not, and say nothing of waits.

    `imbalance` is the longest compute time of a rank over the mean of all, None with fewer than two.
    """

    ranks: tuple[RankSummary, ...]
    lost: tuple[LostRank, ...]
    waits: tuple[RankWait, ...]
    collectives: tuple[CollectiveUse, ...]
    clock: ClockSource
    offsets: tuple[ClockOffset, ...]
    matched: int
    unmatched: int
    imbalance: float | None
    notes: tuple[str, ...] = ()

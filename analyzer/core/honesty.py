"""What a trace can be believed in: how much of it was recorded, and how much the recording cost."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.core.step_marks import StepDialect
from analyzer.core.trace_facts import Damage, RowCount


@dataclass(frozen=True, slots=True)
class Replays:
    """Calls that replayed a device graph: all of them, those with no device row at all, and those with fewer than
    another replay of the same graph had. `partial` is None where the trace does not say which graph was replayed.
    """

    launches: int
    without_rows: int
    partial: int | None


@dataclass(frozen=True, slots=True)
class StepRows:
    """Marked steps, by whose markers, and those in which no device work was launched or ran."""

    dialect: StepDialect
    steps: int
    without_device_rows: int


@dataclass(frozen=True, slots=True)
class HostInflation:
    """What recording cost the busiest host thread, at a guess from the trace's own rows.

    `own_rows_ns` is the time of the profiler's own rows (buffer requests and the like), `rows` the thread's other rows
    and `row_ns` what each costs at most: the tenth percentile of the time from a row's start to its first child's,
    in which little but the recording of both happens. `cost_ns` is all of it, `share` its part of the thread's time.
    """

    thread: int
    own_rows_ns: int
    rows: int
    row_ns: int | None
    cost_ns: int | None
    share: float | None


@dataclass(frozen=True, slots=True)
class Shapes:
    """Operator rows, and those that say nothing of their inputs."""

    ops: int
    without: int


@dataclass(frozen=True, slots=True)
class LostKernels:
    """Calls that launch one kernel, and those of them of which no device row tells though later ones have theirs."""

    launches: int
    without_rows: int


@dataclass(frozen=True, slots=True)
class Honesty:
    """None is unknown or not asked of this trace. `sentences` is what to show before anything else, worst first.

    `is_floored` is whether all times are whole microseconds, so that gaps and short kernels are off by up to one.
    `launches_without_rows` are launch calls in a trace without any device row. `stray_times` are rows over an hour
    away from the others, `overruns` device rows that run past the begin of two later ones of their stream.
    """

    damage: Damage | None
    left_out: tuple[RowCount, ...]
    mended: tuple[RowCount, ...]
    unread_device_rows: int
    launches_without_rows: int | None
    replays: Replays | None
    steps: StepRows | None
    host: HostInflation | None
    shapes: Shapes | None
    is_floored: bool | None
    stray_times: int
    overruns: int
    sentences: tuple[str, ...] = ()
    lost_share: float = 0.0
    """As in `TraceFacts`."""
    lost_kernels: LostKernels | None = None
    """None where so few are missing that no verdict hangs on them."""

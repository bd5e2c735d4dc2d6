"""What a step would be shorter by, were the host not held up: the recorded run played again without some of its waits.

The device's work keeps its order and its length; only the time in which the device had run dry shrinks. What a wait
hides is found this way too: a host that did not wait launches ahead, and meets the device's pace later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.core.trace import DEVICE_KINDS, IntColumn
from analyzer.derive.activity_scene import Scene, covered_ns
from analyzer.derive.nesting import NOBODY


@dataclass(frozen=True, slots=True)
class Stretches:
    """Stretches of a host thread, in trace order of their rows. `row` is the trace row of each."""

    row: IntColumn
    start_ns: IntColumn
    end_ns: IntColumn

    def __len__(self) -> int:
        return int(self.row.size)


_NONE: Final = np.empty(0, dtype=np.int64)
NO_WORK: Final = Stretches(_NONE, _NONE, _NONE)


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Device work without a hole, one entry a block, in order. `dry_ns` is the time before it in which the device had
    run dry, `launched_ns` when the host launched what began it.
    """

    start_ns: IntColumn
    end_ns: IntColumn
    launched_ns: IntColumn
    dry_ns: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Hold:
    """A wait of the host. `for_device_ns` is the part of it until the device was done; `late_ns` how long the device
    had been done when it began; `whole_ns` all of it, on the clean pass.
    """

    end_ns: int
    for_device_ns: int
    late_ns: float
    whole_ns: float


@dataclass(frozen=True, slots=True)
class Replay:
    """The recorded steps as what is played again. `holds` are the waits it knows, in the order given; `order` is that
    in which they and the blocks are played.
    """

    blocks: _Blocks
    holds: tuple[_Hold, ...]
    last: _Hold
    host_scale: float
    order: _Order

    def saved_ns(self, dropped: frozenset[int] = frozenset(), work: Stretches = NO_WORK) -> float:
        """What all recorded steps together would be shorter by, without the holds of these numbers and without the
        host's work in `work`. 0.0 at least; time of the clean pass.
        """
        ahead = device = 0.0
        # How far the host is ahead of the recording after each of its events, and before the first.
        history: list[float] = [0.0]
        played = 0
        order = self.order if not len(work) else _order(np.append(_ends(self.holds), work.end_ns), self.blocks)
        # 0.2 µs an event; a step with 20 kinds of waits is played some 40 times.
        for dry_ns, seen, launched in zip(order.dry_ns, order.before, order.known, strict=True):
            while played < seen:
                ahead = self._after(order.host[played], dropped, work, ahead, device)
                history.append(ahead)
                played += 1
            earlier = device + dry_ns
            device = history[launched] if history[launched] < earlier else earlier
        for item in order.host[played:]:
            ahead = self._after(item, dropped, work, ahead, device)
        return max(0.0, _held(self.last, ahead, device))

    def _after(self, item: int, dropped: frozenset[int], work: Stretches, ahead: float, device: float) -> float:
        """How far the host is ahead after one of its events: a hold's number, or that of a stretch of `work` behind
        the last of those.
        """
        if item >= len(self.holds):
            own = item - len(self.holds)
            return ahead + self.host_scale * int(work.end_ns[own] - work.start_ns[own])
        hold = self.holds[item]
        return ahead + hold.whole_ns if item in dropped else _held(hold, ahead, device)


@dataclass(frozen=True, slots=True)
class _Order:
    """`host` are the host's events by number, as they are played. The rest is of blocks: for how long the device had
    run dry before each, how many of the host's events come before it, and how many of those its launch came after.

    Neighbours that agree in both are one block here, of a long step hundreds: as `min(h, min(h, d + a) + b)` is
    `min(h, d + a + b)`, they play as one.
    """

    host: list[int]
    dry_ns: list[float]
    before: list[int]
    known: list[int]


def _order(ends_ns: IntColumn, blocks: _Blocks) -> _Order:
    """Of events of the host that end then; of several at one moment the first is played first."""
    order = np.argsort(ends_ns, kind="stable")
    before = np.searchsorted(ends_ns[order], blocks.start_ns, side="right")
    known = np.minimum(np.searchsorted(ends_ns[order], blocks.launched_ns, side="right"), before)
    first = np.flatnonzero(np.diff(before, prepend=NOBODY) | np.diff(known, prepend=NOBODY))
    dry_ns = np.add.reduceat(blocks.dry_ns, first) if first.size else blocks.dry_ns
    return _Order(order.tolist(), dry_ns.tolist(), before[first].tolist(), known[first].tolist())


def _ends(holds: Sequence[_Hold]) -> IntColumn:
    return np.asarray([hold.end_ns for hold in holds], dtype=np.int64)


def _held(hold: _Hold, ahead_ns: float, device_ns: float) -> float:
    """How much earlier a wait ends that begins `ahead_ns` earlier, for work that is done `device_ns` earlier."""
    return max(0.0, min(ahead_ns + hold.for_device_ns, device_ns + hold.late_ns))


def replay(scene: Scene, holds: Stretches) -> Replay:
    """The recorded steps with these waits. A trace without device rows gives one in which nothing can be saved."""
    blocks = _blocks(scene)
    end_ns = int(scene.ends_ns[-1]) if scene.steps else 0
    reach_ns = int(blocks.end_ns[blocks.launched_ns <= end_ns].max(initial=end_ns))
    known = _holds(scene, holds, blocks)
    return Replay(
        blocks=blocks,
        holds=known,
        last=_hold((end_ns, reach_ns), _done_ns(blocks, end_ns, reach_ns), scene.host_scale, 0.0),
        host_scale=scene.host_scale,
        order=_order(_ends(known), blocks),
    )


def _holds(scene: Scene, holds: Stretches, blocks: _Blocks) -> tuple[_Hold, ...]:
    busy = covered_ns(scene.busy, holds.start_ns, holds.end_ns)
    whole = busy + scene.host_scale * (holds.end_ns - holds.start_ns - busy)
    last = np.searchsorted(blocks.start_ns, holds.end_ns - 1, side="right") - 1
    done = holds.start_ns
    if blocks.end_ns.size:
        done = np.where(last >= 0, np.minimum(blocks.end_ns[last], holds.end_ns), holds.start_ns)
    columns = (holds.start_ns.tolist(), holds.end_ns.tolist(), done.tolist(), whole.tolist())
    return tuple(
        _hold((start, end), done_ns, scene.host_scale, whole_ns)
        for start, end, done_ns, whole_ns in zip(*columns, strict=True)
    )


def _done_ns(blocks: _Blocks, start_ns: int, end_ns: int) -> int:
    """When the device was done with what it had begun before `end_ns`; `start_ns` where that is nothing."""
    last = int(np.searchsorted(blocks.start_ns, end_ns - 1, side="right")) - 1
    return min(int(blocks.end_ns[last]), end_ns) if last >= 0 else start_ns


def _hold(times_ns: tuple[int, int], done_ns: int, scale: float, whole_ns: float) -> _Hold:
    start_ns, end_ns = times_ns
    return _Hold(
        end_ns=end_ns,
        for_device_ns=max(0, done_ns - start_ns),
        late_ns=scale * max(0, start_ns - done_ns),
        whole_ns=whole_ns,
    )


_NO_BLOCKS: Final = _Blocks(_NONE, _NONE, _NONE, np.empty(0, dtype=np.float64))


def _blocks(scene: Scene) -> _Blocks:
    trace = scene.trace
    if not scene.steps:
        return _NO_BLOCKS
    work = scene.attribution.work
    own = np.flatnonzero(trace.are(work.row, *DEVICE_KINDS) & (trace.ends(work.row) > int(scene.starts_ns[0])))
    if not own.size:
        return _NO_BLOCKS
    rows, launch, known = work.row[own], work.launch[own], work.has_launch[own]
    call_start = np.where(known, trace.start_ns[launch], trace.start_ns[rows])
    call_end = np.where(known, trace.ends(launch), trace.start_ns[rows])
    # Over the rows so far: when the device is done with them, and the latest of their launches.
    reach = np.maximum.accumulate(trace.ends(rows))
    latest = np.maximum.accumulate(call_start)
    opens = np.flatnonzero(np.concatenate(([True], trace.start_ns[rows][1:] > reach[:-1])))
    # At the start of the first step the device is taken to be idle, which it is where steps end with a wait.
    begin = int(scene.starts_ns[0])
    before = np.concatenate(([begin], reach[opens[1:] - 1]))
    gap = np.maximum(0, trace.start_ns[rows][opens] - before)
    # A gap is the host's only where its launch came after the device was done: between two kernels that both wait in
    # the queue, and between those of one replay, lies a microsecond that no launch can shorten.
    is_new = np.concatenate(([known[0] and call_start[0] >= begin], call_start[opens[1:]] > latest[opens[1:] - 1]))
    is_dry = is_new & (call_end[opens] > before)
    dry = np.where(is_dry, gap, 0) * scene.host_scale
    ends = reach[np.concatenate((opens[1:] - 1, [rows.size - 1]))]
    return _Blocks(trace.start_ns[rows][opens], ends, call_start[opens], dry)

"""Splits a region's idle time in the clean pass by its reasons, which only the profiled pass shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analyzer.core.budget import HostKind, HostPart
from analyzer.core.device import Device
from analyzer.derive.host_rows import KINDS
from analyzer.derive.host_time import HostTime
from analyzer.derive.shares import split


@dataclass(frozen=True, slots=True)
class Idle:
    """The clean pass' idle nanoseconds of one region by reason; they add up to what was split."""

    queued_ns: int
    sync_ns: int
    starved_ns: int


def split_idle(idle_ns: int, host: HostTime) -> Idle:
    """`idle_ns` of the clean pass by the reasons that the profiled pass saw, in this order of trust.

    Gaps of the device and waits of an idle host are as long without the profiler as with it, and are taken as they
    are. What is left goes to lateness of the host and to the refilling after a wait in proportion: the profiler
    stretches both alike. A reason never gets more than the profiled pass saw of it; lateness takes the rest.
    """
    queued = min(idle_ns, _median(host.queued_ns))
    waited = min(idle_ns - queued, _median(host.waited_ns))
    left = idle_ns - queued - waited
    refill, late = _median(host.refill_ns), _median([sum(step) for step in zip(*host.kind_ns, strict=True)])
    refilled = min(refill, split(left, [float(refill), float(late)])[0]) if refill else 0
    return Idle(queued, waited + refilled, left - refilled)


def host_parts(
    starved_ns: int, host: HostTime, device: Device, dispatch_ns: float = 0.0
) -> tuple[HostPart, ...] | None:
    """`starved_ns` by what the host did, largest remainder, adding up exactly; None where no row was seen.

    `dispatch_ns` is time of operators that a CPU's budget counts as starved. The shares are those of the profiled
    pass, median step by median step. Trust their order and rough size, not their digits: the profiler stretches the
    host 1.5 to 2.5 times (H200, torch 2.11), rows with many arguments more than a bare driver call. One check is
    made: a launch call cannot take longer than `Device.launch_ns`, an operator with its launch measured without the
    profiler; what is over goes to the other kinds. A graph's launch has no such figure and is left alone.
    """
    if not starved_ns:
        return ()
    weights = [float(_median(column)) for column in host.kind_ns]
    weights[KINDS.index(HostKind.OPERATORS)] += dispatch_ns
    if not sum(weights):
        return None
    pieces = _checked(split(starved_ns, weights), weights, host, device)
    return tuple(HostPart(kind, ns) for kind, ns in zip(KINDS, pieces, strict=True) if ns)


def _checked(pieces: tuple[int, ...], weights: Sequence[float], host: HostTime, device: Device) -> tuple[int, ...]:
    launch = KINDS.index(HostKind.LAUNCH)
    others = [0.0 if number == launch else weight for number, weight in enumerate(weights)]
    if device.launch_ns is None or any(host.replays) or not sum(others):
        return pieces
    most = round(device.launch_ns * _median(host.launches))
    if pieces[launch] <= most:
        return pieces
    rest = split(sum(pieces) - most, others)
    return tuple(most if number == launch else ns for number, ns in enumerate(rest))


def _median(values: Sequence[int]) -> int:
    return int(np.median(values)) if values else 0

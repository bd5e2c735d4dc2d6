"""What stands around each call of a graph: nothing, a pair of clocks, or a range for the profiler."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import torch

from analyzer.core.graphs import GraphKey
from analyzer.core.trace import RANGE_PREFIX


class ProbeMode(Enum):
    OFF = "off"
    CLOCK = "clock"
    RANGE = "range"
    SIZES = "sizes"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a graph inside a step, in nanoseconds from the step's start.

    `start_ns` and `end_ns` are on the device's clock where there is a device, otherwise on the host's.
    """

    key: GraphKey
    start_ns: int
    end_ns: int
    host_start_ns: int
    host_end_ns: int


@dataclass(frozen=True, slots=True)
class StepCalls:
    """The calls of one step, in order of start. `device_ns` runs from the first device event to the last."""

    calls: tuple[Call, ...]
    device_ns: int
    host_ns: int


Size = tuple[int, ...] | int
"""Of a tensor; a whole number stands for itself, since it may be one."""

SizedCall = tuple[GraphKey, tuple[Size, ...]]


def sizes_of(args: Sequence[Any]) -> tuple[Size, ...]:
    """The size of each tensor and whole number among the arguments of a graph, those in a boxed list included."""
    found: list[Size] = []
    for value in args:
        if isinstance(value, list | tuple):
            found += sizes_of(value)
        elif isinstance(value, torch.Tensor):
            found.append(() if value.is_nested else tuple(value.shape))
        elif isinstance(value, int) and not isinstance(value, bool):
            found.append(value)
    return tuple(found)


class Probe:
    """Shared by every graph of one compilation; its mode is switched between passes, never inside a step."""

    def __init__(self, device: str) -> None:
        self.mode = ProbeMode.OFF
        self._has_events = device == "cuda"
        self._open: GraphKey | None = None
        self._marks: list[tuple[GraphKey, Any, Any, int, int]] = []
        self._pool: list[Any] = []
        self._used = 0
        self._sized: list[SizedCall] = []
        self._step_event: Any = None
        self._step_host_ns = 0

    @property
    def current(self) -> GraphKey | None:
        """The graph that is running now, None between graphs."""
        return self._open

    def around(self, key: GraphKey, call: Callable[..., Any]) -> Callable[..., Any]:
        """`call`, observed as the probe's mode asks. Costs about 0.1 µs a call while the probe is off."""

        def observed(*args: Any) -> Any:
            if self.mode is ProbeMode.OFF:
                return self._named(key, call, args)
            if self.mode is ProbeMode.RANGE:
                with torch.profiler.record_function(f"{RANGE_PREFIX}{key}"):
                    return call(*args)
            if self.mode is ProbeMode.SIZES:
                # Before the call: it may empty the list it is given.
                self._sized.append((key, sizes_of(args)))
                return self._named(key, call, args)
            return self._clocked(key, call, args)

        # AOTAutograd passes a list that the graph may empty to callables so marked.
        observed._boxed_call = getattr(call, "_boxed_call", False)  # type: ignore[attr-defined]
        return observed

    def _named(self, key: GraphKey, call: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """The bare call, while which `current` tells whoever hears torch's log what it speaks of."""
        outer, self._open = self._open, key
        try:
            return call(*args)
        finally:
            self._open = outer

    def _clocked(self, key: GraphKey, call: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        if self._open is not None:  # inside another graph's call: that one is charged
            return call(*args)
        self._open = key
        host_start_ns = time.perf_counter_ns()
        start = self._event()
        try:
            return call(*args)
        finally:
            end = self._event()
            self._marks.append((key, start, end, host_start_ns, time.perf_counter_ns()))
            self._open = None

    def _event(self) -> Any:
        if not self._has_events:
            return None
        if self._used == len(self._pool):
            self._pool.append(torch.cuda.Event(enable_timing=True))  # type: ignore[no-untyped-call]
        event = self._pool[self._used]
        self._used += 1
        event.record()
        return event

    @contextlib.contextmanager
    def clocking(self) -> Iterator[None]:
        """A clock around every graph while the block runs."""
        self.mode = ProbeMode.CLOCK
        try:
            yield
        finally:
            self.mode = ProbeMode.OFF

    @contextlib.contextmanager
    def sizing(self) -> Iterator[list[SizedCall]]:
        """Note the sizes of what every graph is given while the block runs: in the list, in order of the calls."""
        self._sized = []
        self.mode = ProbeMode.SIZES
        try:
            yield self._sized
        finally:
            self.mode = ProbeMode.OFF

    def begin_step(self) -> None:
        """Start the clock of a step. The device must be idle."""
        self._marks.clear()
        self._used = 0
        self._step_host_ns = time.perf_counter_ns()
        self._step_event = self._event()

    def has_begun(self) -> bool:
        """Whether the device has come to the step that was begun last. True without a device."""
        return self._step_event is None or bool(self._step_event.query())

    def end_step(self) -> Any:
        """Mark the end of the step's work; the caller then waits for the device and calls `calls`."""
        return self._event()

    def calls(self, end_event: Any) -> StepCalls:
        """The calls of the step that has ended. The device must have been waited for."""
        host_ns = time.perf_counter_ns() - self._step_host_ns
        calls = sorted((self._call(*mark) for mark in self._marks), key=lambda call: call.start_ns)
        device_ns = self._since(end_event) if self._has_events else host_ns
        return StepCalls(calls=tuple(calls), device_ns=device_ns, host_ns=host_ns)

    def _call(self, key: GraphKey, start: Any, end: Any, host_start_ns: int, host_end_ns: int) -> Call:
        host = (host_start_ns - self._step_host_ns, host_end_ns - self._step_host_ns)
        on_device = (self._since(start), self._since(end)) if self._has_events else host
        return Call(key, *on_device, *host)

    def _since(self, event: Any) -> int:
        elapsed_ms: float = self._step_event.elapsed_time(event)
        return round(elapsed_ms * 1e6)

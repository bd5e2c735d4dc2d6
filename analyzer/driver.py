"""Who runs the session: a child process that may be lost, or this very process in a notebook."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

from analyzer.child import Child
from analyzer.core.device import Device
from analyzer.core.run import Event, Skip
from analyzer.core.settings import WorkloadSpec

OnEvent = Callable[[Event | None], None]
"""None is a tick: nothing new, the work goes on."""


class Driver(Protocol):
    """`call` raises GraphboundError from the session and LostChildError when its process is gone."""

    is_isolated: bool

    def start(self, skip: tuple[Skip, ...], limit_s: float | None) -> None: ...
    def call(
        self, method: str, *arguments: Any, limit_s: float | None = None, compile_limit_s: float | None = None
    ) -> Any: ...
    def known_device(self, kind: str, limit_s: float | None) -> Device | None: ...
    def measure_device(self, kind: str, limit_s: float | None, *, renew: bool = False) -> Device: ...
    def close(self) -> None: ...


class ChildDriver:
    """Each start is a fresh process: torch, the model and the CUDA context with it."""

    is_isolated = True

    def __init__(self, spec: WorkloadSpec, log: Path, on_event: OnEvent) -> None:
        self._child = Child(spec, log, on_event)
        self._device_child = Child(spec, log, on_event)

    def start(self, skip: tuple[Skip, ...], limit_s: float | None) -> None:
        self._child.start(skip, limit_s)

    def call(
        self, method: str, *arguments: Any, limit_s: float | None = None, compile_limit_s: float | None = None
    ) -> Any:
        return self._child.call(method, *arguments, limit_s=limit_s, compile_limit_s=compile_limit_s)

    def known_device(self, kind: str, limit_s: float | None) -> Device | None:
        """What was measured of the device before, None where it must be measured. Looked up in the process that runs
        the model: one of its own would import torch for it, for 7 s on two cores and some 10 beside an H200.
        """
        device: Device | None = self._child.call("known_device", kind, limit_s=limit_s)
        return device

    def measure_device(self, kind: str, limit_s: float | None, *, renew: bool = False) -> Device:
        return _measured_by(self._device_child, kind, limit_s, renew=renew)

    def close(self) -> None:
        self._child.close()
        self._device_child.close()


def _measured_by(child: Child, kind: str, limit_s: float | None, *, renew: bool) -> Device:
    """In a process of its own: measuring uses the profiler, after which every launch of a process is slower."""
    try:
        child.spawn()
        device: Device = child.call("measure_device", kind, renew, limit_s=limit_s)
        return device
    finally:
        child.close()


class LocalDriver:
    """The caller's own process and objects. A candidate that takes the process down takes the caller with it.

    What torch writes of its autotuning goes to `log`, where one is given, and not to the caller's stderr.
    """

    is_isolated = False

    def __init__(self, workload: Any, on_event: OnEvent, log: Path | None = None) -> None:
        self._workload = workload
        self._on_event = on_event
        self._log = log
        self._session: Any = None
        self._until_closed = ExitStack()

    def start(self, skip: tuple[Skip, ...], limit_s: float | None) -> None:
        from analyzer.session import Session  # imports torch
        from collectors import torch_compat

        self._until_closed.close()
        if self._log is not None:
            self._until_closed.enter_context(torch_compat.autotuning_told_to(self._log))
        self._session = Session(self._workload, self._on_event, skip)

    def call(
        self, method: str, *arguments: Any, limit_s: float | None = None, compile_limit_s: float | None = None
    ) -> Any:
        return getattr(self._session, method)(*arguments)

    def known_device(self, kind: str, limit_s: float | None) -> Device | None:
        from collectors.device import known_device  # imports torch

        return known_device(kind)

    def measure_device(self, kind: str, limit_s: float | None, *, renew: bool = False) -> Device:
        if kind == "cuda":
            # The profiler has been on here: on an H200 the gap between two kernels of a replay then came out as two to
            # three times itself, and what is measured is kept for later runs.
            return _measured_by(Child(None, Path(os.devnull), self._on_event), kind, limit_s, renew=renew)
        from collectors.device import measure_device  # imports torch

        return measure_device(kind, renew=renew)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None
        self._until_closed.close()

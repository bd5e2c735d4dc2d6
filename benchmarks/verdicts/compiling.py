"""torch.compile as the product does it: with a range around every graph, and Inductor's count of its traffic."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from analyzer.core.graphs import Graph
from analyzer.session import KERNEL_ROWS_ON_CPU
from analyzer.session_ears import Announcer, CompileClock
from collectors import torch_compat
from collectors.capture import GraphLog
from collectors.probe import Probe, ProbeMode
from optimizers.backend import SwitchBackend, Watch


class WatchedCompiler:
    """Compiles callables with torch's defaults, each call of a graph observed as a session's are."""

    def __init__(self, device: str) -> None:
        self._probe = Probe(device)
        self._log = GraphLog(root=None, running=lambda: self._probe.current)
        extra = KERNEL_ROWS_ON_CPU if device == "cpu" else ()
        watch = Watch(device, self._probe, Announcer(lambda event: None, self._log, CompileClock()), extra)
        self._backend = SwitchBackend({}, watch)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return torch_compat.compiled_model(function, self._backend)

    def graphs(self) -> tuple[Graph, ...]:
        """What was captured so far."""
        return self._log.capture(compile_ns=0, first_call_ns=0).graphs

    @contextlib.contextmanager
    def ranges(self) -> Iterator[None]:
        """Put the graphs' ranges into the trace while the block runs."""
        self._probe.mode = ProbeMode.RANGE
        try:
            yield
        finally:
            self._probe.mode = ProbeMode.OFF

"""torch.compile as the product does it: with a range around every graph, and Inductor's count of its traffic."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from analyzer.core.graphs import Graph
from analyzer.session_ears import Announcer, CompileClock
from collectors import torch_compat
from collectors.capture import GraphLog
from collectors.probe import Probe, ProbeMode
from collectors.profiler import rows_on
from optimizers.backend import SwitchBackend, Watch


class WatchedCompiler:
    """Compiles callables with torch's defaults, each call of a graph observed as a session's are."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._probe = Probe(device)
        self._log = GraphLog(root=None, running=lambda: self._probe.current)
        watch = Watch(device, self._probe, Announcer(lambda event: None, self._log, CompileClock()))
        self._backend = SwitchBackend({}, watch)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return torch_compat.compiled_model(function, self._backend)

    def graphs(self) -> tuple[Graph, ...]:
        """What was captured so far."""
        return self._log.capture(compile_ns=0, first_call_ns=0).graphs

    @contextlib.contextmanager
    def ranges(self) -> Iterator[None]:
        """Put the graphs' ranges, and on a CPU their kernels, into the trace while the block runs."""
        self._probe.mode = ProbeMode.RANGE
        try:
            with rows_on(self._device):
                yield
        finally:
            self._probe.mode = ProbeMode.OFF

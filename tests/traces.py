"""Builds traces that read like the run they stand for, as a `Trace` and as the file torch.profiler would write.

run = Recording()
with run.step():
    with run.graph("3fa9c1d2e4b5.inference"):
        with run.op("aten::mm", shapes=((64, 64), (64, 64)), dtypes=("float", "float")):
            run.launch("gemm", us=5)
    run.synchronize()
trace = run.trace()
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from analyzer.core.trace import EventKind, OpDetail, Trace

HOST_CALL_US = 1
"""What opening, closing and launching cost the host of a recording."""
GRAPH_RANGE = "graphbound::"
MAIN_THREAD = 100
DEVICE = 0

_CATEGORIES = {
    EventKind.CPU_OP: "cpu_op",
    EventKind.LAUNCH: "cuda_runtime",
    EventKind.RUNTIME: "cuda_runtime",
    EventKind.SYNC: "cuda_runtime",
    EventKind.KERNEL: "kernel",
    EventKind.COPY: "gpu_memcpy",
    EventKind.MEMSET: "gpu_memset",
    EventKind.RANGE: "user_annotation",
    EventKind.DEVICE_RANGE: "gpu_user_annotation",
    EventKind.PYTHON: "python_function",
    EventKind.OTHER: "overhead",
    EventKind.WAIT: "cuda_sync",
}
_DEVICE_KINDS = (EventKind.KERNEL, EventKind.COPY, EventKind.MEMSET, EventKind.WAIT)


@dataclass(frozen=True)
class Row:
    name: str
    kind: EventKind
    start_ns: int
    duration_ns: int
    thread: int = MAIN_THREAD
    stream: int | None = None
    correlation: int | None = None
    detail: OpDetail | None = None
    device: int = DEVICE


@dataclass
class Recording:
    """A run with a host clock and one clock a stream; every method moves them as a real run would."""

    rows: list[Row] = field(default_factory=list)
    now_ns: int = 0
    base_ns: int = 1_700_000_000_000_000_000
    device_name: str | None = "Test Device"
    thread: int = MAIN_THREAD
    steps: int = 0
    _free_ns: dict[int, int] = field(default_factory=dict)
    _correlation: int = 1

    @contextmanager
    def step(self) -> Iterator[None]:
        with self.range(f"ProfilerStep#{self.steps}"):
            yield
        self.steps += 1

    @contextmanager
    def graph(self, key: str) -> Iterator[None]:
        with self.range(f"{GRAPH_RANGE}{key}"):
            yield

    @contextmanager
    def range(self, name: str) -> Iterator[None]:
        with self._open(name, EventKind.RANGE, None):
            yield

    @contextmanager
    def op(
        self,
        name: str,
        shapes: Sequence[Sequence[int]] = (),
        dtypes: Sequence[str] = (),
        values: Sequence[str] = (),
        strides: Sequence[Sequence[int]] = (),
    ) -> Iterator[None]:
        detail = OpDetail(
            shapes=tuple(map(tuple, shapes)),
            strides=tuple(map(tuple, strides)),
            dtypes=tuple(dtypes),
            values=tuple(values),
        )
        with self._open(name, EventKind.CPU_OP, detail if detail != OpDetail() else None):
            yield

    @contextmanager
    def on_thread(self, thread: int) -> Iterator[None]:
        self.thread, before = thread, self.thread
        yield
        self.thread = before

    def host(self, us: float) -> None:
        """The host computes; nothing is recorded of it."""
        self.now_ns += round(us * 1000)

    def call(self, name: str, us: float) -> None:
        """A runtime call that launches nothing."""
        start = self.now_ns
        self.host(us)
        self._add(name, EventKind.RUNTIME, start, self.now_ns, correlation=self._next_correlation())

    def launch(
        self, name: str, us: float, *, stream: int = 7, kind: EventKind = EventKind.KERNEL, device: int = DEVICE
    ) -> None:
        call = {EventKind.COPY: "cudaMemcpyAsync", EventKind.MEMSET: "cudaMemsetAsync"}.get(kind, "cudaLaunchKernel")
        correlation = self._call(call)
        self._run(name, us, stream, kind, correlation)
        self.rows[-1] = replace(self.rows[-1], device=device)

    def replay(self, kernels: Sequence[tuple[str, float]], *, stream: int = 7) -> None:
        """One graph launch, whose kernels share its correlation id."""
        correlation = self._call("cudaGraphLaunch")
        for name, us in kernels:
            self._run(name, us, stream, EventKind.KERNEL, correlation)

    def orphan(self, name: str, us: float, *, stream: int = 7, correlation: int | None = None) -> None:
        """A kernel whose launch was not recorded."""
        self._run(name, us, stream, EventKind.KERNEL, correlation)

    def copy(self, name: str, us: float, *, stream: int = 7, size: int | None = None, holds: bool = False) -> None:
        """A copy; one that `holds` keeps the host in its call until it is done, as one of pageable memory does."""
        correlation = self._next_correlation()
        start, opened = self.now_ns, self.now_ns + HOST_CALL_US * 1000
        self.now_ns = opened
        self._run(name, us, stream, EventKind.COPY, correlation, OpDetail(bytes=size) if size is not None else None)
        self.now_ns = max(opened, self._free_ns[stream]) if holds else opened
        self._add("cudaMemcpyAsync", EventKind.LAUNCH, start, self.now_ns, correlation=correlation)

    def runtime(self, name: str, us: float) -> None:
        """A call of the runtime that starts nothing on the device."""
        start = self.now_ns
        self.host(us)
        self._add(name, EventKind.RUNTIME, start, self.now_ns, correlation=self._next_correlation())

    def synchronize(self, name: str = "cudaDeviceSynchronize", *, stream: int | None = None) -> None:
        """The host waits for one stream, or for all of them."""
        waited = self._free_ns.values() if stream is None else (self._free_ns.get(stream, 0),)
        end = max([self.now_ns + HOST_CALL_US * 1000, *waited])
        self._add(name, EventKind.SYNC, self.now_ns, end, correlation=self._next_correlation())
        self.now_ns = end + HOST_CALL_US * 1000

    def trace(self, *, order: Sequence[int] | None = None) -> Trace:
        """`order` permutes the rows before they are sorted by start, as a shuffled file would."""
        given = [self.rows[i] for i in order] if order is not None else self.rows
        rows = sorted(given, key=_sort_key)
        names = tuple(sorted({r.name for r in rows}))
        details = tuple(dict.fromkeys(r.detail for r in rows if r.detail is not None))
        name_ids = {name: i for i, name in enumerate(names)}
        detail_ids = {detail: i for i, detail in enumerate(details)}
        first_ns = rows[0].start_ns if rows else 0

        def column(values: list[int]) -> Any:
            return np.asarray(values, dtype=np.int64)

        def mask(values: list[bool]) -> Any:
            return np.asarray(values, dtype=np.bool_)

        return Trace(
            names=names,
            name_id=column([name_ids[r.name] for r in rows]),
            kind=column([int(r.kind) for r in rows]),
            start_ns=column([r.start_ns - first_ns for r in rows]),
            duration_ns=column([r.duration_ns for r in rows]),
            thread=column([0 if r.kind in _DEVICE_KINDS else r.thread for r in rows]),
            device=column([r.device for r in rows]),
            stream=column([r.stream or 0 for r in rows]),
            has_stream=mask([r.stream is not None for r in rows]),
            correlation=column([r.correlation or 0 for r in rows]),
            has_correlation=mask([r.correlation is not None for r in rows]),
            detail_id=column([detail_ids[r.detail] if r.detail is not None else 0 for r in rows]),
            has_detail=mask([r.detail is not None for r in rows]),
            details=details,
            base_ns=self.base_ns + first_ns,
            device_name=self.device_name if any(r.kind in _DEVICE_KINDS for r in rows) else None,
        )

    def kineto(self) -> dict[str, Any]:
        """The same run as the object that torch.profiler exports."""
        properties = [{"id": DEVICE, "name": self.device_name}] if self.device_name else []
        return {
            "schemaVersion": 1,
            "deviceProperties": properties,
            "traceEvents": [_event(r) for r in self.rows],
            "baseTimeNanoseconds": self.base_ns,
        }

    def save(self, path: Path) -> Path:
        text = json.dumps(self.kineto())
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
        return path

    @contextmanager
    def _open(self, name: str, kind: EventKind, detail: OpDetail | None) -> Iterator[None]:
        start = self.now_ns
        self.host(HOST_CALL_US)
        yield
        self.host(HOST_CALL_US)
        self._add(name, kind, start, self.now_ns, detail=detail)

    def _call(self, name: str) -> int:
        correlation = self._next_correlation()
        start = self.now_ns
        self.host(HOST_CALL_US)
        self._add(name, EventKind.LAUNCH, start, self.now_ns, correlation=correlation)
        return correlation

    def _run(
        self,
        name: str,
        us: float,
        stream: int,
        kind: EventKind,
        correlation: int | None,
        detail: OpDetail | None = None,
    ) -> None:
        start = max(self.now_ns, self._free_ns.get(stream, 0))
        self._free_ns[stream] = start + round(us * 1000)
        self._add(name, kind, start, self._free_ns[stream], stream=stream, correlation=correlation, detail=detail)

    def _next_correlation(self) -> int:
        self._correlation += 1
        return self._correlation

    def _add(
        self,
        name: str,
        kind: EventKind,
        start: int,
        end: int,
        *,
        stream: int | None = None,
        correlation: int | None = None,
        detail: OpDetail | None = None,
    ) -> None:
        self.rows.append(Row(name, kind, start, end - start, self.thread, stream, correlation, detail))


def _sort_key(row: Row) -> tuple[Any, ...]:
    return (row.start_ns, -row.duration_ns, int(row.kind), row.thread, row.stream or 0, row.correlation or 0, row.name)


def _event(row: Row) -> dict[str, Any]:
    is_device = row.kind in _DEVICE_KINDS
    args: dict[str, Any] = {}
    if row.correlation is not None:
        args["correlation"] = row.correlation
    if is_device:
        args |= {"device": row.device, "stream": row.stream}
    if row.detail is not None:
        args |= {
            "Input Dims": row.detail.shapes,
            "Input Strides": row.detail.strides,
            "Input type": row.detail.dtypes,
            "Concrete Inputs": row.detail.values,
        }
        if row.detail.wait is not None:
            args["wait_on_stream"] = row.detail.wait.stream
            args["wait_on_cuda_event_record_corr_id"] = row.detail.wait.record
    return {
        "ph": "X",
        "cat": _CATEGORIES[row.kind],
        "name": row.name,
        "pid": row.device if is_device else 1,
        "tid": row.stream if is_device else row.thread,
        "ts": row.start_ns / 1000,
        "dur": row.duration_ns / 1000,
        "args": args,
    }

"""The breakdowns of HolisticTraceAnalysis over the traces of several ranks, as typed values. Needs the extra `ranks`.

Ours (`analyzer.derive`) need no extra and are what reports show; these are here to be held against them.
"""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analyzer.core.errors import MissingExtraError

EXTRA: Final = 'pip install "graphbound[ranks]"'

NO_ROUNDING: Final = "HTA_DISABLE_NS_ROUNDING"
"""Set to 1 it keeps fractions of a microsecond; else times are floored, and idle gaps of graph replays come out 18
times too long (HTA 0.5.0)."""

_US: Final = 1000
_HOST_WAIT: Final = "host_wait"


@dataclass(frozen=True, slots=True)
class HtaStream:
    """Idle time of one stream. `other_ns` is all that HTA does not put on the host."""

    stream: int
    host_ns: int
    other_ns: int


@dataclass(frozen=True, slots=True)
class HtaRank:
    """One rank. `exposed_ns` is what HTA calls non-compute time: collectives, copies and memsets with no kernel beside
    them. `overlap_share` is in steps of 0.01 %, None where the rank has no collective.
    """

    rank: int
    elapsed_ns: int
    compute_ns: int
    exposed_ns: int
    idle_ns: int
    overlap_share: float | None
    streams: tuple[HtaStream, ...]


@dataclass(frozen=True, slots=True)
class HtaPath:
    """HTA's critical path. `span_ns` is from its first node to its last; `weightless_ns` the part of it that its length
    leaves out: between operators of no other one, and in calls that HTA takes for waits. What is left is time of the
    host within operators, launch delays, kernels with copies and collectives, and gaps between them.
    """

    span_ns: int
    weightless_ns: int
    host_ns: int
    launch_ns: int
    device_ns: int
    gap_ns: int


def hta_path(file: Path, first: int, last: int) -> HtaPath:
    """HTA's critical path of a file from this one of its `ProfilerStep` marks to that one, both counted from 0 and
    included. Raises as `hta_ranks` does.
    """
    with _exact_and_quiet():
        try:
            # As below.
            module = importlib.import_module("hta.trace_analysis")
        except ImportError:
            raise MissingExtraError("HolisticTraceAnalysis is not installed", hint=EXTRA) from None
        analysis = module.TraceAnalysis(
            trace_files={0: str(file.absolute())},
            trace_dir=str(file.absolute().parent),
            include_last_profiler_step=True,
        )
        graph, _ = analysis.critical_path_analysis(rank=0, annotation="ProfilerStep", instance_id=(first, last))
        nodes = [graph.node_list[number] for number in graph.critical_path_nodes]
        by_bound = graph.get_critical_path_breakdown().groupby("bound_by")["duration"].sum().to_dict()
    parts = {bound: round(us * _US) for bound, us in by_bound.items()}
    span = round((nodes[-1].ts - nodes[0].ts) * _US)
    return HtaPath(
        span_ns=span,
        weightless_ns=span - sum(parts.values()),
        host_ns=parts.get("cpu_bound", 0),
        launch_ns=parts.get("gpu_kernel_launch_overhead", 0),
        device_ns=parts.get("gpu_compute_bound", 0) + parts.get("gpu_communication_bound", 0),
        gap_ns=parts.get("gpu_kernel_kernel_overhead", 0),
    )


def hta_ranks(files: Mapping[int, Path]) -> tuple[HtaRank, ...]:
    """HTA's breakdowns of these files, by rank. Raises MissingExtraError where it is not installed.

    What HTA raises on a file that it cannot read comes through: it reads less than we do.
    """
    with _exact_and_quiet():
        try:
            # About a second, and a hundred packages.
            module = importlib.import_module("hta.trace_analysis")
        except ImportError:
            raise MissingExtraError("HolisticTraceAnalysis is not installed", hint=EXTRA) from None
        names = {rank: str(path.absolute()) for rank, path in files.items()}
        analysis = module.TraceAnalysis(trace_files=names, trace_dir=str(next(iter(files.values())).absolute().parent))
        temporal = analysis.get_temporal_breakdown(visualize=False).set_index("rank")
        overlap = analysis.get_comm_comp_overlap(visualize=False).set_index("rank")["comp_comm_overlap_pctg"]
        idle, _ = analysis.get_idle_time_breakdown(ranks=sorted(files), visualize=False)
        return tuple(_rank(rank, temporal.loc[rank], float(overlap.loc[rank]), idle) for rank in sorted(files))


def _rank(rank: int, temporal: Any, overlap: float, idle: Any) -> HtaRank:
    own = idle[idle["rank"] == rank]
    streams = []
    for stream in sorted(set(own["stream"].tolist())):
        here = own[own["stream"] == stream]
        by_host = float(here[here["idle_category"] == _HOST_WAIT]["idle_time"].sum())
        streams.append(
            HtaStream(int(stream), round(by_host * _US), round(here["idle_time"].sum() * _US) - round(by_host * _US))
        )
    return HtaRank(
        rank=rank,
        elapsed_ns=round(temporal["kernel_time(us)"] * _US),
        compute_ns=round(temporal["compute_time(us)"] * _US),
        exposed_ns=round(temporal["non_compute_time(us)"] * _US),
        idle_ns=round(temporal["idle_time(us)"] * _US),
        overlap_share=None if overlap != overlap else overlap / 100,
        streams=tuple(streams),
    )


@contextmanager
def _exact_and_quiet() -> Iterator[None]:
    """HTA without its rounding, and without its log of every file on stderr; both as they were afterwards."""
    before = os.environ.get(NO_ROUNDING)
    logger = logging.getLogger("hta")
    level = logger.level
    os.environ[NO_ROUNDING] = "1"
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
        if before is None:
            del os.environ[NO_ROUNDING]
        else:
            os.environ[NO_ROUNDING] = before

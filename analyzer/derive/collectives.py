"""What a collective kernel is, and which collective and process group it belongs to. One ordered table of names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from analyzer.core.trace import EventKind, IntColumn, Trace
from analyzer.derive.links import launches
from analyzer.derive.nesting import NOBODY, innermost_at

TABLE: Final[tuple[tuple[str, str | None], ...]] = (
    (r"(?:void )?(?:nccl|rccl)(?:Dev)?Kernel_AllReduce.*", "all_reduce"),
    (r"(?:void )?(?:nccl|rccl)(?:Dev)?Kernel_AllGather.*", "all_gather"),
    (r"(?:void )?(?:nccl|rccl)(?:Dev)?Kernel_ReduceScatter.*", "reduce_scatter"),
    (r"(?:void )?(?:nccl|rccl)(?:Dev)?Kernel_Broadcast.*", "broadcast"),
    (r"(?:void )?(?:nccl|rccl)(?:Dev)?Kernel_Reduce_.*", "reduce"),
    (r"(?:void )?(?:nccl|rccl)(?:Dev)?Kernel_SendRecv.*", "send_recv"),
    # RCCL names one kernel for all of them; older NCCL too (ncclKernel_…, ncclDevKernel_Generic).
    (r"(?:void )?(?:nccl|rccl)(?:Dev)?Kernel.*|ncclDevFunc.*", None),
    # Custom all-reduces of serving engines (vLLM, TensorRT-LLM, sglang) and symmetric memory.
    (
        r".*(?:cross_device_reduce_\dstage|(?:one|two)_shot_all_?reduce|allreduce_(?:fusion|add_rmsnorm)|multimem_all_reduce).*",
        "all_reduce",
    ),
    (r".*(?:userbuffers_fp16|oneccl|hccl_|ccl_allreduce).*", None),
)
"""Name and collective; None where the name does not say which."""

_COMPILED: Final = tuple((re.compile(pattern, re.DOTALL | re.IGNORECASE), what) for pattern, what in TABLE)
_RANGE: Final = re.compile(r"(?:nccl|rccl|gloo|xccl|hccl):_?(?P<what>\w+)")
_SPELLINGS: Final = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "allgather_base": "all_gather",
    "all_gather_base": "all_gather",
    "reduce_scatter_base": "reduce_scatter",
    "alltoall": "all_to_all",
    "all_to_allv": "all_to_all",
    "alltoall_base": "all_to_all",
}
UNNAMED: Final = "collective"
"""Where neither the kernel, its arguments nor the range around its launch says which one it is."""


@lru_cache(maxsize=1 << 14)
def _match(name: str) -> tuple[bool, str | None]:
    return next(((True, what) for pattern, what in _COMPILED if pattern.fullmatch(name)), (False, None))


def is_collective(name: str) -> bool:
    """Whether a kernel of this name moves data between devices."""
    return _match(name)[0]


@dataclass(frozen=True, slots=True)
class CollectiveCall:
    """One collective kernel. `group` is the process group's name, None where the trace does not say (before torch 2.3).
    `row` is its trace row; `order` its number among those of its name and group, in order of start.
    """

    row: int
    what: str
    group: str | None
    order: int
    bytes: int | None = None


_DTYPE_BYTES: Final = {
    "float": 4, "half": 2, "bfloat16": 2, "double": 8, "int": 4, "long": 8, "byte": 1, "char": 1, "short": 2, "bool": 1,
    "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip


def collectives(trace: Trace) -> tuple[CollectiveCall, ...]:
    """Every collective kernel, in order of start."""
    rows = trace.named(is_collective, EventKind.KERNEL)
    around = _ranges_around(trace, rows)
    counts: dict[tuple[str, str | None], int] = {}
    found = []
    for row, told in zip(rows.tolist(), around, strict=True):
        what, group, size = _said(trace, row, told)
        number = counts.get((what, group), 0)
        counts[what, group] = number + 1
        found.append(CollectiveCall(row, what, group, number, size))
    return tuple(found)


def _said(trace: Trace, row: int, told: str | None) -> tuple[str, str | None, int | None]:
    detail = trace.detail(row)
    said = detail.collective if detail is not None else None
    by_name = _match(trace.name(row))[1]
    if said is None:
        return told or by_name or UNNAMED, None, None
    width = _DTYPE_BYTES.get((said.dtype or "").lower())
    elements = said.elements_in
    size = None if width is None or elements is None else width * elements
    return _spelled(said.name) or told or by_name or UNNAMED, said.group, size


def _spelled(name: str | None) -> str | None:
    if not name:
        return None
    plain = name.strip("_").lower()
    return _SPELLINGS.get(plain, plain)


def _ranges_around(trace: Trace, rows: IntColumn) -> list[str | None]:
    """The collective named by torch's own range (`nccl:all_to_all`) around the launch of each row."""
    wanted = {i: found["what"] for i, name in enumerate(trace.names) if (found := _RANGE.fullmatch(name))}
    ranges = trace.named(_RANGE.fullmatch, EventKind.RANGE, EventKind.CPU_OP)
    launch = launches(trace, rows)
    linked = launch != NOBODY
    around = np.full(rows.size, NOBODY, dtype=np.int64)
    around[linked] = innermost_at(trace, ranges, trace.start_ns[launch[linked]], trace.thread[launch[linked]])
    return [None if row == NOBODY else _spelled(wanted[int(trace.name_id[row])]) for row in around.tolist()]

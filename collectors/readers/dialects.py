"""What a row of a profiler trace is, by its category and name. One ordered table; the first match wins.

Words of kineto since 2022 (`kernel`, `cpu_op`), of 2021 (`Kernel`, `Operator`), and of its CUDA, HIP, XPU and MTIA
plugins. It never looks at times or arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from analyzer.core.trace import EventKind
from analyzer.core.trace_facts import Vendor

_RUNTIME: Final = r"(?:(?:cuda|hip|xpu|mtia|privateuse1)_(?:runtime|driver)|runtime|glow_runtime)"

TABLE: Final[tuple[tuple[str, str, EventKind], ...]] = (
    # Early roctracer builds wrote copies as kernels (mlcommons/chakra#129).
    (r"kernel", r"Copy(?:HostToDevice|DeviceToHost|DeviceToDevice)", EventKind.COPY),
    # XPU queues its copies and fills as commands of the kernels' category in some releases of Kineto's plugin.
    (r"kernel", r"(?:urEnqueue|zeCommandListAppend)Mem\w*(?:Copy|Fill)\w*(?:\(.*\))?", EventKind.COPY),
    (r"kernel|concurrent_kernel|gpu_op", r".*", EventKind.KERNEL),
    (r"gpu_memcpy2?|memcpy", r".*", EventKind.COPY),
    (r"gpu_memset|memset", r".*", EventKind.MEMSET),
    (_RUNTIME, r"cudaLaunch(?:Cooperative)?Kernel(?:ExC|MultiDevice)?(?:_v\d+)?(?:_ptsz)?", EventKind.LAUNCH),
    (_RUNTIME, r"cuLaunch(?:Cooperative)?Kernel(?:Ex)?(?:_ptsz)?", EventKind.LAUNCH),
    (_RUNTIME, r"cu(?:da)?GraphLaunch(?:_v\d+)?(?:_ptsz)?", EventKind.LAUNCH),
    (_RUNTIME, r"cu(?:da)?Mem(?:cpy|set)\w*", EventKind.LAUNCH),
    (_RUNTIME, r"hip(?:Ext)?(?:Module)?Launch(?:Cooperative|MultiDevice)*(?:Multi)?Kernel(?:ExC)?", EventKind.LAUNCH),
    (_RUNTIME, r"hipGraphLaunch", EventKind.LAUNCH),
    (_RUNTIME, r"hipMem(?:cpy|set)\w*", EventKind.LAUNCH),
    (_RUNTIME, r"(?:ur|pi)Enqueue(?:Kernel|USM|Mem)\w*", EventKind.LAUNCH),
    (_RUNTIME, r"zeCommandListAppend(?:Launch\w*Kernel\w*|Memory(?:Copy|Fill)\w*)", EventKind.LAUNCH),
    (_RUNTIME, r"(?:cuda|hip)(?:Device|Stream|Event)Synchronize(?:_ptsz)?", EventKind.SYNC),
    (_RUNTIME, r"cu(?:Ctx|Stream|Event)Synchronize(?:_ptsz)?", EventKind.SYNC),
    (_RUNTIME, r"(?:ur|pi)(?:QueueFinish|EventWait|EventsWait)", EventKind.SYNC),
    (
        _RUNTIME,
        r"ze(?:CommandQueueSynchronize|CommandListHostSynchronize|EventHostSynchronize|FenceHost\w+)",
        EventKind.SYNC,
    ),
    (r"mtia_runtime", r"synchronize(?:Stream)?", EventKind.SYNC),
    (_RUNTIME, r".*", EventKind.RUNTIME),
    # The 2021 profiler wrote its steps as operators.
    (r"operator|cpu_op", r"ProfilerStep[#*]\S*", EventKind.RANGE),
    (r"operator|cpu_op", r".*", EventKind.CPU_OP),
    (r"user_annotation", r".*", EventKind.RANGE),
    (r"gpu_user_annotation", r".*", EventKind.DEVICE_RANGE),
    (r"python_function|python", r".*", EventKind.PYTHON),
    (r"cuda_sync", r".*", EventKind.WAIT),
)

_COMPILED: Final = tuple(
    (re.compile(category, re.IGNORECASE), re.compile(name, re.DOTALL), kind) for category, name, kind in TABLE
)

_UNREAD_DEVICES: Final = re.compile(r"mtia_ccp_events|mtia_insight|hpu_op|collective_comm")
"""Rows of devices whose words nobody has published: MTIA's `pe_exe`, `remote`, `merge` may work or wait. A count of
them is better than a guess at an idle time."""


WHOLE_RECORDING: Final = "Trace"
"""The category of the profiler's own bar over the whole recording."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What rows of a category can be: by these lines of the table, the first that knows the name. Categories that
    differ in spelling alone share one.
    """

    lines: tuple[int, ...]
    is_unread_device: bool
    is_whole_recording: bool

    @property
    def kinds(self) -> frozenset[EventKind]:
        """What a row can be, whatever its name; nothing where only OTHER is left."""
        return frozenset(_COMPILED[i][2] for i in self.lines)

    def kind_of(self, name: str) -> EventKind:
        """The kind of a row of this name; OTHER where no line knows it."""
        return next((_COMPILED[i][2] for i in self.lines if _COMPILED[i][1].fullmatch(name)), EventKind.OTHER)


def vocabulary_of(category: str) -> Vocabulary:
    return Vocabulary(
        lines=tuple(i for i, (pattern, _, _) in enumerate(_COMPILED) if pattern.fullmatch(category)),
        is_unread_device=is_unread_device(category),
        is_whole_recording=category == WHOLE_RECORDING,
    )


def kind_of(category: str, name: str) -> EventKind:
    """The kind of a row; OTHER where no line of the table knows the category."""
    return vocabulary_of(category).kind_of(name)


def is_unread_device(category: str) -> bool:
    """Whether rows of this category are a device's, in a language that the table does not know."""
    return _UNREAD_DEVICES.fullmatch(category) is not None


VENDORS: Final[tuple[tuple[str, Vendor], ...]] = (
    (r"(?:hip|hsa|roc)[A-Z_]\w*", Vendor.ROCM),
    (r"(?:cuda|cu)[A-Z]\w*(?:.*)", Vendor.CUDA),
    (r"(?:ur|pi|ze)[A-Z]\w*", Vendor.XPU),
    (r"(?:runFunction|enqueueCommand|recordEvent|synchronize(?:Stream)?)\b.*", Vendor.MTIA),
)
"""Whose calls these are, by name: AMD's lie under category `cuda_runtime`. A call of several words names nobody."""

DEVICE_VENDORS: Final[tuple[tuple[str, Vendor], ...]] = (
    (r"\bAMD\b|Instinct|Radeon|gfx\d", Vendor.ROCM),
    (r"NVIDIA|Tesla|GeForce|Quadro|\b[ABHV]\d{2,3}\b", Vendor.CUDA),
    (r"Intel|Data Center GPU|\bArc\b", Vendor.XPU),
    (r"ARTEMIS|MTIA", Vendor.MTIA),
)

_CALLS: Final = tuple((re.compile(pattern, re.DOTALL), vendor) for pattern, vendor in VENDORS)
_DEVICES: Final = tuple((re.compile(pattern), vendor) for pattern, vendor in DEVICE_VENDORS)


def vendor_of_calls(names: Iterable[str]) -> Vendor | None:
    """Whose runtime most of these calls are of; None where none of them is known."""
    votes = dict.fromkeys((vendor for _, vendor in VENDORS), 0)
    for name in names:
        for pattern, vendor in _CALLS:
            if pattern.fullmatch(name):
                votes[vendor] += 1
                break
    best = max(votes, key=votes.__getitem__)
    return best if votes[best] else None


def vendor_of_device(name: str) -> Vendor | None:
    """Who made a device of this name; None for one that no line knows."""
    return next((vendor for pattern, vendor in _DEVICES if pattern.search(name)), None)

"""What a row of a profiler trace is, by its category and name. One ordered table; the first match wins.

Words of kineto since 2022 (`kernel`, `cpu_op`), of 2021 (`Kernel`, `Operator`), and of its CUDA, HIP and XPU plugins.
It never looks at times or arguments.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from analyzer.core.trace import EventKind

_RUNTIME: Final = r"(?:(?:cuda|hip|xpu|mtia|privateuse1)_(?:runtime|driver)|runtime|glow_runtime)"

TABLE: Final[tuple[tuple[str, str, EventKind], ...]] = (
    # Early roctracer builds wrote copies as kernels (mlcommons/chakra#129).
    (r"kernel", r"Copy(?:HostToDevice|DeviceToHost|DeviceToDevice)", EventKind.COPY),
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
    (_RUNTIME, r"(?:cuda|hip)(?:Device|Stream|Event)Synchronize(?:_ptsz)?", EventKind.SYNC),
    (_RUNTIME, r"cu(?:Ctx|Stream|Event)Synchronize(?:_ptsz)?", EventKind.SYNC),
    (_RUNTIME, r".*", EventKind.RUNTIME),
    # The 2021 profiler wrote its steps as operators.
    (r"operator|cpu_op", r"ProfilerStep[#*]\S*", EventKind.RANGE),
    (r"operator|cpu_op", r".*", EventKind.CPU_OP),
    (r"user_annotation", r".*", EventKind.RANGE),
    (r"gpu_user_annotation", r".*", EventKind.DEVICE_RANGE),
    (r"python_function|python", r".*", EventKind.PYTHON),
)

_COMPILED: Final = tuple(
    (re.compile(category, re.IGNORECASE), re.compile(name, re.DOTALL), kind) for category, name, kind in TABLE
)


@lru_cache(maxsize=1 << 16)
def kind_of(category: str, name: str) -> EventKind:
    """The kind of a row; OTHER where no line of the table knows the category."""
    for category_pattern, name_pattern, kind in _COMPILED:
        if category_pattern.fullmatch(category) and name_pattern.fullmatch(name):
            return kind
    return EventKind.OTHER

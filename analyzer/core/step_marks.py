"""The ranges by which programs mark their steps. One ordered table; the first match wins."""

from __future__ import annotations

import re
from enum import Enum
from typing import Final


class StepDialect(Enum):
    """Who marks steps so; the value is how it is said."""

    TORCH = "torch.profiler"
    SGLANG = "sglang"
    DIFFUSERS = "diffusers"
    VLLM = "vLLM"


TABLE: Final[tuple[tuple[str, StepDialect], ...]] = (
    (r"ProfilerStep[#*]\d+", StepDialect.TORCH),
    (r"step\[(?:DECODE|EXTEND|PREFILL|MIXED|IDLE|TARGET_VERIFY|DRAFT_EXTEND\w*)\b.*\]", StepDialect.SGLANG),
    # xDiT's name for one denoising run, of which there are many in a request.
    (r"execute_diffusion_\w+", StepDialect.DIFFUSERS),
    # `execute_8192_context_9(sq…sk…)_generation_0(…)`, `execute_context_1(888_788544)_generation_0(0)`, and vLLM's own
    # `execute_new_…_cached_…` since 0.6. TraceLens lists the first two.
    (r"execute_(?:\d+_)?context_\d+\(.*\)_generation_\d+\(.*\)", StepDialect.VLLM),
    (r"execute_(?:new_|context_|model\b).*", StepDialect.VLLM),
)

_COMPILED: Final = tuple((re.compile(pattern, re.DOTALL), dialect) for pattern, dialect in TABLE)
_LONGEST: Final = 2000
"""Characters: longer names are kernels', and no marker."""


def step_dialect(name: str) -> StepDialect | None:
    """Whose marker a range's name is; None for a range that marks no step."""
    if len(name) > _LONGEST:
        return None
    return next((dialect for pattern, dialect in _COMPILED if pattern.fullmatch(name)), None)

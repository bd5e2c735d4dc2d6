"""Inductor with torch's own defaults: what `torch.compile(model)` does."""

from __future__ import annotations

from typing import Final

from optimizers.candidates.base import Candidate

FUSED: Final = Candidate(
    id="fused",
    title="fusion",
    patches=(("triton.cudagraphs", False), ("cpp_wrapper", False)),
)

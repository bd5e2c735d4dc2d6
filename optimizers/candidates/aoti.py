"""The graph compiled ahead of time by AOTInductor and called from its package: no Python between its kernels."""

from __future__ import annotations

from typing import Final

from analyzer.core.graphs import Direction
from optimizers.candidates.base import Candidate
from optimizers.candidates.frozen import CAVEAT

AOTI: Final = Candidate(
    id="aoti",
    title="AOTInductor",
    is_packaged=True,
    uses_cpp_wrapper=True,
    directions=(Direction.INFERENCE,),
    caveat=CAVEAT,
    is_dear=True,
)

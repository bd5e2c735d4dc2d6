"""Inductor with torch's own defaults: what `torch.compile(model)` does."""

from __future__ import annotations

from typing import Final

from analyzer.core import plan
from optimizers.candidates.base import PYTHON_LAUNCH, Axis, Candidate

FUSED: Final = Candidate(id=plan.FUSED, title="fusion", patches=PYTHON_LAUNCH, axis=Axis.KERNELS)

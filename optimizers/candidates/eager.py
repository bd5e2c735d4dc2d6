"""The captured graph, run operator by operator as the user wrote it."""

from __future__ import annotations

from typing import Final

from analyzer.core import plan
from analyzer.core.graphs import Direction
from optimizers.candidates.base import Candidate

EAGER: Final = Candidate(
    id=plan.EAGER, title="eager", is_eager=True, directions=(Direction.INFERENCE, Direction.FORWARD)
)

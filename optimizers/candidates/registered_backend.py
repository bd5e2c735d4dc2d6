"""Another backend of `torch.compile`, by its name: `backend:NAME` is a candidate for any that is registered."""

from __future__ import annotations

from typing import Final

from analyzer.core.graphs import Direction
from optimizers.candidates.base import Candidate

PREFIX: Final = "backend:"


def backend_candidate(name: str) -> Candidate:
    """The candidate of this backend, whether or not torch knows it: that is asked as a graph is compiled."""
    return Candidate(
        id=f"{PREFIX}{name}",
        title=f"backend {name}",
        backend=name,
        directions=(Direction.INFERENCE, Direction.FORWARD),
    )

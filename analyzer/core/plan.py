"""A plan: a candidate for every graph. It outlives the process as plan.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from analyzer.core.device import Versions
from analyzer.core.graphs import GraphKey

PLAN_SCHEMA: Final = 1

FUSED: Final = "fused"
"""The candidate an unknown graph takes: Inductor with torch's own defaults."""

EAGER: Final = "eager"
"""The candidate that compiles nothing, and the way to run a whole model without torch.compile."""


@dataclass(frozen=True, slots=True)
class Choice:
    key: GraphKey
    candidate: str


@dataclass(frozen=True, slots=True)
class Plan:
    """`is_compiled` False means: leave the model alone, `torch.compile` does not help it.

    `note` says in a sentence what was measured.
    """

    choices: tuple[Choice, ...]
    device: str
    versions: Versions
    is_compiled: bool = True
    note: str | None = None
    schema: int = PLAN_SCHEMA

    @property
    def is_default(self) -> bool:
        """Whether it compiles every graph as `torch.compile(model)` would."""
        return self.is_compiled and all(choice.candidate == FUSED for choice in self.choices)

    def candidate(self, key: GraphKey) -> str:
        return next((c.candidate for c in self.choices if c.key == key), FUSED)

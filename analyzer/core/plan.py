"""A plan: a candidate for every graph. It outlives the process as plan.json."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Final

from analyzer.core.device import Versions
from analyzer.core.graphs import GraphKey

FUSED: Final = "fused"
"""The candidate an unknown graph takes: Inductor with torch's own defaults."""

EAGER: Final = "eager"
"""The candidate that compiles nothing, and the way to run a whole model without torch.compile."""


@dataclass(frozen=True, slots=True)
class Choice:
    key: GraphKey
    candidate: str


@dataclass(frozen=True, slots=True)
class PlanAccuracy:
    """How far the plan's results were from the reference (`float64`, `float32`, `eager`), and how far they may be:
    the worst relative root-mean-square error of any tensor.
    """

    reference: str
    error: float
    allowed: float


@dataclass(frozen=True, slots=True)
class PlanFigures:
    """A plan as it was measured: medians of a step in ns, taken in turn. `ratio` is default over plan, `low` and
    `high` its 95 % interval. `accuracy` None: the results were not compared.
    """

    eager_ns: int | None
    default_ns: int
    plan_ns: int
    ratio: float
    low: float
    high: float
    accuracy: PlanAccuracy | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """`is_compiled` False means: leave the model alone, `torch.compile` does not help it, whatever `choices` name.

    `note` says in a sentence what was measured, `figures` the same in numbers. `caveats` are what whoever uses it
    must know, a sentence each. `model` is the digest of the model's parameters, None where the plan does not say it
    or a function has none; `mode` is what was run, `inference` or `training`, None where it is not said.
    """

    choices: tuple[Choice, ...]
    device: str
    versions: Versions
    is_compiled: bool = True
    note: str | None = None
    mode: str | None = None
    model: str | None = None
    figures: PlanFigures | None = None
    caveats: tuple[str, ...] = ()

    @property
    def is_default(self) -> bool:
        """Whether it compiles every graph as `torch.compile(model)` would."""
        return self.is_compiled and all(choice.candidate == FUSED for choice in self.choices)

    def candidate(self, key: GraphKey) -> str:
        """What this graph runs under; the default where the plan does not know it."""
        if not self.is_compiled:
            return EAGER
        return next((c.candidate for c in self.choices if c.key == key), FUSED)

    def to_source(self) -> str:
        """Plain Python with torch alone: a module whose `optimize(model)` compiles as this plan does.

        Raises UsageError where the plan names a candidate that this installation does not have.
        """
        # Found when it is asked for: what writes it knows the candidates, of which nothing down here may know.
        source: str = importlib.import_module("optimizers.plan_source").source_of(self)
        return source

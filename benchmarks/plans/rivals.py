"""The ways to run a whole model that a user could choose with one setting. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.plans.suite import Case

PLAN: Final = "plan"
EAGER: Final = "eager"
DEFAULT: Final = "default"

NO_PLAN: Final = "-"
AS_IT_IS: Final = "as-it-is"
"""In place of a plan's file: there is none, and there is none because nothing can be compiled."""

PATIENCE_S: Final = 240.0
"""Four minutes to compile, alone or beside others, as issue 4 has it."""


@dataclass(frozen=True, slots=True)
class Rival:
    """`arguments` are those of `torch.compile`; None: not compiled."""

    name: str
    arguments: Mapping[str, Any] | None
    needs_gpu: bool = False
    needs_one_graph: bool = False


RIVALS: Final = (
    Rival(EAGER, None),
    Rival(DEFAULT, {}),
    Rival("reduce-overhead", {"mode": "reduce-overhead"}, needs_gpu=True),
    Rival("cpp_wrapper", {"options": {"cpp_wrapper": True}}),
    # A setting at its own default: without it torch takes this for the default, and gives it the same compiled code.
    Rival("fullgraph", {"fullgraph": True, "options": {"trace.enabled": False}}, needs_gpu=True, needs_one_graph=True),
    Rival("max-autotune", {"mode": "max-autotune"}, needs_gpu=True),
    Rival("max-autotune-no-cudagraphs", {"mode": "max-autotune-no-cudagraphs"}, needs_gpu=True),
)


def rivals_of(case: Case, device: str) -> tuple[Rival, ...]:
    """Those that apply. On a CPU issue 4 asks for eager, the default and the C++ wrapper."""
    return tuple(
        rival
        for rival in RIVALS
        if not (rival.needs_gpu and device == "cpu") and not (rival.needs_one_graph and case.is_broken)
    )


def rival(name: str) -> Rival:
    """Raises KeyError for a name that is none."""
    return {one.name: one for one in RIVALS}[name]

"""The figures of a set at the only look that nobody had prepared for, beside those of the formulas as they are now.

They were printed by `counter_section` and `class_reliability` before anything that the set showed was mended, and are
kept as they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from analyzer.core.budget import Part
from benchmarks.verdicts.held_kernels import Held
from benchmarks.verdicts.result import Check, Table

SURE: Final = 0.9
"""Confidence from which on a class is called sure."""


@dataclass(frozen=True, slots=True)
class Sure:
    """Of so many kernels of a class with a confidence of SURE or more, the shares that the counters agree with."""

    kernels: int
    right: float
    right_with_either: float


@dataclass(frozen=True, slots=True)
class FirstLook:
    """`checks` in the order of the section's."""

    checks: tuple[float, ...]
    sure: tuple[tuple[Part, Sure], ...]


FOURTH: Final = FirstLook(
    checks=(0.6907, 0.7751, 0.8073, 0.7460, 0.8061, 0.8061, 0.4388),
    sure=((Part.COMPUTE, Sure(25, 0.840, 0.880)), (Part.MEMORY, Sure(41, 0.951, 0.976))),
)
"""237 kernels of 5 µs and more, 98 larger than the L2, of 106 items that were counted of 171. The bytes that memory was
expected to move left a third of the L2 to the last writes then, however much a kernel read beside them."""


def sure_of(held: Sequence[Held], part: Part) -> Sure | None:
    """None where none of the class is sure."""
    own = [h for h in held if h.ours.part is part and (h.ours.confidence or 0.0) >= SURE]
    if not own:
        return None
    rights = (sum(h.agrees for h in own), sum(h.agrees_with_either for h in own))
    return Sure(len(own), rights[0] / len(own), rights[1] / len(own))


def first_look_table(first: FirstLook, checks: Sequence[Check], held: Sequence[Held]) -> Table:
    rows = [
        (check.what, f"{before:.1%}", "—" if check.found is None else f"{check.found:.1%}")
        for before, check in zip(first.checks, checks, strict=True)
    ]
    for part, before in first.sure:
        now = sure_of(held, part)
        said = f"right, of the kernels said to be {part.value} with a confidence of {SURE} or more (with either)"
        rows.append((said, _words(before), "—" if now is None else _words(now)))
    columns = (
        "figure",
        "held out: judged once, before anything it showed was mended",
        "seen: with what it showed mended",
    )
    return Table("Held out, and seen", columns, tuple(rows))


def _words(sure: Sure) -> str:
    return f"{sure.right:.1%} ({sure.right_with_either:.1%}) of {sure.kernels}"

"""A budget as a bar of letters: it reads without colour, in a pipe, and in ASCII."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from analyzer.core.budget import Budget, Part
from analyzer.core.quantities import duration, share


@dataclass(frozen=True, slots=True)
class Segment:
    """`cells` characters of one part."""

    part: Part
    cells: int


def letter(part: Part) -> str:
    """The character that stands for a part."""
    match part:
        case Part.STARVED:
            return "S"
        case Part.COMPUTE:
            return "C"
        case Part.MEMORY:
            return "M"
        case Part.LATENCY:
            return "L"
        case Part.UNKNOWN_KERNELS:
            return "?"
        case Part.COPIES:
            return "="
        case Part.SYNC:
            return "|"
        case Part.OTHER:
            return "."
        case _:
            assert_never(part)


def segments(budget: Budget, cells: int, whole_ns: int | None = None) -> tuple[Segment, ...]:
    """The budget over `cells` characters, in the order of `Part`.

    `whole_ns` is the time that all the cells stand for, by default the budget's own; where it is longer, the bar is
    shorter by as much. The rounding goes to the parts with the largest remainders, so that the bar is never a
    character longer or shorter than the time it stands for.
    """
    whole = whole_ns or budget.elapsed_ns
    if whole <= 0 or cells <= 0:
        return ()
    exact = [(part, budget.ns(part) * cells / whole) for part in Part if budget.ns(part) > 0]
    filled = {part: int(size) for part, size in exact}
    missing = round(budget.elapsed_ns * cells / whole) - sum(filled.values())
    by_remainder = sorted(exact, key=lambda item: int(item[1]) - item[1])
    for part, _ in by_remainder[: max(missing, 0)]:
        filled[part] += 1
    return tuple(Segment(part, size) for part, size in filled.items() if size > 0)


def part_title(budget: Budget, part: Part) -> str:
    """What a part of a bar says when one points at it: `starved: 20.9 ms, 67 % (40 % guards, 60 % launch calls)`."""
    told = f"{part.value}: {duration(budget.ns(part))}, {share(budget.share(part))}"
    if part is not Part.STARVED or not budget.starved:
        return told
    kinds = sorted(budget.starved, key=lambda piece: -piece.ns)
    return f"{told} ({', '.join(f'{share(piece.ns / budget.ns(part))} {piece.kind.value}' for piece in kinds)})"


def parts_in(budgets: Iterable[Budget | None]) -> tuple[Part, ...]:
    """The parts that occur in any of the budgets, in the order of `Part`: what a legend must name."""
    known = [b for b in budgets if b is not None]
    return tuple(part for part in Part if any(b.ns(part) > 0 for b in known))

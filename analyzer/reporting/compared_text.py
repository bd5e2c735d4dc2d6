"""A comparison of two recordings for a terminal, and as JSON. Every figure is a field of the comparison."""

from __future__ import annotations

from typing import Final, assert_never

from analyzer.core.compared import Compared, ComparedRow, ComparedSide, Fate, Matched
from analyzer.core.quantities import counted, duration, ratio
from analyzer.reporting.json import public_json
from analyzer.reporting.plain_text import plain

MOST_ROWS: Final = 30
"""Rows that a screen holds, of the largest differences; the rest are one row, so that the column adds up."""

NOT_ONE_THING: Final = "these two differ in more than a change to one program"
"""Said above what speaks against it."""

_NAME: Final = 44

SAME_COUNT: Final = 0.05
"""Kernels a step that differ by less are as many: the steps of one recording differ by that, in a remainder."""


def compared_text(compared: Compared) -> str:
    """Lines of at most 100 columns, the last one the sum of those above it."""
    before, after = compared.before, compared.after
    unlike = [f"! {NOT_ONE_THING}:", *(f"!   {plain(text, 400)}" for text in compared.unlike), ""]
    lines = [
        *(unlike if compared.unlike else []),
        f"before  {_side(before)}",
        f"after   {_side(after)}",
        "",
        totals_text(compared),
        *(plain(f"! before: {text}", 300) for text in before.honesty),
        *(plain(f"! after: {text}", 300) for text in after.honesty),
        *(plain(f"! {text}", 300) for text in compared.notes),
        "",
        f"{'':{_NAME}}  {'before':>10}  {'after':>10}  {'difference':>11}",
    ]
    shown, rest = compared.rows[:MOST_ROWS], compared.rows[MOST_ROWS:]
    lines += [_row(row) for row in shown]
    if rest:
        label = counted(len(rest), "smaller one")
        lines.append(_line(label, None, None, sum(row.difference_ns for row in rest), ""))
    lines.append(_line("all", before.whole_ns, after.whole_ns, after.whole_ns - before.whole_ns, ""))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def totals_text(compared: Compared) -> str:
    """`31.8 ms → 11.5 ms a step, 2.8× as fast`: of both recordings, which the profiler slowed. Without the factor where
    a file lacks rows or no steps are marked: the shorter recording is no faster program.
    """
    before_ns, after_ns = compared.before.whole_ns, compared.after.whole_ns
    has_steps = compared.before.steps is not None
    times = f"{duration(before_ns)} → {duration(after_ns)} {'a step' if has_steps else 'in all'}"
    if not has_steps or compared.before.lacks_rows or compared.after.lacks_rows:
        return times
    return f"{times}, {_factor(before_ns, after_ns)}"


def compared_json(compared: Compared) -> str:
    return public_json(compared).decode()


def steps_text(side: ComparedSide) -> str:
    """How many steps a side has, as every page of a comparison says it."""
    return "no marked steps" if side.steps is None else counted(side.steps, "step")


def _side(side: ComparedSide) -> str:
    return f"{plain(side.source, 60)}  {plain(side.device, 40)}, {steps_text(side)}, idle {duration(side.idle_ns)}"


def _factor(before_ns: int, after_ns: int) -> str:
    if not before_ns or not after_ns:
        return "no factor"
    return f"{ratio(before_ns / after_ns)} as fast"


def _row(row: ComparedRow) -> str:
    return _line(
        plain(row.name, _NAME), row.before_ns, row.after_ns, row.difference_ns, f"{fate_text(row)}, by {row.matched}"
    )


def fate_text(row: ComparedRow) -> str:
    """Its fate; where it does not run as often, how often, for less time in fewer kernels need be no faster one."""
    if row.matched is Matched.IDLE and row.fate in (Fate.FASTER, Fate.SLOWER):
        return "less time" if row.fate is Fate.FASTER else "more time"  # nothing ran that could be fast
    before, after = row.count_before, row.count_after
    if not before or not after or abs(after / before - 1.0) <= SAME_COUNT:
        return _word(row.fate)
    is_less = row.difference_ns < 0
    return f"{'less' if is_less else 'more'} time, {before:,.4g} → {after:,.4g} kernels"


def _line(name: str, before: int | None, after: int | None, difference: int, word: str) -> str:
    sign = "+" if difference > 0 else "-" if difference < 0 else ""
    cells = ["" if ns is None else duration(ns) for ns in (before, after)]
    return f"{name:{_NAME}}  {cells[0]:>10}  {cells[1]:>10}  {sign + duration(abs(difference)):>11}  {word}"


def _word(fate: Fate) -> str:
    match fate:
        case Fate.FASTER | Fate.SLOWER | Fate.SAME | Fate.APPEARED | Fate.VANISHED:
            return fate.value
        case _:
            assert_never(fate)

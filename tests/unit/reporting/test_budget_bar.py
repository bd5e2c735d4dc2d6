"""Budgets as bars of letters."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.budget import Budget, BudgetPart, HostKind, HostPart, Part
from analyzer.reporting.budget_bar import letter, part_title, parts_in, segments
from tests.reports import MS, a_budget


def _text(budget: Budget, cells: int, whole_ns: int | None = None) -> str:
    return "".join(letter(s.part) * s.cells for s in segments(budget, cells, whole_ns))


def test_a_bar_shows_the_parts_in_proportion() -> None:
    assert _text(a_budget(starved=6, memory=3, latency=1), 10) == "SSSSSSMMML"


def test_a_shorter_time_is_a_shorter_bar_on_the_same_scale() -> None:
    assert _text(a_budget(memory=5), 10, whole_ns=10 * MS) == "MMMMM"


def test_every_part_has_a_letter_of_its_own() -> None:
    assert len({letter(part) for part in Part}) == len(Part)


def test_a_budget_of_no_time_has_no_bar() -> None:
    assert segments(Budget(0, ()), 10) == ()


def test_a_legend_names_what_occurs_in_any_budget() -> None:
    assert parts_in((a_budget(memory=1), None, a_budget(starved=1))) == (Part.STARVED, Part.MEMORY)


@given(st.lists(st.integers(min_value=0, max_value=10**9), min_size=1, max_size=8), st.integers(1, 60))
def test_the_cells_of_a_bar_add_up_to_its_width(sizes: list[int], cells: int) -> None:
    parts = tuple(BudgetPart(part, ns) for part, ns in zip(Part, sizes, strict=False))
    budget = Budget(sum(p.ns for p in parts), parts)
    assert sum(s.cells for s in segments(budget, cells)) == (cells if budget.elapsed_ns else 0)


def test_a_part_that_one_points_at_says_what_the_host_did() -> None:
    budget = a_budget(starved=8, memory=2)
    assert part_title(budget, Part.MEMORY) == "memory: 2.00 ms, 20 %"
    assert part_title(budget, Part.STARVED) == "starved: 8.00 ms, 80 %"
    kinds = (HostPart(HostKind.GUARDS, 2_000_000), HostPart(HostKind.LAUNCH, 6_000_000))
    told = part_title(replace(budget, starved=kinds), Part.STARVED)
    assert told == "starved: 8.00 ms, 80 % (75 % launch calls, 25 % guards)"

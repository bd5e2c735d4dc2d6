"""A budget that does not add up cannot be made."""

from __future__ import annotations

import pytest

from analyzer.core.budget import Budget, BudgetPart, HostKind, HostPart, Part

PARTS = (BudgetPart(Part.STARVED, 6), BudgetPart(Part.MEMORY, 4))


def test_the_parts_make_the_whole() -> None:
    assert Budget(10, PARTS).share(Part.STARVED) == 0.6
    with pytest.raises(ValueError, match="add up to the whole"):
        Budget(11, PARTS)
    with pytest.raises(ValueError, match="negative"):
        Budget(2, (BudgetPart(Part.STARVED, 6), BudgetPart(Part.MEMORY, -4)))


def test_what_the_host_did_makes_the_starved_part() -> None:
    told = (HostPart(HostKind.GUARDS, 2), HostPart(HostKind.LAUNCH, 4))
    assert Budget(10, PARTS, told).starved == told
    with pytest.raises(ValueError, match="add up to the starved time"):
        Budget(10, PARTS, told[:1])
    with pytest.raises(ValueError, match="negative"):
        Budget(10, PARTS, (HostPart(HostKind.GUARDS, -2), HostPart(HostKind.LAUNCH, 8)))


def test_an_unknown_split_is_none_and_an_empty_one_is_of_nothing() -> None:
    assert Budget(10, PARTS).starved is None
    assert Budget(4, PARTS[1:], ()).starved == ()
    with pytest.raises(ValueError, match="starved"):
        Budget(10, PARTS, ())

"""Places by their names: what moved is what it was."""

from __future__ import annotations

from analyzer.core.baseline import StoredPlace
from analyzer.gate.places import CODE, Place, changed_graphs


def test_a_graph_whose_line_moved_has_not_grown() -> None:
    known = (
        StoredPlace(CODE, "net.py", "forward", "h = a(x)", 900),
        StoredPlace(CODE, "net.py", "tail", "y = b(h)", 100),
    )
    moved = Place(StoredPlace(CODE, "body.py", "hidden", "h = a(x)", 900), None)
    grown = Place(StoredPlace(CODE, "net.py", "tail", "y = b(h)", 300), None)
    assert changed_graphs((moved, grown), known, CODE) == (grown,)


def test_a_graph_at_a_line_that_another_still_has_is_new() -> None:
    known = (StoredPlace(CODE, "net.py", "forward", "h = a(x)", 900),)
    stayed = Place(known[0], None)
    copied = Place(StoredPlace(CODE, "net.py", "again", "h = a(x)", 900), None)
    assert changed_graphs((stayed, copied), known, CODE) == (copied,)

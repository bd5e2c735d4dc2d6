"""The headline claims no more than the budget holds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from analyzer.core.budget import Budget
from analyzer.core.graphs import GapKey
from analyzer.headline import NO_GRAPH_RUNS, headline
from analyzer.measured import Measured
from tests.reports import a_budget, a_key
from tests.rule_facts import a_captured_graph, captured
from tests.unit.derive.runs import region, timing


def _headline(step: Budget, *, is_host: bool = True) -> str:
    before: Any = SimpleNamespace(step=step, attribution=SimpleNamespace(is_host=is_host))
    return headline(Measured(before=before), None)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"starved": 2.0, "unknown_kernels": 8.0}, "Undecided: kernels that no roof could be named for take 80 %"),
        ({"compute": 0.4, "other": 9.6}, "Undecided: no part could be named for 96 %"),
        ({"memory": 1.0, "copies": 9.0}, "Undecided: copies between memories take 90 %"),
        ({"memory": 6.0, "other": 4.0}, "Memory-bound: moving data takes 60 %"),
    ],
)
def test_the_largest_part_of_all_is_named_not_the_largest_that_has_a_name(parts: dict[str, float], words: str) -> None:
    assert _headline(a_budget(**parts)).startswith(words)


def test_a_verdict_by_a_nose_names_the_second() -> None:
    assert _headline(a_budget(memory=5.0, starved=4.0)).endswith("(starved 44 %)")


def test_graphs_that_no_steady_step_calls_are_told_loudly() -> None:
    whole = GapKey(None, None)
    measured = Measured(capture=captured(a_captured_graph(1)), timing=timing(region(whole, 100), step_ns=100))
    assert headline(measured, None) == NO_GRAPH_RUNS
    called = timing(region(a_key(1), 100), step_ns=100)
    assert headline(Measured(capture=measured.capture, timing=called), None) != NO_GRAPH_RUNS

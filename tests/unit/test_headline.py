"""The headline claims no more than the budget holds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from analyzer.core.budget import Budget
from analyzer.core.graphs import GapKey
from analyzer.core.plan import Plan
from analyzer.core.samples import Samples
from analyzer.core.trial import Comparison
from analyzer.derive.compare import compare
from analyzer.doubts import UNLIKE_PASSES, doubts_of
from analyzer.headline import NO_GRAPH_RUNS
from analyzer.headline import headline as headline_of
from analyzer.measured import Measured
from tests.reports import MS, a_budget, a_key
from tests.rule_facts import a_captured_graph, captured
from tests.unit.derive.runs import region, timing
from tests.unit.fake_driver import VERSIONS


def headline(measured: Measured, comparison: Comparison | None = None) -> str:
    return headline_of(measured, comparison, doubts_of(measured))


def _headline(step: Budget, *, is_host: bool = True) -> str:
    before: Any = SimpleNamespace(step=step, attribution=SimpleNamespace(is_host=is_host))
    return headline(Measured(before=before))


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


def test_a_run_that_was_to_capture_graphs_alone_did_not_end_early() -> None:
    graphs = Measured(capture=captured())
    assert headline(graphs).endswith("no step of it was timed or profiled")
    graphs.partial = "it raised"
    assert "the run ended before" in headline(graphs)


def test_a_verdict_by_a_nose_names_the_second() -> None:
    assert _headline(a_budget(memory=5.0, starved=4.0)).endswith("(starved 44 %)")


def test_the_second_is_near_the_whole_of_the_first_its_waits_included() -> None:
    assert "latency" not in _headline(a_budget(sync=9.0, starved=0.5, latency=0.5))
    assert _headline(a_budget(memory=5.0, sync=3.0, starved=1.0)).endswith(" 56 % of a step (starved 11 %, sync 33 %)")
    assert "(" not in _headline(a_budget(memory=10.0))


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"starved": 8.0, "sync": 0.6, "memory": 1.4}, "86 % of a step (starved 80 %, sync 6 %)"),
        ({"starved": 4.0, "sync": 2.0, "memory": 4.0}, "60 % of a step (starved 40 %, sync 20 %; memory 40 %)"),
        ({"sync": 9.0, "memory": 1.0}, "90 % of a step (sync 90 %)"),
        # With the waits it would be 84 %: the bar says 83 % and <1 %.
        ({"starved": 8.349, "sync": 0.004, "memory": 1.647}, "83 % of a step"),
    ],
)
def test_what_waits_are_counted_in_is_told_by_the_parts_that_the_bar_shows(parts: dict[str, float], says: str) -> None:
    assert _headline(a_budget(**parts), is_host=False) == f"CPU-bound: the device waits for the host {says}"


def _at_two_speeds(step: Budget, later_ms: float, *, is_host: bool = False) -> str:
    """The headline where a step was `step` long in the clean pass, and `later_ms` in turn with eager."""
    before: Any = SimpleNamespace(step=step, attribution=SimpleNamespace(is_host=is_host, regions=()))
    timed = timing(region(a_key(1), step.elapsed_ns), step_ns=step.elapsed_ns)
    return headline(Measured(before=before, timing=timed, default_ns=Samples((round(later_ms * MS),) * 9)))


@pytest.mark.parametrize(
    ("parts", "later_ms", "is_host", "says"),
    [
        (
            {"starved": 7.8, "memory": 2.2},
            6.4,
            False,
            "CPU-bound: the device waits for the host 66 % to 78 % of a step, as the machine changed between two "
            "passes",
        ),
        (
            {"starved": 3.9, "sync": 3.9, "memory": 2.2},
            6.4,
            False,
            "CPU-bound: the device waits for the host 66 % to 78 % of a step (starved 39 %, sync 39 % in the first "
            "clean pass), as the machine changed between two passes",
        ),
        ({"starved": 7.8, "memory": 2.2}, 7.0, False, "CPU-bound: the device waits for the host 78 % of a step"),
        (
            {"sync": 3.0, "starved": 3.0, "memory": 4.0},
            6.0,
            False,
            "Undecided, as the machine changed between two passes: the device waits for the host 60 % of a step "
            "(starved 30 %, sync 30 %) in the first clean pass, and moving data takes 67 % in a later one",
        ),
        (
            {"memory": 9.0, "starved": 1.0},
            6.0,
            False,
            "Memory-bound: moving data takes 90 % of a step, in the first clean pass: the machine changed between two "
            "passes",
        ),
        (
            {"starved": 9.0, "memory": 1.0},
            6.0,
            True,
            "CPU-bound: the host's own work takes 90 % of a step, in the first clean pass: the machine changed between "
            "two passes",
        ),
    ],
)
def test_of_a_machine_that_changed_a_share_is_as_wide_as_its_two_speeds_make_it(
    parts: dict[str, float], later_ms: float, is_host: bool, says: str
) -> None:
    assert _at_two_speeds(a_budget(**parts), later_ms, is_host=is_host) == says


def _left_alone(before_ns: tuple[int, ...], after_ns: tuple[int, ...]) -> str:
    plan = Plan(choices=(), device="", versions=VERSIONS, is_compiled=False)
    comparison = compare(Samples(before_ns), Samples(after_ns))
    before: Any = SimpleNamespace(step=a_budget(memory=5.0), attribution=SimpleNamespace(is_host=True, regions=()))
    return headline(Measured(before=before, plan=plan), comparison)


NOISY = (60, 70, 80, 90, 100, 110, 120, 130, 140)


@pytest.mark.parametrize(
    ("default_ns", "eager_ns", "words"),
    [
        ((90,) * 9, (80,) * 9, "Leave it alone: torch.compile does not help"),
        ((80,) * 9, (80,) * 9, "Leave it alone: the last round told no difference between"),
        (NOISY, NOISY[::-1], "Undecided whether to compile: the plan leaves it alone, no difference beyond noise"),
        ((77,) * 9, (86,) * 9, "Undecided whether to compile: the plan leaves it alone, yet the default won"),
    ],
)
def test_compiling_is_said_to_be_of_no_help_only_where_the_last_round_told_so_beyond_noise(
    default_ns: tuple[int, ...], eager_ns: tuple[int, ...], words: str
) -> None:
    assert words in _left_alone(default_ns, eager_ns)


def test_a_pass_that_ran_graphs_beside_one_that_ran_none_is_no_model_that_gave_up() -> None:
    whole = timing(region(GapKey(None, None), 100), step_ns=100)
    before: Any = SimpleNamespace(
        step=a_budget(memory=5.0),
        attribution=SimpleNamespace(is_host=True, regions=(SimpleNamespace(region=a_key(1)),)),
        regions=(),
    )
    measured = Measured(capture=captured(a_captured_graph(1)), timing=whole, before=before)
    assert headline(measured) == f"Undecided: {UNLIKE_PASSES}"


def test_graphs_that_no_steady_step_calls_are_told_loudly() -> None:
    whole = GapKey(None, None)
    measured = Measured(capture=captured(a_captured_graph(1)), timing=timing(region(whole, 100), step_ns=100))
    assert headline(measured) == NO_GRAPH_RUNS
    called = timing(region(a_key(1), 100), step_ns=100)
    assert headline(Measured(capture=measured.capture, timing=called)) != NO_GRAPH_RUNS

"""How long the search may take: so that the whole run keeps its promise, and never so short that it finds nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from analyzer.core.report import Stage
from analyzer.core.settings import RunSettings, WorkloadSpec
from analyzer.measured import Measured
from analyzer.search_time import LEAST_S, LOADING, MORE_GRAPHS_S, RECOMPILE_SHARE, VERIFY_S, search_seconds
from tests.unit.fake_driver import a_capture, a_timing

S = 10**9


def settings(**changes: Any) -> RunSettings:
    return RunSettings(WorkloadSpec("net.py"), **changes)


def a_run(*, compile_s: int, graphs: int = 1) -> Measured:
    """Loaded in 10 s, compiled with the default in `compile_s`, diagnosed in 5 s."""
    capture = a_capture()
    return Measured(
        capture=replace(capture, graphs=capture.graphs[:graphs]),
        timing=replace(a_timing(), warmup_ns=(compile_s * S,)),
        stages=[Stage(LOADING, 10 * S), Stage("compiling", compile_s * S), Stage("recording", 5 * S)],
    )


def test_the_whole_run_takes_no_more_than_four_plain_starts() -> None:
    found = search_seconds(settings(), a_run(compile_s=30))
    assert found is not None
    spent, verifying = 10 + 30 + 5, VERIFY_S + RECOMPILE_SHARE * 30
    assert found + spent + verifying == 4 * (10 + 30)


def test_a_model_that_compiles_at_once_is_searched_all_the_same() -> None:
    assert search_seconds(settings(), a_run(compile_s=1)) == LEAST_S


def test_each_further_graph_has_time_of_its_own() -> None:
    one, two = (search_seconds(settings(), a_run(compile_s=30, graphs=n)) for n in (1, 2))
    assert one is not None
    assert two == one + MORE_GRAPHS_S


def test_what_the_user_says_counts() -> None:
    assert search_seconds(settings(budget_s=7.5), a_run(compile_s=30)) == 7.5
    assert search_seconds(settings(budget_s=7.5, candidates=("eager",)), a_run(compile_s=30)) == 7.5
    assert search_seconds(settings(candidates=("eager",)), a_run(compile_s=30)) is None

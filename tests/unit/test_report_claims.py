"""What the report says of its own measurements is no more than was measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.assemble import NOT_CALLED, NOT_TIMED, assemble
from analyzer.core.graphs import GapKey
from analyzer.core.report import Report
from analyzer.core.samples import Samples
from analyzer.core.timing import Crowd
from analyzer.diagnosis import Passes, diagnose
from analyzer.measured import Measured
from tests.rule_facts import a_captured_graph, captured
from tests.unit.derive.runs import DEVICE, A, recording, region, timing

TIMING = timing(region(A, 90), step_ns=100)


def _report(measured: Measured) -> Report:
    return assemble(measured, target="net.py", next_command="analyze doctor")


@pytest.mark.parametrize(("others", "is_said"), [(0.6, True), (0.1, False)])
def test_a_machine_that_others_used_is_told_first(others: float, is_said: bool) -> None:
    report = _report(Measured(timing=replace(TIMING, crowd=Crowd(others, cores=2, threads=2)), notes=["later"]))
    assert ("0.6 of 2 cores" in report.notes[0]) is is_said


def test_steps_that_were_not_timed_in_turn_are_not_set_side_by_side() -> None:
    apart = Measured(eager_ns=Samples((10,)), timing=TIMING)
    assert [plan.name for plan in _report(apart).plans] == ["eager"]
    together = replace(apart, default_ns=Samples((11,)))
    assert [(plan.name, plan.step_ns) for plan in _report(together).plans] == [
        ("eager", Samples((10,))),
        ("default", Samples((11,))),
    ]


def test_a_graph_that_no_steady_step_calls_was_not_cut_short(tmp_path: Path) -> None:
    capture = captured(a_captured_graph(1))
    assert _report(Measured(capture=capture)).graphs[0].verdict.missing == NOT_TIMED
    whole = timing(region(GapKey(None, None), 90), step_ns=100)
    before = diagnose(Passes(whole, recording().save(tmp_path / "trace.json"), capture), DEVICE)
    assert _report(Measured(capture=capture, timing=whole, before=before)).graphs[0].verdict.missing == NOT_CALLED

"""A report of the graphs alone: what it holds, and that its process is ended whatever happens."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzer.checking import subjects
from analyzer.core.errors import UserProgramError
from analyzer.core.graphs import Recompile, SourceLine
from analyzer.core.report import Report
from analyzer.core.settings import Mode
from analyzer.gate.reading import Subject
from analyzer.gate.readings import graph_breaks, graphs, recompiles, step_time
from analyzer.progress import SilentProgress
from tests.unit.fake_driver import FakeDriver, a_capture


def graphs_of(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Report:
    monkeypatch.setattr(subjects, "ChildDriver", lambda *_: driver)
    spec = subjects.spec_of("/home/ada/net.py", Mode.INFERENCE, None, None)
    return subjects.graphs_alone(spec, SilentProgress()).report


def test_it_has_the_graphs_and_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = FakeDriver(device="cpu")
    subject = Subject(graphs_of(driver, monkeypatch))
    assert (graphs(subject).value, graph_breaks(subject).value, recompiles(subject).value) == (2, 1, 0)
    assert step_time(subject).value is None
    assert {"time", "profile", "time_eager"}.isdisjoint(name for name, _ in driver.called)
    assert not driver.is_open


def test_what_other_inputs_compile_again_is_counted_as_in_a_whole_run(monkeypatch: pytest.MonkeyPatch) -> None:
    again = Recompile(SourceLine("/home/ada/net.py", 12), "tensor 'x' size mismatch", "0/1")
    driver = FakeDriver(device="cpu", variants=replace(a_capture(), recompiles=(again,)))
    subject = Subject(graphs_of(driver, monkeypatch))
    assert recompiles(subject).value == 1
    assert graph_breaks(subject).value == 1, "the breaks stay those of the default"


@pytest.mark.parametrize("stage", ["load", "capture", "operators", "run_variants"])
def test_a_model_that_fails_leaves_no_process(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = FakeDriver(device="cpu", fails={stage: UserProgramError("it raised")})
    with pytest.raises(UserProgramError, match="it raised"):
        graphs_of(driver, monkeypatch)
    assert not driver.is_open

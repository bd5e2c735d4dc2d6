"""An old plan verified without a search, and a model exported: what is refused, and what is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analyzer import pipeline
from analyzer.core.errors import ExitCode, UnreadableFileError, UsageError
from analyzer.core.graphs import Capture, Direction
from analyzer.core.plan import Choice, Plan
from analyzer.core.run import Finished
from analyzer.core.settings import Export, Mode, RunSettings, WorkloadSpec
from analyzer.core.trial import Change, Trial, TrialOutcome
from analyzer.gate.reading import Subject
from analyzer.gate.readings import accuracy
from analyzer.measured import Measured
from analyzer.progress import SilentProgress
from analyzer.replan import renewed
from optimizers.plan import read_plan, write_plan
from tests.reports import a_key
from tests.unit.derive.runs import DEVICE, A, B
from tests.unit.fake_driver import STEP_NS, VERSIONS, FakeDriver, a_capture, facts

Run = Callable[..., Finished]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    def start(driver: FakeDriver, plan: Plan | None = None, mode: Mode = Mode.INFERENCE, **settings: Any) -> Finished:
        monkeypatch.setattr(pipeline, "ChildDriver", lambda *_: driver)
        (tmp_path / "net.py").write_text("")
        if plan is not None:
            write_plan(plan, tmp_path / "old.json")
            settings["plan"] = str(tmp_path / "old.json")
        if "plan_path" in settings:
            settings["plan"] = settings.pop("plan_path")
        spec = WorkloadSpec(str(tmp_path / "net.py"), mode=mode)
        return pipeline.run(RunSettings(spec, out=str(tmp_path / "run"), **settings), SilentProgress())

    return start


def old_plan(**changes: Any) -> Plan:
    choices = (Choice(A, "cuda_graphs"), Choice(B, "cpp_wrapper"))
    return replace(Plan(choices, DEVICE.name, VERSIONS), **changes)


class OneGraphDriver(FakeDriver):
    def _capture(self) -> Capture:
        whole = a_capture()
        return replace(whole, graphs=(replace(whole.graphs[0], ended_by=None),), breaks=())


# -- an old plan ------------------------------------------------------------------------------------------------------


def test_an_old_plan_is_verified_and_nothing_is_tried(run: Run) -> None:
    driver = FakeDriver(plan_saves={"cuda_graphs": 0.5, "cpp_wrapper": 0.8})
    finished = run(driver, old_plan())
    assert finished.exit_code is ExitCode.OK
    assert "trial" not in driver.methods
    (verified,) = [arguments[0] for method, arguments in driver.called if method == "verify"]
    assert [choice.candidate for choice in verified.choices] == ["cuda_graphs", "cpp_wrapper"]
    assert [graph.chosen for graph in finished.report.graphs] == ["cuda_graphs", "cpp_wrapper"]
    renewed = read_plan(finished.folder / "plan.json")
    assert renewed.figures is not None
    assert renewed.figures.ratio > 1
    assert renewed.mode == "inference"


@pytest.mark.parametrize(
    ("driver", "outcome", "words"),
    [
        (FakeDriver(plan_saves={"cuda_graphs": -0.5}), Change.SLOWER, "The plan lost"),
        (FakeDriver(plan_saves={}), Change.SAME, "The plan is no faster than torch.compile default"),
        (FakeDriver(plan_saves={}, eager_ns=STEP_NS // 4), Change.SAME, "The plan is no faster"),
    ],
)
def test_a_plan_that_is_held_stays_what_is_measured_however_it_does(
    run: Run, driver: FakeDriver, outcome: Change, words: str
) -> None:
    """Who checks a plan runs the model with it: of what it would fall back on nothing is asked."""
    finished = run(driver, old_plan(), holds_plan=True)
    assert driver.methods.count("verify") == 1
    assert [graph.chosen for graph in finished.report.graphs] == ["cuda_graphs", "cpp_wrapper"]
    (chosen,) = [plan for plan in finished.report.plans if plan.is_chosen]
    assert chosen.name == "plan"
    assert finished.report.comparison is not None
    assert finished.report.comparison.outcome is outcome
    assert words in finished.report.headline


def test_the_wrong_results_of_a_plan_that_is_held_are_found(run: Run) -> None:
    driver = FakeDriver(plan_saves={"cuda_graphs": 0.5})
    driver.wrong = frozenset({"cuda_graphs"})
    finished = run(driver, old_plan(), holds_plan=True)
    (chosen,) = [plan for plan in finished.report.plans if plan.is_chosen]
    assert (chosen.name, chosen.outcome) == ("plan", TrialOutcome.WRONG_RESULT)
    judged = accuracy(Subject(finished.report))
    assert judged.value is None or judged.value > 1, "the gate does not pass"


def test_graphs_that_the_plan_does_not_know_and_those_that_are_gone_are_named(run: Run) -> None:
    plan = old_plan(choices=(Choice(A, "cuda_graphs"), Choice(a_key(77), "cuda_graphs")))
    finished = run(FakeDriver(plan_saves={"cuda_graphs": 0.5}), plan)
    notes = " | ".join(finished.report.notes)
    assert f"does not name graph {B}" in notes
    assert f"names graphs that did not occur: {a_key(77)}" in notes
    assert [graph.chosen for graph in finished.report.graphs] == ["cuda_graphs", "fused"]


def test_the_plan_of_another_model_is_refused_with_one_line(run: Run) -> None:
    driver = FakeDriver()
    finished = run(driver, old_plan(choices=(Choice(a_key(77), "cuda_graphs"),)))
    assert finished.exit_code is ExitCode.USAGE
    assert "names none of the graphs of net: it is the plan of another model" in str(finished.report.partial)
    assert "\n" not in str(finished.report.partial)
    # As soon as the graphs are known: the clean pass alone takes minutes of a large model.
    assert not {"time", "profile", "verify"} & set(driver.methods)


def test_a_plan_of_another_machine_is_verified_and_both_are_named(run: Run) -> None:
    other = replace(VERSIONS, torch="2.11.0+cu130")
    finished = run(
        FakeDriver(plan_saves={"cuda_graphs": 0.5, "cpp_wrapper": 0.8}), old_plan(device="Other", versions=other)
    )
    notes = " | ".join(finished.report.notes)
    assert f"was made on Other; this is {DEVICE.name}" in notes
    assert f"was made with torch 2.11.0+cu130; this is {VERSIONS.torch}" in notes
    assert read_plan(finished.folder / "plan.json").versions == VERSIONS


def test_a_candidate_that_cannot_be_had_here_gives_way_to_the_default_with_the_reason(run: Run) -> None:
    finished = run(FakeDriver(device="cpu"), old_plan())
    assert f"cuda_graphs for graph {A}: " in " | ".join(finished.report.notes)
    assert "CUDA device" in " | ".join(finished.report.notes)


def test_an_eager_backward_follows_its_forward_and_is_no_news() -> None:
    backward = replace(A, direction=Direction.BACKWARD)
    graphs = tuple(replace(a_capture().graphs[0], key=key) for key in (A, backward))
    measured = Measured(facts=facts(), versions=VERSIONS, capture=replace(a_capture(), graphs=graphs))
    old = replace(measured.plan_of({A.digest: "eager"}), device="unknown")
    found = renewed(old, "old.json", measured)
    assert [choice.candidate for choice in found.plan.choices] == ["eager", "eager"]
    assert found.notes == ()


@pytest.mark.parametrize("choice", ["warp_drive", "cuda_graphs+warp_drive"])
def test_a_plan_with_an_unknown_candidate_is_refused_before_anything_runs(run: Run, choice: str) -> None:
    driver = FakeDriver()
    with pytest.raises(UsageError, match="unknown candidate"):
        run(driver, old_plan(choices=(Choice(A, choice),)))
    assert driver.called == []


def test_a_damaged_plan_is_refused_before_anything_runs(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    driver = FakeDriver()
    with pytest.raises(UnreadableFileError, match="is not a plan"):
        run(driver, plan_path=str(tmp_path / "bad.json"))
    assert driver.called == []


# -- a package --------------------------------------------------------------------------------------------------------


def test_a_model_of_one_graph_is_exported_in_a_fresh_process_and_told_of(run: Run) -> None:
    driver = OneGraphDriver()
    finished = run(driver, optimize=False, export=Export.AOTI)
    assert finished.exit_code is ExitCode.OK
    assert (finished.folder / "model.pt2").read_bytes() == b"package"
    assert driver.methods[-4:] == ["start", "capture", "prepare_judge", "export"]
    assert any("model.pt2 is the model as one file" in note for note in finished.report.notes)
    assert "AOTInductor package" in [plan.name for plan in finished.report.plans]


def test_several_graphs_are_refused_with_the_break_that_makes_them(run: Run) -> None:
    driver = FakeDriver()
    finished = run(driver, export=Export.AOTI)
    assert finished.exit_code is ExitCode.USAGE
    assert "captured whole, this one was as 2 graphs (/home/ada/net.py:15: print)" in str(finished.report.partial)
    assert "export" not in driver.methods


class ApartDriver(FakeDriver):
    def _capture(self) -> Capture:
        whole = a_capture()
        return replace(whole, graphs=tuple(replace(one, ended_by=None) for one in whole.graphs), breaks=())


def test_several_graphs_without_a_break_are_refused_with_their_places_and_what_may_part_them(run: Run) -> None:
    said = str(run(ApartDriver(), export=Export.AOTI).report.partial)
    assert "as 2 graphs (/home/ada/net.py:" in said
    assert "a hook on the model itself" in said


class CautiousDriver(OneGraphDriver):
    def call(self, method: str, *arguments: Any, **limits: Any) -> Any:
        found = super().call(method, *arguments, **limits)
        return replace(found, cautions=("it calls mylib::scale",)) if method == "export" else found


def test_what_a_package_takes_for_granted_is_among_the_notes(run: Run) -> None:
    finished = run(CautiousDriver(), optimize=False, export=Export.AOTI)
    assert "model.pt2: it calls mylib::scale" in finished.report.notes


def test_a_training_step_is_refused_before_anything_runs(run: Run) -> None:
    driver = FakeDriver()
    with pytest.raises(UsageError, match="for inference; a training step has none"):
        run(driver, mode=Mode.TRAINING, export=Export.AOTI)
    assert driver.called == []


def test_a_package_that_is_wrong_ends_the_run_with_the_reason_and_the_report(run: Run) -> None:
    wrong = Trial(TrialOutcome.WRONG_RESULT, reason="output is off by 1")
    finished = run(OneGraphDriver(package=wrong), optimize=False, export=Export.AOTI)
    assert finished.exit_code is ExitCode.USER_PROGRAM
    assert "was not exported, wrong result: output is off by 1" in str(finished.report.partial)
    assert not (finished.folder / "model.pt2").exists()
    assert finished.report.graphs

"""The order of a run, and what each failure costs: never what was measured before it."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analyzer import pipeline
from analyzer.core.errors import INTERRUPTED, ExitCode, InternalError, UsageError, UserProgramError
from analyzer.core.graphs import Direction, GraphKey, Recompile, SourceLine
from analyzer.core.origin import Commit
from analyzer.core.plan import FUSED
from analyzer.core.report import Report
from analyzer.core.run import Finished, LostChildError
from analyzer.core.settings import RunSettings, WorkloadSpec
from analyzer.core.trial import Accuracy, AccuracyReference, Change, TrialOutcome
from analyzer.progress import SilentProgress
from analyzer.reporting.json import read_report
from optimizers.plan import read_plan
from optimizers.production import optimize
from tests.unit.derive.runs import DEVICE
from tests.unit.fake_driver import STEP_NS, FakeDriver, a_capture, lost

Run = Callable[..., Finished]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Run the pipeline with this driver; whatever happens, the process of the model is gone afterwards."""
    drivers: list[FakeDriver] = []

    def start(driver: FakeDriver, **settings: Any) -> Finished:
        drivers.append(driver)
        monkeypatch.setattr(pipeline, "ChildDriver", lambda *_: driver)
        (tmp_path / "net.py").write_text("")
        spec = WorkloadSpec(str(tmp_path / "net.py"))
        # The double takes no time, but the search reckons with what such trials take.
        timed = {"budget_s": 600.0, **settings}
        return pipeline.run(RunSettings(spec, out=str(tmp_path / "run"), **timed), SilentProgress())

    yield start
    assert not any(driver.is_open for driver in drivers)


def saved(finished: Finished) -> Report:
    report = read_report(finished.folder / "report.json")
    assert report == finished.report
    return report


def chosen(finished: Finished) -> list[str]:
    return [graph.chosen for graph in finished.report.graphs]


# -- the whole way ----------------------------------------------------------------------------------------------------


def test_a_report_that_found_no_room_is_told_and_sends_to_no_folder_without_one(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pipeline.RunFolder, "save_report", full)
    finished = run(FakeDriver())
    assert "could not be written: No space left" in finished.report.notes[0]
    assert finished.report.next_command.startswith("analyze ")
    assert "dashboard" not in finished.report.next_command
    assert finished.report.step_ns is not None


def test_a_plan_that_wins_is_written_down(run: Run) -> None:
    finished = run(FakeDriver(saves={"cuda_graphs": 0.3}))
    report = saved(finished)
    assert finished.exit_code is ExitCode.OK
    assert report.partial is None
    assert chosen(finished) == ["cuda_graphs", "cuda_graphs"]
    assert report.comparison is not None
    assert report.comparison.outcome is Change.FASTER
    assert report.comparison.before_ns == STEP_NS
    assert "The plan:" in report.headline
    plan = read_plan(finished.folder / "plan.json")
    assert [choice.candidate for choice in plan.choices] == ["cuda_graphs", "cuda_graphs"]
    assert plan.is_compiled
    assert "measured in turn" in str(plan.note)
    assert sorted(p.name for p in finished.folder.iterdir()) == [
        "after.trace.json.gz",
        "before.trace.json.gz",
        "plan.json",
        "report.html",
        "report.json",
    ]


def test_every_graph_and_gap_has_a_verdict_and_budgets_that_add_up(run: Run) -> None:
    report = run(FakeDriver(saves={"cuda_graphs": 0.3})).report
    assert [str(gap.key) for gap in report.eager_gaps if gap.budget] == [str(g.key) for g in report.eager_gaps]
    assert len(report.eager_gaps) == 3
    for graph in report.graphs:
        assert graph.verdict.confidence is not None
        assert graph.budget is not None
        assert graph.verdict_after is not None
    assert report.step_budget is not None
    assert sum(part.ns for part in report.step_budget.parts) == STEP_NS
    assert [f.rule for f in report.findings if f.rule == "graph_break"] == ["graph_break"]


def test_on_a_gpu_what_is_profiled_is_never_timed_afterwards(run: Run) -> None:
    """The profiler slows every later launch of its process: the trials get a fresh one."""
    driver = FakeDriver(saves={"cuda_graphs": 0.3})
    run(driver)
    profiled = driver.methods.index("profile")
    after = [
        "judge_default",
        "facts",
        "run_variants",
        "known_device",
        "measure_device",
        "load",
        "start",
        "prepare_judge",
    ]
    assert driver.methods[profiled + 1 : profiled + 9] == after
    assert driver.methods[-1] == "profile_plan"


def test_a_device_that_was_measured_before_takes_no_process_of_its_own(run: Run) -> None:
    known = replace(DEVICE, kind="cuda", name="measured before")
    driver = FakeDriver(saves={"cuda_graphs": 0.3}, known=known)
    assert run(driver).report.device == known
    assert "measure_device" not in driver.methods
    profiled = driver.methods.index("profile")
    after = ["judge_default", "facts", "run_variants", "known_device", "load"]
    assert driver.methods[profiled + 1 : profiled + 6] == after, "the trials get a process that never profiled"


def test_on_a_cpu_one_process_does_it_all(run: Run) -> None:
    driver = FakeDriver(device="cpu", saves={"cpp_wrapper": 0.3})
    finished = run(driver)
    assert driver.methods.count("load") == 1
    assert chosen(finished) == ["cpp_wrapper", "cpp_wrapper"]


def test_in_the_callers_process_on_a_gpu_the_profiler_comes_last(run: Run) -> None:
    driver = FakeDriver(saves={"cuda_graphs": 0.3}, is_isolated=False)
    run(driver)
    last_timed = max(i for i, m in enumerate(driver.methods) if m in ("trial", "verify", "time"))
    assert driver.methods.index("profile") > last_timed


def test_without_optimising_it_stops_after_the_verdicts(run: Run) -> None:
    driver = FakeDriver()
    finished = run(driver, optimize=False)
    assert (finished.exit_code, saved(finished).partial) == (ExitCode.OK, None)
    assert not (finished.folder / "plan.json").exists()
    assert not {"build", "trial", "verify"} & set(driver.methods)
    assert finished.report.comparison is None


def test_only_the_candidates_asked_for_are_tried(run: Run) -> None:
    finished = run(FakeDriver(saves={"eager": 0.2}), candidates=("eager",))
    assert {c.candidate for graph in finished.report.graphs for c in graph.candidates} == {"eager"}
    with pytest.raises(UsageError, match="no such candidate: warp"):
        run(FakeDriver(), candidates=("warp",))


def test_the_same_measurements_give_the_same_report(run: Run) -> None:
    first, second = (run(FakeDriver(saves={"eager": 0.2})).report for _ in range(2))
    assert first.graphs == second.graphs
    assert first.headline == second.headline
    assert first.findings == second.findings


def test_a_report_says_when_it_began_and_of_which_commit(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []
    commit = Commit("1a2b3c4d" * 5, True)
    monkeypatch.setattr(pipeline, "commit_at", lambda folder: asked.append(folder) or commit)
    before_s = int(time.time())
    origin = saved(run(FakeDriver())).origin
    assert origin is not None
    assert before_s <= origin.began_s <= time.time()
    assert origin.commit == commit
    assert asked == [tmp_path]


# -- a plan that does not hold ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("together", [-0.2, 0.0])
def test_a_plan_that_loses_end_to_end_is_taken_back(run: Run, together: float) -> None:
    driver = FakeDriver(saves={"eager": 0.2}, plan_saves={"eager": together})
    finished = run(driver)
    assert driver.methods.count("verify") == 2
    assert chosen(finished) == ["fused", "fused"]
    plan = read_plan(finished.folder / "plan.json")
    assert {choice.candidate for choice in plan.choices} == {"fused"}
    assert finished.report.comparison is not None
    assert finished.report.comparison.outcome is Change.SAME
    assert finished.exit_code is ExitCode.OK


def test_a_plan_that_gives_wrong_results_is_dropped(run: Run) -> None:
    class WrongTogether(FakeDriver):
        def _verify(self, plan: Any) -> Any:
            self.wrong = frozenset({"eager"})
            return super()._verify(plan)

    finished = run(WrongTogether(saves={"eager": 0.2}))
    assert chosen(finished) == ["fused", "fused"]
    assert finished.report.comparison is not None
    assert finished.report.comparison.outcome is Change.SAME


def test_a_wrong_plan_over_a_wrong_default_leaves_the_model_alone(run: Run) -> None:
    class AllWrong(FakeDriver):
        def _verify(self, plan: Any) -> Any:
            self.wrong = frozenset({"eager", "fused"})
            return super()._verify(plan)

    finished = run(AllWrong(saves={"eager": 0.2}))
    plan = read_plan(finished.folder / "plan.json")
    assert not plan.is_compiled
    assert "Leave it alone" in finished.report.headline


WRONG = Accuracy(AccuracyReference.FLOAT64, 0.5, 1e-7, 5e-7, is_right=False, worst="output[0]")


@pytest.mark.parametrize(
    ("eager_ns", "saves", "is_compiled"),
    [
        (3 * STEP_NS, {"cuda_graphs": 0.3}, True),  # right, and faster than the model itself
        (STEP_NS // 4, {"cuda_graphs": 0.3}, False),  # right, but slower than the model itself
        (3 * STEP_NS, {}, False),  # the default is all there is
    ],
)
def test_a_wrong_default_is_never_recommended(
    run: Run, eager_ns: int, saves: dict[str, float], is_compiled: bool
) -> None:
    finished = run(FakeDriver(eager_ns=eager_ns, saves=saves, default_accuracy=WRONG))
    report = finished.report
    assert read_plan(finished.folder / "plan.json").is_compiled is is_compiled
    assert "output[0] is off by 0.5" in report.headline
    assert is_compiled or "Leave it alone" in report.headline
    assert next(plan for plan in report.plans if plan.name == "default").outcome is TrialOutcome.WRONG_RESULT
    assert "compile_changes_results" in [finding.rule for finding in report.findings]


def test_without_optimising_a_wrong_default_is_told_all_the_same(run: Run) -> None:
    report = run(FakeDriver(default_accuracy=WRONG), optimize=False).report
    default = next(plan for plan in report.plans if plan.name == "default")
    assert default.outcome is TrialOutcome.WRONG_RESULT
    assert "output[0] is off by 0.5" in str(default.reason)
    assert "does not give this model's results" in report.headline
    assert "compile_changes_results" in [finding.rule for finding in report.findings]


@pytest.mark.parametrize("error", [lost("comparing"), UserProgramError("out of memory")])
def test_a_comparison_that_fails_costs_itself_alone(run: Run, error: Exception) -> None:
    finished = run(FakeDriver(device="cpu", fails={"judge_default": error}), optimize=False)
    assert finished.exit_code is ExitCode.OK
    assert any("could not be compared" in note for note in finished.report.notes)
    assert finished.report.partial is None


def test_a_wrong_candidate_is_reported_and_not_chosen(run: Run) -> None:
    finished = run(FakeDriver(saves={"eager": 0.1}, wrong=frozenset({"cuda_graphs"})))
    outcomes = {c.candidate: (c.outcome, c.reason) for c in finished.report.graphs[0].candidates}
    assert outcomes["cuda_graphs"] == (TrialOutcome.WRONG_RESULT, "off by 1")
    assert "cuda_graphs" not in chosen(finished)


def test_where_nothing_helps_the_plan_is_the_default(run: Run) -> None:
    finished = run(FakeDriver())
    assert chosen(finished) == ["fused", "fused"]
    assert finished.report.comparison is not None
    assert finished.report.comparison.outcome is Change.SAME
    assert "Nothing beats torch.compile default" in finished.report.headline


def test_a_model_that_compiling_slows_is_left_alone(run: Run) -> None:
    finished = run(FakeDriver(eager_ns=STEP_NS // 2))
    plan = read_plan(finished.folder / "plan.json")
    assert not plan.is_compiled
    assert [choice.candidate for choice in plan.choices] == chosen(finished) == ["eager", "eager"]
    assert [p.name for p in finished.report.plans if p.is_chosen] == ["eager"]


class NothingCaptured(FakeDriver):
    def _capture(self) -> Any:
        return replace(a_capture(), graphs=())


def test_a_model_without_a_graph_has_a_plan_that_leaves_it_alone(run: Run) -> None:
    finished = run(NothingCaptured())
    plan = read_plan(finished.folder / "plan.json")
    assert (plan.is_compiled, plan.choices, plan.figures) == (False, (), None)
    assert "no graph" in str(plan.note)
    assert plan.device == DEVICE.name
    assert [p.name for p in finished.report.plans if p.is_chosen] == ["eager"]
    assert optimize(len, plan, strict=False) is len


def test_without_optimising_no_plan_is_made_of_a_model_without_a_graph(run: Run) -> None:
    finished = run(NothingCaptured(), optimize=False)
    assert not (finished.folder / "plan.json").exists()
    assert not any(way.is_chosen for way in finished.report.plans)


# -- failures ---------------------------------------------------------------------------------------------------------

AFTER_THE_START = ["capture", "time", "time_against_eager", "profile", "measure_device", "build", "trial", "verify"]
NOTHING_MEASURED = ["load", "start"]


@pytest.mark.parametrize("method", [*AFTER_THE_START, "time_eager", "profile_plan"])
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UserProgramError("the model raised", hint="look"), ExitCode.USER_PROGRAM),
        (InternalError("we raised"), ExitCode.INTERNAL),
        (lost("measuring"), ExitCode.USER_PROGRAM),
        (KeyboardInterrupt(), INTERRUPTED),
    ],
    ids=["user", "internal", "lost", "ctrl-c"],
)
def test_a_failure_in_any_stage_leaves_a_partial_report(run: Run, method: str, error: BaseException, code: int) -> None:
    if method == "trial" and isinstance(error, LostChildError):
        return  # that costs the candidate alone, see below
    driver = FakeDriver(saves={"eager": 0.2}, fails={method: error})
    finished = run(driver)
    report = saved(finished)
    assert finished.exit_code == code
    assert report.partial
    assert driver.methods[-1] == method
    if isinstance(error, KeyboardInterrupt):
        assert "interrupted by Ctrl-C while" in report.partial
    else:
        assert str(error) in report.partial
    reached = AFTER_THE_START.index(method) if method in AFTER_THE_START else 0
    assert (report.capture is not None) is (reached > 0 or method == "profile_plan")
    if method in ("trial", "verify", "profile_plan"):
        assert all(graph.budget is not None for graph in report.graphs)


@pytest.mark.parametrize("method", NOTHING_MEASURED)
def test_where_nothing_was_measured_the_message_is_all(run: Run, method: str) -> None:
    with pytest.raises(UserProgramError, match="no such layer"):
        run(FakeDriver(fails={method: UserProgramError("no such layer")}))


@pytest.mark.parametrize("method", NOTHING_MEASURED)
def test_ctrl_c_before_anything_was_measured_says_so(run: Run, method: str) -> None:
    finished = run(FakeDriver(fails={method: KeyboardInterrupt()}))
    assert finished.exit_code == INTERRUPTED
    assert "loading the model" in str(saved(finished).partial)


def test_a_fault_of_ours_keeps_what_was_measured(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(pipeline, "targets_of", faulty)
    with pytest.raises(ZeroDivisionError):
        run(FakeDriver())
    report = read_report(tmp_path / "run" / "report.json")
    assert "Graphbound itself failed" in str(report.partial)
    assert all(graph.budget is not None for graph in report.graphs)


def test_an_interrupted_search_keeps_its_trials(run: Run) -> None:
    class Interrupted(FakeDriver):
        def _trial(self, choices: Any) -> Any:
            if self.methods.count("trial") == 3:
                raise KeyboardInterrupt
            return super()._trial(choices)

    finished = run(Interrupted(saves={"eager": 0.2}))
    candidates = [c for graph in finished.report.graphs for c in graph.candidates]
    assert len([c for c in candidates if c.outcome is TrialOutcome.MEASURED]) == 2
    assert not (finished.folder / "plan.json").exists()


@pytest.mark.parametrize("error", [UserProgramError("raised"), lost()], ids=["raised", "lost"])
def test_a_plan_that_fails_when_it_is_verified_is_not_written_down(run: Run, error: Exception) -> None:
    finished = run(FakeDriver(saves={"eager": 0.2}, fails={"verify": error}))
    plan = read_plan(finished.folder / "plan.json")
    assert {choice.candidate for choice in plan.choices} == {"fused"}
    assert finished.report.comparison is None
    assert finished.exit_code is ExitCode.USER_PROGRAM


def test_what_is_left_of_a_plan_taken_back_is_not_its_comparison(run: Run) -> None:
    """The first plan lost; the process dies while the default is verified in its place."""

    class DiesAtTheSecond(FakeDriver):
        def _verify(self, plan: Any) -> Any:
            if self.methods.count("verify") == 2:
                raise KeyboardInterrupt
            return super()._verify(plan)

    finished = run(DiesAtTheSecond(saves={"eager": 0.2}, plan_saves={"eager": -0.3}))
    assert chosen(finished) == ["fused", "fused"]
    assert finished.report.comparison is None


def test_a_plan_that_was_not_verified_says_so(run: Run) -> None:
    finished = run(FakeDriver(saves={"eager": 0.2}, fails={"verify": KeyboardInterrupt()}))
    assert read_plan(finished.folder / "plan.json").note == "not verified"


def test_a_candidate_that_takes_its_process_down_costs_itself_alone(run: Run) -> None:
    driver = FakeDriver(saves={"eager": 0.2}, fails={"trial": lost("trying a candidate")})
    finished = run(driver)
    assert finished.exit_code is ExitCode.OK
    outcomes = [(c.candidate, c.outcome) for graph in finished.report.graphs for c in graph.candidates]
    assert outcomes.count(("cuda_graphs", TrialOutcome.CRASHED)) == 1
    assert chosen(finished) == ["eager", "eager"]
    (skip,) = driver.skips[-1]
    assert (skip.candidate, skip.outcome) == ("cuda_graphs", TrialOutcome.CRASHED)


def test_a_graph_whose_default_takes_the_process_down_runs_as_captured(run: Run) -> None:
    """One at a time, in a fresh process each; the plan never asks for what is known to crash."""
    first, second = (key.digest for key in dict.fromkeys(graph.key for graph in a_capture().graphs))
    errors: list[BaseException] = [
        lost("compiling fusion", key=GraphKey(digest, Direction.INFERENCE), candidate=FUSED, is_over=is_over)
        for digest, is_over in ((first, False), (second, True))
    ]
    driver = FakeDriver(fails={"capture": errors})
    finished = run(driver)
    assert finished.exit_code is ExitCode.OK
    assert [skip.digest for skip in driver.skips[2]] == [first, second]
    assert {(skip.candidate, skip.outcome) for skip in driver.skips[-1]} == {(FUSED, TrialOutcome.CRASHED)}
    assert chosen(finished) == ["eager", "eager"]
    assert any("a graph was left uncompiled: the process died" in note for note in finished.report.notes)


def test_a_graph_that_takes_the_process_down_even_as_captured_ends_the_run(run: Run) -> None:
    key = a_capture().graphs[0].key
    errors: list[BaseException] = [lost("compiling fusion", key=key, candidate=FUSED) for _ in range(2)]
    finished = run(FakeDriver(fails={"capture": errors}))
    assert finished.exit_code is ExitCode.USER_PROGRAM
    assert "the process died" in str(finished.report.partial)


def test_an_older_runs_files_are_gone(run: Run, tmp_path: Path) -> None:
    run(FakeDriver(saves={"eager": 0.2}))
    finished = run(FakeDriver(), optimize=False)
    assert sorted(p.name for p in finished.folder.iterdir()) == ["before.trace.json.gz", "report.html", "report.json"]


def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(pipeline, "ChildDriver", lambda *_: pytest.fail("it was started"))
    (tmp_path / "net.py").write_text("")
    settings = RunSettings(WorkloadSpec(str(tmp_path / "net.py")), out=str(tmp_path / "file" / "run"))
    with pytest.raises(UsageError, match="cannot write the run folder"):
        pipeline.run(settings, SilentProgress())


def test_what_torch_does_for_other_inputs_joins_the_capture_and_no_graph_of_theirs_does(run: Run) -> None:
    again = Recompile(SourceLine("/home/ada/net.py", 15), "rate == 0.5", "0/1")
    later = replace(a_capture(), graphs=(), recompiles=(again,))
    driver = FakeDriver(variants=later)
    report = saved(run(driver, optimize=False))
    assert report.capture is not None
    assert report.capture.recompiles == (again,)
    assert len(report.graphs) == 2
    assert driver.methods.index("run_variants") > driver.methods.index("profile")


def test_other_inputs_that_take_the_process_down_cost_themselves_alone(run: Run) -> None:
    driver = FakeDriver(
        saves={"cuda_graphs": 0.3}, fails={"run_variants": lost("running the other inputs")}, device="cpu"
    )
    report = saved(run(driver))
    assert report.partial is None
    assert any("get_input_variants could not be run" in note for note in report.notes)
    assert report.comparison is not None


# -- report.html ------------------------------------------------------------------------------------------------------


def page_of(finished: Finished) -> str:
    return (finished.folder / "report.html").read_text(encoding="utf-8")


def test_the_page_of_a_run_has_both_timelines_and_that_of_a_partial_one_what_there_is(run: Run) -> None:
    page = page_of(run(FakeDriver(saves={"cuda_graphs": 0.3})))
    assert "<legend>before: " in page
    assert "<legend>after: " in page
    finished = run(FakeDriver(fails={"verify": [KeyboardInterrupt()]}))
    assert finished.exit_code == INTERRUPTED
    page = page_of(finished)
    assert f"Partial report: {finished.report.partial}" in page
    assert "<legend>before: " in page
    assert "<legend>after: " not in page


@pytest.mark.parametrize("fault", [ValueError("a strange trace"), KeyboardInterrupt()])
def test_a_picture_that_cannot_be_drawn_costs_itself_alone(
    run: Run, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    def fails(_: Path) -> None:
        raise fault

    monkeypatch.setattr("dashboard.report_timeline.steps_of_run", fails)
    finished = run(FakeDriver(saves={"cuda_graphs": 0.3}))
    assert finished.exit_code is ExitCode.OK
    assert saved(finished).comparison is not None
    assert "This page was written without a trace." in page_of(finished)

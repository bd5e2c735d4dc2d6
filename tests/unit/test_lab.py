"""Where trials are made: a lost process costs the candidate it was at, and the rest goes on in a fresh one."""

from __future__ import annotations

import time
from typing import Any

import pytest

from analyzer.core.run import Event, LostChildError
from analyzer.core.trial import TrialOutcome
from analyzer.lab import MAX_RESTARTS, Limits, PipelineLab
from analyzer.measured import Measured
from analyzer.narrator import Narrator
from analyzer.progress import SilentProgress
from optimizers.trials import CandidateTrial, JointTrial
from tests.unit.derive.runs import A, B
from tests.unit.fake_driver import FakeDriver, lost

WANTED = {A.digest: ("eager", "cpp_wrapper"), B.digest: ("eager",)}


class Notes(SilentProgress):
    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)

    def step(self, done: int, total: int, note: str = "") -> None:
        self.said.append(f"{done}/{total} {note}")


def a_lab(driver: FakeDriver, progress: Notes | None = None, *, is_fresh: bool = True) -> PipelineLab:
    driver.is_open = not is_fresh
    return PipelineLab(driver, Measured(), Narrator(progress or Notes()), Limits(120.0), needs_fresh=is_fresh)


def compiling(candidate: str, key: Any = A, *, hung: bool = False, is_over: bool = False) -> LostChildError:
    return lost(f"compiling {candidate}", hung=hung, key=key, candidate=candidate, is_over=is_over)


def test_a_fresh_process_is_started_and_judged_once() -> None:
    driver = FakeDriver()
    lab = a_lab(driver)
    lab.prepare(WANTED)
    lab.prepare(WANTED)
    assert driver.methods == ["load", "start", "prepare_judge", "build", "keeps_built", "build", "keeps_built"]


def test_a_process_that_may_be_kept_is() -> None:
    driver = FakeDriver()
    a_lab(driver, is_fresh=False).prepare(WANTED)
    assert driver.methods == ["prepare_judge", "build", "keeps_built"]


@pytest.mark.parametrize(
    ("hung", "outcome", "reason"),
    [
        (True, TrialOutcome.TIMED_OUT, "gave up compiling after 120 s"),
        (False, TrialOutcome.CRASHED, "the process died"),
    ],
)
def test_a_compilation_that_ends_its_process_is_given_up_and_the_rest_built(
    hung: bool, outcome: TrialOutcome, reason: str
) -> None:
    driver = FakeDriver(fails={"build": compiling("cpp_wrapper", hung=hung)})
    notes = Notes()
    lab = a_lab(driver, notes)
    lab.prepare(WANTED)
    (skip,) = driver.skips[-1]
    assert (skip.digest, skip.candidate, skip.outcome) == (A.digest, "cpp_wrapper", outcome)
    assert skip.reason.startswith(reason)
    assert any("cpp_wrapper" in text and reason in text for text in notes.said)
    trial = lab.measure({A.digest: "cpp_wrapper"})
    assert (trial.outcome, trial.reason) == (outcome, skip.reason)
    assert "trial" not in driver.methods
    assert lab.measure({B.digest: "eager"}).outcome is TrialOutcome.MEASURED


def test_a_crash_that_no_compilation_explains_ends_the_search() -> None:
    for error in (lost("running"), compiling("cpp_wrapper", is_over=True)):
        driver = FakeDriver(fails={"build": error})
        with pytest.raises(LostChildError):
            a_lab(driver).prepare(WANTED)


def test_a_trial_that_hangs_is_timed_out_and_the_next_one_runs() -> None:
    driver = FakeDriver(fails={"trial": lost(hung=True)})
    lab = a_lab(driver)
    lab.prepare(WANTED)
    assert lab.measure({A.digest: "eager"}).outcome is TrialOutcome.TIMED_OUT
    assert driver.methods.count("load") == 2
    assert lab.measure({A.digest: "cpp_wrapper"}).outcome is TrialOutcome.MEASURED


def test_losses_one_after_another_are_all_remembered() -> None:
    driver = FakeDriver(fails={"build": [compiling("cpp_wrapper"), compiling("eager", B)]})
    a_lab(driver).prepare(WANTED)
    assert [(s.digest, s.candidate) for s in driver.skips[-1]] == [(A.digest, "cpp_wrapper"), (B.digest, "eager")]


def test_what_was_given_up_for_one_graph_is_still_tried_with_others() -> None:
    driver = FakeDriver(fails={"build": compiling("eager")})
    lab = a_lab(driver)
    lab.prepare(WANTED)
    assert lab.measure({A.digest: "eager", B.digest: "eager"}).outcome is TrialOutcome.MEASURED


def test_there_is_an_end_to_starting_again() -> None:
    driver = FakeDriver(fails={"build": [compiling(f"c{n}") for n in range(MAX_RESTARTS + 5)]})
    with pytest.raises(LostChildError):
        a_lab(driver).prepare(WANTED)
    assert driver.methods.count("build") == MAX_RESTARTS + 1


def test_trials_are_kept_as_they_end() -> None:
    measured, notes = Measured(), Notes()
    lab = PipelineLab(FakeDriver(), measured, Narrator(notes), Limits(120.0), needs_fresh=True)
    lab.prepare(WANTED)
    alone = CandidateTrial(A.digest, "eager", None, lab.measure({A.digest: "eager"}))
    joint = JointTrial("eager everywhere", {A.digest: "eager"}, alone.trial)
    lab.tried(alone, 1, 3)
    lab.tried(joint, 1, 1)
    assert (measured.trials, measured.joint) == ([alone], [joint])
    assert notes.said == ["1/3 eager measured", "1/1 together: eager everywhere"]


def test_a_trial_that_is_better_known_takes_the_place_of_what_was_known() -> None:
    measured = Measured()
    lab = PipelineLab(FakeDriver(), measured, Narrator(Notes()), Limits(120.0), needs_fresh=True)
    lab.prepare(WANTED)
    first = CandidateTrial(A.digest, "eager", None, lab.measure({A.digest: "eager"}))
    other = CandidateTrial(B.digest, "eager", None, lab.measure({B.digest: "eager"}))
    again = CandidateTrial(A.digest, "eager", None, lab.refine({A.digest: "eager"}, first.trial))
    for trial in (first, other, again):
        lab.tried(trial, 1, 2)
    assert measured.trials == [again, other]


def test_a_loss_between_two_costs_neither_and_the_search_goes_on() -> None:
    driver = FakeDriver(fails={"in_turn": lost()})
    lab = a_lab(driver)
    lab.prepare(WANTED)
    assert lab.duel({A.digest: "eager"}, {B.digest: "eager"}, 1_000_000) is None
    assert lab.measure({A.digest: "eager"}).outcome is TrialOutcome.MEASURED
    assert driver.methods.count("load") == 2


def test_a_trial_that_dies_under_more_samples_is_given_up() -> None:
    driver = FakeDriver(fails={"in_turn": lost()})
    lab = a_lab(driver)
    lab.prepare(WANTED)
    trial = lab.measure({A.digest: "eager"})
    assert lab.refine({A.digest: "eager"}, trial).outcome is TrialOutcome.CRASHED
    assert lab.measure({A.digest: "eager"}).outcome is TrialOutcome.CRASHED
    assert driver.methods.count("load") == 2


def test_the_time_left_goes_by_and_is_told_to_whoever_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    driver = FakeDriver()
    driver.is_open = True
    lab = PipelineLab(driver, Measured(), Narrator(Notes()), Limits(120.0, 30.0), needs_fresh=False)
    now[0] += 12.0
    lab.prepare(WANTED)
    assert lab.left_s() == 18.0
    assert dict(driver.called)["build"][1] == 18.0
    assert a_lab(FakeDriver()).left_s() is None


def test_what_must_be_had_is_compiled_whatever_time_is_left() -> None:
    driver = FakeDriver()
    driver.is_open = True
    lab = PipelineLab(driver, Measured(), Narrator(Notes()), Limits(120.0, -1.0), needs_fresh=False)
    lab.prepare({A.digest: ("eager",)}, is_bounded=False)
    assert dict(driver.called)["build"] == ({A.digest: ("eager",)}, None)


def test_what_is_not_built_is_not_measured() -> None:
    driver = FakeDriver()
    lab = a_lab(driver)
    lab.prepare({A.digest: ("eager",)})
    assert lab.measure({A.digest: "eager", B.digest: "eager"}).outcome is TrialOutcome.UNTRIED
    assert "trial" not in driver.methods


def test_the_narrator_keeps_the_count_while_events_pass() -> None:
    notes = Notes()
    told = Narrator(notes)
    told.stage("trying candidates")
    told.step(2, 6, "eager measured")
    told.hear(Event("compiling fusion", A, "fused"))
    told.hear(None)
    told.stage("verifying")
    told.hear(None)
    assert notes.said == [
        "2/6 eager measured",
        f"2/6 compiling fusion, graph {A.digest}",
        f"2/6 compiling fusion, graph {A.digest}",
        "0/0 ",
    ]


def test_what_was_built_stands_until_its_process_is_lost() -> None:
    lab = a_lab(FakeDriver())
    assert not lab.keeps_built()
    lab.prepare(WANTED)
    assert lab.keeps_built()

"""What is left to measure on an H200: in order, within its seconds, and gone on with."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.core.errors import ExitCode
from benchmarks import h200
from benchmarks.h200 import Here, main, measure
from benchmarks.h200_steps import STEPS, Site, Step
from benchmarks.plans.suite import SUITE
from benchmarks.verdicts.stopwatch import Stopwatch
from tests.golden.interventions_h200 import load

ADDS = "import sys, pathlib; p = pathlib.Path(sys.argv[1]) / 'did'; p.open('a').write(sys.argv[2])"
MOST_FILES = 8
"""That a borrowed machine gives back."""


def a_step(name: str, code: str = ADDS, group: str = "g", *, least_s: float = 1.0, resumes: bool = False) -> Step:
    def command(site: Site, seconds: float) -> list[str]:
        return ["-c", code, str(site.work), name]

    return Step(name, group, command, most_s=60.0, least_s=least_s, resumes=resumes)


@pytest.fixture
def here(tmp_path: Path) -> Callable[..., Here]:
    def make(call: str = "a", before: str | None = None, work: str = "work", budget_s: float = 600.0) -> Here:
        earlier = None if before is None else tmp_path / before
        watch = Stopwatch(budget_s, "test")
        return Here(tmp_path / call, tmp_path / work, earlier, "cpu", None, watch)

    return make


def did(here: Here, group: str = "g") -> str:
    return (here.work / group / "did").read_text()


def test_what_is_done_is_passed_over_by_the_next_call(here: Callable[..., Here]) -> None:
    steps = (a_step("one"), a_step("two"))
    assert measure(steps[:1], here("a")) == []
    assert measure(steps, here("b")) == []
    assert did(here()) == "onetwo"


def test_a_new_machine_goes_on_from_what_came_back(here: Callable[..., Here]) -> None:
    steps = (a_step("one"), a_step("two"))
    measure(steps[:1], here("a"))
    other = here("b", before="a", work="other")
    assert measure(steps, other) == []
    assert did(other) == "onetwo"


def test_a_step_that_fails_costs_itself_and_is_tried_again(here: Callable[..., Here]) -> None:
    failing = a_step("one", "import sys; sys.exit(3)")
    assert measure((failing, a_step("two")), here("a")) == ["one"]
    said = {one["step"]: one["exit_code"] for one in json.loads((here("a").out / h200.STATE).read_text())["attempts"]}
    assert said == {"one": 3, "two": 0}
    assert measure((a_step("one"), a_step("two")), here("b")) == []
    assert did(here()) == "twoone"


def test_nothing_is_begun_that_its_time_is_too_short_for(here: Callable[..., Here]) -> None:
    long, short = a_step("long", least_s=900.0), a_step("short")
    assert measure((long, short), here("a")) == ["long"]
    assert did(here()) == "short"
    assert measure((long, short), here("b", work="other", budget_s=0.0)) == ["long", "short"]


def test_what_goes_on_later_is_not_done_when_its_time_was_used_up(here: Callable[..., Here]) -> None:
    # Its time is over before it begins: ten seconds are kept for ending, and no process is quicker than none.
    budget_s = h200.ENDING_S + h200.PACKING_S
    assert measure((a_step("one", resumes=True),), here("a", budget_s=budget_s)) == ["one"]
    assert measure((a_step("one", resumes=True),), here("b")) == []


def test_the_archives_hold_the_results_and_no_caches(here: Callable[..., Here]) -> None:
    makes = "import sys, pathlib; w = pathlib.Path(sys.argv[1]); (w / 'cache.x').mkdir(); (w / 'found').write_text('')"
    place = here("a")
    measure((a_step("one", makes),), place)
    with tarfile.open(place.out / "g.tar.gz") as archive:
        assert archive.getnames() == ["g", "g/found"]


def test_the_files_are_few_enough_to_come_back() -> None:
    assert len({step.group for step in STEPS}) + len((h200.STATE, h200.LOG)) <= MOST_FILES


def test_every_model_of_the_suite_is_a_step_once() -> None:
    plans = [step.name.removeprefix("plans.") for step in STEPS if step.group == "plans"]
    assert sorted(plans) == sorted(case.name for case in SUITE)


def test_an_unknown_step_is_refused_with_those_that_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--out", str(tmp_path), "--only", "plans.nothing"]) == ExitCode.USAGE
    assert "plans.gptlite" in capsys.readouterr().err


def test_a_golden_is_added_to_as_the_recording_that_it_was_cut_from(tmp_path: Path) -> None:
    from benchmarks.verdicts.record_interventions import _kept

    load.main(load.HERE, tmp_path)
    kept = _kept(tmp_path, "cuda")
    assert kept is not None
    assert [run.name for run in kept.runs if run.error is None] == [run.name for run in load.load().models]
    assert kept.scaled is not None

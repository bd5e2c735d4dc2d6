"""A run among others: which two are compared first, and what is read of each report."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.samples import Samples
from analyzer.core.trial import Change
from analyzer.reporting.json import encode_report
from analyzer.run_listing import ListedRun, RunListing, list_runs
from dashboard import runs_read
from dashboard.run_folder import read_run, read_target
from dashboard.runs import Among, address_of, among, minute, relisted, when_changed
from dashboard.runs_read import GlanceReader, RunGlance, Timed, UnreadRun, glance_at, timed
from tests.reports import a_comparison, a_report, an_empty_report
from tests.unit.dashboard.several_runs import FIRST_S, HOSTILE, a_timed_report, began, glance_of, save_run


def here(*names: str, name: str | None = None) -> Among:
    """Runs of these names, the first the newest."""
    runs = tuple(ListedRun(one, 100 - number, True) for number, one in enumerate(names))
    return Among(RunListing(Path("runs"), runs), name)


def test_a_run_is_compared_with_the_one_before_it() -> None:
    assert here("c", "b", "a", name="b").pair == ("a", "b")
    assert here("c", "b", "a", name=None).pair == ("b", "c")
    assert here("c", "b", "a", name="gone").pair == ("b", "c")


def test_the_oldest_run_is_compared_with_the_newest_and_stands_before_it() -> None:
    assert here("c", "b", "a", name="a").pair == ("a", "c")


def test_of_several_models_the_same_one_is_taken_as_far_as_names_say() -> None:
    names = ("bert-20260103-120000", "gpt-20260102-120000", "bert-20260101-120000-2")
    assert here(*names, name=names[0]).pair == (names[2], names[0])
    assert here(*names, name=names[1]).pair == (names[2], names[1])


def test_fewer_than_two_runs_are_no_pair() -> None:
    assert here().pair is None
    assert here("a", name="a").pair is None


def test_what_cannot_be_chosen_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.runs.MOST_RUNS", 2)
    many = here("c", "b", "a")
    assert [run.name for run in many.choices] == ["c", "b"]
    assert many.left_out == 1


def test_an_address_holds_whatever_a_name_holds() -> None:
    assert address_of("a-1") == "/run/a-1/"
    assert address_of("a/b?c#d %") == "/run/a%2Fb%3Fc%23d%20%25/"


def test_a_moment_reads_the_same_everywhere() -> None:
    assert minute(FIRST_S) == "2023-11-14 22:13"


def test_a_run_folder_knows_the_runs_beside_it_and_a_trace_does_not(tmp_path: Path) -> None:
    first = save_run(tmp_path, "first", a_report(), 1, kernels=1)
    save_run(tmp_path, "second", a_report(), 2)
    data = read_target(first)
    assert data.among is not None
    assert data.among.name == "first"
    assert [run.name for run in data.among.listing.runs] == ["second", "first"]
    assert read_target(first / "report.json").among == data.among
    assert read_target(first / "before.trace.json.gz").among is None
    assert read_run(first).among is None


def test_of_a_folder_of_runs_the_newest_is_read(tmp_path: Path) -> None:
    save_run(tmp_path, "old", a_report(), 1)
    save_run(tmp_path, "new", a_report(headline="the newest"), 2)
    data = read_target(tmp_path)
    assert data.report is not None
    assert data.report.headline == "the newest"
    assert data.among is not None
    assert data.among.name == "new"


def test_a_layout_is_made_anew_only_where_runs_have_changed(tmp_path: Path) -> None:
    save_run(tmp_path, "first", a_report(), 1)
    made: list[Among] = []
    current = when_changed(among(tmp_path / "first"), lambda now: made.append(now) or len(now.listing.runs))
    assert [current(), current()] == [1, 1]
    assert len(made) == 1
    save_run(tmp_path, "second", a_report(), 2)
    assert [current(), current()] == [2, 2]
    assert len(made) == 2
    assert relisted(made[0]) == made[1]


def test_a_glance_has_the_times_of_the_comparison_with_their_quartiles(tmp_path: Path) -> None:
    report = a_timed_report(30.0, 10.0, origin=began(3, "ab", is_dirty=True))
    found = glance_of(tmp_path, report)
    samples = report.plans[0].step_ns
    assert samples is not None
    assert found.before == Timed(30_000_000, 29_880_000.0, 30_120_000.0, len(samples.ns))
    assert found.after is not None
    assert found.after.median_ns == 10_000_000
    assert (found.outcome, found.chosen) == (Change.FASTER, "plan")
    assert (found.began_s, found.is_began_known) == (FIRST_S + 3 * 86_400, True)
    assert found.commit is not None
    assert found.commit.short == "ababab" + "a" + "+"
    assert found.budget == report.step_budget


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=70))
def test_median_and_quartiles_are_those_of_the_samples(ns: list[int]) -> None:
    samples = Samples(tuple(ns))
    found = timed(samples)
    assert found.median_ns == samples.median_ns
    low, high = np.percentile(ns, (25, 75))
    assert (found.low_ns, found.high_ns) == (pytest.approx(low), pytest.approx(high))


def test_a_spread_of_other_samples_is_not_claimed(tmp_path: Path) -> None:
    other = a_timed_report(30.0, 10.0, comparison=a_comparison(before_ns=31_000_000, after_ns=10_000_000))
    found = glance_of(tmp_path, other)
    assert found.before == Timed(31_000_000)
    assert found.after is not None
    assert found.after.low_ns is not None


def test_without_a_plan_there_is_no_after_and_without_a_pass_no_before(tmp_path: Path) -> None:
    step = Samples((1_000, 3_000, 2_000))
    diagnosed = glance_of(tmp_path, a_report(comparison=None, plans=(), step_ns=step), "diagnosed")
    assert diagnosed.before == Timed(2_000, 1_500.0, 2_500.0, 3)
    assert (diagnosed.after, diagnosed.outcome, diagnosed.chosen) == (None, None, None)
    stopped = glance_of(tmp_path, an_empty_report(), "stopped")
    assert (stopped.before, stopped.after, stopped.budget) == (None, None, None)
    assert stopped.partial is not None


def test_a_recorded_trace_has_no_times_of_its_own(tmp_path: Path) -> None:
    found = glance_of(tmp_path, a_report(is_recorded=True, comparison=None))
    assert (found.before, found.after, found.budget) == (None, None, None)
    assert found.is_recorded


def test_an_old_report_began_when_it_was_written_and_says_so(tmp_path: Path) -> None:
    found = glance_of(tmp_path, a_report(), day=5)
    assert (found.began_s, found.is_began_known, found.commit) == (FIRST_S + 5 * 86_400, False, None)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 999}', "\x00\xff", "{}"])
def test_what_is_no_report_is_named_with_its_reason(tmp_path: Path, text: str) -> None:
    save_run(tmp_path, "run", a_report(), 1)
    (tmp_path / "run" / "report.json").write_text(text)
    run = list_runs(tmp_path).run("run")
    assert run is not None
    found = glance_at(tmp_path / "run", run)
    assert isinstance(found, UnreadRun)
    assert "report.json" in found.reason or "schema 999" in found.reason


def test_a_report_of_another_schema_that_lacks_fields_is_one_too(tmp_path: Path) -> None:
    save_run(tmp_path, "run", a_report(), 1)
    text = encode_report(a_report()).replace(b'"schema": 1', b'"schema": 2', 1)
    (tmp_path / "run" / "report.json").write_bytes(text)
    run = list_runs(tmp_path).run("run")
    assert run is not None
    assert glance_at(tmp_path / "run", run) == UnreadRun("run", "report schema 2 is not known here, only 1")


def test_a_report_too_large_and_one_that_is_not_there_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_run(tmp_path, "run", a_report(), 1)
    run = list_runs(tmp_path).run("run")
    assert run is not None
    assert "has no report.json" in str(glance_at(tmp_path, replace(run, has_report=False)))
    assert "cannot be read" in str(glance_at(tmp_path / "gone", run))
    monkeypatch.setattr(runs_read, "MOST_BYTES", 10)
    assert "larger than" in str(glance_at(tmp_path / "run", run))


def test_a_report_is_read_once_until_it_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_run(tmp_path, HOSTILE.replace("/", ""), a_timed_report(30.0), 1)
    reads: list[str] = []
    real = runs_read.glance_at
    monkeypatch.setattr(runs_read, "glance_at", lambda folder, run: reads.append(run.name) or real(folder, run))
    reader = GlanceReader(tmp_path)
    (run,) = list_runs(tmp_path).runs
    assert reader.read(run) is reader.read(run)
    assert len(reads) == 1
    path = tmp_path / run.name / "report.json"
    path.write_bytes(encode_report(a_timed_report(40.0)))
    os.utime(path, (FIRST_S, FIRST_S))
    (run,) = list_runs(tmp_path).runs
    again = reader.read(run)
    assert isinstance(again, RunGlance)
    assert again.before is not None
    assert again.before.median_ns == 40_000_000

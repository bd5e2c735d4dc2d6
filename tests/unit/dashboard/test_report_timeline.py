"""A step of a trace, reduced to what a page can hold: nothing is lost uncounted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analyzer.reporting.html_patterns import PATTERNS, PLAIN
from analyzer.reporting.json import write_report
from analyzer.trace_analysis import analyze_trace
from collectors.readers.kineto import read_trace
from dashboard import report_timeline
from dashboard.report_timeline import MOST_LANES, MOST_MARKS, MOST_NAMED, shown_steps, steps_of_analyzed, steps_of_run
from dashboard.run_folder import BEFORE_FILE, read_run
from dashboard.timeline.lane import LaneKind
from dashboard.timeline.page import TimelinePage, median_step
from dashboard.timeline.shades import Pattern
from dashboard.timelines import timeline_page
from tests.reports import an_empty_report
from tests.traces import Recording
from tests.unit.dashboard.runs import HOSTILE, a_recording, a_run_folder

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "granite_h200"


@pytest.fixture(scope="module")
def golden() -> TimelinePage:
    return timeline_page(read_run(GOLDEN))


def test_every_event_of_the_step_is_drawn_or_counted(golden: TimelinePage) -> None:
    for one, step in zip(golden.shown, shown_steps(golden), strict=True):
        timeline = one.timeline
        number = median_step(timeline)
        assert number is not None
        start, end = (int(ns[number]) for ns in (timeline.recording.steps.start_ns, timeline.recording.steps.end_ns))
        groups = [group for group in timeline.groups if group.kind is not LaneKind.STEPS]
        lanes = [lane for g in groups for lane in timeline.lanes[g.first : g.first + g.count]]
        touching = sum(int(((lane.start_ns < end) & (lane.end_ns > start)).sum()) for lane in lanes)
        assert sum(lane.events for lane in step.lanes) + step.left_out == touching
        assert step.ns == end - start


def test_it_is_small_whatever_the_trace_holds(golden: TimelinePage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_timeline, "MOST_MARKS", 600)
    for step in shown_steps(golden):
        assert len(step.lanes) <= MOST_LANES
        assert sum(len(lane.marks) for lane in step.lanes) <= 600
    monkeypatch.undo()
    steps = [[mark for lane in step.lanes for mark in lane.marks] for step in shown_steps(golden)]
    assert len(steps[0]) > 600
    for marks in steps:
        assert len(marks) <= MOST_MARKS
        assert sum(mark.text is not None for mark in marks) <= MOST_NAMED


def test_of_marks_of_one_width_no_more_are_named_than_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Recording()
    with run.step():
        for _ in range(9):
            run.launch("alike", us=5)
        run.synchronize()
    run.save(tmp_path / "trace.json.gz")
    analyzed = analyze_trace(read_trace(tmp_path / "trace.json.gz"), "trace.json.gz")
    for most in range(1, 10):
        monkeypatch.setattr(report_timeline, "MOST_NAMED", most)
        (step,) = steps_of_analyzed(analyzed)
        assert sum(mark.text is not None for lane in step.lanes for mark in lane.marks) == most


def test_marks_lie_in_the_step_in_order_and_their_shades_can_be_drawn(golden: TimelinePage) -> None:
    drawn = {name for name, _ in PATTERNS} | {PLAIN}
    assert {pattern.value for pattern in Pattern} <= drawn
    for step in shown_steps(golden):
        for lane in step.lanes:
            edges = np.asarray([(mark.left, mark.right) for mark in lane.marks])
            assert edges.min() >= 0
            assert edges.max() <= 1
            assert (edges[:, 1] > edges[:, 0]).all()
            assert (np.diff(edges[:, 0]) >= 0).all()
            assert all(mark.shade < len(step.shades) and 0 < mark.cover <= 1 for mark in lane.marks)


def test_the_step_is_named_and_so_are_its_longest_events(golden: TimelinePage) -> None:
    before, after = shown_steps(golden)
    assert (before.name, after.name) == ("before", "after")
    assert before.title == "step 3 of 3, of median length"
    texts = [mark.text for lane in before.lanes for mark in lane.marks if mark.text is not None]
    assert any(text.startswith("modeling_granite.py:391 ") and text.endswith(" ms") for text in texts)


def test_a_run_folder_gives_what_its_traces_hold(tmp_path: Path) -> None:
    assert steps_of_run(tmp_path) == ()
    assert steps_of_run(tmp_path / "nowhere") == ()
    folder = a_run_folder(tmp_path)
    assert [step.name for step in steps_of_run(folder)] == ["before", "after"]
    (folder / BEFORE_FILE).write_bytes(b"\x1f\x8bnonsense")
    assert [step.name for step in steps_of_run(folder)] == ["after"]
    write_report(an_empty_report(), folder / "report.json")
    assert [step.name for step in steps_of_run(folder)] == ["after"]


def test_a_trace_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = a_run_folder(tmp_path)
    monkeypatch.setattr(report_timeline, "LARGEST_TRACE_BYTES", 10)
    monkeypatch.setattr(report_timeline, "read_run", lambda _: pytest.fail("it was read"))
    (step,) = steps_of_run(folder)
    assert step.lanes == ()
    assert "analyze dashboard" in str(step.note)


def test_a_trace_that_was_judged_is_drawn_the_same(tmp_path: Path) -> None:
    a_recording().save(tmp_path / "trace.json.gz")
    (step,) = steps_of_analyzed(analyze_trace(read_trace(tmp_path / "trace.json.gz"), "trace.json.gz"))
    assert step.name == "recorded"
    assert any(HOSTILE[:20] in (mark.text or "") for lane in step.lanes for mark in lane.marks)


def test_lanes_of_python_alone_make_room_and_are_counted(golden: TimelinePage, monkeypatch: pytest.MonkeyPatch) -> None:
    before = shown_steps(golden)[0]
    monkeypatch.setattr(report_timeline, "_is_stack", lambda lane, found: True)
    without = shown_steps(golden)[0]
    assert without.lanes == ()
    assert without.left_out == sum(lane.events for lane in before.lanes) + before.left_out

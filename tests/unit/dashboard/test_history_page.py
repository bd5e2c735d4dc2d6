"""The history: what may share a line, what its figures show, and what it says of what is missing."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from plotly.utils import PlotlyJSONEncoder

from analyzer.core.budget import Part
from analyzer.core.device import Versions
from analyzer.core.report import Report
from analyzer.run_listing import list_runs
from dashboard.panels import history
from dashboard.panels.history_figure import MOST_LINES, MOST_TICKS, bound_figure, largest_part, time_figure
from dashboard.panels.history_result import NO_TIMES, history_view
from dashboard.prose import prose
from dashboard.run_folder import RunData
from dashboard.runs import Among
from dashboard.runs_history import History, history_of, only
from dashboard.runs_read import RunGlance, UnreadRun
from tests.reports import a_budget, a_report, an_empty_report
from tests.unit.dashboard.several_runs import DAY_S, FIRST_S, HOSTILE, a_timed_report, began, glance_of, save_run

LINUX = Versions("0.1", "3.11", "2.13.0", platform="Linux-6.1-x86_64-with-glibc2.39")


@pytest.fixture
def glance(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Reads back a report as the history does; each call is another run."""
    count = iter(range(1_000))

    def read(report: Report) -> RunGlance:
        number = next(count)
        return glance_of(tmp_path, report, f"run{number}", number)

    return read


def a_run(day: int, default_ms: float = 30.0, plan_ms: float = 10.0, **changes: object) -> Report:
    return a_timed_report(default_ms, plan_ms, **({"origin": began(day, "ab"), "versions": LINUX} | changes))


def text_of(components: object) -> str:
    return json.dumps(components, cls=PlotlyJSONEncoder, ensure_ascii=False)


def view(found: History, tmp_path: Path, line: str | None = None, *, can_open: bool = False) -> str:
    return text_of(history_view(found, Among(list_runs(tmp_path), None, can_open), line))


def test_runs_of_one_kind_are_one_line_in_order_of_time(glance) -> None:  # type: ignore[no-untyped-def]
    found = history_of([glance(a_run(day)) for day in (3, 1, 2)])
    (line,) = found.lines
    assert [run.began_s for run in line.runs] == [FIRST_S + day * DAY_S for day in (1, 2, 3)]
    assert line.name == "gptlite, inference, NVIDIA H200"


def test_another_model_mode_input_device_or_machine_is_another_line(glance) -> None:  # type: ignore[no-untyped-def]
    base = a_run(1)
    others = [
        replace(base, workload=replace(base.workload, name="bert")),
        replace(base, workload=replace(base.workload, mode="training")),
        replace(base, workload=replace(base.workload, inputs=("int64[8, 2048]",))),
        replace(base, device=replace(base.device, name="NVIDIA B200")),
        replace(base, device=replace(base.device, launch_ns=9_000.0)),
        replace(base, versions=replace(LINUX, platform="Linux-6.1-aarch64")),
    ]
    found = history_of([glance(one) for one in (base, *others)])
    assert len(found.lines) == 1 + len(others)
    assert len({line.name for line in found.lines}) == len(found.lines)


def test_a_new_torch_or_more_parameters_stay_on_the_line(glance) -> None:  # type: ignore[no-untyped-def]
    base = a_run(1)
    newer = replace(a_run(2), versions=replace(LINUX, torch="2.14.0"))
    larger = replace(a_run(3), workload=replace(base.workload, parameters=7))
    assert len(history_of([glance(one) for one in (base, newer, larger)]).lines) == 1


def test_a_host_that_drifts_does_not_pull_its_line_along(glance) -> None:  # type: ignore[no-untyped-def]
    runs = [
        a_run(day, device=replace(a_report().device, launch_ns=ns)) for day, ns in enumerate((4000.0, 4500.0, 5000.0))
    ]
    found = history_of([glance(one) for one in runs])
    # Each is within 15 % of the one before it; the last is not of the first.
    assert sorted(len(line.runs) for line in found.lines) == [1, 2]


def test_nothing_is_dropped(glance) -> None:  # type: ignore[no-untyped-def]
    read = [glance(a_run(1)), glance(an_empty_report()), UnreadRun("broken", "it is no report")]
    found = history_of(read, left_out=4)
    assert len(found.lines[0].runs) + len(found.untimed) + len(found.unread) == len(read)
    assert len(found.runs) == 2


def test_the_figure_has_medians_and_quartiles_before_and_after(glance) -> None:  # type: ignore[no-untyped-def]
    found = history_of([glance(a_run(1, 30.0, 10.0)), glance(a_run(2, 20.0, 8.0))])
    before, after = time_figure(found.lines).data
    assert list(before.y) == [30.0, 20.0]
    assert list(after.y) == [10.0, 8.0]
    assert list(before.x) == ["2023-11-15 22:13:20", "2023-11-16 22:13:20"]
    assert list(before.error_y.array) == pytest.approx([0.12, 0.08])
    assert list(before.error_y.arrayminus) == pytest.approx([0.12, 0.08])
    assert before.line.dash != after.line.dash
    assert before.marker.symbol != after.marker.symbol
    assert "commit abababa" in before.hovertext[0]


def test_an_unknown_spread_has_no_bar_and_is_said(glance) -> None:  # type: ignore[no-untyped-def]
    one = glance(a_run(1))
    assert one.before is not None
    bare = replace(one, before=replace(one.before, low_ns=None, high_ns=None))
    before = time_figure(history_of([bare]).lines).data[0]
    assert list(before.error_y.array) == [0.0]
    assert "spread unknown" in before.hovertext[0]


def test_ticks_are_commits_where_runs_carry_them_and_never_too_many(glance) -> None:  # type: ignore[no-untyped-def]
    one = glance(a_run(0))
    runs = [replace(one, name=f"r{day}", began_s=FIRST_S + day * DAY_S) for day in range(100)]
    axis = time_figure(history_of(runs).lines).layout.xaxis
    assert 2 <= len(axis.tickvals) <= MOST_TICKS + 1
    assert all("abababa" in text for text in axis.ticktext)
    bare = [replace(run, commit=None) for run in runs]
    assert time_figure(history_of(bare).lines).layout.xaxis.tickvals is None


def test_the_axis_around_one_run_is_a_minute_and_not_its_milliseconds(glance) -> None:  # type: ignore[no-untyped-def]
    low, high = time_figure(history_of([glance(a_run(1))]).lines).layout.xaxis.range
    assert datetime.fromisoformat(high) - datetime.fromisoformat(low) == timedelta(minutes=1)
    longer = history_of([glance(a_run(day)) for day in (1, 2)]).lines
    assert time_figure(longer).layout.xaxis.range is None


def test_a_narrow_page_hides_no_moment(glance) -> None:  # type: ignore[no-untyped-def]
    """plotly places the title of an axis under its labels: with each of them hidden, nowhere, which is an error."""
    lines = history_of([glance(a_run(1))]).lines
    assert {figure(lines).layout.xaxis.ticklabeloverflow for figure in (time_figure, bound_figure)} == {"allow"}


def test_the_share_of_the_verdict_is_the_largest_part_of_the_step(glance) -> None:  # type: ignore[no-untyped-def]
    starved = glance(a_run(1, step_budget=a_budget(starved=6.0, memory=4.0)))
    memory = glance(a_run(2, step_budget=a_budget(starved=1.0, memory=4.0)))
    again = glance(a_run(3, step_budget=a_budget(starved=1.0, memory=9.0)))
    assert largest_part(starved) == (Part.STARVED, 0.6)
    (trace,) = bound_figure(history_of([starved, memory, again]).lines).data
    assert list(trace.y) == pytest.approx([60.0, 80.0, 90.0])
    assert list(trace.text) == ["starved", "memory", ""]
    assert len(set(trace.marker.symbol)) == 2
    assert largest_part(replace(starved, budget=None)) is None


def test_a_long_name_leaves_before_and_after_in_the_legend(glance) -> None:  # type: ignore[no-untyped-def]
    one = glance(a_run(1))
    long = replace(one, facts=replace(one.facts, name="m" * 90))
    names = [trace.name for trace in time_figure(history_of([long]).lines).data]
    assert [name.rpartition(": ")[2] for name in names] == ["before", "after"]
    assert all(len(name) <= 60 for name in names)


def test_a_word_is_left_out_where_it_would_lie_on_another(glance) -> None:  # type: ignore[no-untyped-def]
    first, other = glance(a_run(1)), glance(a_run(9))
    beside = [replace(first, name=f"r{n}", facts=replace(first.facts, name=f"m{n}")) for n in range(3)]
    far = replace(other, facts=replace(other.facts, name="m9"))
    texts = [text for trace in bound_figure(history_of([*beside, far]).lines).data for text in trace.text]
    assert sorted(texts) == ["", "", "starved", "starved"]


def test_more_lines_than_can_be_told_apart_are_cut_and_counted(glance) -> None:  # type: ignore[no-untyped-def]
    one = glance(a_run(1))
    many = [replace(one, name=f"r{n}", facts=replace(one.facts, name=f"m{n}"), began_s=FIRST_S + n) for n in range(12)]
    figure = time_figure(history_of(many).lines)
    assert len(figure.data) == 2 * MOST_LINES
    assert f"the {MOST_LINES} newest of 12 lines" in figure.layout.title.text


def test_one_line_can_be_seen_alone_and_an_unknown_name_shows_all(glance, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    one = glance(a_run(1))
    other = replace(one, name="b", facts=replace(one.facts, name="bert"))
    found = history_of([one, other])
    assert [line.name for line in only(found, found.lines[1].name).lines] == [found.lines[1].name]
    assert only(found, "nonsense") == found
    assert only(found, None) == found
    alone = view(found, tmp_path, "bert, inference, NVIDIA H200")
    assert '"selected": true, "value": "bert, inference, NVIDIA H200"' in alone


def test_the_page_says_what_is_missing(glance, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    old = glance(a_report())
    found = history_of([old, UnreadRun("broken", "it is no report")], left_out=3)
    text = view(found, tmp_path)
    for said in ("No run carries a commit", "~ marks", "broken: it is no report", "3 more entries were not read"):
        assert said in text
    assert text_of(prose(NO_TIMES))[1:-1] in view(history_of([glance(an_empty_report())]), tmp_path)


def test_a_row_opens_its_run_or_lays_it_beside_this_one(glance, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    found = history_of([glance(a_run(1))])
    assert '"data-gb-open": "run"' in view(found, tmp_path, can_open=True)
    assert '"data-gb-open": "compare"' in view(found, tmp_path)


def test_hostile_names_are_cut_and_escaped_in_figures(glance) -> None:  # type: ignore[no-untyped-def]
    one = glance(a_run(1))
    hostile = replace(one, name=HOSTILE, facts=replace(one.facts, name=HOSTILE + "x" * 1_000_000))
    found = history_of([hostile])
    figure = time_figure(found.lines)
    assert len(found.lines[0].name) < 200
    assert "<img" not in figure.to_json()
    assert len(figure.to_json()) < 20_000


def test_the_panel_waits_for_the_page_and_says_what_to_do_without_runs(tmp_path: Path) -> None:
    alone = RunData(str(tmp_path / "x"), None, None, ())
    assert "analyze model.py" in text_of(history.build(alone))
    assert not history.PANEL.applies(alone)
    empty = replace(alone, among=Among(list_runs(tmp_path), "x"))
    assert "There is no run in" in text_of(history.build(empty))
    save_run(tmp_path, "first", a_report(), 1)
    one = replace(alone, among=Among(list_runs(tmp_path), "first"))
    assert history.PANEL.applies(one)
    assert "Reading the reports of the folder" in text_of(history.build(one))

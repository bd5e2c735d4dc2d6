"""Two runs beside each other: sums, warnings and refusals, and what the figure shows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from plotly.utils import PlotlyJSONEncoder

from analyzer.comparing import compare_paths
from analyzer.core.compared import Compared, ComparedRow, Fate, Matched
from analyzer.reporting.compared_text import fate_text
from analyzer.reporting.plain_text import plain
from analyzer.run_listing import list_runs
from collectors.readers.settings import DEFAULTS
from dashboard import runs_compared
from dashboard.panels import compare
from dashboard.panels.compare_figure import MOST_BARS, difference_figure, signed
from dashboard.panels.compare_result import pair_view
from dashboard.run_folder import RunData
from dashboard.runs import Among
from dashboard.runs_compared import RunComparer, RunPair, warnings
from dashboard.runs_read import GlanceReader, RunGlance, UnreadRun
from tests.reports import a_report
from tests.traces import Recording
from tests.unit.dashboard.several_runs import HOSTILE, a_timed_report, glance_of, save_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs, the last without a trace."""
    made = tmp_path_factory.mktemp("runs")
    save_run(made, "slow", a_timed_report(30.0, 20.0), 1, kernels=3)
    save_run(made, "fast", a_timed_report(30.0, 10.0), 2, kernels=1)
    save_run(made, "bare", a_timed_report(30.0, 10.1), 3)
    return made


@pytest.fixture(scope="module")
def compared(folder: Path) -> Compared:
    return compare_paths(str(folder / "slow"), str(folder / "fast"), DEFAULTS)


def comparer(folder: Path) -> RunComparer:
    return RunComparer(folder, GlanceReader(folder))


def text_of(components: object) -> str:
    return json.dumps(components, cls=PlotlyJSONEncoder, ensure_ascii=False)


def test_two_runs_are_compared_as_the_command_does(folder: Path, compared: Compared) -> None:
    pair = comparer(folder).pair(list_runs(folder), "slow", "fast")
    assert isinstance(pair, RunPair)
    assert pair.compared == compared
    assert pair.refused is None
    assert pair.warnings == ()


def test_what_a_sentence_has_between_backticks_is_set_as_code(folder: Path) -> None:
    pair = comparer(folder).pair(list_runs(folder), "slow", "fast")
    assert isinstance(pair, RunPair)
    assert pair.compared is not None
    told = replace(pair.compared.before, bound="run `analyze model.py` there")
    text = text_of(pair_view(replace(pair, compared=replace(pair.compared, before=told))))
    assert "analyze model.py" in text
    assert "`" not in text


def test_a_comparison_is_made_once_and_only_some_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs_compared, "MOST_KEPT", 2)
    made: list[tuple[str, str]] = []
    real = runs_compared.compare_paths
    monkeypatch.setattr(runs_compared, "compare_paths", lambda a, b, r: made.append((a, b)) or real(a, b, r))
    one = comparer(folder)
    listing = list_runs(folder)
    for before, after in (("slow", "fast"), ("slow", "fast"), ("fast", "slow"), ("fast", "fast"), ("slow", "fast")):
        one.pair(listing, before, after)
    assert len(made) == 4


@pytest.mark.parametrize("name", ["", "..", "../slow", "gone", "/etc", HOSTILE, "slow\x00"])
def test_a_name_that_is_no_run_is_refused_and_no_path(folder: Path, name: str) -> None:
    for pair in (("slow", name), (name, "slow")):
        said = comparer(folder).pair(list_runs(folder), *pair)
        assert isinstance(said, str)
        assert "There is no run" in said
        assert "\x00" not in said


def test_a_run_without_a_trace_is_refused_with_what_to_do_and_keeps_its_times(folder: Path) -> None:
    pair = comparer(folder).pair(list_runs(folder), "fast", "bare")
    assert isinstance(pair, RunPair)
    assert pair.compared is None
    text = text_of(pair_view(pair))
    assert "cannot be compared" in text
    assert "bare holds no trace: its run ended before the profiled pass" in text
    assert "10.0 → 10.1 ms a step" in text


def test_the_report_of_a_recorded_trace_is_refused_with_the_command_that_compares_it(tmp_path: Path) -> None:
    save_run(tmp_path, "a", a_report(), 1, kernels=1)
    report = a_report(is_recorded=True, comparison=None)
    save_run(tmp_path, "b", replace(report, workload=replace(report.workload, source="my trace.json.gz")), 2)
    pair = comparer(tmp_path).pair(list_runs(tmp_path), "a", "b")
    assert isinstance(pair, RunPair)
    assert pair.refused is not None
    assert "`analyze compare 'my trace.json.gz' OTHER`" in pair.refused
    assert any("a recorded trace" in text for text in pair.warnings)


def test_a_trace_that_is_damaged_is_a_refusal(folder: Path, tmp_path: Path) -> None:
    save_run(tmp_path, "a", a_report(), 1, kernels=1)
    save_run(tmp_path, "b", a_report(), 2)
    (tmp_path / "b" / "before.trace.json.gz").write_bytes(b"\x1f\x8bnothing")
    pair = comparer(tmp_path).pair(list_runs(tmp_path), "a", "b")
    assert isinstance(pair, RunPair)
    assert pair.refused is not None
    assert "before.trace.json.gz" in pair.refused


def test_what_makes_times_incomparable_is_said(tmp_path: Path) -> None:
    base = a_report()
    one = glance_of(tmp_path, base, "one")
    other = glance_of(
        tmp_path,
        replace(
            base,
            workload=replace(base.workload, name="bert", mode="training", inputs=("int64[8]",), parameters=3),
            device=replace(base.device, name="NVIDIA B200"),
            versions=replace(base.versions, torch="2.11.0"),
            partial="stopped",
        ),
        "other",
    )
    said = warnings(one, other)
    assert said[0].startswith("another device: NVIDIA H200 (cuda) here, NVIDIA B200 (cuda) there")
    for word in ("model: gptlite before, bert", "mode: inference", "set of inputs", "parameters", "torch: 2.13.0"):
        assert any(word in text for text in said), word
    assert any("after: a partial report: stopped" in text for text in said)
    assert warnings(one, one) == ()
    assert warnings(one, UnreadRun("x", "no report")) == ("x: no report",)


def test_a_warning_of_report_and_trace_is_shown_once_however_long(folder: Path, compared: Compared) -> None:
    pair = comparer(folder).pair(list_runs(folder), "slow", "fast")
    assert isinstance(pair, RunPair)
    long = "another set of inputs: " + "float32[64, 256], " * 90
    cut = plain(long, runs_compared.MOST_OF_A_WARNING)
    twice = replace(pair, warnings=(cut,), compared=replace(compared, unlike=(long,)))
    assert json.dumps(pair_view(twice), cls=PlotlyJSONEncoder).count("another set of inputs") == 1


def test_the_rows_shown_add_up_to_the_difference_of_the_totals(folder: Path, compared: Compared) -> None:
    pair = comparer(folder).pair(list_runs(folder), "slow", "fast")
    text = text_of(pair_view(pair))
    total = compared.after.whole_ns - compared.before.whole_ns
    assert f"The {len(compared.rows)} rows add up to {signed(total)} a step" in text
    bars = [x for trace in difference_figure(compared).data for x in trace.x]
    assert sum(bars) == pytest.approx(total / 1e6, abs=1e-9)


def test_bars_go_left_for_less_and_right_for_more(compared: Compared) -> None:
    figure = difference_figure(compared)
    less, more = figure.data
    assert all(x < 0 for x in less.x)
    assert all(x > 0 for x in more.x)
    assert less.marker.pattern.shape != more.marker.pattern.shape
    assert len(less.x) + len(more.x) == sum(1 for row in compared.rows if row.difference_ns)


def many_rows() -> Compared:
    left, right = Recording(), Recording()
    for run, us in ((left, 10), (right, 20)):
        with run.step():
            for number in range(40):
                with run.op(f"aten::op{number}"):
                    run.launch(f"kernel{number}", us=us + number)
            run.synchronize()
    from analyzer.comparing import compare_analyzed
    from analyzer.trace_analysis import analyze_trace

    return compare_analyzed(analyze_trace(left.trace(), "a"), analyze_trace(right.trace(), "b"))


def test_the_smallest_differences_are_one_bar_together() -> None:
    found = many_rows()
    figure = difference_figure(found)
    assert sum(len(trace.x) for trace in figure.data) == MOST_BARS + 1
    assert figure.layout.yaxis.ticktext[-1].endswith("smaller ones")
    total = found.after.whole_ns - found.before.whole_ns
    assert sum(x for trace in figure.data for x in trace.x) == pytest.approx(total / 1e6)


def test_a_graph_is_a_bar_with_its_line_and_a_row_with_its_function(folder: Path) -> None:
    pair = comparer(folder).pair(list_runs(folder), "slow", "fast")
    assert isinstance(pair, RunPair)
    assert pair.compared is not None
    rows = pair_view(pair)[-1].children[1]
    names = [row["c0"] for row in rows.rowData if row["c5"] == Matched.GRAPH.value]
    assert "gptlite.py:41 in forward" in names
    bars = difference_figure(pair.compared).layout.yaxis.ticktext
    assert "gptlite.py:41" in bars


def test_of_a_long_file_name_the_bar_keeps_the_end_with_the_line(compared: Compared) -> None:
    row = ComparedRow(f"{'a' * 40}_granite.py:391 in forward", Matched.GRAPH, Fate.SLOWER, 1_000, 3_000, 1.0, 1.0)
    after = replace(compared.before, whole_ns=compared.before.whole_ns + 2_000)
    figure = difference_figure(replace(compared, rows=(row,), after=after))
    assert figure.layout.yaxis.ticktext == ("…aa_granite.py:391",)


def test_what_a_thing_was_called_is_a_column_only_where_it_was_called_otherwise(folder: Path) -> None:
    pair = comparer(folder).pair(list_runs(folder), "slow", "fast")
    assert isinstance(pair, RunPair)
    assert pair.compared is not None
    assert "called before" not in text_of(pair_view(pair))
    rows = tuple(replace(row, was="net.py:7" if row.matched is Matched.GRAPH else None) for row in pair.compared.rows)
    assert "called before" in text_of(pair_view(replace(pair, compared=replace(pair.compared, rows=rows))))


def test_rows_stand_by_how_strictly_they_were_matched(folder: Path) -> None:
    pair = comparer(folder).pair(list_runs(folder), "slow", "fast")
    grid = pair_view(pair)[-1].children[1]
    order = [row["c5"] for row in grid.rowData]
    ranked = [[one.value for one in Matched].index(word) for word in order]
    assert ranked == sorted(ranked)


def test_what_is_not_there_takes_no_time_and_is_not_unknown(folder: Path) -> None:
    pair = comparer(folder).pair(list_runs(folder), "slow", "fast")
    assert '"unknown"' not in text_of(pair_view(pair)[-1])


def test_idle_time_is_not_called_fast(compared: Compared) -> None:
    idle = next(row for row in compared.rows if row.matched is Matched.IDLE)
    assert fate_text(idle) in ("less time", "more time", "same")


def test_spreads_that_overlap_are_said(folder: Path, tmp_path: Path) -> None:
    alike = comparer(folder).pair(list_runs(folder), "fast", "bare")
    assert "no difference" not in text_of(pair_view(alike))
    save_run(tmp_path, "a", a_timed_report(30.0, 10.0), 1)
    save_run(tmp_path, "b", a_timed_report(30.0, 10.02), 2)
    assert "this may be no difference" in text_of(pair_view(comparer(tmp_path).pair(list_runs(tmp_path), "a", "b")))


def test_hostile_names_are_shown_as_text(tmp_path: Path) -> None:
    hostile = Recording()
    with hostile.step(), hostile.op(HOSTILE):
        hostile.launch(HOSTILE + "x" * 100_000, us=5)
        hostile.synchronize()
    name = HOSTILE.replace("/", "")
    report = a_report()
    report = replace(report, workload=replace(report.workload, name=HOSTILE))
    for day, one in enumerate((name, "plain")):
        path = save_run(tmp_path, one, report if one == name else a_report(), day)
        hostile.save(path / "before.trace.json.gz")
    pair = comparer(tmp_path).pair(list_runs(tmp_path), name, "plain")
    assert isinstance(pair, RunPair)
    assert pair.compared is not None
    assert "<img" not in difference_figure(pair.compared).to_json()
    assert len(text_of(pair_view(pair))) < 60_000


def test_the_panel_offers_the_runs_and_says_what_to_do_with_one(folder: Path, tmp_path: Path) -> None:
    alone = RunData("x", None, None, ())
    assert "analyze dashboard runs" in text_of(compare.build(alone))
    assert not compare.PANEL.applies(alone)
    save_run(tmp_path, "first", a_report(), 1)
    one = replace(alone, among=Among(list_runs(tmp_path), "first"))
    assert "There is one run in" in text_of(compare.build(one))
    assert "analyze model.py --out" in text_of(compare.build(one))
    several = replace(alone, among=Among(list_runs(folder), "fast"))
    text = text_of(compare.build(several))
    assert text.count('"type": "Option"') == 6
    assert '"selected": true, "value": "slow"' in text
    assert '"selected": true, "value": "fast"' in text


def test_runs_that_are_not_offered_are_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.runs.MOST_RUNS", 2)
    several = RunData("x", None, None, (), among=Among(list_runs(folder), "bare"))
    assert "The 2 newest runs are here; 1 more entry" in text_of(compare.build(several))


def test_a_glance_is_kept_for_the_comparison(folder: Path) -> None:
    pair = comparer(folder).pair(list_runs(folder), "slow", "fast")
    assert isinstance(pair, RunPair)
    assert isinstance(pair.before, RunGlance)
    assert (pair.before.name, pair.after.name) == ("slow", "fast")

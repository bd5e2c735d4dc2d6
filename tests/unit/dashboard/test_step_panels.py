"""The first page: how long a step takes, where it goes, what costs most, what to type next."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from plotly.utils import PlotlyJSONEncoder

from analyzer.core.budget import Part
from analyzer.core.plan import Plan
from analyzer.core.report import Report
from analyzer.core.samples import Samples
from dashboard.panels import headline, next_command, step_budget, step_time, top_findings, verdicts
from dashboard.panels.findings_places import finding_ids
from dashboard.panels.panel import Panel
from dashboard.panels.step_bar import bar, part_look
from dashboard.panels.step_samples import Strip, strip_figure
from dashboard.run_folder import RunData
from optimizers.plan import write_plan
from tests.reports import a_budget, a_finding, a_plan_trial, a_report, an_accuracy, an_empty_report, some_samples

MS = 1_000_000


def _run(report: Report | None, folder: str = "runs/x") -> RunData:
    return RunData(folder, report, None, ())


def _text(panel: Panel, report: Report | None) -> str:
    return json.dumps(panel.build(_run(report)), cls=PlotlyJSONEncoder, ensure_ascii=False)


def test_the_bars_of_a_step_add_up_to_it_on_both_sides() -> None:
    report = a_report()
    sides = step_budget.sides_of(report)
    figure = step_budget.budget_figure(sides)
    for number, (name, budget) in enumerate(sides):
        assert {trace.y[number] for trace in figure.data} == {name}
        assert sum(trace.x[number] for trace in figure.data) * MS == pytest.approx(budget.elapsed_ns)


def test_the_table_of_a_step_names_the_unexplained_also_where_there_is_none_and_ends_in_the_whole() -> None:
    sides = step_budget.sides_of(a_report())
    rows = step_budget.budget_rows(sides)
    assert [row[0] for row in rows][:1] == ["starved"]
    assert ("other, unexplained", 0, 0.0, 0, 0.0) in rows
    assert rows[-1][0] == "the whole"
    for column in (1, 3):
        assert sum(row[column] for row in rows[:-1]) == rows[-1][column]  # type: ignore[misc]


def test_the_unexplained_is_a_piece_of_the_bar() -> None:
    budget = a_budget(starved=3.0, other=1.0)
    figure = step_budget.budget_figure([("before", budget)])
    assert [(trace.name, trace.x[0]) for trace in figure.data] == [("starved", 3.0), ("other, unexplained", 1.0)]


def test_no_two_parts_look_alike_without_colour() -> None:
    looks = [part_look(part) for part in Part]
    assert len({look.pattern for look in looks}) == len(looks)
    assert len({look.shape for look in looks}) == len(looks)


def test_a_shorter_side_has_a_shorter_bar() -> None:
    half = bar(a_budget(starved=1.0, memory=0.5), whole_ns=3 * MS)
    assert sum(float(piece.style["width"].removesuffix("%")) for piece in half.children) == pytest.approx(50, abs=0.01)


def test_a_recording_has_one_bar_of_all_that_was_recorded() -> None:
    report = a_report(is_recorded=True, step_budget_after=None)
    assert [name for name, _ in step_budget.sides_of(report)] == ["recorded"]


def test_the_time_of_a_recording_is_not_called_that_of_a_step() -> None:
    report = a_report(is_recorded=True, step_budget_after=None)
    assert step_budget.PANEL.title_of(_run(report)) == "Where the recorded time goes"
    assert verdicts.PANEL.title_of(_run(report)) == "What bounds each region"
    assert step_budget.STEPS_ARE_THE_HOSTS in _text(step_budget.PANEL, report)
    unmarked = _text(step_budget.PANEL, replace(report, step_ns=None))
    assert step_budget.OF_THE_WINDOW in unmarked
    assert step_budget.STEPS_ARE_THE_HOSTS not in unmarked
    assert step_budget.PANEL.title_of(_run(a_report())) == "Where a step goes"
    assert step_budget.OF_THE_WINDOW not in _text(step_budget.PANEL, a_report())


def test_a_run_without_a_plan_has_no_column_of_two_times() -> None:
    graphs = tuple(replace(graph, after_ns=None) for graph in a_report().graphs)
    gaps = tuple(replace(gap, after_ns=None) for gap in a_report().eager_gaps)
    assert "before → after" in _text(verdicts.PANEL, a_report())
    assert "before → after" not in _text(verdicts.PANEL, a_report(graphs=graphs, eager_gaps=gaps))


@pytest.mark.parametrize(("is_recorded", "says"), [(False, "analyze model.py"), (True, "nothing was measured")])
def test_without_a_budget_it_says_what_to_do(is_recorded: bool, says: str) -> None:
    assert says in _text(step_budget.PANEL, an_empty_report(is_recorded=is_recorded))


def test_every_sample_is_a_mark() -> None:
    strips = step_time.strips_of(a_report())
    assert [strip.name for strip in strips] == ["eager", "default", "reduce-overhead", "plan (chosen)"]
    trace = strip_figure(strips).data[0]
    assert sorted(trace.x) == sorted(ns / MS for strip in strips for ns in strip.samples.ns)
    assert trace.boxpoints == "all"


def test_the_ways_are_told_with_spread_speed_and_outcome() -> None:
    rows = {row[0]: row for row in step_time.way_rows(a_report())}
    assert rows["plan (chosen)"][1] == pytest.approx(11.5 * MS)
    assert rows["plan (chosen)"][4] == pytest.approx(31.8 / 11.5)
    assert rows["default"][4] == 1.0
    assert rows["cpp_wrapper"] == ("cpp_wrapper", *[None] * 4, "", "", "failed: no C++ compiler was found")


def test_a_way_says_its_error_and_what_its_cuda_graphs_keep_beside_the_peak() -> None:
    wrong = a_plan_trial("cuda_graphs everywhere", 10.0, accuracy=an_accuracy(is_right=False), pool_bytes=1 << 20)
    rows = {row[0]: row for row in step_time.way_rows(a_report(plans=(wrong, a_plan_trial("plan", 9.0))))}
    assert rows["cuda_graphs everywhere"][5:7] == ("WRONG 3.1e-03", "1.50 GiB +1.00 MiB")
    assert rows["plan"][5:7] == ("3.1e-03", "1.50 GiB")


def test_the_speed_of_a_way_is_against_the_default_taken_in_turn_with_it() -> None:
    trial = a_plan_trial("cuda_graphs everywhere", 10.0, against_ns=some_samples(40.0))
    (row,) = step_time.way_rows(a_report(plans=(trial,)))
    assert row[4] == pytest.approx(4.0)


def test_steps_without_ways_are_shown_alone_and_no_step_says_what_to_do() -> None:
    assert [strip.name for strip in step_time.strips_of(a_report(plans=()))] == ["before"]
    assert [strip.name for strip in step_time.strips_of(a_report(plans=(), is_recorded=True))] == ["recorded"]
    assert "analyze model.py" in _text(step_time.PANEL, an_empty_report())
    assert "step()" in _text(step_time.PANEL, an_empty_report(is_recorded=True))


def test_two_series_have_their_own_symbols_and_hostile_names_are_no_tags_of_plotly() -> None:
    name = '<a href="http://x">b</a>'
    figure = strip_figure([Strip(name, "one", Samples((1, 2))), Strip(name, "two", Samples((3,)))])
    boxes = [trace for trace in figure.data if trace.type == "box"]
    assert [box.name for box in boxes] == ["two", "one"]
    assert len({box.marker.symbol for box in boxes}) == 2
    assert [trace.name for trace in figure.data if trace.showlegend] == ["one", "two"]
    assert all("<" not in text for box in boxes for text in box.y)


def test_the_three_costliest_findings_stand_first_and_lead_to_all() -> None:
    findings = tuple(a_finding(f"rule_{n}", ns_per_step=None if n == 0 else n * MS) for n in range(6))
    shown = top_findings.costliest(a_report(findings=findings))
    assert [finding.rule for finding in shown] == ["rule_5", "rule_4", "rule_3"]
    text = _text(top_findings.PANEL, a_report(findings=findings))
    assert "#page=findings" in text
    assert "all 6 findings" in text
    assert f"finding={finding_ids(shown)[0]}" in text


def test_a_cost_that_is_not_known_is_not_nought() -> None:
    text = _text(top_findings.PANEL, a_report(findings=(a_finding(ns_per_step=None),)))
    assert "cost unknown" in text


def test_no_finding_is_not_called_fine_where_rules_could_not_judge() -> None:
    text = _text(top_findings.PANEL, a_report(findings=()))
    assert "No rule found its pattern. 1 rule could not judge" in text


def test_the_plan_is_offered_where_there_is_one(tmp_path: Path) -> None:
    report = a_report(next_command="analyze compare A B")
    without = json.dumps(next_command.build(_run(report, str(tmp_path))), cls=PlotlyJSONEncoder)
    assert report.next_command in without
    assert "optimize" not in without
    write_plan(Plan((), report.device.name, report.versions), tmp_path / "plan.json")
    shown: Any = next_command.build(_run(report, str(tmp_path)))
    assert "analyzer.optimize(model, plan=" in json.dumps(shown, cls=PlotlyJSONEncoder)


def test_what_a_trace_cannot_show_comes_before_the_headline() -> None:
    text = _text(headline.PANEL, a_report(honesty=("kernels of two devices are one lane",)))
    assert text.index("kernels of two devices") < text.index("CPU-bound")


def test_a_model_that_is_left_alone_is_not_called_faster() -> None:
    plans = (a_plan_trial("eager", 30.0, is_chosen=True),)
    text = _text(headline.PANEL, replace(a_report(), plans=plans))
    assert "LEFT ALONE" in text
    assert "FASTER" not in text


def test_a_budget_taken_at_another_speed_than_the_comparison_says_so() -> None:
    report = a_report()
    assert "first clean pass" not in _text(step_budget.PANEL, report)
    slower = replace(report, step_budget=a_budget(starved=10.0, memory=6.2))
    assert "taken at 16.2 and 31.8 ms a step before" in _text(step_budget.PANEL, slower)


def test_a_figure_of_what_is_not_known_says_so_and_is_no_error() -> None:
    figure = step_budget.budget_figure(step_budget.sides_of(a_report(step_budget=None)))
    assert len(figure.data) == 0
    assert [note.text for note in figure.layout.annotations] == [step_budget.NOT_KNOWN]

"""Every panel, with everything there and with nothing there."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dash import html
from plotly.utils import PlotlyJSONEncoder

from analyzer.reporting.report_text import attribution_text, notes_text
from dashboard.panels import next_command, notes, timelines, verdicts
from dashboard.panels.panel import Page, Panel
from dashboard.panels.panel_list import PANELS
from dashboard.prose import prose
from dashboard.run_folder import RunData, Side, read_run
from dashboard.timeline.recording import recording_of
from tests.reports import a_candidate, a_comparison, a_graph, a_key, a_report, an_accuracy, an_empty_report
from tests.unit.dashboard.runs import a_recording

every_panel = pytest.mark.parametrize("panel", PANELS, ids=lambda p: p.id)


def _side(name: str) -> Side:
    return Side(name, recording_of(a_recording().trace(), None), None)


_SIDES = (_side("before"), _side("after"))


def _run(**changes: Any) -> RunData:
    return replace(RunData("runs/x", a_report(), None, _SIDES), **changes)


def _text(panel: Panel, run: RunData) -> str:
    return json.dumps(panel.build(run), cls=PlotlyJSONEncoder, ensure_ascii=False)


@every_panel
def test_the_id_is_the_name_of_the_file(panel: Panel) -> None:
    assert panel.build.__module__ == f"dashboard.panels.{panel.id}"
    assert sys.modules[panel.build.__module__].PANEL is panel  # type: ignore[attr-defined]


def test_ids_differ() -> None:
    assert len({panel.id for panel in PANELS}) == len(PANELS)


@every_panel
def test_a_panel_is_the_same_each_time(panel: Panel) -> None:
    assert _text(panel, _run()) == _text(panel, _run())


@every_panel
def test_an_empty_folder_gives_a_state_that_says_what_to_do(panel: Panel, tmp_path: Path) -> None:
    text = _text(panel, read_run(tmp_path))
    assert "report.json" in text or "analyze model.py" in text


@every_panel
def test_a_run_that_was_stopped_early_is_shown_as_far_as_it_came(panel: Panel) -> None:
    nothing = Side("before", None, "There is no before.trace.json.gz"), Side("after", None, "There is no after")
    assert len(panel.build(_run(report=an_empty_report(), sides=nothing))) >= 1


def test_the_headline_is_loud_where_the_report_is_partial_or_silent() -> None:
    headline = PANELS[0]
    assert "Partial report: stopped" in _text(headline, _run(report=a_report(partial="stopped")))
    assert "NO GRAPH WAS CAPTURED" in _text(headline, _run(report=a_report(graphs=())))
    wrong = a_comparison(accuracy=an_accuracy(is_right=False))
    assert "WRONG RESULT" in _text(headline, _run(report=a_report(comparison=wrong)))
    assert "FASTER: 31.8 → 11.5 ms a step, 2.8× (95 % 2.7–2.9)" in _text(
        headline, _run(report=a_report(headline="CPU-bound"))
    )


def test_all_that_the_terminal_notes_stands_on_the_overview() -> None:
    report = a_report(notes=tuple(f"note {number}" for number in range(notes.MOST_NOTES + 9)))
    assert report.attributed is not None
    text = _text(notes.PANEL, _run(report=report))
    told = [attribution_text(report.attributed, is_recorded=False), *notes_text(replace(report, rule_failures=()))]
    assert all(note in text for note in told[: notes.MOST_NOTES - 2])
    assert "more in report.json" in text


def test_what_to_know_of_the_choice_comes_before_the_line_that_takes_it_into_a_program() -> None:
    baked = a_graph(candidates=(a_candidate("frozen", caveat="the weights are baked in"),), chosen="frozen")
    text = _text(next_command.PANEL, _run(report=a_report(graphs=(baked,))))
    assert "frozen (gptlite.py:41): the weights are baked in" in text
    assert "To know of" not in _text(next_command.PANEL, _run())


def test_times_that_the_headline_has_said_are_not_said_again() -> None:
    said = _text(PANELS[0], _run(report=a_report(headline="CPU-bound. The plan: 31.8 → 11.5 ms a step, 2.8×")))
    assert "FASTER: results are right" in said
    assert said.count("31.8 → 11.5 ms") == 1


def test_what_stands_between_backticks_is_code_and_nothing_else_is() -> None:
    assert prose("no code") == "no code"
    assert prose("one ` alone") == "one ` alone"
    first, code, last = prose("run `analyze <b>` again")
    assert (first, code.children, last) == ("run ", "analyze <b>", " again")
    assert isinstance(code, html.Code)


@every_panel
def test_no_panel_shows_a_backtick_of_ours(panel: Panel, tmp_path: Path) -> None:
    for run in (_run(), read_run(tmp_path), _run(report=an_empty_report(), sides=())):
        assert "`" not in _text(panel, run)


def test_the_page_does_not_tell_to_open_itself(tmp_path: Path) -> None:
    run = _run(folder=str(tmp_path), report=a_report(next_command="analyze dashboard runs/x"))
    assert "Change the model" in _text(next_command.PANEL, run)
    (tmp_path / next_command.PLAN_FILE).write_text("{}")
    text = _text(next_command.PANEL, run)
    assert "analyzer.optimize(model" in text
    assert "analyze dashboard" not in text


def test_the_verdict_table_has_a_row_for_each_region_with_its_bar() -> None:
    (table, legend) = verdicts.build(_run())
    rows = table.children.children[1].children
    labels = [row.children[0].children for row in rows]
    assert [label.children for label in labels] == ["gptlite.py:41", "gap gptlite.py:57", "gptlite.py:88"]
    assert labels[0].href == f"#page=graphs&graph={a_key(1)}"
    assert rows[0].children[1].children == "CPU 92 % → memory 92 %"
    widths = [float(span.style["width"].removesuffix("%")) for span in rows[0].children[3].children.children]
    assert sum(widths) == pytest.approx(100, abs=0.01)
    assert "starved" in json.dumps(legend, cls=PlotlyJSONEncoder)


def test_a_thousand_graphs_are_cut_and_counted() -> None:
    graphs = tuple(a_graph(f"m.py:{n}", n) for n in range(1, 1_001))
    text = _text(verdicts.PANEL, _run(report=a_report(graphs=graphs, eager_gaps=())))
    assert f"and {1_000 - verdicts.MAX_ROWS} shorter ones" in text


def test_one_timeline_is_shown_without_the_other_and_says_why() -> None:
    text = _text(timelines.PANEL, _run(sides=(_SIDES[0], Side("after", None, "no plan was measured"))))
    assert "after: no plan was measured" in text
    assert f'"{timelines.CANVAS_ID}"' in text


def test_without_any_timeline_there_is_no_canvas_to_fill() -> None:
    text = _text(timelines.PANEL, _run(sides=(Side("recorded", None, "it holds no event"),)))
    assert timelines.CANVAS_ID not in text
    assert "recorded: it holds no event" in text


def test_every_page_has_a_panel() -> None:
    assert {panel.page for panel in PANELS} == set(Page)

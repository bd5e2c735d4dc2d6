"""The critical path of a recorded trace, on the first page and in the page that is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import pytest
from plotly.utils import PlotlyJSONEncoder

from analyzer.core.critical_path import CriticalPath, PathKind, PathRow
from analyzer.reporting.html import render
from analyzer.reporting.renderer import Page
from dashboard.panels.critical_path import MOST_ROWS, PANEL, row_cells
from dashboard.run_folder import RunData, read_target
from tests.reports import a_report
from tests.unit.dashboard.runs import HOSTILE, a_recording
from tests.unit.reporting.test_path_text import LOST, PATH


def a_run(path: CriticalPath | None) -> RunData:
    return RunData("trace.json", a_report(is_recorded=True, critical_path=path), None, ())


def _text(path: CriticalPath | None) -> str:
    return json.dumps(PANEL.build(a_run(path)), cls=PlotlyJSONEncoder, ensure_ascii=False)


def test_it_says_what_the_path_leads_through_and_what_is_most_on_it() -> None:
    text = _text(PATH)
    assert "host 61 %, kernels 30 %, launch delay 9 % of 10.0 ms (2 steps)" in text
    assert text.index("aten::mm") < text.index("gemm") < text.index("cudaLaunchKernel")
    assert row_cells(PATH)[0] == ("aten::mm", "host", 4_000_000, 0.4, 12)


def test_a_recorded_trace_has_it_where_a_run_of_a_model_has_none(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    a_recording().save(trace)
    run = read_target(trace)
    assert run.report is not None
    assert run.report.critical_path is not None
    assert PANEL.applies(run)
    assert not PANEL.applies(a_run(None))
    assert not PANEL.applies(replace(run, report=None))


def test_one_that_is_not_known_says_why() -> None:
    assert PANEL.applies(a_run(LOST))
    assert "nothing was recorded" in _text(LOST)


def test_many_rows_are_cut_and_names_are_text() -> None:
    path = replace(PATH, rows=tuple(PathRow(f"{HOSTILE}{n}", PathKind.HOST, 100, 1) for n in range(30)))
    assert len(row_cells(path)) == MOST_ROWS
    page = render(a_report(is_recorded=True, critical_path=path), Page())
    assert "&lt;img src=x" in page
    assert "<img" not in page


@pytest.mark.parametrize(
    ("path", "said"), [(PATH, "launch delay 9 % of 10.0 ms"), (LOST, "nothing was recorded"), (None, None)]
)
def test_the_page_that_is_kept_has_it_too(path: CriticalPath | None, said: str | None) -> None:
    page: Any = render(a_report(is_recorded=True, critical_path=path), Page())
    assert ("Critical path" in page) == (said is not None)
    assert said is None or said in page


def test_names_that_a_line_has_no_room_for_are_kept_in_full_in_a_fold_of_the_page() -> None:
    first, *others = PATH.rows
    long = "f<" + "float, " * 40 + HOSTILE + ">"
    page = render(
        a_report(is_recorded=True, critical_path=replace(PATH, rows=(replace(first, name=long), *others))), Page()
    )
    fold = page.partition("Its name in full")[2].partition("</details>")[0]
    assert escape(long) in fold
    assert fold.count("<li>") == 1
    assert "in full" not in render(a_report(is_recorded=True, critical_path=PATH), Page())

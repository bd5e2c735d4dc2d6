"""The dashboard in a notebook: one server for what is the same, ended by `close`."""

from __future__ import annotations

import os
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import analyzer
from analyzer.core.errors import MissingExtraError, UnreadableFileError
from analyzer.reporting.json import report_at, write_report
from dashboard import app as app_module
from dashboard import inline
from dashboard.inline import InlineDashboard, folder_of, show
from tests.reports import a_report
from tests.unit.dashboard.runs import a_run_folder


@pytest.fixture
def shown() -> Iterator[list[InlineDashboard]]:
    made: list[InlineDashboard] = []
    yield made
    for one in made:
        one.close()


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=120) as answer:
        return str(answer.read().decode())


def test_it_is_public_and_serves_a_run_folder_until_it_is_closed(tmp_path: Path, shown: list[InlineDashboard]) -> None:
    assert analyzer.dashboard is show
    one = show(a_run_folder(tmp_path))
    shown.append(one)
    assert one.url.startswith("http://127.0.0.1:")
    assert "gptlite.py:41" in _get(f"{one.url}_dash-layout")
    assert "before: step" in _get(f"{one.url}report.html")
    one.close()
    one.close()
    with pytest.raises(OSError, match=r"refused|reset"):
        _get(one.url)


def test_a_second_call_for_the_same_run_reuses_it_and_a_changed_one_is_read_again(
    tmp_path: Path, shown: list[InlineDashboard]
) -> None:
    folder = a_run_folder(tmp_path)
    first, second = show(folder), show(str(folder), height_px=300)
    shown += [first, second]
    assert first.url == second.url
    assert "height:300px" in second._repr_html_()
    write_report(a_report(headline="another one"), folder / "report.json")
    os.utime(folder / "report.json", ns=(1, 1))
    third = show(folder)
    shown.append(third)
    assert third.url != first.url
    assert "another one" in _get(f"{third.url}_dash-layout")


def test_a_folder_of_runs_is_served_with_its_newest(tmp_path: Path, shown: list[InlineDashboard]) -> None:
    for day, name in enumerate(("first", "second"), start=1):
        (tmp_path / name).mkdir()
        a_run_folder(tmp_path / name)
        os.utime(tmp_path / name / "report.json", (day, day))
    one = show(tmp_path)
    shown.append(one)
    assert "second" in _get(one.url)


def test_a_report_alone_says_how_to_see_its_timelines(shown: list[InlineDashboard]) -> None:
    first, again, other = show(a_report()), show(a_report()), show(a_report(headline="another one"))
    shown += [first, again, other]
    assert first.url == again.url != other.url
    assert "A report holds no trace." in _get(f"{first.url}_dash-layout")


def test_a_report_whose_folder_is_still_the_same_is_shown_from_there(tmp_path: Path) -> None:
    folder = tmp_path / "my run"
    folder.mkdir()
    a_run_folder(folder)
    report = a_report(next_command=f"analyze dashboard '{folder}'", headline="of this run")
    assert folder_of(report) is None, "another report lies there"
    write_report(report, folder / "report.json")
    assert folder_of(report) == folder
    assert inline._identity(report) == inline._identity(folder)
    assert folder_of(a_report(next_command=f"analyze dashboard '{folder}", headline="x")) is None
    assert folder_of(a_report(next_command="analyze model.py")) is None
    assert folder_of(a_report(next_command="analyze dashboard a b")) is None


def test_a_loaded_report_is_shown_with_its_timelines_wherever_its_folder_was_moved(tmp_path: Path) -> None:
    a_run_folder(tmp_path)
    write_report(a_report(next_command="analyze dashboard runs/gone"), tmp_path / "report.json")
    assert folder_of(report_at(tmp_path)) == tmp_path


def test_what_is_not_there_or_empty_is_an_error_and_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inline, "make_server", lambda *_: pytest.fail("it was started"))
    with pytest.raises(UnreadableFileError, match="no such run folder"):
        show(tmp_path / "nowhere")
    with pytest.raises(UnreadableFileError):
        show(tmp_path)
    monkeypatch.setattr(app_module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="dash"):
        show(a_report())


def test_a_cell_shows_a_frame_and_what_to_do_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    one = InlineDashboard('http://127.0.0.1:5/"><script>', 700, lambda: None)
    assert "<script>" not in one._repr_html_()
    html = InlineDashboard("http://127.0.0.1:5/", 700, lambda: None)._repr_html_()
    assert html.startswith('<iframe src="http://127.0.0.1:5/" title="Graphbound dashboard"')
    assert "ssh -L 5:127.0.0.1:5 HOST" in html
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    html = InlineDashboard("http://127.0.0.1:5/", 700, lambda: None)._repr_html_()
    assert "output.serve_kernel_port_as_iframe(5, height=820)" in html
    assert "stops it" in repr(one)

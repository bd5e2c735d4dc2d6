"""`--format html:FILE`, and `report.html` beside a report: with the timeline where there is a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.cli import main
from analyzer.commands.command import FORMATS
from analyzer.reporting.renderers import renderer
from dashboard import report_timeline
from tests.unit.dashboard.runs import a_recording, a_run_folder


def test_a_saved_run_is_written_with_its_timelines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, page = a_run_folder(tmp_path), tmp_path / "sent" / "page.html"
    assert main(["show", str(folder), "--format", f"terminal,html:{page}"]) == 0
    assert "gptlite" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert "before: step 1 of 2" in text
    assert "after: step 1 of 2" in text
    assert main(["show", str(folder / "report.json"), "--format", "html"]) == 0
    assert capsys.readouterr().out == text


def test_no_trace_is_read_for_another_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_timeline, "steps_of_run", lambda _: pytest.fail("a trace was read"))
    assert main(["show", str(a_run_folder(tmp_path)), "--format", f"json:{tmp_path / 'again.json'}"]) == 0


def test_the_demo_has_a_page_without_a_timeline(tmp_path: Path) -> None:
    assert main(["demo", "--format", f"html:{tmp_path / 'demo.html'}"]) == 0
    assert "This page was written without a trace." in (tmp_path / "demo.html").read_text(encoding="utf-8")


def test_a_recorded_trace_leaves_a_page_beside_its_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_recording().save(tmp_path / "trace.json.gz")
    out = tmp_path / "out"
    assert main([str(tmp_path / "trace.json.gz"), "--out", str(out), "-q", "--no-cache"]) == 0
    assert {path.name for path in out.iterdir()} == {"report.json", "report.html"}
    text = (out / "report.html").read_text(encoding="utf-8")
    assert "recorded: step 1 of 2, of median length" in text
    assert main([str(tmp_path / "trace.json.gz"), "-q", "--no-cache", "--format", f"html:{tmp_path / 'p.html'}"]) == 0
    assert (tmp_path / "p.html").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("format_id", [one for one in FORMATS if one != "terminal"])
def test_every_format_shows_what_a_check_found_and_several_models(format_id: str) -> None:
    assert renderer(format_id).render_gate is not None
    assert renderer(format_id).render_runs is not None

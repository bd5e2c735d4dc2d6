"""Each format goes where it was asked to go, and a runner of GitHub is told without being asked."""

from __future__ import annotations

import json
import re
from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from analyzer.cli import main
from analyzer.commands import output
from analyzer.commands.command import Output, outputs
from analyzer.commands.output import print_gate, print_report, refuse_mixed
from analyzer.core.errors import UsageError
from analyzer.reporting.json import write_report
from analyzer.reporting.markdown import MARKER
from tests.gate_results import a_gate
from tests.reports import a_finding, a_report, at

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The summary's file of a GitHub runner whose checkout is the working directory."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    return summary


def test_formats_are_asked_for_by_name_and_file() -> None:
    assert outputs("github,markdown:out/c.md") == (Output("github"), Output("markdown", "out/c.md"))
    with pytest.raises(ArgumentTypeError, match=r"no format 'sarfi'.*did you mean sarif"):
        outputs("sarfi")
    with pytest.raises(ArgumentTypeError, match="names no file"):
        outputs("json:")


def test_several_formats_are_written_at_once(tmp_path: Path, capsys: Captured) -> None:
    write_report(a_report(), tmp_path / "report.json")
    files = {name: tmp_path / "new" / name for name in ("sarif", "junit", "markdown")}
    asked = ",".join(f"{name}:{file}" for name, file in files.items())
    assert main(["show", str(tmp_path), "--format", asked, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["workload"]["name"] == "gptlite"
    assert json.loads(files["sarif"].read_text())["version"] == "2.1.0"
    assert files["junit"].read_text().startswith("<?xml")
    assert files["markdown"].read_text().startswith("### 2.8× faster")


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        print_report(a_report(), (Output("json", str(tmp_path)),))


def test_a_document_shares_stdout_with_nothing(tmp_path: Path, capsys: Captured) -> None:
    refuse_mixed((Output("json"), Output("terminal", "a.txt")))
    refuse_mixed((Output("terminal"), Output("github")))
    with pytest.raises(UsageError, match="terminal and json cannot share stdout"):
        refuse_mixed((Output("terminal"), Output("json")))
    assert main(["missing.py", "--format", "json,sarif"]) == 2
    assert "cannot share stdout" in capsys.readouterr().err


def test_two_formats_cannot_be_written_into_one_file(tmp_path: Path, capsys: Captured) -> None:
    refuse_mixed((Output("json", "a.json"), Output("sarif", "b.sarif")))
    with pytest.raises(UsageError, match="json and sarif cannot share"):
        refuse_mixed((Output("json", "a"), Output("sarif", "./a")))
    assert main(["check", "missing.py", "--format", "json:a,sarif:a"]) == 2
    assert "a file of its own" in capsys.readouterr().err


def test_off_a_runner_nothing_is_announced(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    print_report(a_report(), None)
    assert "::" not in capsys.readouterr().out
    assert not (tmp_path / "summary.md").exists()


def test_a_runner_gets_annotations_and_a_summary_unasked(runner: Path, capsys: Captured) -> None:
    where = at(f"{runner.parent}/net/model.py:3")
    print_report(a_report(findings=(a_finding(where=where),)), None)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("::warning file=net/model.py,line=3,")]
    assert runner.read_text().startswith("### 2.8× faster")
    print_report(a_report(), None)
    assert runner.read_text().count(MARKER) == 2


def test_text_for_people_gives_the_runner_no_command(runner: Path, capsys: Captured) -> None:
    print_report(a_report(findings=(a_finding(message="::stop-commands::x", remedy="::error::boom"),)), None)
    out = capsys.readouterr().out
    begin = re.match(r"::stop-commands::([0-9a-f]{32})\n", out)
    assert begin is not None
    text, _, after = out[begin.end() :].partition(f"\n::{begin[1]}::\n")
    assert "::error::boom" in text
    assert [line.split(" ")[0] for line in after.splitlines()] == ["Graphbound:", "::warning"]


def test_annotations_do_not_spoil_a_document(runner: Path, capsys: Captured) -> None:
    print_report(a_report(), (Output("json"),))
    captured = capsys.readouterr()
    assert json.loads(captured.out)["workload"]["name"] == "gptlite"
    assert "::warning " in captured.err


def test_annotations_that_were_asked_for_come_once(runner: Path, capsys: Captured) -> None:
    print_report(a_report(), (Output("github"),))
    captured = capsys.readouterr()
    assert (captured.out + captured.err).count("::warning ") == 1


def test_a_full_or_unwritable_summary_is_no_failure(
    runner: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner.write_text("x" * (output.SUMMARY_BYTES - 100))
    print_report(a_report(), None)
    assert runner.stat().st_size == output.SUMMARY_BYTES - 100
    assert "the summary of this step is full" in capsys.readouterr().err
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(runner.parent))
    print_report(a_report(), None)
    assert "cannot write the summary" in capsys.readouterr().err


def test_the_demo_announces_nothing(runner: Path, capsys: Captured) -> None:
    assert main(["demo"]) == 0
    captured = capsys.readouterr()
    assert "::warning" not in captured.out + captured.err
    assert not runner.exists()


def test_a_gate_is_written_in_each_format_and_the_terminals_text_is_the_commands(
    runner: Path, tmp_path: Path, capsys: Captured
) -> None:
    print_gate(a_gate(), (Output("terminal"), Output("json", "gate.json")), "1 gate failed\n")
    out = capsys.readouterr().out
    assert "\n1 gate failed\n" in out
    assert "::error " in out
    found = json.loads((tmp_path / "gate.json").read_text())
    assert (found["passed"], found["exit_code"]) == (False, 1)
    assert found["models"][0]["report"]["workload"]["name"] == "gptlite"
    assert found["models"][0]["checks"][0]["status"] == "failed"
    assert runner.read_text().startswith("### 1 new graph break")


@pytest.mark.parametrize(
    ("file", "why"),
    [("there", "it is a folder"), ("a_file/x.json", "is no folder"), ("a_file/deep/x.json", "is no folder")],
)
def test_a_file_that_cannot_be_written_is_told_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], file: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    (tmp_path / "a_file").write_text("")
    monkeypatch.setattr("analyzer.checking.check.run_check", lambda *_: pytest.fail("it ran"))
    assert main(["check", "m.py", f"--format=terminal,json:{file}"]) == 2
    error = capsys.readouterr().err
    assert f"cannot write {file}: " in error
    assert why in error
    assert "name another file: --format json:FILE" in error


def test_a_file_that_cannot_be_written_after_all_costs_no_other_and_no_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").mkdir()
    asked = [Output("terminal"), Output("json", str(tmp_path / "taken")), Output("markdown", str(tmp_path / "m.md"))]
    with pytest.raises(UsageError, match="cannot write"):
        print_gate(a_gate(), asked, "the whole result\n")
    assert capsys.readouterr().out == "the whole result\n"
    assert (tmp_path / "m.md").read_text().startswith("### ")

"""Several models in one command: each alone, one summary, the worst exit code, nothing begun in vain."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from analyzer.cli import main
from analyzer.commands import several
from analyzer.core.errors import INTERRUPTED, ExitCode, InternalError, UserProgramError
from analyzer.core.graphs import SourceLine
from analyzer.core.report import Report
from analyzer.core.run import Finished
from analyzer.core.settings import RunSettings
from analyzer.reporting import renderers
from tests.reports import a_report

Captured = pytest.CaptureFixture[str]
Fate = Report | BaseException | Finished
POLICY = '[tool.graphbound]\nmodels = ["nets/a.py", "b.py"]\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with three models, in which one stands."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "nets").mkdir()
    for name in ("nets/a.py", "b.py", "c.py"):
        (tmp_path / name).write_text("# a model\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fates(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, Fate]], list[RunSettings]]:
    """`fates({"a": …})` stands in for the pipeline: what becomes of each model, by the name of its file."""

    def install(of: Mapping[str, Fate]) -> list[RunSettings]:
        begun: list[RunSettings] = []

        def run(settings: RunSettings, progress: Any) -> Finished:
            begun.append(settings)
            out = Path(settings.out or "")
            out.mkdir(parents=True)
            fate = of.get(Path(settings.workload.target).stem, a_report())
            if isinstance(fate, BaseException):
                raise fate
            return fate if isinstance(fate, Finished) else Finished(fate, ExitCode.OK, out)

        module = ModuleType("analyzer.pipeline")
        module.run = run  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "analyzer.pipeline", module)
        return begun

    return install


def test_each_model_has_a_run_folder_and_a_line(project: Path, fates: Any, capsys: Captured) -> None:
    begun = fates({})
    assert main(["nets/a.py", "b.py", "-q"]) == 0
    assert [settings.workload.target for settings in begun] == ["nets/a.py", "b.py"]
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "2 models: 2 faster with their plans"
    lines = {line.split()[0]: line for line in said if line.startswith(("nets/a.py", "b.py"))}
    for name, settings in zip(("nets/a.py", "b.py"), begun, strict=True):
        assert "CPU" in lines[name]
        assert "FASTER, 2.8" in lines[name]
        assert lines[name].endswith(str(settings.out))
        assert Path(settings.out or "").parent == Path("runs")
    assert said[-1] == "analyze nets/a.py b.py -q"


def test_files_of_one_name_have_folders_of_their_own(project: Path, fates: Any, capsys: Captured) -> None:
    (project / "a.py").write_text("")
    begun = fates({})
    assert main(["nets/a.py", "a.py", "-q"]) == 0
    assert main(["nets/a.py", "a.py", "--out", "kept", "-q"]) == 0
    outs = [str(settings.out) for settings in begun]
    assert len(set(outs)) == 4
    assert outs[2:] == ["kept/a", "kept/a-2"]


@pytest.mark.parametrize(
    ("fate", "code", "said"),
    [
        (UserProgramError("Net.forward raised", hint="see b.py:3"), 3, "Net.forward raised (see b.py:3)"),
        (InternalError("we are lost"), 4, "we are lost"),
        (ZeroDivisionError("by zero"), 4, "Graphbound itself failed: ZeroDivisionError: by zero"),
    ],
)
def test_what_becomes_of_one_costs_that_one_alone(
    project: Path, fates: Any, capsys: Captured, fate: BaseException, code: int, said: str
) -> None:
    begun = fates({"a": fate})
    assert main(["nets/a.py", "b.py", "-q"]) == code
    assert len(begun) == 2
    out = capsys.readouterr().out
    assert out.startswith("2 models: 1 faster with its plan, 1 did not run")
    assert said in out


def test_where_a_model_failed_is_in_every_form(project: Path, fates: Any, capsys: Captured) -> None:
    line = SourceLine(str(project / "b.py"), 3, "forward")
    fates({"a": UserProgramError("no line is known"), "b": UserProgramError("it raised", where=line)})
    main(["nets/a.py", "b.py", "-q", "--format", "github"])
    said = [text.partition("::")[2].partition(",title")[0] for text in capsys.readouterr().out.splitlines()]
    assert "error file=nets/a.py,line=1" in said
    assert "error file=b.py,line=3" in said


def test_a_fault_of_ours_leaves_its_traceback_in_the_run_folder(project: Path, fates: Any, capsys: Captured) -> None:
    begun = fates({"a": ZeroDivisionError("by zero")})
    assert main(["nets/a.py", "b.py", "-q"]) == 4
    file = Path(begun[0].out) / several.FAULT_FILE
    assert str(file) in capsys.readouterr().out
    assert "ZeroDivisionError: by zero" in file.read_text()


def test_the_exit_code_is_the_worst(project: Path, fates: Any) -> None:
    fates({"a": UserProgramError("x"), "b": InternalError("y")})
    assert main(["nets/a.py", "b.py", "c.py", "-q"]) == 4
    partial = Finished(a_report(partial="the process was lost"), ExitCode.USER_PROGRAM, Path("runs/b"))
    fates({"b": partial})
    assert main(["nets/a.py", "b.py", "-q"]) == 3


def test_a_partial_report_is_none_of_the_whole_ones(project: Path, fates: Any, capsys: Captured) -> None:
    fates({"b": Finished(a_report(partial="the process was lost"), ExitCode.USER_PROGRAM, Path("runs/b"))})
    main(["nets/a.py", "b.py", "-q"])
    out = capsys.readouterr().out
    assert out.startswith("2 models: 1 faster with its plan, 1 ended early")
    assert "→ the process was lost" in out


@pytest.mark.parametrize("is_saved", [True, False])
def test_ctrl_c_keeps_what_is_measured_and_begins_no_more(
    project: Path, fates: Any, capsys: Captured, is_saved: bool
) -> None:
    ended = KeyboardInterrupt()
    report = a_report(partial="interrupted by Ctrl-C")
    begun = fates({"b": Finished(report, INTERRUPTED, Path("runs/b"), ended) if is_saved else ended})
    assert main(["nets/a.py", "b.py", "c.py", "-q"]) == INTERRUPTED
    assert [Path(settings.workload.target).stem for settings in begun] == ["a", "b"]
    out = capsys.readouterr().out
    assert "1 faster with its plan" in out
    assert "not begun: interrupted by Ctrl-C before" in out


def test_without_a_target_the_models_of_the_policy_are_run(project: Path, fates: Any, capsys: Captured) -> None:
    (project / "pyproject.toml").write_text(POLICY)
    begun = fates({})
    (project / "sub").mkdir()
    with pytest.MonkeyPatch.context() as moved:
        moved.chdir(project / "sub")
        assert main(["-q"]) == 0
    assert [Path(settings.workload.target) for settings in begun] == [project / "nets/a.py", project / "b.py"]
    assert "\nnets/a.py " in capsys.readouterr().out, "called what the policy calls it"


def test_one_model_of_the_policy_is_a_run_like_any_other(project: Path, fates: Any, capsys: Captured) -> None:
    (project / "graphbound.toml").write_text('models = ["b.py"]\n')
    fates({})
    assert main(["-q"]) == 0
    assert capsys.readouterr().out.startswith("gptlite · inference")


def test_without_a_target_and_a_policy_nothing_is_guessed(project: Path, capsys: Captured) -> None:
    assert main([]) == 2
    err = capsys.readouterr().err
    assert "what should be analysed?" in err
    assert "[tool.graphbound]" in err
    (project / "pyproject.toml").write_text('[tool.graphbound]\nmodel = ["b.py"]\n')
    assert main([]) == 2
    assert "model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["b.py", "trace.json.gz"], "trace.json.gz is a recorded trace, and b.py a model to be run"),
        (["a.json.gz", "b.json.gz"], "2 recorded traces: one command takes one"),
        (["b.py", "absent.py"], "no such file: absent.py"),
        (["b.py", "notes.txt"], "no such file: notes.txt"),
        (["b.py", "c.py", "--plan", "p.json"], "--plan: for one model alone, and 2 were asked for"),
        (["b.py", "c.py", "--dashboard", "--no-isolate"], "--dashboard, --no-isolate: for one model alone"),
        (["b.py", "c.py", "--batch", "4"], "--batch cannot change b.py"),
        (["b.py", "saved"], "saved is a run folder"),
        (["b.py", "c.py", "--format", "json,markdown"], "cannot share stdout"),
    ],
)
def test_what_cannot_be_is_said_before_anything_runs(
    project: Path, fates: Any, capsys: Captured, words: list[str], message: str
) -> None:
    (project / "saved").mkdir()
    (project / "saved" / "report.json").write_text("{}")
    begun = fates({})
    assert main(words) == 2
    assert message in capsys.readouterr().err
    assert not begun


def test_a_configuration_named_json_is_a_model_beside_others_too(project: Path, fates: Any) -> None:
    assert len(begun := fates({})) == 0
    assert main(["hf:config.json", "b.py", "-q"]) == 0
    assert len(begun) == 2


def test_a_format_that_holds_one_report_is_refused_before_anything_runs(
    project: Path, fates: Any, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    single = tuple(replace(r, render_runs=None) if r.id == "gitlab" else r for r in renderers.RENDERERS)
    monkeypatch.setattr(renderers, "RENDERERS", single)
    begun = fates({})
    assert main(["b.py", "c.py", "--format", "terminal,gitlab:q.json"]) == 2
    err = capsys.readouterr().err
    assert "gitlab can hold one report alone, and several models were asked for" in err
    assert "`analyze show RUN --format gitlab:FILE` writes it of each run folder" in err
    assert not begun
    # Of one model it is as good as any.
    assert main(["b.py", "-q", "--format", "gitlab:q.json"]) == 0


def test_a_model_that_is_named_twice_is_run_once(project: Path, fates: Any) -> None:
    begun = fates({})
    assert main(["b.py", "b.py", "-q"]) == 0
    assert len(begun) == 1


def test_the_formats_are_written_as_of_one_model(
    project: Path, fates: Any, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    fates({"b": UserProgramError("Net.forward raised")})
    assert main(["nets/a.py", "b.py", "-q", "--format", "json,markdown:c.md,sarif:o/s.sarif"]) == 3
    printed = json.loads(capsys.readouterr().out)
    assert [(m["name"], m["exit_code"], m["report"] is None) for m in printed["models"]] == [
        ("nets/a.py", 0, False),
        ("b.py", 3, True),
    ]
    assert (printed["exit_code"], printed["models"][1]["error"]) == (3, "Net.forward raised")
    assert (project / "c.md").read_text().startswith("### 2 models: 1 faster with its plan, 1 did not run")
    assert json.loads((project / "o" / "s.sarif").read_text())["version"] == "2.1.0"


def test_a_runner_is_told_of_all_of_them_unasked(
    project: Path, fates: Any, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project / "summary.md"))
    fates({"b": UserProgramError("Net.forward raised")})
    assert main(["nets/a.py", "b.py", "-q"]) == 3
    assert "::error file=b.py,line=1,title=b.py%2C did_not_run::Net.forward raised" in capsys.readouterr().out
    assert "Net.forward raised" in (project / "summary.md").read_text()

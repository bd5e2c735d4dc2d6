"""The command line: what it asks of the pipeline, and how everything that can go wrong is told."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import pytest

from analyzer.cli import main
from analyzer.commands.analyze import run_name
from analyzer.commands.argument_types import byte_count, duration
from analyzer.commands.command_list import COMMANDS
from analyzer.core.errors import INTERRUPTED, ExitCode, InternalError, UserProgramError
from analyzer.core.report import Report
from analyzer.core.run import Finished, LostChildError
from analyzer.core.settings import DimRange, Export, Mode, Objective, RunSettings
from analyzer.reporting.json import encode_report, write_report
from tests.reports import a_report

Run = Callable[[RunSettings, Any], Report]


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], None]:
    """`pipeline(run)` stands in for the real one, which would need torch."""

    def install(run: Run) -> None:
        module = ModuleType("analyzer.pipeline")
        module.run = lambda settings, progress: _finished(run(settings, progress))  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "analyzer.pipeline", module)

    return install


def _finished(report: Report) -> Finished:
    return Finished(report, INTERRUPTED if report.partial else ExitCode.OK, Path("runs/x"))


def _settings(pipeline: Callable[[Run], None], *words: str) -> RunSettings:
    seen: list[RunSettings] = []

    def run(settings: RunSettings, progress: Any) -> Report:
        seen.append(settings)
        return a_report()

    pipeline(run)
    assert main(words) == 0
    return seen[0]


def _raising(error: BaseException) -> Run:
    def run(settings: RunSettings, progress: Any) -> Report:
        raise error

    return run


def test_the_defaults_are_those_of_the_settings(pipeline: Callable[[Run], None]) -> None:
    settings = _settings(pipeline, "examples/gptlite.py")
    assert settings.workload.target == "examples/gptlite.py"
    assert settings.workload.mode is Mode.INFERENCE
    assert settings.workload.device is None
    assert settings.optimize
    assert settings.isolate
    assert settings.candidates == ()
    assert settings.compile_timeout_s == 120.0
    assert (settings.budget_s, settings.memory_limit_bytes, settings.plan, settings.export) == (None, None, None, None)
    assert (settings.objective, settings.backends, settings.allow) == (Objective.LATENCY, (), ())
    assert settings.out is not None
    assert Path(settings.out).parent == Path("runs")
    assert Path(settings.out).name.startswith("gptlite-")


def test_every_flag_reaches_the_pipeline(pipeline: Callable[[Run], None]) -> None:
    words = "hf:cfg --entry make --mode training --device cpu --batch 4 --dtype bfloat16 --shape 1x3x224x224 --out o"
    more = "--no-optimize --candidates fused,cuda_graphs --compile-timeout 7.5 --no-isolate -q"
    settings = _settings(pipeline, *words.split(), *more.split())
    spec = settings.workload
    assert (spec.target, spec.entry, spec.mode, spec.device) == ("hf:cfg", "make", Mode.TRAINING, "cpu")
    assert (spec.batch, spec.dtype, spec.shape) == (4, "bfloat16", (1, 3, 224, 224))
    assert (settings.out, settings.optimize, settings.isolate) == ("o", False, False)
    assert (settings.candidates, settings.compile_timeout_s) == (("fused", "cuda_graphs"), 7.5)


def test_every_flag_of_the_search_and_of_production_reaches_the_pipeline(pipeline: Callable[[Run], None]) -> None:
    words = "m.py --budget 2m --objective memory --memory-limit 4GiB --allow bf16,tf32,bf16 --plan p.json --export aoti"
    settings = _settings(pipeline, *words.split(), "--backend", "a", "--backend", "b", "--backend", "a", "-q")
    assert (settings.budget_s, settings.objective, settings.memory_limit_bytes) == (120.0, Objective.MEMORY, 4 * 2**30)
    assert settings.backends == ("a", "b")
    assert settings.allow == ("tf32", "bf16")
    assert (settings.plan, settings.export) == ("p.json", Export.AOTI)


def test_sizes_that_change_are_ranges_of_a_files_inputs_too(pipeline: Callable[[Run], None]) -> None:
    spec = _settings(pipeline, "a.py", "--shape", "0:1-64,0.1:16-512,mask.1:16-512").workload
    assert spec.shape is None
    assert spec.ranges == (DimRange(0, 0, 1, 64), DimRange(0, 1, 16, 512), DimRange("mask", 1, 16, 512))
    assert ",".join(map(str, spec.ranges)) == "0:1-64,0.1:16-512,mask.1:16-512"


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90.0), ("90s", 90.0), ("2m", 120.0), ("1.5h", 5400.0), ("2 min", 120.0), (".5m", 30.0)]
)
def test_a_time_has_a_unit_or_is_in_seconds(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "count"), [("4GiB", 4 * 2**30), ("512MiB", 512 * 2**20), ("2.5GB", 2_500_000_000), ("80 GB", 80 * 10**9)]
)
def test_memory_is_in_binary_or_decimal_units(text: str, count: int) -> None:
    assert byte_count(text) == count


def test_the_report_goes_to_stdout_and_nothing_else_does(
    pipeline: Callable[[Run], None], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    def run(settings: RunSettings, progress: Any) -> Report:
        progress.stage("capture")
        return a_report()

    pipeline(run)
    assert main(["m.py", "--format", "json"]) == 0
    captured = capsysbinary.readouterr()
    assert captured.out == encode_report(a_report())
    assert b"capture" in captured.err


def test_quiet_says_nothing_on_stderr(pipeline: Callable[[Run], None], capsys: pytest.CaptureFixture[str]) -> None:
    def run(settings: RunSettings, progress: Any) -> Report:
        progress.stage("capture")
        return a_report()

    pipeline(run)
    assert main(["m.py", "-q"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["m.py", "--no-such"], "unrecognized arguments: --no-such"),
        (["m.py", "--mode", "both"], "invalid choice: 'both'"),
        (["hf:x", "--shape", "1x-3"], "'1x-3' is not a shape like 1x3x224x224"),
        (["a.py", "--shape", "0:64-1"], "'0:64-1' is no range of sizes"),
        (["a.py", "--shape", "0.:1-64"], "'0.:1-64' is no range of sizes"),
        (["a.py", "--shape", "1x3"], "--shape cannot change a.py"),
        (["hf:x", "--batch", "0"], "'0' is not a whole number above 0"),
        (["m.py", "--compile-timeout", "nan"], "'nan' is not a number of seconds above 0"),
        (["m.py", "--candidates", "a,,b"], "'a,,b' is not a list"),
        (["m.py", "--budget", "2 weeks"], "'2 weeks' is not a time like 90s, 2m or 1.5h"),
        (["m.py", "--budget", "0"], "'0' is not a time"),
        (["m.py", "--budget", "9" * 400], "is not a time"),
        (["m.py", "--budget", "-1"], "--budget"),
        (["m.py", "--memory-limit", "4"], "'4' is not an amount of memory like 4GiB"),
        (["m.py", "--memory-limit", "0GiB"], "'0GiB' is not an amount of memory"),
        (["m.py", "--memory-limit", "4gb"], "'4gb' is not an amount of memory"),
        (["m.py", "--objective", "beauty"], "invalid choice: 'beauty'"),
        (["m.py", "--allow", "tf32,tf33"], "no such change: tf33; choose of tf32, bf16"),
        (["m.py", "--export", "onnx"], "invalid choice: 'onnx'"),
        (["m.py", "--batch", "4"], "--batch cannot change m.py"),
        (["absent.trace.json.gz"], "absent.trace.json.gz"),
        (["a/trace.JSON"], "a/trace.JSON"),
        (["dashboard", ".", "--port", "70000"], "'70000' is not a port"),
        (["show"], "the following arguments are required: RUN"),
        (["show", "nowhere"], "nowhere: there is no report here"),
        (["dashboard", "nowhere"], "nowhere: there is no such run folder"),
    ],
)
def test_a_wrong_command_line_is_one_message_one_hint_and_code_2(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    error, hint = captured.err.splitlines()
    assert error.startswith("error: ")
    assert message in error
    assert hint.startswith("hint: ")


def test_a_run_folder_is_not_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_report(a_report(), tmp_path / "report.json")
    assert main([str(tmp_path)]) == 2
    assert f"analyze show {tmp_path}" in capsys.readouterr().err


def test_a_configuration_of_a_model_may_be_a_json_file(pipeline: Callable[[Run], None]) -> None:
    assert _settings(pipeline, "hf:config.json").workload.target == "hf:config.json"


def test_a_word_is_the_command_and_a_path_the_file(
    pipeline: Callable[[Run], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "show").touch()
    (tmp_path / "show.py").write_text("")
    assert _settings(pipeline, "./show").workload.target == "./show"
    assert _settings(pipeline, "show.py").workload.target == "show.py"
    assert main(["show"]) == 2
    assert "RUN" in capsys.readouterr().err


def test_the_users_failure_is_3_and_ours_4(pipeline: Callable[[Run], None], capsys: pytest.CaptureFixture[str]) -> None:
    pipeline(_raising(UserProgramError("model.py:3: ValueError: boom", hint="look at line 3")))
    assert main(["m.py"]) == 3
    assert capsys.readouterr().err.splitlines() == ["error: model.py:3: ValueError: boom", "hint: look at line 3"]
    pipeline(_raising(InternalError("lost the child")))
    assert main(["m.py"]) == 4


def test_what_nobody_foresaw_is_4_with_the_traceback_in_a_file(
    pipeline: Callable[[Run], None],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("GRAPHBOUND_DEBUG", raising=False)
    pipeline(_raising(ZeroDivisionError("boom")))
    assert main(["m.py"]) == 4
    err = capsys.readouterr().err
    (file,) = tmp_path.iterdir()
    assert err.splitlines()[0] == "error: Graphbound itself failed: ZeroDivisionError: boom"
    assert str(file) in err
    assert "Traceback" not in err
    assert "ZeroDivisionError: boom" in file.read_text()


def test_debugging_shows_the_traceback(
    pipeline: Callable[[Run], None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHBOUND_DEBUG", "1")
    pipeline(_raising(ZeroDivisionError("boom")))
    assert main(["m.py"]) == 4
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_gives_the_partial_report_and_130(
    pipeline: Callable[[Run], None], capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline(lambda settings, progress: a_report(partial="interrupted in trials"))
    assert main(["m.py", "-q"]) == 130
    assert "PARTIAL REPORT: interrupted in trials" in capsys.readouterr().out


def test_ctrl_c_before_the_run_began_ends_it(
    pipeline: Callable[[Run], None], capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline(_raising(KeyboardInterrupt()))
    assert main(["m.py", "-q"]) == 130
    assert capsys.readouterr().err == "interrupted by Ctrl-C\n"


def test_a_message_cannot_steer_the_terminal(
    pipeline: Callable[[Run], None], capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline(_raising(UserProgramError("one\n\x1b[2Jtwo")))
    assert main(["m.py", "-q"]) == 3
    assert capsys.readouterr().err == "error: one\n\\x1b[2Jtwo\n"


def test_the_dashboard_is_opened_on_the_run_folder_at_the_end(
    pipeline: Callable[[Run], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[tuple[Path, int | None, bool]] = []
    module = ModuleType("dashboard.app")
    module.serve = lambda run, port, open_browser, host: served.append((run, port, open_browser))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dashboard.app", module)
    _settings(pipeline, "m.py", "--out", "here", "--dashboard", "-q")
    assert served == [(Path("here"), None, True)]
    assert main(["dashboard", "there", "--port", "8080", "--no-open"]) == 0
    assert served[1] == (Path("there"), 8080, False)


def test_show_prints_a_saved_report_in_any_format(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    write_report(a_report(next_command=f"analyze dashboard {tmp_path}"), tmp_path / "report.json")
    assert main(["show", str(tmp_path)]) == 0
    assert capsysbinary.readouterr().out.splitlines()[-1] == f"analyze dashboard {tmp_path}".encode()
    assert main(["show", str(tmp_path / "report.json"), "--format", "json"]) == 0
    assert capsysbinary.readouterr().out == (tmp_path / "report.json").read_bytes()


def test_of_a_run_that_was_moved_show_names_where_it_is_now(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old").mkdir()
    monkeypatch.chdir(tmp_path)
    write_report(a_report(next_command="analyze dashboard old"), tmp_path / "old" / "report.json")
    (tmp_path / "old").rename(tmp_path / "my copy")
    for run in ("my copy", "my copy/report.json"):
        assert main(["show", run]) == 0
        assert capsys.readouterr().out.splitlines()[-1] == "analyze dashboard 'my copy'"


def test_the_readme_shows_what_the_demo_prints(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    assert f"```\n{capsys.readouterr().out}```" in (root / "README.md").read_text()


def test_the_demo_prints_the_bundled_report_or_says_that_it_is_missing(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("analyzer.commands.demo.resources.files", lambda package: tmp_path)
    assert main(["demo"]) == 4
    assert b"missing from this installation" in capsysbinary.readouterr().err
    (tmp_path / "demo").mkdir()
    write_report(a_report(), tmp_path / "demo" / "report.json")
    assert main(["demo", "--format", "json"]) == 0
    assert json.loads(capsysbinary.readouterr().out)["workload"]["name"] == "gptlite"


def test_the_doctor_prints_what_it_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    module = ModuleType("analyzer.doctor")
    module.run_doctor = lambda progress, renew=False: "all is well"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "analyzer.doctor", module)
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out == "all is well\n"


def test_help_and_version_end_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"analyze {command.name}" in text for command in COMMANDS)
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("graphbound ")
    for command in COMMANDS:
        assert main([command.name, "--help"]) == 0


def test_a_command_is_named_after_its_file() -> None:
    for command in COMMANDS:
        assert command.run.__module__ == f"analyzer.commands.{command.name}"


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("examples/gptlite.py", "gptlite"),
        ("hf:models/granite/", "granite"),
        ("timm:resnet50.a1_in1k", "resnet50.a1_in1k"),
        ("C:\\my models\\net work.py", "net_work"),
        ("../..", "run"),
    ],
)
def test_a_run_is_named_after_its_target(target: str, name: str) -> None:
    assert run_name(target, datetime(2026, 1, 2, 3, 4, 5)) == f"{name}-20260102-030405"


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    write_report(a_report(), tmp_path / "report.json")
    command = [sys.executable, "-m", "analyzer.cli", "show", str(tmp_path), "--format", "json"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_terminal_of_another_encoding_gets_what_it_can_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_report(a_report(headline="2.8× mödel"), tmp_path / "report.json")
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["show", str(tmp_path)]) == 0
    assert b"2.8x m?del" in raw.getvalue()


def test_a_full_disk_is_no_fault_of_ours(pipeline: Callable[[Run], None], capsys: pytest.CaptureFixture[str]) -> None:
    pipeline(_raising(OSError(errno.ENOSPC, "No space left on device", "runs/x/report.json")))
    assert main(["m.py", "-q"]) == ExitCode.USAGE
    assert capsys.readouterr().err == "error: cannot write runs/x/report.json: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_report_that_does_not_fit_its_stdout_says_so(tmp_path: Path) -> None:
    write_report(a_report(), tmp_path / "report.json")
    with open("/dev/full", "w") as full:
        done = _command(full, "show", str(tmp_path))
    assert done.returncode == ExitCode.USAGE
    assert done.stderr == "error: cannot write the output: No space left on device\n"


def test_without_stdout_and_stderr_there_is_nobody_to_tell(tmp_path: Path) -> None:
    write_report(a_report(), tmp_path / "report.json")
    command = 'exec "$0" -m analyzer.cli show "$1" >&- 2>&-'
    assert subprocess.run(["sh", "-c", command, sys.executable, str(tmp_path)], check=False).returncode == 0


def test_a_process_that_the_model_took_down_is_the_programs_failure(
    pipeline: Callable[[Run], None], capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline(_raising(LostChildError("the process that runs the model was ended by SIGABRT")))
    assert main(["m.py", "-q"]) == ExitCode.USER_PROGRAM


def _command(stdout: TextIO, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "analyzer.cli", *words]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


def test_what_ends_a_command_stands_beside_the_change_on_a_runner_of_github(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["missing.py"]) == ExitCode.USAGE
    assert "::error" not in capsys.readouterr().err
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert main(["100%\n::warning::missing.py"]) == ExitCode.USAGE
    assert main(["x\n \t::stop-commands::a\n##[warning]b.py"]) == ExitCode.USAGE
    said = capsys.readouterr().err
    commands = [line for line in said.splitlines() if line.lstrip().startswith("::")]
    assert not [line for line in said.splitlines() if "##[" in line and line not in commands]
    command, other = commands
    assert other.startswith("::error title=Graphbound::")
    assert command.startswith("::error title=Graphbound::no such file: 100%25")


@pytest.mark.parametrize(
    "words",
    [
        ("",),
        ("--out=", "net.py"),
        ("check", "net.py", "--out="),
        ("check", "net.py", "--baseline="),
        ("check", "net.py", "--budget-file="),
        ("check", "  "),
    ],
)
def test_a_variable_of_a_job_that_is_not_set_is_no_path(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == ExitCode.USAGE
    assert "nothing was given: is it a variable that is not set here?" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())

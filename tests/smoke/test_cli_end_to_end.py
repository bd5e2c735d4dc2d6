"""The real command on real models: the whole way, and what ends it early."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.errors import INTERRUPTED, ExitCode
from analyzer.reporting.json import read_report
from optimizers.plan import read_plan
from tests.smoke.models import FRAGILE, HANGS, RAISES, TALKS

LIMIT_S = 900
"""A run takes a minute or two; on a crowded machine it has taken five times as long."""
COMPILE_LIMIT_S = 120
"""A first compilation under the C++ wrapper builds torch's headers: 100 s on a machine of two cores with 13 to do."""
UNLIMITED = ("--compile-timeout", str(3 * LIMIT_S))
"""For runs that wait for ever: how long the tests before theirs take must not end them."""


@dataclass
class Cli:
    process: subprocess.Popen[str]
    folder: Path

    @property
    def out(self) -> Path:
        return self.folder / "run"

    def end(self) -> tuple[int, str, str]:
        output, errors = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, output, errors

    def report(self) -> Any:
        return json.loads((self.out / "report.json").read_text())


def start(root: Path, folder: Path, model: str, *flags: str, **files: str) -> Cli:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "net.py").write_text(model)
    for name, text in files.items():
        (folder / name).write_text(text)
    command = [sys.executable, "-m", "analyzer.cli", str(folder / "net.py"), "--device", "cpu", "--out"]
    process = subprocess.Popen(
        [*command, str(folder / "run"), *flags],
        cwd=folder,
        # One thread each: two run side by side, and where threads of both wait for each other a step of 70 µs takes
        # 16 ms, beside which no graph is worth a trial.
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1"}
        | _own_cache(folder, model),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return Cli(process, folder)


def _own_cache(folder: Path, model: str) -> dict[str, str]:
    """A graph that an earlier run left in Inductor's cache is not lowered again, and its compilation never waits."""
    return {"TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor")} if model is HANGS else {}


def is_gone(pid: int, within_s: float = 100.0) -> bool:
    """Whether no process is left in the group of the model's process."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            os.killpg(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


# -- the whole way ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Done:
    code: int
    output: str
    errors: str
    out: Path
    report: Any


@pytest.fixture(scope="module")
def fragile(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """Waits for half its time, so it runs beside the others and is looked at last."""
    flags = ("--candidates", "cpp_wrapper", "--compile-timeout", str(COMPILE_LIMIT_S))
    cli = start(root, tmp_path_factory.mktemp("fragile"), FRAGILE, *flags)
    yield cli
    cli.process.kill()
    cli.process.communicate()  # alone in a run, a test does not wait for it


@pytest.fixture(scope="module")
def done(root: Path, fragile: Cli, tmp_path_factory: pytest.TempPathFactory) -> Done:
    cli = start(root, tmp_path_factory.mktemp("whole"), TALKS)
    code, output, errors = cli.end()
    assert code == ExitCode.OK, output + errors
    return Done(code, output, errors, cli.out, cli.report())


@pytest.mark.slow
def test_it_leaves_a_report_a_plan_and_both_traces(done: Done) -> None:
    names = {path.name for path in done.out.iterdir()}
    assert {"report.json", "plan.json", "before.trace.json.gz", "after.trace.json.gz", "program.log"} <= names
    for name in ("before", "after"):
        trace = json.loads(gzip.decompress((done.out / f"{name}.trace.json.gz").read_bytes()))
        assert any("ProfilerStep#" in event.get("name", "") for event in trace["traceEvents"])
    assert "a graph break" in (done.out / "program.log").read_text()
    kept = {(code["key"], code["candidate"]) for code in done.report["generated_code"]}
    assert {(graph["key"], "fused") for graph in done.report["graphs"]} <= kept
    for code in done.report["generated_code"]:
        text = gzip.decompress((done.out / code["file"]).read_bytes())
        assert len(text) == code["kept_bytes"] == code["code_bytes"]
        assert b"def call(" in text or b"cpp_wrapper" in text


@pytest.mark.slow
def test_the_report_has_its_public_shape(done: Done) -> None:
    report = done.report
    assert {
        "schema", "headline", "device", "versions", "graphs", "eager_gaps", "findings", "comparison", "linked_share",
        "partial",
    } <= report.keys()  # fmt: skip
    assert report["schema"] == 1
    assert report["partial"] is None
    assert len(report["graphs"]) == 2
    for graph in report["graphs"]:
        assert {
            "key", "where", "direction", "verdict", "budget", "candidates", "chosen", "compile_ids", "ended_by",
        } <= graph.keys()  # fmt: skip
        assert {"bound", "confidence", "evidence"} <= graph["verdict"].keys()
        assert sum(part["ns"] for part in graph["budget"]["parts"]) == graph["budget"]["elapsed_ns"]
        tried = {c["candidate"]: c["outcome"] for c in graph["candidates"]}
        assert tried["cuda_graphs"] == "refused"
        # What is worth a trial, and what there is time for, is the machine's to say.
        assert set(tried.values()) <= {"measured", "refused", "untried", "timed out"}
        # None where another program held the machine while the graphs' own times were taken.
        assert all(c["measured_ns"] != 0 for c in graph["candidates"] if c["outcome"] == "measured")
        assert all(c["reason"] for c in graph["candidates"] if c["outcome"] != "measured")
        assert all({"predicted_ns", "measured_ns", "reason"} <= c.keys() for c in graph["candidates"])
    assert {"outcome", "before_ns", "after_ns", "ratio", "interval"} <= report["comparison"].keys()
    assert report["linked_share"] > 0.95
    assert len(report["eager_gaps"]) == 3


@pytest.mark.slow
def test_the_graph_break_is_found_at_its_line(done: Done) -> None:
    line = TALKS.splitlines().index('        print("a graph break", end="")') + 1
    (found,) = [f for f in done.report["findings"] if f["rule"] == "graph_break"]
    assert (Path(found["file"]).name, found["line"]) == ("net.py", line)
    # None where the machine changed in the run, or the gap is too short to be told from nothing: never 0.
    assert found["ns_per_step"] is None or found["ns_per_step"] > 0
    assert found["remedy"]
    first, second = done.report["graphs"]
    assert first["ended_by"]["where"]["line"] == line
    assert second["ended_by"] is None


@pytest.mark.slow
def test_the_plan_names_the_graphs_of_the_report(done: Done) -> None:
    plan = read_plan(done.out / "plan.json")
    chosen = {graph["key"]: graph["chosen"] for graph in done.report["graphs"]}
    assert {str(choice.key): choice.candidate for choice in plan.choices} == chosen
    assert plan.is_compiled or set(chosen.values()) == {"eager"}
    assert read_report(done.out / "report.json").headline == done.report["headline"]


@pytest.mark.slow
def test_the_terminal_report_fits_80_columns_and_ends_with_what_to_type_next(done: Done) -> None:
    lines = done.output.rstrip().splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert lines[-1].startswith("analyze dashboard ")
    assert "net.py:13" in done.output
    assert "trying candidates" in done.errors
    assert "a graph break" not in done.output.split("Findings")[0]


# -- the end before the end -------------------------------------------------------------------------------------------

STAGES = {
    "loading": "loading the model",
    "compiling": "compiling with torch.compile's defaults",
    "searching": "trying candidates",
}


@pytest.fixture(scope="module")
def waiting(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Cli]]:
    """Runs that wait for ever in different stages, started side by side."""
    folder = tmp_path_factory.mktemp("waiting")
    # Asked for, so that it is tried whatever the machine makes it look worth.
    flags = (*UNLIMITED, "--candidates", "cpp_wrapper")
    runs = {where: start(root, folder / where, HANGS, *flags, where=where) for where in STAGES}
    yield runs
    for cli in runs.values():
        cli.process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("where", STAGES)
def test_ctrl_c_leaves_a_partial_report_and_nothing_running(waiting: dict[str, Cli], where: str) -> None:
    cli = waiting[where]
    deadline = time.monotonic() + LIMIT_S
    while not (cli.folder / "reached").exists():
        assert cli.process.poll() is None, cli.end()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    cli.process.send_signal(signal.SIGINT)
    code, output, _ = cli.end()
    assert code == INTERRUPTED
    report = cli.report()
    assert report["partial"] == f"interrupted by Ctrl-C while {STAGES[where]}"
    assert "partial" in output.lower() or "interrupted" in output.lower()
    assert is_gone(int((cli.folder / "pid").read_text()))
    assert bool(report["graphs"]) is (where == "searching")
    assert all(graph["budget"] for graph in report["graphs"])


@pytest.mark.slow
def test_a_model_that_fails_later_on_gives_a_partial_report_and_code_3(root: Path, tmp_path: Path) -> None:
    cli = start(root, tmp_path, RAISES)
    code, output, errors = cli.end()
    assert code == ExitCode.USER_PROGRAM, output + errors
    report = cli.report()
    assert "the twelfth is the last" in report["partial"]
    assert "net.py:" in report["partial"]
    assert report["step_ns"] is not None  # the eager steps before it
    assert is_gone(int((tmp_path / "pid").read_text()))


# -- candidates that end their process --------------------------------------------------------------------------------


@pytest.mark.slow
def test_candidates_that_crash_or_hang_cost_themselves_and_the_run_goes_on(fragile: Cli) -> None:
    code, output, errors = fragile.end()
    assert code == ExitCode.OK, output + errors
    report = fragile.report()
    assert report["partial"] is None
    crashed, hung, doomed = (graph["candidates"][0] for graph in report["graphs"])
    assert (crashed["candidate"], crashed["outcome"]) == ("cpp_wrapper", "crashed")
    assert "left with code 5" in crashed["reason"]
    assert (hung["candidate"], hung["outcome"]) == ("cpp_wrapper", "timed out")
    assert f"gave up compiling after {COMPILE_LIMIT_S} s" in hung["reason"]
    assert doomed["outcome"] == "measured"
    assert any("a graph was left uncompiled" in note and "left with code 6" in note for note in report["notes"])
    assert report["comparison"] is not None
    assert "cpp_wrapper" not in [graph["chosen"] for graph in report["graphs"][:2]]
    assert report["graphs"][2]["chosen"] != "fused"
    assert is_gone(int((fragile.folder / "pid").read_text()))

"""The gates of a GPU on a real run of an H200, through the command: one thing is changed, and its gate says so."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analyzer.cli import main
from analyzer.core.errors import ExitCode
from analyzer.core.finding import Finding
from analyzer.core.graphs import CudaGraphSkip, Recompile
from analyzer.core.plan import Plan
from analyzer.core.report import Report
from analyzer.core.samples import Samples
from analyzer.reporting.json import read_report, write_report
from optimizers.plan import read_plan, write_plan

Change = Callable[[Report], Report]


@pytest.fixture(scope="module")
def golden(root: Path) -> Report:
    """It is older than the reading of waits and of memory, which are made up here: none, and a gibibyte each way."""
    report = read_report(root / "tests" / "golden" / "mixed_graphs_h200")
    plans = tuple(replace(plan, peak_bytes=2**30, pool_bytes=2**28) for plan in report.plans)
    assert report.capture is not None
    sized = tuple(replace(graph, code_bytes=20_000) for graph in report.capture.graphs)
    return replace(report, plans=plans, host_waits=0.0, capture=replace(report.capture, graphs=sized))


def refused(report: Report) -> Report:
    """Torch will not run the third graph as a CUDA graph."""
    graph = report.graphs[2]
    reason = "skipping cudagraphs due to mutated inputs (1 instances)"
    found = Finding("cudagraph_skip", f"torch will not run it: {reason}", graph.where, 900_000, "do not write into it")
    assert report.capture is not None
    capture = replace(report.capture, skips=(CudaGraphSkip(graph.key, graph.where, reason),))
    return replace(report, capture=capture, findings=(*report.findings, found))


def waiting(report: Report) -> Report:
    return replace(report, host_waits=3.0)


def recompiled(report: Report) -> Report:
    where = report.graphs[0].where
    found = Finding("recompilation", "the size of x changed", where, None, "mark it dynamic", count=2)
    assert report.capture is not None
    capture = replace(report.capture, recompiles=(Recompile(where, "x.size(0) == 8", None, count=2),))
    return replace(report, capture=capture, findings=(*report.findings, found))


def unfused(report: Report) -> Report:
    graph = report.graphs[0]
    grown = replace(graph, kernels_per_step=2 * (graph.kernels_per_step or 0))
    return replace(report, graphs=(grown, *report.graphs[1:]))


def larger(report: Report) -> Report:
    return replace(report, plans=tuple(replace(plan, pool_bytes=2**30) for plan in report.plans))


def slower(report: Report) -> Report:
    def longer(samples: Samples | None) -> Samples | None:
        return None if samples is None else Samples(tuple(ns * 3 // 2 for ns in samples.ns))

    return replace(report, plans=tuple(replace(plan, step_ns=longer(plan.step_ns)) for plan in report.plans))


def check(
    capsys: pytest.CaptureFixture[str], project: Path, golden: Report, change: Change, *words: str
) -> tuple[int, dict[str, Any]]:
    for name, report in (("base", golden), ("head", change(golden))):
        (project / name).mkdir(exist_ok=True)
        write_report(report, project / name / "report.json")
    code = main(["check", "head", "--baseline=base", "--format=json", "-q", *words])
    (model,) = json.loads(capsys.readouterr().out)["models"]
    return code, {one["gate"]: one for one in model["checks"]}


@pytest.mark.parametrize(
    ("change", "gate", "message", "line"),
    [
        (refused, "cudagraph_refusals", "1 refused CUDA graph, 0 in base; at most 0 may be", 102),
        (waiting, "host_syncs", "3 host syncs a step", None),
        (recompiled, "recompiles", "2 recompiles", 72),
        (unfused, "kernels", "kernels a step", 72),
        (larger, "peak_memory", "2.00 GiB of peak memory, 1.25 GiB in base", None),
        (slower, "step_time", "slower: 3.32 → 4.98 ms a step against base: 1.5×", None),
    ],
)
def test_what_was_changed_fails_and_nothing_else(
    capsys: pytest.CaptureFixture[str],
    project: Path,
    golden: Report,
    change: Change,
    gate: str,
    message: str,
    line: int | None,
) -> None:
    code, quiet = check(capsys, project, golden, lambda report: report)
    assert code == ExitCode.OK
    assert {one["status"] for one in quiet.values()} <= {"passed", "not compared"}
    assert quiet[gate]["status"] == "passed", "it is judged on a GPU, and is no gate that cannot be"
    code, loud = check(capsys, project, golden, change)
    assert code == ExitCode.GATE_FAILED
    assert [one["gate"] for one in loud.values() if one["status"] not in ("passed", "not compared")] == [gate]
    assert message in loud[gate]["message"]
    where = loud[gate]["where"]
    assert (None if where is None else (where["file"], where["line"])) == (
        None if line is None else ("examples/mixed_graphs.py", line)
    )


def test_the_plan_of_the_run_covers_its_graphs_and_one_without_a_graph_does_not(
    capsys: pytest.CaptureFixture[str], project: Path, golden: Report, root: Path
) -> None:
    shutil.copy(root / "tests" / "golden" / "mixed_graphs_h200" / "plan.json", project / "whole.json")
    plan: Plan = read_plan(project / "whole.json")
    write_plan(replace(plan, choices=plan.choices[1:]), project / "part.json")
    for name, code, said in (("whole", ExitCode.OK, "100 %"), ("part", ExitCode.GATE_FAILED, "75 %")):
        (project / "graphbound.toml").write_text(
            'gates = {plan_coverage = ["error", {min = 1}]}\n'
            f'[model."examples/mixed_graphs.py"]\nplan = "{name}.json"\n'
        )
        ended, gates = check(capsys, project, golden, lambda report: report)
        assert ended == code
        assert gates["plan_coverage"]["message"].startswith(f"{said} of the graphs in the plan")


def test_times_of_the_h200_say_nothing_of_another_gpu_and_counts_do(
    capsys: pytest.CaptureFixture[str], project: Path, golden: Report
) -> None:
    def elsewhere(report: Report) -> Report:
        return refused(slower(replace(report, device=replace(report.device, name="NVIDIA A100"))))

    code, gates = check(capsys, project, golden, elsewhere)
    assert code == ExitCode.GATE_FAILED
    assert gates["cudagraph_refusals"]["status"] == "failed"
    assert gates["step_time"]["status"] == "not compared"
    assert "another device: NVIDIA A100 (cuda) here, NVIDIA H200 (cuda) there" in gates["step_time"]["message"]


def test_a_cpu_run_of_the_same_model_is_held_against_nothing_of_the_gpus(
    capsys: pytest.CaptureFixture[str], project: Path, golden: Report
) -> None:
    def on_a_cpu(report: Report) -> Report:
        return replace(refused(report), workload=replace(report.workload, device="cpu"))

    code, gates = check(capsys, project, golden, on_a_cpu)
    assert code == ExitCode.OK
    assert gates["cudagraph_refusals"]["reason"] == "a CPU has no CUDA graphs"
    assert {one["status"] for one in gates.values()} <= {"not compared", "passed"}
    assert gates["graph_breaks"]["status"] == "not compared"


@pytest.mark.parametrize(
    ("gate", "lost"),
    [
        ("host_syncs", {"host_waits": None}),
        ("cudagraph_refusals", {"capture": None}),
        ("kernels", {"graphs": (), "eager_gaps": ()}),
    ],
)
def test_what_a_run_of_the_gpu_does_not_say_never_passes(
    capsys: pytest.CaptureFixture[str], project: Path, golden: Report, gate: str, lost: dict[str, Any]
) -> None:
    code, gates = check(capsys, project, golden, lambda report: replace(report, **lost))
    assert code == ExitCode.GATE_FAILED
    assert gates[gate]["status"] == "could not run"
    assert gates[gate]["reason"]

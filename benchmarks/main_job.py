"""`analyze` on real models, and what it promised against what came out. Writes benchmarks/results/main_job.json.

    python -m benchmarks.main_job [NAME …] [--out FOLDER] [--keep]

Each model runs in its own process through the command, as a user would run it. Results accumulate by model and device.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.verdicts.processes import ROOT, analyze_command

RESULTS: Final = ROOT / "benchmarks" / "results" / "main_job.json"


@dataclass(frozen=True, slots=True)
class Case:
    """One row: a target, its environment and its flags. `least_ratio` is what issue 2 asks for on an H200."""

    name: str
    target: str
    environment: dict[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    least_ratio: float | None = None


CASES: Final = (
    Case("mlp_3x8192", "examples/deep_mlp.py", {"DEEP_MLP_LAYERS": "3", "DEEP_MLP_WIDTH": "8192"}),
    Case("gptlite", "examples/gptlite.py", least_ratio=2.5),
    Case("granite", "examples/granite_like.py", least_ratio=4.0),
    Case("mobilenet_v2", "examples/mobilenet_v2.py", {"MOBILENET_BATCH": "1"}, least_ratio=3.0),
    Case("mixed_graphs", "examples/mixed_graphs.py"),
    Case("mlp_256x256", "examples/deep_mlp.py", {"DEEP_MLP_LAYERS": "256", "DEEP_MLP_WIDTH": "256"}),
    Case("gptlite_train", "examples/gptlite.py", {"GPTLITE_BLOCKS": "4"}, ("--mode", "training")),
    Case(
        "mobilenet_v2_train",
        "examples/mobilenet_v2.py",
        {"MOBILENET_BATCH": "8", "MOBILENET_DROPOUT": "0"},
        ("--mode", "training"),
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="cases to run (default: all)")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "main_job", help="where the run folders go")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    results: dict[str, Any] = json.loads(arguments.results.read_text()) if arguments.results.exists() else {}
    failed = 0
    for case in CASES:
        if arguments.names and case.name not in arguments.names:
            continue
        row = run_case(case, arguments.out / case.name)
        failed += row["exit_code"] != 0
        results[f"{case.name} on {row.get('device', 'unknown')}"] = row
        arguments.results.parent.mkdir(parents=True, exist_ok=True)
        arguments.results.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
        print(json.dumps({"case": case.name, **{k: v for k, v in row.items() if k != "plans"}}), flush=True)
    return int(failed > 0)


def run_case(case: Case, out: Path) -> dict[str, Any]:
    """Run one case and take its figures from the report it wrote."""
    command = analyze_command(case.target, "--out", str(out), *case.flags)
    start = time.monotonic()
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **case.environment}, capture_output=True, text=True, errors="replace"
    )
    row: dict[str, Any] = {
        "exit_code": done.returncode,
        "wall_s": round(time.monotonic() - start, 1),
        "date": time.strftime("%Y-%m-%d"),
        "environment": case.environment,
        "flags": list(case.flags),
    }
    (out / "terminal.txt").write_text(done.stdout) if out.exists() else None
    (out / "progress.txt").write_text(done.stderr) if out.exists() else None
    report = out / "report.json"
    if report.exists():
        row |= figures(json.loads(report.read_text()))
        row["asked_ratio"] = case.least_ratio if "H200" in row["device"] else None
    else:
        row["error"] = done.stderr[-800:]
    return row


def figures(report: dict[str, Any]) -> dict[str, Any]:
    """What is worth keeping of a report: times in ms, shares and ratios as they are."""
    comparison = report["comparison"]
    return {
        "headline": report["headline"],
        "partial": report["partial"],
        "device": report["device"]["name"],
        "inputs": report["workload"]["inputs"],
        "torch": report["versions"]["torch"],
        "linked_share": report["linked_share"],
        "verdicts": {g["key"]: [g["verdict"]["bound"], g["verdict"]["confidence"]] for g in report["graphs"]},
        "chosen": {g["key"]: g["chosen"] for g in report["graphs"]},
        "comparison": comparison
        and {k: comparison[k] for k in ("outcome", "before_ns", "after_ns", "ratio", "interval")},
        "accuracy": comparison and comparison.get("accuracy"),
        "predicted_and_measured": [
            {
                "key": graph["key"],
                "candidate": candidate["candidate"],
                "outcome": candidate["outcome"],
                "reason": candidate["reason"] and candidate["reason"].replace(f"{ROOT}/", ""),
                "predicted_ns": candidate["predicted_ns"],
                "measured_ns": candidate["measured_ns"],
                "baseline_ns": candidate["baseline_ns"],
                "step_ns": candidate["step_ns"],
                "step_baseline_ns": candidate["step_baseline_ns"],
            }
            for graph in report["graphs"]
            for candidate in graph["candidates"]
        ],
        "plans": [
            {"name": plan["name"], "outcome": plan["outcome"], "choices": plan["choices"], **spread(plan["step_ns"])}
            for plan in report["plans"]
        ],
        "stages": {stage["name"]: round(stage["ns"] / 1e9, 1) for stage in report["stages"]},
    }


def spread(samples: dict[str, Any] | None) -> dict[str, Any]:
    """Median and quartiles of a plan's steps."""
    if samples is None:
        return {}
    low, middle, high = statistics.quantiles(samples["ns"], n=4)
    return {"median_ns": round(middle), "quartiles_ns": [round(low), round(high)], "samples": len(samples["ns"])}


if __name__ == "__main__":
    sys.exit(main())

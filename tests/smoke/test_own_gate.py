"""The gate of our own examples: what is stored is whole, and a change for the worse would be seen."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from analyzer.checking.project import find_project, read_baseline
from analyzer.core.gate import GateLevel
from analyzer.gate.gates import GATES
from analyzer.gate.judge import setting_of
from analyzer.gate.reading import Needs

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 900
LEFT_OUT = {"examples/step_time.py", "examples/mobilenet_v2.py"}
"""No model, and the one that takes as long to compile as all others."""
CLOCKLESS = ("graphs", "graph_breaks", "recompiles")


def test_every_example_is_gated_on_values_that_are_stored() -> None:
    project = find_project(None, ROOT)
    examples = {f"examples/{path.name}" for path in (ROOT / "examples").glob("*.py") if "get_model" in path.read_text()}
    assert set(project.policy.models) == examples - LEFT_OUT
    baseline = read_baseline(project.baseline_file, project.policy.baseline)
    assert baseline is not None
    for model in project.policy.models:
        stored = baseline.of(model, "cpu")
        assert stored is not None, model
        assert all(stored.value(gate) is not None for gate in CLOCKLESS)
        assert not stored.times, "no clock: it has to hold on any machine"
        for gate in (gate for gate in GATES if gate.id in CLOCKLESS):
            assert gate.needs is Needs.GRAPHS
            assert setting_of(gate, project.policy, model).level is GateLevel.ERROR


def test_the_values_are_those_of_the_pinned_torch() -> None:
    pinned = next(line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch=="))
    models = json.loads((ROOT / "examples" / "graphbound.baseline.json").read_text())["models"]
    releases = {model["torch"].partition("+")[0].rpartition(".")[0] for model in models}
    assert releases == {pinned.removeprefix("torch==").rpartition(".")[0]}, "of another release they would only warn"


def test_ci_runs_it() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert "analyze check --no-run --device cpu" in script


@pytest.mark.slow
def test_a_graph_break_in_an_example_would_fail_it(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert tomllib.loads((tmp_path / "pyproject.toml").read_text())["tool"]["graphbound"]["models"]
    example = tmp_path / "examples" / "gptlite.py"
    assert checked(tmp_path)[0] == 0, "as it is, it passes"

    lines = example.read_text().splitlines()
    forward = next(n for n, line in enumerate(lines) if "def forward(self, tokens" in line)
    lines.insert(forward + 1, '        print("seen")')
    example.write_text("\n".join(lines) + "\n")
    code, said = checked(tmp_path)
    assert code == 1
    assert said.startswith(f"FAILED: 1 new graph break, examples/gptlite.py:{forward + 2}")


def checked(folder: Path) -> tuple[int, str]:
    command = [
        sys.executable,
        "-m",
        "analyzer.cli",
        "check",
        "examples/gptlite.py",
        "--no-run",
        "--device",
        "cpu",
        "-q",
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.returncode, done.stdout

"""The plugin in real runs of pytest, found by its entry point: light until used, and right about real models."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from analyzer.reporting.json import read_report

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 900

HEAVY = ("torch", "numpy", "msgspec", "rich", "analyzer.pipeline", "collectors", "optimizers")

MODELS = """
import os, random, sys, warnings

import numpy as np
import pytest
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, breaks=True):
        super().__init__()
        self.first, self.second, self.breaks = nn.Linear(16, 16), nn.Linear(16, 4), breaks
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        x = torch.relu(self.first(x))
        if self.breaks:
            print("seen")
        return self.drop(torch.tanh(self.second(x)))


INPUTS = (torch.randn(8, 16),)


def settings():
    # Left by others at their first use: Inductor's variables, and the folder that setuptools puts on the path.
    path = [folder for folder in sys.path if "setuptools" not in folder]
    environment = {name: value for name, value in os.environ.items() if "TORCHINDUCTOR" not in name}
    return {
        "torch": torch.get_rng_state().tolist(), "random": random.getstate(), "numpy": str(np.random.get_state()),
        "dtype": torch.get_default_dtype(), "threads": torch.get_num_threads(), "grad": torch.is_grad_enabled(),
        "precision": torch.get_float32_matmul_precision(), "same": torch.are_deterministic_algorithms_enabled(),
        "dynamo": torch._dynamo.config.get_config_copy(), "inductor": torch._inductor.config.get_config_copy(),
        "filters": list(warnings.filters), "path": path, "folder": os.getcwd(), **environment,
    }


def changed(before):
    now = settings()
    return {name: (before.get(name), now.get(name)) for name in {*before, *now} if before.get(name) != now.get(name)}
"""
HOLDS = """
def test_holds(bottleneck):
    bottleneck(Net(), INPUTS).has(graph_breaks=1, graphs=(2, 2), recompiles=0)

def test_fails(bottleneck):
    bottleneck(Net(), INPUTS).has(graph_breaks=0, recompiles=0)

def test_alone(bottleneck):
    net = Net(breaks=False)
    held = bottleneck(net, INPUTS, runs=False).has(graph_breaks=0).has(graphs=1)
    assert held.report.step_ns is None
    with pytest.raises(Exception, match="bound is told by a step that is run, and bottleneck"):
        held.has(bound="cpu")

def test_training(bottleneck):
    held = bottleneck(Net(breaks=False), {"x": INPUTS[0]}, mode="training", runs=False).has(graphs=1)
    assert held.report.workload.mode == "training"
    assert {graph.key.direction.value for graph in held.report.graphs} == {"forward", "backward"}

def test_left_as_found(bottleneck):
    net = Net().train()
    before, grad = settings(), torch.zeros(16)
    net.first.bias.grad = grad
    values = {name: value.clone() for name, value in net.state_dict().items()}
    bottleneck(net, INPUTS).has(graph_breaks=1)
    assert not changed(before)
    assert net.training and net.first.bias.grad is grad
    assert all(torch.equal(value, values[name]) for name, value in net.state_dict().items())

def test_raises(bottleneck):
    bottleneck(Net(), (torch.randn(8, 3),)).has(graph_breaks=1)

def test_typo(bottleneck):
    bottleneck(Net(), INPUTS).has(graph_break=0)
"""
STEPS = """
def test_bound(bottleneck):
    net = Net(breaks=False)
    before = settings()
    held = bottleneck(net, INPUTS)
    report = held.report
    assert not changed(before)
    assert report.step_ns is not None and report.comparison is None
    held.has(kernels=(1, 50), accuracy=1, step_time="1 min", graph_breaks=0)
    right = []
    for bound in ("compute", "memory", "cpu", "latency"):
        try:
            held.has(bound=bound)
            right.append(bound)
        except AssertionError as missed:
            assert f"{bound.replace('cpu', 'CPU')}-bound was claimed" in str(missed)
    verdicts = {row.verdict.bound.value for row in (*report.graphs, *report.eager_gaps)}
    assert len(right) <= 1 and set(right) <= verdicts
"""


PLANNED = """
def test_planned(bottleneck):
    import analyzer
    from analyzer.core.plan import Choice, Plan
    from optimizers.plan import write_plan
    from pathlib import Path

    net = Net(breaks=False)
    graphs = bottleneck(net, INPUTS, device="cpu", runs=False).has(graphs=1).report
    known = Plan((Choice(graphs.graphs[0].key, "fused"),), graphs.device.name, graphs.versions, mode="inference")
    write_plan(known, Path(__file__).with_name("plan.json"))
    write_plan(Plan((), known.device, known.versions), Path(__file__).with_name("empty.json"))
    bottleneck(net, INPUTS, device="cpu", runs=False, plan="tests/plan.json").has(plan_coverage=1)
    with pytest.raises(AssertionError, match="plan_coverage: 0 % of the graphs in the plan"):
        bottleneck(net, INPUTS, device="cpu", runs=False, plan="tests/empty.json").has(plan_coverage=1)
    held = bottleneck(net, INPUTS, device="cpu", plan="tests/plan.json").has(plan_coverage=1, graph_breaks=0)
    assert [plan.name for plan in held.report.plans if plan.is_chosen] == ["plan"], "whatever is faster"
    held.has(accuracy=1)
    with pytest.raises(Exception, match="a plan is held in place of a search"):
        bottleneck(net, INPUTS, optimize=True, plan="tests/plan.json")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder of tests, in an environment that has the plugin by the entry point that pyproject.toml declares."""
    entry = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    info = tmp_path / "site" / "graphbound_of_this_checkout-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: graphbound-of-this-checkout\nVersion: 0\n")
    lines = "".join(f"{name} = {module}\n" for name, module in entry.items())
    (info / "entry_points.txt").write_text(f"[pytest11]\n{lines}")
    (tmp_path / "tests").mkdir()
    return tmp_path


def ran(project: Path, source: str, *words: str) -> subprocess.CompletedProcess[str]:
    (project / "tests" / "test_net.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:dash", *words, "tests"]
    paths = os.pathsep.join((str(ROOT), str(project / "site")))
    return subprocess.run(
        command, cwd=project, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=LIMIT_S
    )


def outcomes(text: str) -> dict[str, str]:
    return {name: word for word, name in re.findall(r"^(PASSED|FAILED|ERROR) tests/test_net.py::(\w+)", text, re.M)}


@pytest.mark.parametrize("words", [(), ("--import-mode=importlib",), ("-W", "error")])
def test_a_run_that_does_not_use_it_pays_for_pytest_alone(project: Path, words: tuple[str, ...]) -> None:
    source = f"import sys\ndef test_it():\n    assert not set(sys.modules) & set({HEAVY!r})\n"
    source += "    assert 'analyzer.pytest_plugin' in sys.modules\n"
    done = ran(project, source, *words)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    assert "warning" not in done.stdout.lower()


def test_it_can_be_left_out(project: Path) -> None:
    done = ran(project, "def test_it(bottleneck): pass\n", "-p", "no:graphbound")
    assert done.returncode == 1
    assert "fixture 'bottleneck' not found" in done.stdout


def test_a_model_of_which_nothing_is_asked_does_not_pass_in_silence(project: Path) -> None:
    done = ran(project, "def test_it(bottleneck):\n    bottleneck(print, ())\n")
    assert done.returncode == 1
    assert "was asked nothing: claim something with .has(...)" in done.stdout


def test_the_fixture_and_its_option_say_what_they_are(project: Path) -> None:
    assert "bottleneck(model, inputs).has(graph_breaks=0" in ran(project, "", "--fixtures").stdout
    assert "--graphbound-out=DIR" in ran(project, "", "--help").stdout


@pytest.mark.slow
def test_graphs_of_real_models_are_held_and_nothing_else_is_changed(project: Path) -> None:
    done = ran(project, MODELS + HOLDS, "-rA", "-W", "error", "--graphbound-out", "kept", "--import-mode=importlib")
    assert outcomes(done.stdout) == {
        "test_holds": "PASSED",
        "test_fails": "FAILED",
        "test_alone": "PASSED",
        "test_training": "PASSED",
        "test_left_as_found": "PASSED",
        "test_raises": "FAILED",
        "test_typo": "FAILED",
    }, done.stdout + done.stderr
    line = next(n for n, text in enumerate(MODELS.splitlines(), start=1) if 'print("seen")' in text)
    assert f"graph_breaks: 1 graph break; at most 0 may be: tests/test_net.py:{line}" in done.stdout
    assert f'at tests/test_net.py:{line}: print("seen")' in done.stdout
    assert "bottleneck(Net(), INPUTS).has(graph_breaks=0, recompiles=0)" in done.stdout, "the line of the test"
    assert "torch.__trace" not in done.stdout, "what torch logs as it compiles says nothing of the test"
    assert "mat1 and mat2 shapes cannot be multiplied" in done.stdout
    assert "has() knows no 'graph_break': did you mean graph_breaks?" in done.stdout
    raised = done.stdout.partition("_ test_raises _")[2].partition("_ test_typo _")[0]
    assert "in forward" in raised, "what the model raised, from its own line on"
    assert "collectors/" not in raised
    assert "optimizers/" not in raised
    kept = sorted(path.parent.name for path in (project / "kept").glob("*/report.json"))
    assert "tests-test_net.py-test_fails" in kept
    assert read_report(project / "kept" / "tests-test_net.py-test_fails").capture is not None


@pytest.mark.slow
def test_a_bound_is_held_by_a_run_of_its_steps(project: Path) -> None:
    done = ran(project, MODELS + STEPS, "-rA", "-W", "error")
    assert outcomes(done.stdout) == {"test_bound": "PASSED"}, done.stdout + done.stderr


@pytest.mark.slow
def test_a_model_is_held_under_its_plan(project: Path) -> None:
    done = ran(project, MODELS + PLANNED, "-rA", "-W", "error")
    assert outcomes(done.stdout) == {"test_planned": "PASSED"}, done.stdout + done.stderr


@pytest.mark.slow
def test_workers_of_xdist_hold_models_as_one_process_does(project: Path) -> None:
    pytest.importorskip("xdist")
    done = ran(project, MODELS + HOLDS, "-rA", "-n", "2", "-k", "holds or fails", "--graphbound-out", "kept")
    assert outcomes(done.stdout) == {"test_holds": "PASSED", "test_fails": "FAILED"}, done.stdout + done.stderr
    assert len(list((project / "kept").glob("*/report.json"))) == 2

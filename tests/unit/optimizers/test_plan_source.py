"""`plan.to_source()`: run without Graphbound, it compiles what `analyzer.optimize` compiles, and is right."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.errors import UsageError
from analyzer.core.graphs import Direction, GraphKey
from analyzer.core.plan import Choice, Plan, PlanFigures
from collectors.cpu_name import cpu_name
from collectors.graph_key import graph_digest
from collectors.versions import versions
from optimizers.candidates import CANDIDATES
from optimizers.candidates.combine import can_combine, combined
from optimizers.candidates.known import candidate_of
from optimizers.plan import write_plan
from tests.workloads import Mlp, captured

X = torch.randn(4, 8)
TALKS = Mlp(talks=True)

RUNNER = '''
"""Compiles a model by a plan and tells what Inductor compiled: each program, its settings, its code, and results."""
import hashlib, importlib.util, json, re, sys, warnings
from pathlib import Path

class Hidden:
    """As if Graphbound were not there; it may lie beside torch."""
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("analyzer", "collectors", "optimizers"):
            raise ModuleNotFoundError(name)

how, what, mode = sys.argv[1:]
if how == "graphbound":
    sys.path.insert(0, what.partition("|")[0])
else:
    sys.meta_path.insert(0, Hidden())
import torch
from torch import nn
import torch._inductor.compile_fx as inductor

programs = []
compile_one = inductor.fx_codegen_and_compile

def noting(gm, *rest, **further):
    settings = {name: repr(torch._inductor.config.get_config_copy()[name]) for name in NAMES}
    output = compile_one(gm, *rest, **further)
    code = re.sub(r"\\w*/\\S*|# .*|[a-z0-9]{40,}", "", getattr(output, "source_code", "") or "")
    programs.append([settings, hashlib.sha256(code.encode()).hexdigest(), bool(further.get("is_backward"))])
    return output

NAMES = ("triton.cudagraphs", "cpp_wrapper", "freezing", "max_autotune", "combo_kernels", "coordinate_descent_tuning",
         "pre_grad_fusion_options", "layout_optimization", "cpp.enable_concat_linear")
inductor.fx_codegen_and_compile = noting

class Mlp(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)

    def forward(self, x):
        x = torch.relu(self.first(x))
        torch._dynamo.graph_break()
        return torch.tanh(self.second(x))

torch.manual_seed(0)
model, x = Mlp(), torch.randn(4, 8)
if how == "graphbound":
    import analyzer
    compiled = analyzer.optimize(model, plan=what.partition("|")[2])
else:
    spec = importlib.util.spec_from_file_location("generated", what)
    generated = importlib.util.module_from_spec(spec)
    sys.modules["generated"] = generated
    spec.loader.exec_module(generated)
    compiled = generated.optimize(model)
    assert not [name for name in sys.modules if name.partition(".")[0] in ("analyzer", "collectors", "optimizers")]
with torch.set_grad_enabled(mode == "training"):
    expected, result = model(x), compiled(x)
chosen = Path(what.rpartition("|")[2]).read_text()
is_changed = "bf16" in chosen
assert torch.allclose(result, expected, atol=2e-2 if is_changed else 1e-5), (result - expected).abs().max()
assert torch.allclose(result, expected, atol=1e-6) is not is_changed
if mode == "training":
    result.sum().backward()
    found = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    expected.sum().backward()
    for parameter, grad in zip(model.parameters(), found):
        assert torch.allclose(parameter.grad, grad, atol=1e-5)
print(json.dumps(programs))
'''


@lru_cache
def digests_of_talks(mode: str) -> tuple[str, ...]:
    with torch.set_grad_enabled(mode == "training"):
        return tuple(graph_digest(gm, inputs) for gm, inputs in captured(TALKS, X))


def a_plan(*candidates: str, mode: str = "inference", backward: str | None = None, **changes: Any) -> Plan:
    """A plan for the two graphs of a talking Mlp, which differ."""
    digests = digests_of_talks(mode)
    forward = Direction.FORWARD if mode == "training" else Direction.INFERENCE
    choices = [Choice(GraphKey(d, forward), name) for d, name in zip(digests, candidates, strict=True)]
    choices += [Choice(GraphKey(d, Direction.BACKWARD), backward) for d in digests if backward is not None]
    return replace(Plan(tuple(choices), cpu_name(), versions()), **changes)


def compiled_by(folder: Path, how: str, what: str, mode: str) -> list[Any]:
    """What Inductor compiled in a fresh process, from nothing in any cache."""
    runner = folder / "runner.py"
    runner.write_text(RUNNER)
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error::UserWarning:generated", str(runner), how, what, mode],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        | {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_CACHE_DIR": str(folder / f"cache-{how}")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    programs: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return programs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "mode"),
    [
        (lambda: a_plan("cpp_wrapper", "cpp_wrapper"), "inference"),
        (lambda: a_plan("cpp_wrapper", "fused"), "inference"),
        (lambda: a_plan("frozen", "eager"), "inference"),
        (lambda: a_plan("bf16", "fused"), "inference"),
        (lambda: a_plan("fused", "fused", mode="training", backward="cpp_wrapper"), "training"),
    ],
    ids=["one for all", "two", "frozen", "changed", "forward and backward"],
)
def test_the_source_compiles_what_the_plan_does_without_graphbound(
    plan: Any, mode: str, root: Path, tmp_path: Path
) -> None:
    made: Plan = plan()
    write_plan(made, tmp_path / "plan.json")
    (tmp_path / "generated.py").write_text(made.to_source())
    ours = compiled_by(tmp_path, "graphbound", f"{root}|{tmp_path / 'plan.json'}", mode)
    theirs = compiled_by(tmp_path, "source", str(tmp_path / "generated.py"), mode)
    assert theirs == ours
    expected = sum(choice.candidate != "eager" for choice in made.choices)
    assert len(ours) == expected  # one that compiled nothing would agree with anything


# -- its form ---------------------------------------------------------------------------------------------------------


def every_candidate() -> list[str]:
    plain = [c for c in CANDIDATES if not c.changes]
    pairs = [(a, b) for n, a in enumerate(plain) for b in plain[n + 1 :] if can_combine(a, b) is None]
    changed = ["bf16+fused_attention+frozen", "tf32+channels_last+cuda_graphs", "int8+fused_attention"]
    return [c.id for c in CANDIDATES] + [combined(pair).id for pair in pairs] + changed + ["backend:aot_eager"]


@pytest.mark.parametrize("candidate", every_candidate())
def test_every_candidate_can_be_written_down_and_names_nothing_of_ours(candidate: str) -> None:
    for source in (a_plan(candidate, candidate).to_source(), a_plan(candidate, "fused").to_source()):
        compile(source, "generated.py", "exec")
        modules = set()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                modules.add(str(node.module).partition(".")[0])
        assert modules - set(sys.stdlib_module_names) == {"torch"}


@pytest.mark.parametrize("candidate", every_candidate())
def test_what_is_written_down_can_be_imported_and_holds_the_settings(candidate: str) -> None:
    namespace: dict[str, Any] = {"__name__": "generated"}
    sys.modules.setdefault("generated", sys.modules[__name__])  # dataclasses look their module up
    exec(a_plan(candidate, "fused" if candidate != "fused" else "eager").to_source(), namespace)
    found = {one.id: one for one in namespace["CHOICES"].values()}
    ours = candidate_of(candidate) if ":" not in candidate else None
    if ours is not None:
        assert found[candidate].patches == ours.patches
        assert found[candidate].freezes == ours.freezes
    assert callable(namespace["optimize"])


def test_one_candidate_for_all_graphs_is_one_call_of_torch() -> None:
    source = a_plan("cpp_wrapper", "cpp_wrapper").to_source()
    assert "return torch.compile(model, options=OPTIONS)" in source
    assert '"cpp_wrapper": True' in source
    assert len(source.splitlines()) < 30
    assert 'torch.compile(model, backend="eager")' in a_plan("eager", "eager").to_source()
    assert 'torch.compile(model, backend="aot_eager")' in a_plan("backend:aot_eager", "backend:aot_eager").to_source()


def test_a_plan_that_leaves_the_model_alone_returns_it() -> None:
    namespace: dict[str, Any] = {}
    exec(a_plan("fused", "fused", is_compiled=False).to_source(), namespace)
    assert namespace["optimize"](TALKS) is TALKS


def test_what_was_measured_and_what_must_be_known_stand_at_its_head() -> None:
    figures = PlanFigures(None, 10_000_000, 5_000_000, 2.0, 1.9, 2.1)
    source = a_plan("fused", "fused", figures=figures, caveats=("frozen: the weights are baked in",)).to_source()
    head = ast.get_docstring(ast.parse(source)) or ""
    assert "10.0 → 5.00 ms" in head
    assert "Frozen: the weights are baked in." in head


@given(device=st.text(max_size=20), caveat=st.text(max_size=20))
def test_no_text_of_a_plan_can_become_code(device: str, caveat: str) -> None:
    plan = Plan((), device, versions(), caveats=(caveat,))
    tree = ast.parse(plan.to_source())
    assert [type(node).__name__ for node in tree.body[1:]] == [
        "ImportFrom",
        "ImportFrom",
        "ImportFrom",
        "Import",
        "Assign",
        "FunctionDef",
    ]


def test_a_plan_with_an_unknown_candidate_has_no_source() -> None:
    with pytest.raises(UsageError, match="unknown candidate"):
        a_plan("warp_drive", "fused").to_source()

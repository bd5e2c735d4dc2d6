"""The shipped examples load, run small, and are what their headers say."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from analyzer.core.settings import Mode, WorkloadSpec
from collectors.loading import load_workload
from collectors.workload import Workload

EXAMPLES = ("deep_mlp", "gptlite", "granite_like", "mixed_graphs", "mobilenet_v2")

TINY = {
    "DEEP_MLP_LAYERS": "3",
    "DEEP_MLP_WIDTH": "8",
    "DEEP_MLP_BATCH": "2",
    "GPTLITE_SIZE": "small",
    "GPTLITE_BLOCKS": "1",
    "GPTLITE_CONTEXT": "8",
    "GRANITE_LAYERS": "1",
    "GRANITE_TOKENS": "4",
    "MIXED_LAYERS": "4",
    "MIXED_WIDTH": "8",
    "MIXED_BATCH": "2",
    "MIXED_WIDE_WIDTH": "16",
    "MOBILENET_IMAGE": "32",
    "MOBILENET_BATCH": "2",
}


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in TINY.items():
        monkeypatch.setenv(name, value)


def load(root: Path, name: str, mode: Mode = Mode.INFERENCE) -> Workload:
    return load_workload(WorkloadSpec(str(root / "examples" / f"{name}.py"), mode=mode, device="cpu"))


def graph_count(work: Workload) -> int:
    """The graphs that Dynamo makes of one step."""
    graphs: list[torch.fx.GraphModule] = []

    def count(graph: torch.fx.GraphModule, _: object) -> torch.fx.GraphModule:
        graphs.append(graph)
        return graph

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(work.model, backend=count)(*work.args, **work.kwargs)
    return len(graphs)


def test_every_example_is_tested_here(root: Path) -> None:
    files = {path.stem for path in (root / "examples").glob("*.py")} - {"step_time"}
    assert files == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_and_gives_finite_numbers(root: Path, name: str) -> None:
    work = load(root, name)
    with torch.no_grad():
        output = work.model(*work.args, **work.kwargs)
    tensor = output if isinstance(output, torch.Tensor) else output.logits
    assert torch.isfinite(tensor).all()


@pytest.mark.parametrize(("name", "graphs"), [("deep_mlp", 1), ("gptlite", 1), ("mixed_graphs", 4)])
def test_an_example_has_the_graphs_that_it_promises(root: Path, name: str, graphs: int) -> None:
    assert graph_count(load(root, name)) == graphs


@pytest.mark.parametrize("name", ["gptlite", "mobilenet_v2"])
def test_a_training_step_of_an_example_moves_its_weights(root: Path, name: str) -> None:
    work = load(root, name, Mode.TRAINING)
    assert work.notes == ()
    assert isinstance(work.model, nn.Module)
    assert work.loss is not None
    assert work.optimizer is not None
    before = [p.detach().clone() for p in work.model.parameters()]
    loss = work.loss(work.model(*work.args))
    loss.backward()
    work.optimizer.step()
    assert loss.isfinite()
    assert not all(torch.equal(a, b) for a, b in zip(before, work.model.parameters(), strict=True))


def test_gptlite_has_a_module_for_every_head(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPTLITE_HEADS", "2")
    model = load(root, "gptlite").model
    assert isinstance(model, nn.Module)
    assert sum(type(m).__name__ == "Head" for m in model.modules()) == 2


def test_gptlite_does_not_see_the_future(root: Path) -> None:
    work = load(root, "gptlite")
    tokens = work.args[0]
    changed = tokens.clone()
    changed[0, -1] = (changed[0, -1] + 1) % 512
    with torch.no_grad():
        first, second = work.model(tokens), work.model(changed)
    assert torch.equal(first[0, :-1], second[0, :-1])
    assert not torch.equal(first[0, -1], second[0, -1])


def test_mobilenet_has_as_many_weights_as_the_paper_says(root: Path) -> None:
    model = load(root, "mobilenet_v2").model
    assert isinstance(model, nn.Module)
    # 3.4 million (Sandler et al., table 4); torchvision's own implementation has 3,504,872.
    assert sum(p.numel() for p in model.parameters()) == 3_504_872


def test_mixed_graphs_writes_to_its_inputs_and_to_no_state_of_the_model(root: Path) -> None:
    work = load(root, "mixed_graphs")
    assert isinstance(work.model, nn.Module)
    state = {name: tensor.clone() for name, tensor in work.model.state_dict().items()}
    with torch.no_grad():
        work.model(*work.args)
    assert all(memory.abs().sum() > 0 for memory in work.args[1])
    assert all(torch.equal(tensor, state[name]) for name, tensor in work.model.state_dict().items())


def test_the_python_operator_of_mixed_graphs_has_the_right_gradient(root: Path) -> None:
    work = load(root, "mixed_graphs")
    clip = sys.modules[type(work.model).__module__].clip_to_norm
    x = torch.randn(3, 4, dtype=torch.float64)
    x[0] *= 10  # clipped; the other rows are within the limit
    assert torch.autograd.gradcheck(lambda t: clip(t, 4.0), (x.requires_grad_(),))


def test_mixed_graphs_trains_step_after_step(root: Path) -> None:
    work = load(root, "mixed_graphs", Mode.TRAINING)
    for _ in range(2):
        work.model(*work.args).sum().backward()
    assert not any(memory.requires_grad for memory in work.args[1])


@pytest.mark.parametrize("name", EXAMPLES)
def test_sizes_named_in_the_header_are_those_that_the_code_reads(root: Path, name: str) -> None:
    header, _, code = (root / "examples" / f"{name}.py").read_text().partition("from __future__")
    prefix = {"granite_like": "GRANITE", "mixed_graphs": "MIXED", "mobilenet_v2": "MOBILENET"}.get(name, name.upper())
    named = {word for word in header.replace("=", " ").split() if word.startswith(f"{prefix}_")}
    assert named
    for variable in named:
        option = variable.removeprefix(f"{prefix}_")
        assert f'"{option}"' in code or f"_{option}" in code or f"    {option.lower()}: int" in code, variable
    assert not named & set(os.environ) - set(TINY)

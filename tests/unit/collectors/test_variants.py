"""Further inputs: what torch does for them is heard, and the state is put back."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from collectors import torch_compat
from collectors.capture import GraphLog
from collectors.state import State
from collectors.variants import run_variants
from collectors.workload import InputSet, Workload
from tests.workloads import a_workload, fresh_dynamo


class Counting(nn.Module):
    """Keeps the sum of what it was called with; torch compiles it for one word."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = torch.zeros(())

    def forward(self, x: torch.Tensor, word: str) -> torch.Tensor:
        self.seen += x.sum()
        return torch.relu(x) if word == "relu" else torch.tanh(x)


def workload(*inputs: tuple[object, ...]) -> Workload:
    made = a_workload(Counting(), (torch.ones(4), "relu"))
    return replace(made, variants=tuple(InputSet(args, {}) for args in inputs))


def run(made: Workload) -> tuple[str, GraphLog]:
    log = GraphLog(root=None)

    def backend(gm: torch.fx.GraphModule, inputs: list[object]) -> object:
        log.compiles += 1
        return gm.forward

    with fresh_dynamo():
        state = State(made)
        model = torch_compat.compiled_model(made.model, backend)
        with log.listening(), torch.no_grad():
            model(*made.args)
        return run_variants(made, model, state, log), log


def test_what_is_compiled_again_for_other_inputs_is_heard_with_its_guard() -> None:
    said, log = run(workload(*((torch.ones(4), word) for word in ("tanh", "sin", "cos"))))
    assert "3 of 3 sets" in said
    assert "3 more graphs" in said
    assert len(log.recompiles) == 3
    assert all("word ==" in again.guard for again in log.recompiles)


def test_equal_inputs_compile_nothing() -> None:
    said, log = run(workload((torch.ones(4), "relu")))
    assert "no further graph" in said
    assert log.recompiles == []


def test_the_state_is_put_back() -> None:
    made = workload((torch.ones(4), "relu"))
    run(made)
    assert made.model.seen.item() == 0.0  # type: ignore[attr-defined]


def test_inputs_that_fail_are_named_and_end_it_there() -> None:
    said, _ = run(workload((torch.ones(4), "relu"), ("no tensor", "relu"), (torch.ones(4), "relu")))
    assert "1 of 3 sets" in said
    assert "number 2 failed" in said

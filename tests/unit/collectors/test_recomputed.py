"""What a checkpoint writes again in the backward can be told from what the step writes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from analyzer.core.settings import Mode
from collectors.recomputed import is_kept, once_results
from collectors.reference import first_results
from collectors.state import State
from collectors.step import Stepper
from collectors.workload import Workload
from tests.workloads import a_workload

X = torch.randn(8, 4)
COUNT = "buffer body.1.num_batches_tracked"
MEAN = "buffer body.1.running_mean"


class Checkpointed(nn.Module):
    """`is_reentrant` None: without a checkpoint."""

    def __init__(self, is_reentrant: bool | None = False) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.body = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU())
        self.last = nn.Linear(4, 2)
        self.is_reentrant = is_reentrant

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.first(x)
        is_plain = self.is_reentrant is None
        y: torch.Tensor = self.last(
            self.body(h) if is_plain else checkpoint(self.body, h, use_reentrant=self.is_reentrant)
        )
        return y


def an_eager(model: nn.Module, **settings: Any) -> Stepper:
    work: Workload = a_workload(model, X, mode=Mode.TRAINING, **settings)
    model.train()
    state = State(work)
    state.written = (COUNT, MEAN)
    return Stepper(work, model, state)


@pytest.mark.parametrize("is_reentrant", [False, True])
def test_a_batch_norm_in_a_checkpoint_counts_its_batch_once(is_reentrant: bool) -> None:
    model = Checkpointed(is_reentrant)
    eager = an_eager(model)
    twice, once = dict(first_results(eager)), dict(once_results(eager) or ())
    assert (int(twice[COUNT]), int(once[COUNT])) == (2, 1)
    torch.testing.assert_close(twice[MEAN], once[MEAN] * 1.9)  # 0.1 of the batch, and 0.1 of the rest again
    assert all(torch.equal(once[path], value) for path, value in twice.items() if path.startswith("grad:"))
    assert int(model.body[1].num_batches_tracked) == 0, "the first state is put back"  # type: ignore[arg-type, union-attr]
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_a_step_of_ones_own_moves_its_weights_as_ever() -> None:
    model = Checkpointed()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

    def step(net: Any, x: torch.Tensor) -> torch.Tensor:
        for half in x.split(4):
            loss = net(half).square().mean()
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()  # type: ignore[no-any-return]

    eager = an_eager(model, step=step)
    eager.state.written += ("parameter last.weight",)
    twice, once = dict(first_results(eager)), dict(once_results(eager) or ())
    assert (int(twice[COUNT]), int(once[COUNT])) == (4, 2)
    assert torch.equal(twice["parameter last.weight"], once["parameter last.weight"])


def test_without_a_checkpoint_and_in_inference_there_is_nothing_to_tell() -> None:
    assert once_results(an_eager(Checkpointed(None))) is None
    work = a_workload(Checkpointed(), X)
    assert once_results(Stepper(work, work.model, State(work))) is None


def test_only_what_a_module_keeps_can_be_written_twice() -> None:
    assert all(map(is_kept, (COUNT, "attribute layer.cache", "number layer.calls")))
    assert not any(map(is_kept, ("output", "loss", "grad:last.weight", "parameter last.weight", "input 0")))

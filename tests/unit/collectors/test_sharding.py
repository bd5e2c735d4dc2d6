"""A model that torch.distributed wraps or shards can be put back between steps, and what shards hold can be read."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist
from torch import nn

from analyzer.core.settings import Mode
from analyzer.core.trial import AccuracyReference
from analyzer.session_judge import StepJudge
from collectors.sharding import between_steps
from collectors.state import State
from collectors.step import Stepper
from collectors.tensor_parts import parts
from tests.workloads import Mlp, a_workload

if not (dist.is_available() and dist.is_gloo_available()):
    pytest.skip("this torch has no gloo", allow_module_level=True)


@pytest.fixture(scope="module", autouse=True)
def one_rank() -> Iterator[None]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def sharded() -> nn.Module:
    from torch.distributed.fsdp import fully_shard

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Mlp()
        fully_shard(model.first)
        fully_shard(model)
    return model


def test_what_a_shard_holds_can_be_read() -> None:
    weight = next(sharded().parameters())
    found = parts(weight)
    assert found is not None
    assert [part.shape for _, part in found] == [(8, 8)]
    assert all(type(part) is torch.Tensor for _, part in found)


def test_what_cannot_be_copied_is_held_against_the_model_itself_and_said() -> None:
    work = a_workload(sharded(), torch.ones(4, 8))
    judge = StepJudge(lambda _: None)
    judge.prepare(Stepper(work, work.model, State(work)))
    assert judge.results is not None
    assert judge.results.kind is AccuracyReference.EAGER
    assert [note.partition(" (")[0] for note in judge.notes] == ["no run in higher precision was possible"]


def test_a_step_without_a_backward_can_be_put_back_and_taken_again() -> None:
    model, x = sharded(), torch.ones(4, 8)
    state = State(a_workload(model, x))
    assert state.unread == ()
    with torch.no_grad():
        first = model(x)
        for _ in range(2):
            state.restore()
            assert all(type(p).__name__ == "DTensor" for p in model.parameters())
            torch.testing.assert_close(model(x), first)


def test_ddp_takes_a_step_again_after_one_that_never_ended() -> None:
    model, x = nn.parallel.DistributedDataParallel(Mlp()), torch.ones(4, 8)
    state = State(a_workload(model, x, mode=Mode.TRAINING))
    model(x).sum().backward()
    expected = [p.grad.clone() for p in model.parameters() if p.grad is not None]

    def fail(_: torch.Tensor) -> None:
        raise ValueError("a candidate's backward")

    for _ in range(2):
        state.restore()
        hook = model.module.first.weight.register_hook(fail)
        with pytest.raises(ValueError, match="backward"):
            model(x).sum().backward()
        hook.remove()
        with pytest.raises(RuntimeError, match="finished reduction"):
            model(x)
        for _ in range(2):
            state.restore()
            model(x).sum().backward()
            for parameter, grad in zip(model.parameters(), expected, strict=True):
                torch.testing.assert_close(parameter.grad, grad)


def test_any_other_model_is_left_alone() -> None:
    model = Mlp()
    before = dict(model.named_parameters())
    between_steps(model)
    between_steps(torch.sin)
    assert dict(model.named_parameters()) == before

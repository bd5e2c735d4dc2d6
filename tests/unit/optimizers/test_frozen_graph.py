"""Weights baked in: what is folded, that the model keeps its own, and that a change of them is met."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import torch
from torch import nn

from collectors import torch_compat
from optimizers.backend import FrozenWeightsChangedError
from optimizers.candidates.fused import FUSED
from optimizers.candidates.known import candidate_of
from optimizers.compiling import Unwatched, compile_candidate
from optimizers.frozen_graph import NOTHING_TO_FREEZE, WATCHED_A_CALL
from tests.unit.optimizers.candidates_compiled import Compiled, assert_same, compiled
from tests.workloads import captured

X = torch.randn(16, 32)
CALLS_BEFORE = 2
"""That `compiled` makes: one to find the graph, one to compile it."""


class Heads(nn.Module):
    """A query, a key and a value of one input, as an attention head has them."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(32, 32, bias=False) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.query(x) * self.key(x)).softmax(-1) + self.value(x)


@pytest.fixture(scope="module")
def heads() -> Iterator[tuple[Heads, Compiled]]:
    torch.manual_seed(0)
    model = Heads()
    with ExitStack() as stack:
        with torch.no_grad():
            one = stack.enter_context(compiled(model, (X,), ("frozen", "frozen+cpp_wrapper")))
        yield model, one


def products(program: Any) -> int:
    return sum("mm" in str(node.target) or "linear" in str(node.target) for node in program.graph.nodes)


def test_products_of_one_input_become_one(heads: tuple[Heads, Compiled]) -> None:
    _, one = heads
    assert products(one.heard.programs["fused.inference"]) == 3
    assert products(one.heard.programs["frozen.inference"]) == 1
    assert "_frozen_param" in one.heard.codes["frozen.inference"]
    assert "_frozen_param" not in one.heard.codes["fused.inference"]


@pytest.mark.parametrize("candidate", ["fused", "frozen", "frozen+cpp_wrapper"])
def test_results_are_right(heads: tuple[Heads, Compiled], candidate: str) -> None:
    model, one = heads
    with torch.no_grad():
        assert_same(one.under(candidate, X), model(X))
        other = torch.randn(16, 32)
        assert_same(one.under(candidate, other), model(other))


def test_the_users_weights_stay_as_they_are(heads: tuple[Heads, Compiled]) -> None:
    model, one = heads
    before = [(p._version, p.data_ptr(), p.clone()) for p in model.parameters()]
    with torch.no_grad():
        one.under("frozen", X)
    for p, (version, address, values) in zip(model.parameters(), before, strict=True):
        assert (p._version, p.data_ptr()) == (version, address)
        assert torch.equal(p, values)
    assert all(type(p) is nn.Parameter and p.requires_grad and p.device.type == "cpu" for p in model.parameters())
    with torch.enable_grad():
        model(X).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    model.zero_grad(set_to_none=True)


# -- what is no constant ----------------------------------------------------------------------------------------------


class Counting(nn.Module):
    """Writes to one buffer, reads another, and has a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(32, 8)
        self.register_buffer("calls", torch.zeros(()))
        self.register_buffer("scale", torch.full((), 3.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return self.linear(x) * self.scale + self.calls


def test_a_buffer_that_the_graph_writes_to_stays_an_input() -> None:
    model, reference = Counting(), Counting()
    reference.load_state_dict(model.state_dict())
    with torch.no_grad(), compiled(model, (X,), ("frozen",)) as one:
        for _ in range(CALLS_BEFORE):
            reference(X)
        for _ in range(3):
            assert_same(one.under("frozen", X), reference(X))
        assert_same(model.calls, reference.calls)
        names = [name for name in one.heard.codes["frozen.inference"].split() if name.startswith("_frozen_param")]
        assert names


def test_batch_norm_in_training_mode_keeps_its_statistics() -> None:
    model, reference = (nn.Sequential(nn.Linear(32, 8), nn.BatchNorm1d(8)) for _ in range(2))
    reference.load_state_dict(model.state_dict())
    with torch.no_grad(), compiled(model, (X,), ("frozen",)) as one:
        for _ in range(CALLS_BEFORE):
            reference(X)
        for _ in range(2):
            assert_same(one.under("frozen", X), reference(X))
        assert_same(model[1].running_mean, reference[1].running_mean)


def test_a_weight_that_is_returned_is_the_models_own() -> None:
    class Returning(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(32, 8)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return self.linear(x), self.linear.weight.t()

    model = Returning()
    with torch.no_grad(), compiled(model, (X,), ("frozen",)) as one:
        found, weight = one.under("frozen", X)
        assert_same(found, model(X)[0])
        assert weight.data_ptr() == model.linear.weight.data_ptr()


def test_tied_weights_are_frozen_once() -> None:
    model = nn.Sequential(nn.Linear(32, 32), nn.Linear(32, 32))
    model[1].weight = model[0].weight
    with torch.no_grad(), compiled(model, (X,), ("frozen",)) as one:
        assert_same(one.under("frozen", X), model(X))


def test_a_batch_norm_is_folded_into_its_convolution() -> None:
    image = torch.randn(1, 3, 16, 16)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval()
    with torch.no_grad(), compiled(model, (image,), ("frozen",)) as one:
        assert_same(one.under("frozen", image), model(image))
        left = [str(node.target) for node in one.heard.programs["frozen.inference"].graph.nodes]
        assert not [name for name in left if "sqrt" in name or "batch_norm" in name]


def test_a_graph_without_weights_is_refused() -> None:
    with torch.no_grad(), compiled(lambda x: x.sin() + 1, (X,), ("frozen",)) as one:
        assert one.refusal("frozen") == NOTHING_TO_FREEZE


def test_training_is_refused() -> None:
    with compiled(nn.Linear(32, 8), (X,), ("frozen",)) as one:
        reason = one.refusal("frozen")
        assert reason is not None
        assert "inference alone" in reason


def test_weights_without_gradients_are_frozen_though_gradients_are_on() -> None:
    model = nn.Linear(32, 8).requires_grad_(False)
    with compiled(model, (X,), ("frozen",)) as one:
        assert_same(one.under("frozen", X), model(X))
        assert "_frozen_param" in one.heard.codes["frozen.inference"]


# -- a change of the weights ------------------------------------------------------------------------------------------


def frozen_alone(model: nn.Module, x: torch.Tensor) -> Callable[[], Any]:
    """The only graph of `model` as production compiles it with frozen weights, with its weights passed each time."""
    with torch.no_grad():
        ((gm, inputs),) = captured(model, x)
        call = compile_candidate(gm, inputs, candidate_of("frozen"), FUSED, Unwatched())
    return lambda: call(*inputs)[0]


def changes() -> list[tuple[str, Callable[[nn.Linear], object]]]:
    return [
        ("load_state_dict", lambda m: m.load_state_dict({k: v + 1 for k, v in m.state_dict().items()})),
        ("in place", lambda m: m.weight.mul_(2)),
        ("other storage", lambda m: setattr(m.weight, "data", m.weight.data * 2)),
    ]


@pytest.mark.parametrize(("name", "change"), changes(), ids=[name for name, _ in changes()])
def test_changed_weights_are_noticed_and_results_stay_right(name: str, change: Callable[[nn.Linear], object]) -> None:
    model = nn.Linear(32, 8)
    run = frozen_alone(model, X)
    with torch.no_grad():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_same(run(), model(X))
        change(model)
        for _ in range(2):
            with pytest.warns(UserWarning, match="weights that were baked into a graph have changed"):
                found = run()
            assert_same(found, model(X))


def test_one_changed_weight_of_many_is_noticed_within_a_round() -> None:
    model = nn.Sequential(*(nn.Linear(32, 32) for _ in range(5)))
    run = frozen_alone(model, X)
    rounds = -(-len(list(model.parameters())) // WATCHED_A_CALL)
    with torch.no_grad():
        model[4].weight.add_(1)
        with pytest.warns(UserWarning, match="have changed"):
            found = [run() for _ in range(rounds)]
        assert_same(found[-1], model(X))


def test_in_a_measured_run_a_change_is_an_error_and_no_slow_success() -> None:
    model = nn.Linear(32, 8)
    with torch.no_grad(), compiled(model, (X,), ("frozen",)) as one:
        one.under("frozen", X)
        model.weight.add_(1)
        with pytest.raises(FrozenWeightsChangedError, match="the step changes weights"):
            one.under("frozen", X)
        assert_same(one.under("fused", X), model(X))


def test_dynamos_context_is_left_as_it_was() -> None:
    """The default compiled after the frozen candidate, under the same context, is still right."""
    model = Heads()
    seen: list[Any] = []

    def backend(gm: Any, inputs: Any) -> Any:
        frozen = compile_candidate(gm, inputs, candidate_of("frozen"), FUSED, Unwatched())
        fused = compile_candidate(gm, inputs, FUSED, FUSED, Unwatched())
        seen.append((frozen, fused))
        return lambda *args: (fused(*args)[0] + frozen(*args)[0],)

    torch_compat.reset()
    with torch.no_grad():
        assert_same(torch.compile(model, backend=backend)(X), 2 * model(X))
    assert seen
    torch_compat.reset()

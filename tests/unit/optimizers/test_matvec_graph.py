"""Products of a matrix and a vector written as sums, and how many of them a graph has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn
from torch._dynamo.exc import BackendCompilerFailed
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from optimizers.candidates.fused_matvec import NO_MATVEC
from optimizers.candidates.known import candidate_of
from optimizers.compiling import Unwatched, compile_candidate
from optimizers.matvec_graph import fuse_matvecs
from optimizers.outline import outline_of
from tests.unit.optimizers.candidates_compiled import assert_same
from tests.workloads import captured, fresh_dynamo

ROW, ROWS = torch.randn(1, 8), torch.randn(4, 8)
LAYER = nn.Linear(8, 6)
KEYS, COLUMN = torch.randn(3, 8, 5), torch.randn(8, 1)


def traced(function: Callable[..., Any], *args: Any) -> GraphModule:
    """As AOTAutograd hands it to Inductor."""
    return make_fx(lambda *given: function(*given), tracing_mode="fake")(*args)


ATEN = torch.ops.aten
VECTORS = {
    "a row": (ATEN.mm, (ROW, KEYS[0])),
    "a column": (ATEN.mm, (ROWS, COLUMN)),
    "added": (ATEN.addmm, (torch.randn(5), ROW, KEYS[0])),
    "a batch of rows": (ATEN.bmm, (torch.randn(3, 1, 8), KEYS)),
    "a batch of columns": (ATEN.bmm, (KEYS, torch.randn(3, 5, 1))),
}


@pytest.mark.parametrize(("function", "args"), VECTORS.values(), ids=VECTORS.keys())
def test_a_product_with_a_vector_becomes_a_sum_of_the_same_value_and_example(
    function: Callable[..., torch.Tensor], args: tuple[torch.Tensor, ...]
) -> None:
    gm = traced(function, *args)
    assert fuse_matvecs(gm) == 1
    assert not any("mm" in str(node.target) for node in gm.graph.nodes)
    assert_same(gm(*args), function(*args))
    (returned,) = gm.graph.output_node().args
    assert tuple(returned.meta["val"].shape) == tuple(function(*args).shape)


OTHERS = {
    "two matrices": (ATEN.mm, (ROWS, KEYS[0])),
    "scaled": (partial(ATEN.addmm, beta=0.5), (torch.randn(5), ROW, KEYS[0])),
    "integers": (ATEN.mm, (torch.ones(1, 8).long(), torch.ones(8, 5).long())),
}


@pytest.mark.parametrize(("function", "args"), OTHERS.values(), ids=OTHERS.keys())
def test_any_other_product_stays(function: Callable[..., torch.Tensor], args: tuple[torch.Tensor, ...]) -> None:
    gm = traced(function, *args)
    before = gm.code
    assert fuse_matvecs(gm) == 0
    assert gm.code == before


class Decoding(nn.Module):
    """One token through a gated layer, beside a product of matrices, with a cache that it writes."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 8, bias=False)
        self.register_buffer("cache", torch.zeros(4, 8))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        x = x + self.down(torch.sigmoid(self.gate(x)) * self.up(x))
        self.cache.index_copy_(0, position, x)
        return self.cache @ self.cache.t() + x.sum()


def test_the_outline_counts_products_and_those_with_a_vector() -> None:
    ((gm, _),) = captured(Decoding(), ROW, torch.tensor([1]))
    assert (outline_of(gm).products, outline_of(gm).matvecs) == (4, 3)
    ((batched, _),) = captured(lambda q, k: torch.bmm(q, k) + q.matmul(k), KEYS.mT[:, :1], KEYS)
    assert (outline_of(batched).products, outline_of(batched).matvecs) == (2, 2)
    ((image, _),) = captured(nn.Conv2d(3, 4, 3), torch.randn(1, 3, 8, 8))
    assert (outline_of(image).products, outline_of(image).matvecs) == (0, 0)


class Kept(Unwatched):
    """Keeps the ATen graphs that Inductor was given, and which of their inputs it was told to stay in place."""

    def __init__(self) -> None:
        self.programs: list[GraphModule] = []
        self.static: list[int] = []

    def compile_inner(
        self, aot: GraphModule, inputs: Sequence[Any], patches: dict[str, object], kwargs: Mapping[str, Any]
    ) -> Any:
        self.programs.append(aot)
        self.static = list(kwargs.get("static_input_idxs", ()))
        return super().compile_inner(aot, inputs, patches, kwargs)


@contextmanager
def under(candidate: str, model: Callable[..., Any]) -> Iterator[tuple[Callable[..., Any], Kept]]:
    """The model compiled under a candidate that the search would refuse without a GPU."""
    chosen, kept = candidate_of(candidate), Kept()
    with fresh_dynamo():
        yield torch.compile(model, backend=lambda gm, args: compile_candidate(gm, args, chosen, chosen, kept)), kept


@pytest.mark.parametrize("candidate", ["fused_matvec", "frozen+fused_matvec"])
def test_it_compiles_to_the_same_results_and_state(candidate: str) -> None:
    # In float64, of which no weight is packed for a CPU: what is packed is no product of ATen's any more.
    model, reference, row, position = Decoding().double(), Decoding().double(), ROW.double(), torch.tensor([2])
    reference.load_state_dict(model.state_dict())
    with torch.no_grad(), under(candidate, model) as (call, kept):
        for _ in range(2):
            assert_same(call(row, position), reference(row, position))
            assert_same(model.cache, reference.cache)
        (program,) = kept.programs
        assert sum("mm" in str(node.target) for node in program.graph.nodes) == 1, "the product of two matrices"


def test_a_buffer_that_is_written_keeps_its_place_where_weights_are_baked_in() -> None:
    """Without that no CUDA graph would have the graph, as it writes one of its inputs."""
    with torch.no_grad(), under("frozen", Decoding()) as (call, kept):
        call(ROW, torch.tensor([2]))
        placeholders = kept.programs[0].graph.find_nodes(op="placeholder")
        shapes = [tuple(node.meta["val"].shape) for node in placeholders]
        assert [shapes[position] for position in kept.static] == [(4, 8)]


def test_gradients_are_the_same() -> None:
    model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 32))
    found = []
    for candidate in ("fused", "fused_matvec"):
        model.zero_grad()
        with under(candidate, model) as (call, _):
            call(ROW).square().sum().backward()
        found.append([parameter.grad for parameter in model.parameters()])
    assert None not in found[0]
    assert_same(found[1], found[0])


def test_a_graph_without_such_a_product_is_refused() -> None:
    with (
        torch.no_grad(),
        under("fused_matvec", LAYER) as (call, _),
        pytest.raises(BackendCompilerFailed, match=NO_MATVEC),
    ):
        call(ROWS)

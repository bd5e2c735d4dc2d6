"""A graph's digest names what is computed, and nothing that changes from one process to the next."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.fx import Graph, GraphModule

from collectors.graph_key import DIGEST_HEX_DIGITS, graph_digest
from tests.workloads import Mlp, captured, fresh_dynamo


def digests(function: Callable[..., Any], *args: Any, **options: Any) -> list[str]:
    return [graph_digest(gm, inputs) for gm, inputs in captured(function, *args, **options)]


def digest(function: Callable[..., Any], *args: Any, **options: Any) -> str:
    (only,) = digests(function, *args, **options)
    return only


def _layer(layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return torch.relu(layer(x))


X = torch.randn(4, 8)


def test_it_is_twelve_hex_digits() -> None:
    text = digest(torch.relu, X)
    assert len(text) == DIGEST_HEX_DIGITS
    int(text, 16)


def test_equal_layers_share_it() -> None:
    layers = [nn.Linear(8, 8) for _ in range(3)]
    alone = digest(lambda x: torch.relu(layers[0](x)), X)
    with_gradient = X.clone().requires_grad_()
    found = [digest(_layer, layer, with_gradient) for layer in layers]
    assert len(set(found)) == 1
    assert digest(_layer, layers[0], X) == alone
    assert alone != found[0]  # its input wants a gradient: AOTAutograd makes another program of it


def test_values_and_names_of_weights_do_not_matter() -> None:
    class Renamed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.other = nn.Linear(8, 8)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.other(tokens))

    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.linear(x))

    assert digest(Named(), X) == digest(Renamed(), X + 1) == digest(Named(), X)


@pytest.mark.parametrize(
    ("name", "function", "args"),
    [
        ("shape", torch.relu, (torch.randn(4, 9),)),
        ("stride", torch.relu, (torch.randn(8, 4).t(),)),
        ("dtype", torch.relu, (X.double(),)),
        ("an operator", torch.sigmoid, (X,)),
        ("wanting a gradient", torch.relu, (X.clone().requires_grad_(),)),
        ("one operator more", lambda x: torch.relu(torch.relu(x)), (X,)),
        ("one input more", lambda x, y: torch.relu(x) + y, (X, X + 1)),
    ],
)
def test_what_is_computed_matters(name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert digest(function, *args) != digest(torch.relu, X), name


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (lambda x: x * 2.0, lambda x: x * 3.0),
        (lambda x: x.sum(0), lambda x: x.sum(1)),
        (lambda x: x[:, 1:3], lambda x: x[:, 1:4]),
        (lambda x: x.to(torch.float16), lambda x: x.to(torch.bfloat16)),
        (lambda x: F.gelu(x), lambda x: F.gelu(x, approximate="tanh")),
        (lambda x: F.dropout(x, 0.1), lambda x: F.dropout(x, 0.2)),
        (lambda x: x - (x + 1), lambda x: (x + 1) - x),
        (lambda x: F.pad(x, (1, 2)), lambda x: F.pad(x, (2, 1))),
    ],
)
def test_constants_keywords_and_the_order_of_arguments_matter(
    left: Callable[..., Any], right: Callable[..., Any]
) -> None:
    assert digest(left, X) != digest(right, X)


def test_which_input_is_used_matters() -> None:
    y = torch.randn(4, 8)
    assert digest(lambda a, b: (a + b) * a, X, y) != digest(lambda a, b: (a + b) * b, X, y)


def by_hand(target: Any, *args: Any, **kwargs: Any) -> str:
    """The digest of a graph with one call, for what this machine cannot run."""
    graph = Graph()
    x = graph.placeholder("x")
    call = graph.call_function(target, (x,), kwargs)
    graph.output(call)
    gm = GraphModule(nn.Module(), graph)
    call.args = (x, *args)  # after the source was written, which not every argument can be
    return graph_digest(gm, [X])


def test_the_index_of_a_device_does_not_matter_and_its_kind_does() -> None:
    first, second = torch.device("cuda", 0), torch.device("cuda", 1)
    assert by_hand(torch.ones_like, device=first) == by_hand(torch.ones_like, device=second)
    assert by_hand(torch.ones_like, device=first) != by_hand(torch.ones_like, device=torch.device("cpu"))
    # Dynamo keeps `x.to("cuda:1")` as text.
    assert by_hand(torch.Tensor.to, "cuda:0") == by_hand(torch.Tensor.to, "cuda:1")
    assert by_hand(torch.Tensor.to, "cuda:0") != by_hand(torch.Tensor.to, "cpu")


class _Callable:
    """An instance as a graph's target: its default repr holds its address."""

    __name__ = "instance"

    def __call__(self, x: torch.Tensor, *_: object) -> torch.Tensor:
        return x


class _Setting:
    pass


def test_an_address_in_a_repr_does_not_matter() -> None:
    assert by_hand(_Callable()) == by_hand(_Callable())
    assert by_hand(torch.relu, _Setting()) == by_hand(torch.relu, _Setting())
    assert by_hand(_Callable()) != by_hand(torch.relu)


def test_members_of_an_enum_are_told_apart() -> None:
    from torch.nn.attention import SDPBackend

    assert by_hand(torch.relu, SDPBackend.MATH) != by_hand(torch.relu, SDPBackend.FLASH_ATTENTION)


def test_a_graph_that_became_symbolic_has_one_key_whatever_sizes_made_it_so() -> None:
    found = []
    for sizes in ((4, 6, 9), (7, 3)):
        keys: list[str] = []

        def backend(gm: GraphModule, inputs: list[Any], keys: list[str] = keys) -> Callable[..., Any]:
            keys.append(graph_digest(gm, inputs))
            return gm.forward

        with fresh_dynamo():
            run = torch.compile(lambda x: torch.relu(x @ X.T), backend=backend)
            for size in sizes:
                run(torch.randn(size, 8))
        assert len(keys) == 2  # the first as it came, the second for all that follow
        found.append(keys[1])
    assert found[0] == found[1]


def test_symbolic_sizes_are_named_in_order_of_appearance() -> None:
    def one(x: torch.Tensor) -> torch.Tensor:
        return x.reshape(-1) * x.shape[0]

    def other(completely_different_name: torch.Tensor) -> torch.Tensor:
        return completely_different_name.reshape(-1) * completely_different_name.shape[0]

    dynamic = digest(one, torch.randn(5, 6), dynamic=True)
    assert dynamic == digest(one, torch.randn(7, 9), dynamic=True)
    assert dynamic == digest(other, torch.randn(3, 4), dynamic=True)
    assert dynamic != digest(one, torch.randn(5, 6), dynamic=False)
    # A square input has one size, not two.
    assert dynamic != digest(one, torch.randn(6, 6), dynamic=True)


def test_the_body_of_a_higher_order_operator_matters() -> None:
    def choose(one: float) -> Callable[[torch.Tensor], torch.Tensor]:
        def function(x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, lambda y: y * one, lambda y: y - 1, (x,))

        return function

    assert digest(choose(2.0), X) == digest(choose(2.0), X)
    assert digest(choose(2.0), X) != digest(choose(3.0), X)


def test_a_custom_operator_is_known_by_its_name() -> None:
    @torch.library.custom_op("graphbound_test::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @torch.library.custom_op("graphbound_test::thrice", mutates_args=())
    def thrice(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    for op in (twice, thrice):
        op.register_fake(torch.empty_like)
    assert digest(lambda x: twice(x), X) == digest(lambda x: twice(x), X)
    assert digest(lambda x: twice(x), X) != digest(lambda x: thrice(x), X)


def test_the_compilers_configuration_does_not_matter() -> None:
    import torch._inductor.config as inductor

    plain = digests(Mlp(talks=True), X)
    with inductor.patch({"cpp_wrapper": True, "max_autotune": True}):
        assert digests(Mlp(talks=True), X) == plain
    assert len(plain) == 2


_IN_ANOTHER_PROCESS = """
import torch
from tests.unit.collectors.test_graph_key import X, digests
from tests.workloads import Mlp
x = torch.randn(4, 8)
print(*digests(Mlp(talks=True), x), *digests(lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)), x))
"""


@pytest.mark.slow
def test_it_is_the_same_in_another_process(root: Path) -> None:
    here = [*digests(Mlp(talks=True), X)]
    here += digests(lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)), X)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _IN_ANOTHER_PROCESS],
        cwd=root,
        env={**os.environ, "PYTHONHASHSEED": "17", "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == here

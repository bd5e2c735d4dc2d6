"""Bakes the weights into one Dynamo graph, and notices when they change afterwards.

Inductor's `freezing` takes parameters and buffers of the graph's own module as constants. Dynamo hands them over as
inputs unless it knew of freezing as it traced, which one capture for several candidates cannot: so they are put back
here, and the graph's caller goes on passing them.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from torch.fx import GraphModule

from collectors import torch_compat
from optimizers.candidates.base import RefusedError

WATCHED_A_CALL: Final = 4
"""Weights looked at in each call, in turn: 1 to 2 µs for four and 2 to 4 µs for eight of 600 on a shared Xeon core
(torch 2.13). `load_state_dict` and an optimizer's step change all of them and are noticed in the next call; a single
one within (weights / 4) calls."""

NOTHING_TO_FREEZE: Final = "the graph has no weights that could be baked in"
CHANGED: Final = (
    "weights that were baked into a graph have changed since: it runs uncompiled, and right, from here on; "
    "torch.compiler.reset() and the next call compile it again with the new ones"
)

CompileGraph = Callable[[GraphModule, Sequence[Any]], Callable[..., Any]]


class FrozenWeightsChangedError(RuntimeError):
    """The weights of a measured run changed under a candidate that has them baked in."""

    def __init__(self) -> None:
        super().__init__("the step changes weights that the candidate has baked in")


class KeptError(Exception):
    """Weights, by their name in the graph with constants, that cannot be any: the graph writes or returns them."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(", ".join(names))
        self.names = names


def compile_with_constants(
    gm: GraphModule, inputs: Sequence[Any], compile_graph: CompileGraph, on_change: Callable[[], None]
) -> Callable[..., Any]:
    """`gm` with its weights baked in, called with all its inputs as `gm` itself is.

    Weights that `compile_graph` raises KeptError for stay inputs, and it is called again. `on_change` is called at
    each call that meets changed weights, before the graph runs as captured. Raises what `compile_graph` raises.
    """
    weights = torch_compat.static_tensors(gm, inputs)
    while True:
        graph, positions = torch_compat.with_constants(gm, weights)
        live = [position for position in range(len(inputs)) if position not in weights]
        try:
            with torch_compat.parameters_put_back():
                call = compile_graph(graph, [inputs[position] for position in live])
        except KeptError as kept:
            stay = {positions[name] for name in kept.names}
            weights = {position: value for position, value in weights.items() if position not in stay}
        else:
            return _watching(call, _taker(live), gm.forward, weights, on_change)


def require_frozen(graph: GraphModule) -> None:
    """Raises KeptError where Inductor, having read this graph with constants, left some of them among its inputs."""
    kept = torch_compat.kept_parameters(graph)
    if kept:
        raise KeptError(kept)


def require_weights(graph: GraphModule) -> None:
    """Raises RefusedError where there is nothing to bake in."""
    if not any(True for _ in (*graph.parameters(), *graph.buffers())):
        raise RefusedError(NOTHING_TO_FREEZE)


def _watching(
    call: Callable[..., Any],
    take: Callable[[tuple[Any, ...]], tuple[Any, ...]],
    as_captured: Callable[..., Any],
    weights: Mapping[int, torch.Tensor],
    on_change: Callable[[], None],
) -> Callable[..., Any]:
    """`call` with what `take` picks of its arguments, as long as the weights among them are what they were."""
    known = [(position, value, value._version, value.data_ptr()) for position, value in weights.items()]
    turns = [tuple(known[start : start + WATCHED_A_CALL]) for start in range(0, len(known) or 1, WATCHED_A_CALL)]
    next_turn = itertools.cycle(turns).__next__
    has_changed = False

    def watched(*args: Any) -> Any:
        nonlocal has_changed
        for position, value, version, address in next_turn():
            if args[position] is not value or value._version != version or value.data_ptr() != address:
                has_changed = True
        if has_changed:
            on_change()
            return as_captured(*args)
        return call(*take(args))

    return watched


def _taker(live: Sequence[int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Picks these arguments, at C's speed where there are several."""
    match live:
        case []:
            return lambda args: ()
        case [only]:
            return lambda args: (args[only],)
        case _:
            return operator.itemgetter(*live)

"""Dynamo graphs changed in what they compute, for candidates that the user allowed to: each change makes a copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from collectors import torch_compat
from optimizers.attention_graph import fuse_attention
from optimizers.candidates.base import RefusedError
from optimizers.channels_last_graph import lay_channels_last

NO_PRODUCTS: Final = "the graph has no float32 matrix product"
NO_HALF: Final = "the graph has no float32 product or convolution"
NO_CONVOLUTIONS: Final = "the graph has no 2-D convolution whose layout could change"
FIXED_LAYOUT: Final = "the graph reads memory by strides of its own (as_strided)"
NO_ATTENTION: Final = "the graph writes out no attention that scaled_dot_product_attention is known to equal"

_MATRIX_PRODUCTS: Final = frozenset(
    {"linear", "matmul", "__matmul__", "mm", "bmm", "mv", "addmm", "addmv", "addbmm", "baddbmm", "einsum", "bilinear"}
    | {"scaled_dot_product_attention", "multi_head_attention_forward", "lstm", "gru", "rnn_tanh", "rnn_relu"}
)
_CONVOLUTIONS: Final = frozenset(f"conv{kind}{rank}d" for kind in ("", "_transpose") for rank in (1, 2, 3))


def changed_graph(gm: GraphModule, changes: Iterable[str]) -> GraphModule:
    """A copy of `gm` with these changes of meaning made that are made in a graph; `gm` itself where none is.

    What goes in and out keeps its dtypes and strides, so that graphs around this one stay as they are. Raises
    RefusedError where one of the changes would change nothing, or its result could not be relied on.
    """
    for change in changes:
        match change:
            case "fused_attention":
                gm, count = fuse_attention(gm)
                if not count:
                    raise RefusedError(NO_ATTENTION)
            case "channels_last":
                if any(True for _ in _calls(gm, ("as_strided",))):
                    raise RefusedError(FIXED_LAYOUT)
                gm, count = lay_channels_last(gm)
                if not count:
                    raise RefusedError(NO_CONVOLUTIONS)
            case "tf32":
                if not has_float32_product(gm, _MATRIX_PRODUCTS):
                    raise RefusedError(NO_PRODUCTS)
            case "bf16":
                gm = _under_autocast(gm)
            case _:
                pass  # made where the graph has its weights as constants (quantized_graph.py)
    return gm


def has_float32_product(gm: GraphModule, names: Iterable[str]) -> bool:
    """Whether the graph has an operation of one of these names on float32 tensors."""
    return any(_first_dtype(node) is torch.float32 for node in _calls(gm, names))


def _calls(gm: GraphModule, names: Iterable[str]) -> Iterator[Node]:
    wanted = frozenset(names)
    return (node for node in gm.graph.nodes if torch_compat.called_name(node) in wanted)


def _first_dtype(node: Node) -> torch.dtype | None:
    """Of the first tensor among its arguments."""
    for argument in node.all_input_nodes:
        value = torch_compat.example_tensor(argument)
        if value is not None:
            return value.dtype
    return None


def _under_autocast(gm: GraphModule) -> GraphModule:
    """The whole graph under autocast to bfloat16, what it returns brought back to the types that it had.

    As Dynamo writes `with torch.autocast(...)` of a user's own; AOTAutograd traces the casts, which Inductor fuses.
    """
    device = _device_of(gm)
    if device is None or not has_float32_product(gm, _MATRIX_PRODUCTS | _CONVOLUTIONS):
        raise RefusedError(NO_HALF)
    changed = torch_compat.copied_graph(gm)
    graph = changed.graph
    output = graph.output_node()
    first = next(node for node in graph.nodes if node.op != "placeholder")
    enter, leave = torch_compat.autocast_functions()
    with graph.inserting_before(first):
        entered = graph.call_function(enter, (device, torch.bfloat16, True, None))
    with graph.inserting_before(output):
        graph.call_function(leave, (entered,))
        casts: dict[Node, Node] = {}

        def in_its_own_type(node: Node) -> Node:
            value = torch_compat.example_tensor(node)
            if node.op == "placeholder" or value is None or not value.is_floating_point():
                return node
            if node not in casts:
                casts[node] = graph.call_method("to", (node, value.dtype))
                casts[node].meta = dict(node.meta)
            return casts[node]

        returned: Any = map_arg(output.args, in_its_own_type)
    output.args = returned
    graph.lint()
    changed.recompile()
    return changed


def _device_of(gm: GraphModule) -> str | None:
    for node in gm.graph.nodes:
        value = torch_compat.example_tensor(node)
        if value is not None and value.is_floating_point() and value.device.type != "meta":
            return value.device.type
    return None

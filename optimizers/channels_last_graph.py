"""Gives the convolutions of a Dynamo graph images and weights with the channels innermost in memory."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from collectors import torch_compat

CONVOLUTIONS_2D: Final = ("conv2d", "conv_transpose2d")


def lay_channels_last(gm: GraphModule) -> tuple[GraphModule, int]:
    """A copy of `gm`, and to how many tensors the layout is new; 0: nothing changes by it.

    The layout goes on from a convolution to what is computed of it, by torch's own rules. A `view` that only the old
    layout allows becomes a `reshape`; what the graph returns is brought back to the layout that it had.
    """
    changed = torch_compat.copied_graph(gm)
    graph = changed.graph
    count = sum(_lay(changed, node) for node in graph.nodes if torch_compat.called_name(node) in CONVOLUTIONS_2D)
    if not count:
        return changed, 0
    for node in graph.nodes:
        is_written = any(map(torch_compat.may_write, node.users))
        is_of_type = any(isinstance(argument, torch.dtype) for argument in node.args)
        if node.op == "call_method" and node.target == "view" and not (is_written or is_of_type):
            node.target = "reshape"
    _return_as_before(changed)
    graph.lint()
    changed.recompile()
    return changed, count


def _lay(gm: GraphModule, convolution: Node) -> int:
    """Of how many of its two tensors the layout is new. An image that another node made is laid out too, which costs
    nothing where it has the layout by then.
    """
    count = 0
    for position in range(2):
        tensor = convolution.args[position] if len(convolution.args) > position else None
        value = torch_compat.example_tensor(tensor)
        if not isinstance(tensor, Node) or value is None or value.dim() != 4:
            continue
        with gm.graph.inserting_before(convolution):
            laid = gm.graph.call_method("contiguous", (tensor,), {"memory_format": torch.channels_last})
        laid.meta = dict(tensor.meta)
        convolution.update_arg(position, laid)
        count += not value.is_contiguous(memory_format=torch.channels_last)
    return count


def _return_as_before(gm: GraphModule) -> None:
    output = gm.graph.output_node()
    with gm.graph.inserting_before(output):

        def in_its_own_layout(node: Node) -> Node:
            value = torch_compat.example_tensor(node)
            if node.op == "placeholder" or value is None or value.dim() != 4:
                return node
            if not value.is_contiguous():
                return node
            again = gm.graph.call_method("contiguous", (node,))
            again.meta = dict(node.meta)
            return again

        returned: Any = map_arg(output.args, in_its_own_layout)
    output.args = returned

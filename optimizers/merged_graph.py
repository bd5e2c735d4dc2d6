"""What the candidates that merge do to a Dynamo graph: linear layers of one input, then alike small products."""

from __future__ import annotations

from torch.fx import Graph, GraphModule

from collectors import torch_compat
from optimizers.batched_graph import batch_products
from optimizers.grouped_graph import merge_linears


def merge_alike(gm: GraphModule) -> GraphModule | None:
    """A copy of `gm` with what is alike merged; None where nothing is."""
    graph = _merged(gm)
    return None if graph is None else torch_compat.with_nodes(gm, graph)


def merged_share(gm: GraphModule) -> float | None:
    """Of the operations of `gm`, how many are left when what is alike is merged; None where nothing is."""
    graph = _merged(gm)
    return None if graph is None else _operations(graph) / _operations(gm.graph)


def _merged(gm: GraphModule) -> Graph | None:
    graph = torch_compat.copied_nodes(gm)
    count = merge_linears(graph) + batch_products(graph)
    if not count:
        return None
    graph.lint()
    return graph


def _operations(graph: Graph) -> int:
    return sum(node.op.startswith("call_") for node in graph.nodes)

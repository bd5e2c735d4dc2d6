"""What the candidates that merge do to a Dynamo graph: linear layers of one input, then alike small products."""

from __future__ import annotations

from torch.fx import GraphModule

from optimizers.batched_graph import batch_products
from optimizers.grouped_graph import merge_linears


def merge_alike(gm: GraphModule) -> tuple[GraphModule, int]:
    """A copy of `gm` with what is alike merged, and how many layers and products were; 0: nothing was."""
    merged, layers = merge_linears(gm)
    batched, products = batch_products(merged)
    return batched, layers + products


def merged_share(gm: GraphModule) -> float | None:
    """Of the operations of `gm`, how many are left when what is alike is merged; None where nothing is."""
    merged, count = merge_alike(gm)
    return _operations(merged) / _operations(gm) if count else None


def _operations(gm: GraphModule) -> int:
    return sum(node.op.startswith("call_") for node in gm.graph.nodes)

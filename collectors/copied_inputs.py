"""Which inputs of a captured graph a CUDA graph must copy to its own place at each replay."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from analyzer.core.graphs import Direction
from collectors import torch_compat


def copied_bytes(dynamo: GraphModule, direction: Direction) -> int | None:
    """Bytes of the CUDA inputs of a Dynamo graph that are neither parameters nor buffers: those keep their place.

    None for a backward, whose inputs are mostly the forward's outputs and stay where they are; and where a size is
    symbolic or not known. Inputs are taken to be contiguous.
    """
    if direction is Direction.BACKWARD:
        return None
    sizes = [
        _bytes(node)
        for node in dynamo.graph.nodes
        if node.op == "placeholder" and not torch_compat.is_static_input(node)
    ]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _bytes(node: Node) -> int | None:
    """0 for what is no tensor of a CUDA device: a CUDA graph takes numbers as they are, and no tensors of the host."""
    value = node.meta.get("example_value", node.meta.get("val"))
    if not isinstance(value, torch.Tensor):
        return 0 if value is not None else None
    if value.device.type != "cuda":
        return 0
    count = value.numel()
    return count * value.element_size() if isinstance(count, int) else None

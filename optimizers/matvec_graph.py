"""Writes the products of a matrix and a vector in an ATen graph as sums, which Inductor fuses with their neighbours."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch.fx import GraphModule, Node

from collectors import torch_compat

_ATEN: Final = torch.ops.aten
_PRODUCTS: Final = (_ATEN.mm.default, _ATEN.addmm.default, _ATEN.bmm.default)


def fuse_matvecs(gm: GraphModule) -> int:
    """Rewrite, in place, each `mm`, `addmm` and `bmm` of a forward or backward in which either side is one vector (for
    `bmm`: one a batch); returns how many. Only of floating-point tensors, and of sizes that are plain numbers.

    The sum is what Inductor itself makes of them under coordinate descent (`_inductor/decomposition.py`): a product of
    two bfloat16 numbers and their sum stay in float32 until they are written.
    """
    count = 0
    for node in tuple(gm.graph.nodes):
        if node.op == "call_function" and _is_matvec(gm, node):
            _rewrite(gm, node)
            count += 1
    if count:
        gm.graph.lint()
        gm.recompile()
    return count


def _is_matvec(gm: GraphModule, node: Node) -> bool:
    if node.target not in _PRODUCTS or node.kwargs:  # a scaled `addmm` names its factors
        return False
    sides = [torch_compat.aten_example(gm, side) for side in _sides(node)]
    if any(one is None or not one.is_floating_point() for one in sides):
        return False
    left, right = (tuple(one.shape) for one in sides if one is not None)
    return any(isinstance(size, int) and size == 1 for size in (left[-2], right[-1]))


def _sides(node: Node) -> tuple[Any, Any]:
    left, right = node.args[-2:]
    return left, right


def _rewrite(gm: GraphModule, node: Node) -> None:
    graph = gm.graph
    is_added = node.target is _ATEN.addmm.default
    left, right = _sides(node)
    batch = 1 if node.target is _ATEN.bmm.default else 0

    def made(target: Any, *args: Any) -> Node:
        new = graph.call_function(target, args)
        new.meta = {name: value for name, value in node.meta.items() if name != "val"}
        torch_compat.derive_aten_example(gm, new)
        return new

    with graph.inserting_before(node):
        wide = made(_ATEN.unsqueeze.default, left, batch + 2)
        tall = made(_ATEN.unsqueeze.default, right, batch)
        whole = made(_ATEN.sum.dim_IntList, made(_ATEN.mul.Tensor, wide, tall), [batch + 1])
        if is_added:
            whole = made(_ATEN.add.Tensor, whole, node.args[0])
    node.replace_all_uses_with(whole)
    graph.erase_node(node)

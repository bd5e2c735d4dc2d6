"""What of a captured graph decides which candidates are worth a trial, read without compiling it."""

from __future__ import annotations

from typing import Final

import torch
from torch.fx import GraphModule, Node

from collectors import torch_compat
from optimizers.merged_graph import merged_share
from optimizers.trials import Outline

_PRODUCTS: Final = frozenset({"linear", "matmul", "__matmul__", "mm", "bmm", "addmm", "baddbmm"})
_ADDED: Final = frozenset({"addmm", "baddbmm"})
"""Their factors come after what the product is added to."""


def outline_of(gm: GraphModule) -> Outline:
    sides = [found for node in gm.graph.nodes if (found := _sides(node)) is not None]
    return Outline(merged_share(gm), len(sides), sum(_is_matvec(*pair) for pair in sides))


def _sides(node: Node) -> tuple[torch.Tensor, torch.Tensor] | None:
    """The factors of a product of floating-point tensors, the second as it is multiplied: (…, k) by (…, k, n)."""
    name = torch_compat.called_name(node)
    if name not in _PRODUCTS:
        return None
    first = 1 if name in _ADDED else 0
    left, right = (torch_compat.example_tensor(n) for n in (*node.args, None, None, None)[first : first + 2])
    if left is None or right is None or not left.is_floating_point() or not left.dim() or not right.dim():
        return None
    return left, right.transpose(0, 1) if name == "linear" and right.dim() == 2 else right


def _is_matvec(left: torch.Tensor, right: torch.Tensor) -> bool:
    is_batched = right.dim() > 2
    rows = left.shape[-2:-1] if is_batched else left.shape[:-1]
    columns = right.shape[-1:] if right.dim() > 1 else ()
    return all(_is_one(size) for size in rows) or all(_is_one(size) for size in columns)


def _is_one(size: object) -> bool:
    return isinstance(size, int) and size == 1

"""What is seen of a node from outside of its Dynamo graph, and has to stay: memory, layout, having a gradient."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

import torch
from torch.fx import Graph, Node

from collectors import torch_compat

_SEES_LAYOUT: Final = frozenset(
    {"view", "view_as", "as_strided", "view_as_complex", "view_as_real", "stride", "storage_offset", "data_ptr"}
    | {"is_contiguous", "untyped_storage"}
)
_HIDES_LAYOUT: Final = frozenset({"matmul", "__matmul__", "bmm", "linear", "size"})
"""Give the same layout whatever that of their inputs is. Others may hand it on: `contiguous` of one row."""

_GIVES_ITS_INPUT: Final = frozenset({"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"})
"""Give back the very tensor where they are switched off, while their example has memory of its own (torch 2.13)."""


@dataclass(frozen=True, slots=True)
class GraphMemory:
    """`seen` are the nodes whose layout reaches what tells it apart or refuses another, through views and what keeps
    the layout; `trained` those that a gradient comes back to; `leaving` and `written` the storages that leave the graph
    and that are written to, whole or by a view.
    """

    seen: frozenset[Node]
    trained: frozenset[Node]
    leaving: frozenset[int]
    written: frozenset[int]

    def leaves(self, node: Node) -> bool:
        return _is_in(self.leaving, node)

    def is_written(self, node: Node) -> bool:
        return _is_in(self.written, node)


def memory_of(graph: Graph) -> GraphMemory:
    """What Dynamo's own examples tell: results that share memory share that of their examples. Takes one pass."""
    seen: set[Node] = set()
    trained: set[Node] = set()
    leaving: set[int] = set()
    written: set[int] = set()
    for node in reversed(graph.nodes):
        if any(_sees_layout(user) or (user in seen and not _hides_layout(user)) for user in node.users):
            seen.add(node)
        is_used = (user.op == "output" or user in trained or torch_compat.may_write(user) for user in node.users)
        if any(is_used) and any(one.requires_grad for one in _tensors(node)):
            trained.add(node)
        storages = [storage for storage in _storages(node) if storage is not None]
        passing = [user for user in node.users if torch_compat.called_name(user) in _GIVES_ITS_INPUT]
        if any(user.op == "output" for user in node.users) or any(_is_in(leaving, user) for user in passing):
            leaving.update(storages)
        if any(map(torch_compat.may_write, node.users)) or any(_is_in(written, user) for user in passing):
            written.update(storages)
    return GraphMemory(frozenset(seen), frozenset(trained), frozenset(leaving), frozenset(written))


def own_copy(graph: Graph, node: Node) -> Node:
    """A dense copy with strides and memory of its own, even where it has one row and counts as dense already."""
    return graph.call_method("clone", (node,), {"memory_format": torch.contiguous_format})


def _sees_layout(user: Node) -> bool:
    if user.op == "output" or torch_compat.called_name(user) in _SEES_LAYOUT:
        return True
    return user.op == "call_function" and not torch_compat.is_of_torch(user.target)


def _hides_layout(user: Node) -> bool:
    return torch_compat.called_name(user) in _HIDES_LAYOUT


def _is_in(storages: AbstractSet[int], node: Node) -> bool:
    """When in doubt it is."""
    own = _storages(node)
    return not own or any(storage is None or storage in storages for storage in own)


def _storages(node: Node) -> list[int | None]:
    """Of the tensors of its example; None for one that has none."""
    return [torch_compat.storage_id(one) for one in _tensors(node)]


def _tensors(node: Node) -> list[torch.Tensor]:
    example = node.meta.get("example_value")
    return [one for one in (example if isinstance(example, list | tuple) else (example,)) if torch.is_tensor(one)]

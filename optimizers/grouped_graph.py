"""Merges the linear layers of one input in a Dynamo graph: many narrow products become one wide one, and its parts."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch.fx import GraphModule, Node

from collectors import torch_compat

LINEAR: Final = torch._C._nn.linear
"""What Dynamo writes for `torch.nn.Linear` and `torch.nn.functional.linear`, which is this very function."""


@dataclass(frozen=True, slots=True)
class _Linear:
    node: Node
    input: Node
    weight: Node
    bias: Node | None
    width: int


def merge_linears(gm: GraphModule) -> tuple[GraphModule, int]:
    """A copy of `gm` in which the layers of each input are one, and how many layers were merged; 0: nothing was.

    Only layers whose weights are inputs or attributes of the graph, of one dtype, with nothing written between them
    and none of their results written to.
    """
    merged = torch_compat.copied_graph(gm)
    count = 0
    for group in _groups(merged):
        _merge(merged, group)
        count += len(group)
    if count:
        merged.graph.lint()
        merged.recompile()
    return merged, count


def _groups(gm: GraphModule) -> Iterator[list[_Linear]]:
    groups: dict[tuple[object, ...], list[_Linear]] = defaultdict(list)
    writes = 0
    for node in gm.graph.nodes:
        # Between two layers nothing may be written: the later one would see the old input.
        writes += torch_compat.may_write(node)
        linear = _linear(node)
        if linear is not None:
            dtype = linear.weight.meta["example_value"].dtype
            groups[linear.input, linear.bias is None, dtype, writes].append(linear)
    yield from (group for group in groups.values() if len(group) > 1)


def _linear(node: Node) -> _Linear | None:
    if node.op != "call_function" or node.target is not LINEAR or any(map(torch_compat.may_write, node.users)):
        return None
    given = torch_compat.named_arguments(node, "input", "weight", "bias")
    left, weight, bias = given.get("input"), given.get("weight"), given.get("bias")
    if not isinstance(left, Node) or not isinstance(weight, Node) or not _is_given(weight):
        return None
    if bias is not None and not (isinstance(bias, Node) and _is_given(bias)):
        return None
    shape = _shape(weight)
    return _Linear(node, left, weight, bias, shape[0]) if shape is not None and len(shape) == 2 else None


def _is_given(node: Node) -> bool:
    return node.op in ("placeholder", "get_attr") and _shape(node) is not None


def _shape(node: Node) -> tuple[int, ...] | None:
    """The sizes of a tensor, None where they are not plain numbers or it is no tensor."""
    value = torch_compat.example_tensor(node)
    if value is None or any(not isinstance(size, int) for size in value.shape):
        return None
    return tuple(value.shape)


def _merge(gm: GraphModule, group: Sequence[_Linear]) -> None:
    graph, first = gm.graph, group[0]
    biases = [linear.bias for linear in group if linear.bias is not None]
    with graph.inserting_before(first.node):
        weight = graph.call_function(torch.cat, ([linear.weight for linear in group],), {"dim": 0})
        bias = graph.call_function(torch.cat, (biases,), {"dim": 0}) if biases else None
        whole = graph.call_function(LINEAR, (first.input, weight, bias))
        parts = graph.call_function(torch.split, (whole, [linear.width for linear in group]), {"dim": -1})
        for number, linear in enumerate(group):
            part = graph.call_function(operator.getitem, (parts, number))
            part.meta = dict(linear.node.meta)
            if any(map(sees_layout, linear.node.users)):
                part = graph.call_method("contiguous", (part,))
                part.meta = dict(linear.node.meta)
            linear.node.replace_all_uses_with(part)
    for linear in group:
        graph.erase_node(linear.node)


def sees_layout(user: Node) -> bool:
    """Whether a user of a dense tensor might take a part of a wider one for something else, or refuse it."""
    if user.op == "output":
        return True
    if user.op == "call_method":
        return user.target in ("view", "view_as", "as_strided", "stride", "is_contiguous", "data_ptr")
    return user.op == "call_function" and not torch_compat.is_of_torch(user.target)

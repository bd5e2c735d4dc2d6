"""Merges the linear layers of one input in a Dynamo graph: many narrow products become one wide one, and its parts."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch.fx import Graph, Node

from collectors import torch_compat
from optimizers.graph_memory import GraphMemory, memory_of, own_copy

LINEAR: Final = torch._C._nn.linear
"""What Dynamo writes for `torch.nn.Linear` and `torch.nn.functional.linear`, which is this very function."""


@dataclass(frozen=True, slots=True)
class _Linear:
    node: Node
    input: Node
    weight: Node
    bias: Node | None
    width: int


def merge_linears(graph: Graph) -> int:
    """Make the layers of each input in `graph` one; returns how many layers were merged.

    Only layers whose weights are inputs or attributes of the graph, plain tensors of one dtype, all of them trained or
    none, with nothing written and nothing set (autocast, the gradient mode) between them and none of their results
    written to.
    """
    memory = memory_of(graph)
    count = 0
    for group in _groups(graph, memory):
        _merge(graph, group, memory)
        count += len(group)
    return count


def _groups(graph: Graph, memory: GraphMemory) -> Iterator[list[_Linear]]:
    groups: dict[tuple[object, ...], list[_Linear]] = defaultdict(list)
    changes = 0
    for node in graph.nodes:
        # Between two layers nothing may be written, as the later one would see the old input, and nothing set.
        changes += torch_compat.may_write(node) or _may_set(node)
        linear = _linear(node)
        if linear is not None and not memory.is_written(node):
            groups[linear.input, changes, _kind(linear, node in memory.trained)].append(linear)
    yield from (group for group in groups.values() if len(group) > 1)


def _may_set(node: Node) -> bool:
    """Whether it may be called for something else than its result: to enter autocast, to switch gradients off."""
    return node.op.startswith("call_") and node.meta.get("example_value") is None


def _kind(linear: _Linear, is_trained: bool) -> tuple[object, ...]:
    """What layers must share to be one: beside one that is trained another would have gradients of zero, for none."""
    tensors = (torch_compat.example_tensor(node) for node in (linear.node, linear.weight, linear.bias))
    kinds = (one if one is None else (one.dtype, one.device, is_trained and one.requires_grad) for one in tensors)
    return is_trained, _requires_grad(linear.node), *kinds


def _requires_grad(node: Node) -> bool:
    tensor = torch_compat.example_tensor(node)
    return tensor is not None and tensor.requires_grad


def _linear(node: Node) -> _Linear | None:
    if node.op != "call_function" or node.target is not LINEAR:
        return None
    given = torch_compat.named_arguments(node, "input", "weight", "bias")
    left, weight, bias = given.get("input"), given.get("weight"), given.get("bias")
    if not isinstance(left, Node) or torch_compat.plain_example(left) is None:
        return None
    if not isinstance(weight, Node) or not _is_given(weight):
        return None
    shape = _shape(weight)
    if shape is None or len(shape) != 2:
        return None
    if bias is not None and not (isinstance(bias, Node) and _is_given(bias) and _shape(bias) == shape[:1]):
        return None
    return _Linear(node, left, weight, bias, shape[0])


def _is_given(node: Node) -> bool:
    return node.op in ("placeholder", "get_attr") and _shape(node) is not None


def _shape(node: Node) -> tuple[int, ...] | None:
    """The sizes of a tensor, None where they are not plain numbers or it is no tensor."""
    value = torch_compat.plain_example(node)
    if value is None or any(not isinstance(size, int) for size in value.shape):
        return None
    return tuple(value.shape)


def _merge(graph: Graph, group: Sequence[_Linear], memory: GraphMemory) -> None:
    first = group[0]
    biases = [linear.bias for linear in group if linear.bias is not None]
    with graph.inserting_before(first.node):
        weight = graph.call_function(torch.cat, ([linear.weight for linear in group],), {"dim": 0})
        bias = graph.call_function(torch.cat, (biases,), {"dim": 0}) if biases else None
        whole = graph.call_function(LINEAR, (first.input, weight, bias))
        parts = graph.call_function(torch.split, (whole, [linear.width for linear in group]), {"dim": -1})
        for number, linear in enumerate(group):
            part = graph.call_function(operator.getitem, (parts, number))
            part.meta = dict(linear.node.meta)
            if linear.node in memory.seen:
                part = own_copy(graph, part)
                part.meta = dict(linear.node.meta)
            linear.node.replace_all_uses_with(part)
    for linear in group:
        graph.erase_node(linear.node)

"""Which lines of a captured graph make a tensor on the host and then move it to where another one is.

On a CPU such a move is none: no operator runs, and only the graph as Dynamo wrote it down still says that it was asked
for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import torch
from torch.fx import GraphModule, Node

from analyzer.core.graphs import SourceLine
from collectors.sources import node_line

_MOVES: Final = ("to", "type_as")


def moved_lines(dynamo: GraphModule, root: Path | None) -> tuple[SourceLine, ...]:
    """The user's line of each such move, in order of execution; one line twice where it moves two tensors.

    A tensor that was made with `device=` is where it is wanted, and one that comes from an input was not made here.
    """
    made: set[Node] = set()
    lines: list[SourceLine] = []
    for node in dynamo.graph.nodes:
        if _is_move(node) and node.args[0] in made:
            line = node_line(node, root)
            lines += [line] if line is not None else []
        elif _is_made(node, made):
            made.add(node)
    return tuple(lines)


def _is_made(node: Node, made: set[Node]) -> bool:
    """Whether it is a tensor of the CPU that was made of nothing but Python values, or of such tensors."""
    if node.op not in ("call_function", "call_method") or not _is_on_cpu(node):
        return False
    if node.all_input_nodes:
        return all(taken in made for taken in node.all_input_nodes)
    return node.op == "call_function" and node.kwargs.get("device") is None


def _is_on_cpu(node: Node) -> bool:
    value = node.meta.get("example_value")
    return isinstance(value, torch.Tensor) and value.device.type == "cpu"


def _is_move(node: Node) -> bool:
    """`t.to(device)`, `t.to(other)` and `t.type_as(other)`; `t.to(dtype)` moves nothing."""
    if node.op != "call_method" or node.target not in _MOVES or not node.args or not isinstance(node.args[0], Node):
        return False
    wanted = (*node.args[1:], node.kwargs.get("device"), node.kwargs.get("other"))
    return any(isinstance(value, torch.device | str | Node) for value in wanted)

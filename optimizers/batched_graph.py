"""Batches alike products of a Dynamo graph: many small ones become one, with what is done to each of them after it.

The heads of an attention that are modules of their own are the common case: each is two products with a scale, a mask
and a softmax between them, too short to fill a GPU or to be worth a launch.
"""

from __future__ import annotations

import heapq
import math
import operator
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import torch
from torch.fx import Graph, Node

from collectors import torch_compat
from optimizers.attention_graph import PRODUCTS, drops_nothing
from optimizers.graph_memory import GraphMemory, memory_of, own_copy

SMALL_FLOPS: Final = 2e9
"""Up to this a product is batched: some 5 µs of a data-centre GPU's tensor cores (400 TFLOP/s), as long as a launch."""

_UNARY: Final = ("relu", "gelu", "silu", "tanh", "sigmoid", "exp", "log", "neg", "abs", "sqrt", "rsqrt", "float")
_BINARY: Final = ("add", "sub", "mul", "div", "truediv", "true_divide", "maximum", "minimum", "masked_fill")
_FOLLOWING: Final = (*_UNARY, *_BINARY, "softmax")
"""Element by element, or along a last dimension: the same on a batch as on its parts."""
_LAYERS: Final = ("linear", "layer_norm", "rms_norm", "embedding")
_VIEWS: Final = ("transpose", "permute", "view", "reshape", "flatten", "unflatten", "unsqueeze", "squeeze", "expand")
_PARTS: Final = ("getitem", "split", "chunk", "unbind", "cat", "stack", "contiguous", "size", "getattr")
_OTHERS: Final = ("arange", "sum", "mean", "pow", "rsub", "invert", "bitwise_not", "logical_not")
_MOVABLE: Final = (*PRODUCTS, *_FOLLOWING, *_LAYERS, *_VIEWS, *_PARTS, *_OTHERS)
"""Draw no random numbers, write nothing and set nothing: only around these may a product be moved."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node is: nodes of one `depth` do not depend on each other, and nothing is moved out of its `segment`,
    which ends where something is called that is not known to be movable.
    """

    segment: int
    number: int
    depth: int


@dataclass(slots=True)
class _Work:
    """A graph while it is changed: `batch_of` has the number of a batch and the place in it of each member."""

    graph: Graph
    places: dict[Node, _Place]
    memory: GraphMemory
    batches: list[Node] = field(default_factory=list)
    members: list[tuple[Node, ...]] = field(default_factory=list)
    batch_of: dict[Node, tuple[int, int]] = field(default_factory=dict)

    def call(self, function: Any, args: tuple[Any, ...], like: Node) -> Node:
        """A new node, in the place of `like`."""
        return self.placed(self.graph.call_function(function, args), like)

    def placed(self, node: Node, like: Node) -> Node:
        node.meta = {name: value for name, value in like.meta.items() if name != "example_value"}
        self.places[node] = self.places[like]
        return node


def batch_products(graph: Graph) -> int:
    """Make alike products of `graph` one; returns how many products were batched.

    Batched are products of plain tensors of the same fixed sizes and types, of at most `SMALL_FLOPS`, that do not
    depend on each other, with nothing between them that may write or draw. Results that leave the graph or are written
    to, whole or by a view, stay as they are.
    """
    places = _places(graph)
    work = _Work(graph, places, memory_of(graph))
    depths = defaultdict(list)
    for node, place in places.items():
        depths[place.depth].append(node)
    count = 0
    with graph.inserting_before(graph.output_node()):
        for depth in sorted(depths):
            for group in _alike(work, depths[depth]):
                _batch(work, group)
                count += is_product(group[0]) * len(group)
        if count:
            _join(work)
            _take_parts(work)
    if count:
        _put_in_order(graph, places)
    return count


def is_product(node: Node) -> bool:
    return torch_compat.called_name(node) in PRODUCTS


# -- what may be batched ----------------------------------------------------------------------------------------------


def _places(graph: Graph) -> dict[Node, _Place]:
    places: dict[Node, _Place] = {}
    segment = floor = deepest = 0
    for number, node in enumerate(graph.nodes):
        depth = max((places[given].depth + 1 for given in node.all_input_nodes), default=0)
        if node.op in ("placeholder", "get_attr"):
            places[node] = _Place(-1, number, 0)
            continue
        if _is_movable(node):
            depth = max(depth, floor)
            places[node] = _Place(segment, number, depth)
        else:
            depth = deepest + 1
            places[node] = _Place(segment + 1, number, depth)
            segment, floor = segment + 2, depth + 1
        deepest = max(deepest, depth)
    return places


def _is_movable(node: Node) -> bool:
    is_known = node.op == "call_method" or (node.op == "call_function" and torch_compat.is_of_torch(node.target))
    if not is_known or torch_compat.may_write(node):
        return False
    name = torch_compat.called_name(node)
    return name in _MOVABLE or (name == "dropout" and drops_nothing(node))


def _alike(work: _Work, nodes: Sequence[Node]) -> Iterator[tuple[Node, ...]]:
    """Nodes of one depth that may be one, in the order of the graph."""
    found: dict[object, list[Node]] = defaultdict(list)
    for node in nodes:
        key = _key(work, node)
        if key is not None:
            found[key].append(node)
    for group in found.values():
        batch = next((work.batch_of[node][0] for node in group[0].all_input_nodes if node in work.batch_of), None)
        if batch is None:
            if len(group) > 1:
                yield tuple(group)
            continue
        # What follows a batch is batched where each member has it once; a part of a batch would have to be copied.
        by_place = {_place_in_batch(work, node, batch): node for node in group}
        if len(by_place) == len(group) == len(work.members[batch]):
            yield tuple(by_place[place] for place in sorted(by_place))


def _place_in_batch(work: _Work, node: Node, batch: int) -> int:
    found = (work.batch_of[given] for given in node.all_input_nodes if given in work.batch_of)
    return next(place for number, place in found if number == batch)


def _key(work: _Work, node: Node) -> object | None:
    """Equal for nodes that do the same to tensors of the same sizes; None: it is left as it is."""
    if not _is_movable(node) or work.memory.leaves(node) or work.memory.is_written(node):
        return None
    name, rank, tensor = torch_compat.called_name(node), _rank(node), torch_compat.plain_example(node)
    if tensor is None or (not tensor.is_contiguous() and node in work.memory.seen):
        return None
    is_first = is_product(node) and _flops(node) <= SMALL_FLOPS
    is_next = name in _FOLLOWING and any(given in work.batch_of for given in node.all_input_nodes)
    if rank is None or not (is_first or (is_next and _is_along_last(node, rank))):
        return None
    arguments = [_argument(work, one) for one in node.args]
    options = [(name, _argument(work, one)) for name, one in sorted(node.kwargs.items())]
    if None in arguments or any(one is None for _, one in options):
        return None
    if is_first and (len(arguments) != 2 or options):
        return None
    # Beside one that is trained another would be given gradients of zero, where it had none.
    return (
        node.op,
        str(node.target),
        node in work.memory.trained,
        tensor.requires_grad,
        tuple(arguments),
        tuple(options),
    )


def _argument(work: _Work, value: object) -> tuple[object, ...] | None:
    """What of an argument two nodes must share; None where a batch could not take its place."""
    if not isinstance(value, Node):
        is_plain = value is None or isinstance(value, bool | int | float | str | torch.dtype)
        return ("plain", repr(value)) if is_plain else None
    tensor = torch_compat.plain_example(value)
    if tensor is None or any(not isinstance(size, int) for size in tensor.shape) or tensor.layout is not torch.strided:
        return None
    if not tensor.dim():
        return "same", value  # a number of its own type: in a batch it would promote types like a tensor
    if value.op.startswith("call_") and work.memory.leaves(value):
        return "same", value  # Inductor would compute it within the stack, and return a part of that
    batch = work.batch_of.get(value)
    return (tuple(tensor.shape), tensor.dtype, tensor.device, tensor.requires_grad, batch and batch[0])


def _is_along_last(node: Node, rank: int) -> bool:
    if torch_compat.called_name(node) != "softmax":
        return True
    dim = torch_compat.named_arguments(node, "input", "dim").get("dim")
    return dim in (-1, rank - 1)


def _rank(node: Node) -> int | None:
    tensor = torch_compat.example_tensor(node)
    return None if tensor is None else tensor.dim()


def _flops(node: Node) -> float:
    """2 m n k a product; infinite where a size is not known, or a side is a vector."""
    left, result = torch_compat.example_tensor(node.args[0]), torch_compat.example_tensor(node)
    if left is None or result is None or not all(isinstance(size, int) for size in (*left.shape, *result.shape)):
        return math.inf
    ranks = [_rank(one) if isinstance(one, Node) else None for one in node.args]
    if any(rank is None or rank < 2 for rank in ranks):
        return math.inf
    return 2.0 * result.numel() * left.shape[-1]


# -- how it is batched ------------------------------------------------------------------------------------------------


def _batch(work: _Work, group: tuple[Node, ...]) -> None:
    first, rank = group[0], _rank(group[0])
    assert rank is not None

    def together(values: Sequence[Any]) -> Any:
        return _together(work, values, rank, first) if isinstance(values[0], Node) else values[0]

    args = tuple(together(column) for column in zip(*(node.args for node in group), strict=True))
    kwargs = {name: together([node.kwargs[name] for node in group]) for name in first.kwargs}
    if torch_compat.called_name(first) == "softmax":
        args, kwargs = _over_last(args, kwargs)
    if is_product(first):
        batch = work.call(torch.matmul, args, first)
    else:
        batch = work.placed(work.graph.create_node(first.op, first.target, args, kwargs), first)
    for number, node in enumerate(group):
        work.batch_of[node] = (len(work.batches), number)
    work.batches.append(batch)
    work.members.append(group)


def _over_last(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a softmax over the last dimension, which has another number in a batch."""
    return ((args[0], -1, *args[2:]), kwargs) if len(args) > 1 else (args, kwargs | {"dim": -1})


def _together(work: _Work, nodes: Sequence[Node], rank: int, like: Node) -> Node:
    """The operands of a group as one tensor of `rank` + 1 dimensions; one that all share stays as it is."""
    if all(node is nodes[0] for node in nodes):
        return nodes[0]
    stacked = _stacked(work, nodes, like)
    own = _rank(nodes[0])
    assert own is not None
    for _ in range(rank - own):
        stacked = work.call(torch.unsqueeze, (stacked, 1), like)
    return stacked


def _stacked(work: _Work, nodes: Sequence[Node], like: Node) -> Node:
    found = [work.batch_of.get(node) for node in nodes]
    first = found[0]
    if first is not None and found == [(first[0], number) for number in range(len(work.members[first[0]]))]:
        return work.batches[first[0]]
    if all(_is_turned(node) for node in nodes):
        sources = [node.args[0] for node in nodes]
        if all(isinstance(source, Node) for source in sources):
            return work.call(torch.transpose, (_stacked(work, sources, like), -2, -1), like)  # type: ignore[arg-type]
    return _view_of_parts(work, nodes, like) or work.call(torch.stack, (list(nodes),), like)


def _is_turned(node: Node) -> bool:
    """Whether it is a tensor with its last two dimensions exchanged."""
    rank = _rank(node)
    if torch_compat.called_name(node) == "getattr":
        return node.args[1:] == ("mT",)
    if torch_compat.called_name(node) != "transpose" or len(node.args) != 3 or node.kwargs or rank is None:
        return False
    return {dim + rank if dim < 0 else dim for dim in node.args[1:]} == {rank - 1, rank - 2}  # type: ignore[operator]


def _view_of_parts(work: _Work, nodes: Sequence[Node], like: Node) -> Node | None:
    """The batch as a view of one tensor, where its members are parts of equal width and distance of its last
    dimension, as merged linear layers give them; None where they are not.

    The view ends in what takes a part, and where there is nothing to take there is none. In one that ends in a
    permutation Inductor sees the heads of an attention at the second dimension, whatever the dimensions are, and gives
    wrong results or shapes (pytorch issue 195320; torch 2.11 to 2.13).
    """
    starts = [_part(node) for node in nodes]
    whole = starts[0][0] if starts[0] is not None else None
    if whole is None or any(start is None or start[0] is not whole for start in starts):
        return None
    offsets = [start[1] for start in starts if start is not None]
    widths = {start[2] for start in starts if start is not None}
    step, total = offsets[1] - offsets[0], starts[0][3] if starts[0] is not None else 0
    if len(widths) > 1 or step <= 0 or any(after - before != step for before, after in pairwise(offsets)):
        return None
    within, (width,) = offsets[0] % step, widths
    base = offsets[0] - within
    if width == step or within + width > step or base + step * len(nodes) > total:
        return None
    rows = work.call(torch.narrow, (whole, -1, base, step * len(nodes)), like)
    apart = work.call(torch.unflatten, (rows, -1, (len(nodes), step)), like)
    first = work.call(torch.movedim, (apart, -2, 0), like)
    return work.call(torch.narrow, (first, -1, within, width), like)


def _part(node: Node) -> tuple[Node, int, int, int] | None:
    """What it is a part of, where it begins, its width and that of the whole; None where it is no such part."""
    if torch_compat.called_name(node) != "getitem" or len(node.args) != 2:
        return None
    parts, number = node.args
    if not isinstance(parts, Node) or not isinstance(number, int) or torch_compat.called_name(parts) != "split":
        return None
    given = torch_compat.named_arguments(parts, "tensor", "split_size_or_sections", "dim")
    whole, widths = given.get("tensor"), given.get("split_size_or_sections")
    if not isinstance(widths, list | tuple) or not all(isinstance(width, int) for width in widths):
        return None
    if not isinstance(whole, Node) or given.get("dim") != -1 or not 0 <= number < len(widths):
        return None
    return whole, sum(widths[:number]), widths[number], sum(widths)


# -- what takes a batch apart -----------------------------------------------------------------------------------------


def _join(work: _Work) -> None:
    """A batch whose members are laid side by side is so laid as a whole; not where that ends in a permutation, for the
    reason that `_view_of_parts` gives.
    """
    for node in list(work.graph.nodes):
        name = torch_compat.called_name(node)
        given = torch_compat.named_arguments(node, "tensors", "dim")
        tensors, dim = given.get("tensors"), given.get("dim", 0)
        if name not in ("cat", "stack") or node not in work.places or not isinstance(tensors, list | tuple):
            continue
        found = [work.batch_of.get(one) if isinstance(one, Node) else None for one in tensors]
        first, rank = (found or [None])[0], _rank(node)
        if first is None or rank is None or not isinstance(dim, int) or len(found) != len(work.members[first[0]]):
            continue
        if found != [(first[0], number) for number in range(len(found))]:
            continue
        dim = dim + rank if dim < 0 else dim
        if name == "stack" and dim:
            continue
        joined = work.batches[first[0]]
        if name == "cat":
            joined = work.call(torch.movedim, (joined, 0, dim), node)
            joined = work.call(torch.flatten, (joined, dim, dim + 1), node)
        if node in work.memory.seen or work.memory.is_written(node):
            joined = work.placed(own_copy(work.graph, joined), node)
        joined.meta = dict(node.meta)
        node.replace_all_uses_with(joined)
        work.graph.erase_node(node)


def _take_parts(work: _Work) -> None:
    """Members give way to parts of their batch, from the last to the first; those that nobody uses to nothing."""
    for batch, members in reversed(list(zip(work.batches, work.members, strict=True))):
        for number, member in enumerate(members):
            if member.users:
                part = work.call(operator.getitem, (batch, number), member)
                if member in work.memory.seen:
                    part = work.call(torch.Tensor.contiguous, (part,), member)
                part.meta = dict(member.meta)
                member.replace_all_uses_with(part)
            work.graph.erase_node(member)


def _put_in_order(graph: Graph, places: dict[Node, _Place]) -> None:
    """Each node after what it is given, otherwise in the order it had, segment by segment."""
    waiting = {node: len(node.all_input_nodes) for node in graph.nodes}
    made = {node: number for number, node in enumerate(graph.nodes)}

    def entry(node: Node) -> tuple[int, int, int, Node]:
        return places[node].segment, places[node].number, made[node], node

    ready = [entry(node) for node, count in waiting.items() if not count]
    heapq.heapify(ready)
    order: list[Node] = []
    while ready:
        *_, node = heapq.heappop(ready)
        order.append(node)
        for user in node.users:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, entry(user))
    for before, after in pairwise(order):
        before.append(after)
    for node in reversed(order):
        if not node.users and _is_movable(node):
            graph.erase_node(node)

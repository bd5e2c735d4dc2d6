"""Puts torch's fused attention in place of one written out in a Dynamo graph, where the two mean the same."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch.fx import GraphModule, Node

from collectors import torch_compat

HIDES: Final = -1e9
"""Scores filled with this or less have a weight of exactly 0 beside any other: exp underflows in every dtype."""

PRODUCTS: Final = ("matmul", "__matmul__", "bmm")
_CASTS: Final = ("to", "float", "type_as")
_ADDS: Final = ("add", "add_", "iadd")
_SCALES: Final = ("mul", "mul_", "imul", "div", "div_", "truediv", "itruediv", "true_divide")
_FILLS: Final = ("masked_fill", "masked_fill_")


@dataclass(frozen=True, slots=True)
class _Mask:
    """`hidden` are positions that are hidden where true, `added` is what is added to the scores: one of the two."""

    hidden: Node | None = None
    added: Node | None = None


@dataclass(frozen=True, slots=True)
class _Chain:
    """From the product that gives the scores to the one that takes their weights; `nodes` are all but the last, which
    is `result`, the last first.
    """

    result: Node
    value: Node
    nodes: tuple[Node, ...] = ()
    is_softmaxed: bool = False
    scale: float = 1.0
    mask: _Mask | None = None
    query: Node | None = None
    turned_key: Node | None = None

    def after(self, node: Node) -> _Chain:
        return replace(self, nodes=(*self.nodes, node))


def fuse_attention(gm: GraphModule) -> tuple[GraphModule, int]:
    """A copy of `gm` with each attention that is known to equal `scaled_dot_product_attention` replaced, and how many.

    Taken are softmax((Q Kᵀ) · scale + mask) V of tensors of three or four dimensions and one dtype: a scale that is a
    number, one mask that is added or hides by a fill of -1e9 or less, casts to a wider type for the softmax, and a
    dropout that drops nothing. Nothing between may be used elsewhere or write into what the attention reads.
    """
    changed = torch_compat.copied_graph(gm)
    places = {node: number for number, node in enumerate(changed.graph.nodes)}
    writes = [number for node, number in places.items() if torch_compat.may_write(node)]
    chains = [chain for node in changed.graph.nodes if (chain := _chain_at(node)) is not None]
    count = 0
    for chain in chains:
        first, last = places[chain.nodes[-1]], places[chain.result]
        own = {places[node] for node in chain.nodes}
        if not any(first < number < last and number not in own for number in writes):
            _replace(changed, chain)
            count += 1
    if count:
        changed.graph.lint()
        changed.recompile()
    return changed, count


def _chain_at(result: Node) -> _Chain | None:
    """The chain that ends in this product; None where it is none, or not one that is known to be equal."""
    if torch_compat.called_name(result) not in PRODUCTS or result.kwargs or len(result.args) != 2:
        return None
    weights, value = result.args
    if not isinstance(weights, Node) or not isinstance(value, Node) or weights is value:
        return None
    chain: _Chain | None = _Chain(result, value)
    node = weights
    while chain is not None and chain.query is None:
        if len(node.users) != 1 or torch_compat.example_tensor(node) is None:
            return None
        step = _softmax_or_before(chain, node) if not chain.is_softmaxed else _score_step(chain, node)
        if step is None:
            return None
        chain, before = step
        node = before
    return chain if chain is not None and _is_attention(chain) else None


_Step = tuple[_Chain, Node]
"""The chain with one node more, and the node before that."""


def _softmax_or_before(chain: _Chain, node: Node) -> _Step | None:
    """Behind the softmax: casts, a dropout that drops nothing, and the softmax itself."""
    name, before = torch_compat.called_name(node), _first(node)
    if before is None:
        return None
    if name == "dropout" and drops_nothing(node):
        return chain.after(node), before
    if name in _CASTS and _is_float(node):
        return chain.after(node), before
    if name != "softmax" or not _is_over_last(node, before):
        return None
    dtype = node.kwargs.get("dtype")
    if dtype is not None and (not isinstance(dtype, torch.dtype) or not _is_as_wide(dtype, before)):
        return None
    return replace(chain.after(node), is_softmaxed=True), before


def _score_step(chain: _Chain, node: Node) -> _Step | None:
    """Before the softmax: casts to a wider type, one mask, and before it scales; at last the product."""
    name, before = torch_compat.called_name(node), _first(node)
    if name in PRODUCTS and not node.kwargs and len(node.args) == 2:
        left, right = node.args
        if not isinstance(left, Node) or not isinstance(right, Node):
            return None
        return replace(chain.after(node), query=left, turned_key=right), node
    if name in _CASTS and before is not None:
        given = torch_compat.example_tensor(node)
        return (chain.after(node), before) if given is not None and _is_as_wide(given.dtype, before) else None
    if name in _SCALES:
        return _scaled(chain, node, name)
    # What is scaled after it was masked is another mask: it is left alone.
    if chain.mask is not None or chain.scale != 1.0:
        return None
    if name in _ADDS and set(node.kwargs) <= {"other"}:
        return _added(chain, node)
    return _filled(chain, node) if name in _FILLS and before is not None else None


def _scaled(chain: _Chain, node: Node, name: str) -> _Step | None:
    operands = _operands(node)
    if operands is None:
        return None
    left, right = operands
    if name in ("mul", "mul_", "imul") and isinstance(right, Node):
        left, right = right, left
    if not isinstance(left, Node) or isinstance(right, bool) or not isinstance(right, int | float):
        return None
    factor = float(right) if name in ("mul", "mul_", "imul") else 1 / right if right else 0.0
    if not factor or not math.isfinite(factor):
        return None
    return replace(chain.after(node), scale=chain.scale * factor), left


def _added(chain: _Chain, node: Node) -> _Step | None:
    operands = _operands(node)
    if operands is None or not all(isinstance(one, Node) for one in operands):
        return None
    # The scores are the one that has the size of the sum and comes from a product; the mask is broadcast to it.
    for scores, mask in (operands, operands[::-1]):
        if _sizes(scores) == _sizes(node) and _comes_from_product(scores) and _may_mask(mask, scores):
            return replace(chain.after(node), mask=_Mask(added=mask)), scores
    return None


def _filled(chain: _Chain, node: Node) -> _Step | None:
    given = torch_compat.named_arguments(node, "input", "mask", "value")
    scores, hidden, fill = given.get("input"), given.get("mask"), given.get("value")
    if not isinstance(scores, Node) or not isinstance(hidden, Node) or isinstance(fill, bool):
        return None
    if not isinstance(fill, int | float) or not fill <= HIDES or not _may_mask(hidden, scores, torch.bool):
        return None
    return replace(chain.after(node), mask=_Mask(hidden=hidden)), scores


def _comes_from_product(node: Node) -> bool:
    """Through scales and casts alone."""
    for _ in range(len(_SCALES)):
        if torch_compat.called_name(node) in PRODUCTS:
            return True
        found = next((one for one in node.all_input_nodes if _sizes(one) == _sizes(node)), None)
        if found is None or torch_compat.called_name(node) not in (*_SCALES, *_CASTS):
            return False
        node = found
    return False


def _may_mask(mask: Any, scores: Node, dtype: torch.dtype | None = None) -> bool:
    """Whether torch's attention takes it beside these scores: of this type, theirs where None, and 2-D or more."""
    value, of = torch_compat.example_tensor(mask), torch_compat.example_tensor(scores)
    if value is None or of is None or value.dtype is not (dtype or of.dtype):
        return False
    return 2 <= value.dim() <= of.dim()


def _is_attention(chain: _Chain) -> bool:
    query, key, value = (torch_compat.example_tensor(node) for node in (chain.query, chain.turned_key, chain.value))
    scores, result = torch_compat.example_tensor(chain.nodes[-1]), torch_compat.example_tensor(chain.result)
    if query is None or key is None or value is None or scores is None or result is None:
        return False
    if len({query.dtype, key.dtype, value.dtype, result.dtype}) != 1 or not query.is_floating_point():
        return False
    if chain.mask is not None and chain.mask.added is not None:
        mask = torch_compat.example_tensor(chain.mask.added)
        if mask is None or mask.dtype is not query.dtype:
            return False
    rank = query.dim()
    if rank not in (3, 4) or key.dim() != rank or value.dim() != rank:
        return False
    # As text, so that comparing symbolic sizes puts no condition on them.
    heads = {str(tuple(tensor.shape[:-2])) for tensor in (query, key, value)}
    return len(heads) == 1


def _replace(gm: GraphModule, chain: _Chain) -> None:
    graph, result = gm.graph, chain.result
    assert chain.query is not None
    assert chain.turned_key is not None
    query = torch_compat.example_tensor(chain.query)
    is_three = query is not None and query.dim() == 3
    with graph.inserting_before(result):

        def with_heads(node: Node) -> Node:
            """Fused kernels want a dimension of heads."""
            value = torch_compat.example_tensor(node)
            is_narrow = value is None or value.dim() == 3
            return graph.call_method("unsqueeze", (node, 1)) if is_three and is_narrow else node

        key = graph.call_method("transpose", (chain.turned_key, -2, -1))
        options: dict[str, Any] = {"scale": chain.scale}
        if chain.mask is not None and chain.mask.added is not None:
            options["attn_mask"] = with_heads(chain.mask.added)
        if chain.mask is not None and chain.mask.hidden is not None:
            options["attn_mask"] = graph.call_function(torch.logical_not, (with_heads(chain.mask.hidden),))
        given = (with_heads(chain.query), with_heads(key), with_heads(chain.value))
        fused = graph.call_function(torch.nn.functional.scaled_dot_product_attention, given, options)
        if is_three:
            fused = graph.call_method("squeeze", (fused, 1))
    fused.meta = dict(result.meta)
    result.replace_all_uses_with(fused)
    for node in (result, *chain.nodes):
        graph.erase_node(node)


# -- nodes ------------------------------------------------------------------------------------------------------------


def _sizes(node: Any) -> str | None:
    value = torch_compat.example_tensor(node)
    return None if value is None else str(tuple(value.shape))


def _first(node: Node) -> Node | None:
    first = node.args[0] if node.args else node.kwargs.get("input")
    return first if isinstance(first, Node) else None


def _operands(node: Node) -> tuple[Any, Any] | None:
    given = (*node.args, *(node.kwargs[name] for name in ("other",) if name in node.kwargs))
    return (given[0], given[1]) if len(given) == 2 and set(node.kwargs) <= {"other"} else None


def _is_float(node: Node) -> bool:
    value = torch_compat.example_tensor(node)
    return value is not None and value.is_floating_point()


def _is_as_wide(dtype: torch.dtype, before: Node) -> bool:
    value = torch_compat.example_tensor(before)
    return value is not None and dtype.is_floating_point and dtype.itemsize >= value.dtype.itemsize


def _is_over_last(node: Node, before: Node) -> bool:
    dim = node.kwargs.get("dim", node.args[1] if len(node.args) > 1 else None)
    value = torch_compat.example_tensor(before)
    return value is not None and dim in (-1, value.dim() - 1)


def drops_nothing(node: Node) -> bool:
    """Whether a dropout is switched off."""
    given = torch_compat.named_arguments(node, "input", "p", "training")
    share, is_training = given.get("p", 0.5), given.get("training", True)
    return is_training is False or (isinstance(share, int | float) and share == 0)

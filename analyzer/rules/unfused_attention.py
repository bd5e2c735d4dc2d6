"""Attention is written out in separate operators.

What it finds
    A batched product, a softmax over its last dimension and a product with the
    result, whose matrix of scores is at least as large as what goes in and out.

Why it costs
    The scores, one number for each pair of positions, are written and read at
    every one of these steps, and once more for a scale, a mask or a dropout
    between them. A fused kernel never writes them.

How it is measured
    By the shapes of the operators of one eager step. The cost is the scores,
    written and read twice, at the measured memory bandwidth, where the lines
    lie in no captured graph and the scores exceed the last cache; else unknown.

What to do
    torch.nn.functional.scaled_dot_product_attention(q, k, v), with the mask as
    attn_mask=, or is_causal=True in place of a causal one, and scale= where it
    is not 1/sqrt(d). For nn.MultiheadAttention: need_weights=False. Scores that
    are changed otherwise: torch.nn.attention.flex_attention.

When it is wrong
    When the weights themselves are needed, as output or to change them.
    Inductor knows some of these chains by their form and replaces them by
    itself: then only eager gains.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import Finding
from analyzer.core.graphs import SourceLine
from analyzer.core.ops import OpCall, OpLog, TensorFacts
from analyzer.rules.attention import attention_call
from analyzer.rules.facts import Facts
from analyzer.rules.op_evidence import graphs_at, ops_of, traffic_ns, unless_cut
from analyzer.rules.remedies import tried_by
from analyzer.rules.rule import Rule

_ID: Final = "unfused_attention"
_OTHERS: Final = "; for others of this line: "
_REMEDY_WEIGHTS: Final = "need_weights=False in the call of nn.MultiheadAttention"

_PRODUCTS: Final = ("aten::bmm", "aten::baddbmm", "aten::mm")
_SOFTMAX: Final = "aten::_softmax"
"""torch's own attention calls _safe_softmax where it falls back to plain operators (2.11 to 2.14)."""

_REACH: Final = 24
"""Operators between the softmax and either product, at most: views, scale, mask, casts and dropout are about ten."""

_FUSED_MODULE: Final = "MultiheadAttention"


@dataclass(frozen=True, slots=True)
class _Chain:
    softmax: OpCall
    scores: TensorFacts
    product: OpCall
    """The one that gives the scores."""
    ends_bytes: int
    """Of queries, keys, values and the output."""


def judge(facts: Facts) -> tuple[Finding, ...]:
    ops = ops_of(facts)
    chains = [chain for call in ops.named(_SOFTMAX) if (chain := _chain(ops, call)) is not None]
    findings: dict[SourceLine | None, Finding] = {}
    for chain in chains:
        if 4 * (chain.scores.bytes or 0) >= chain.ends_bytes:
            found = _finding(facts, chain)
            findings[found.where] = _with(findings.get(found.where), found)
    return unless_cut(ops, tuple(findings.values()))


def _with(known: Finding | None, found: Finding) -> Finding:
    """The finding of a line with one more chain: what is right for one attention may be wrong for the next."""
    if known is None:
        return found
    if found.remedy in known.remedy.split(_OTHERS):
        return known
    return replace(known, remedy=f"{known.remedy}{_OTHERS}{found.remedy}")


def _chain(ops: OpLog, softmax: OpCall) -> _Chain | None:
    if softmax.is_backward or not softmax.inputs or len(softmax.inputs[0].shape) < 2:
        return None
    scores = softmax.inputs[0]
    if not _is_over_last(softmax, scores):
        return None
    products = [call for call in ops.named(*_PRODUCTS) if not call.is_backward]
    before = [c for c in products if 0 < softmax.first - c.first <= _REACH and _gives(c, scores)]
    after = [c for c in products if 0 < c.first - softmax.first <= _REACH and _takes(c, scores)]
    if not before or not after:
        return None
    first, last = max(before, key=lambda c: c.first), min(after, key=lambda c: c.first)
    ends = (*first.inputs[-2:], last.inputs[-1], last.outputs[0])
    return _Chain(softmax, scores, first, sum(tensor.bytes or 0 for tensor in ends))


def _is_over_last(softmax: OpCall, scores: TensorFacts) -> bool:
    dim = softmax.values[0] if softmax.values else ""
    return dim in ("-1", str(len(scores.shape) - 1))


def _gives(product: OpCall, scores: TensorFacts) -> bool:
    """Whether it multiplied two activations into the scores. A learned factor is a layer, such as a router's."""
    if len(product.inputs) < 2 or not product.outputs or any(t.parameter for t in product.inputs[-2:]):
        return False
    made = product.outputs[0]
    return made.elements == scores.elements and sorted(made.shape[-2:]) == sorted(scores.shape[-2:])


def _takes(product: OpCall, scores: TensorFacts) -> bool:
    if len(product.inputs) < 2 or product.inputs[-1].parameter:
        return False
    left = product.inputs[-2]
    return left.elements == scores.elements and left.shape[-2:] == scores.shape[-2:]


def _finding(facts: Facts, chain: _Chain) -> Finding:
    call = chain.softmax
    size = chain.scores.bytes or 0
    where = call.where
    is_module = call.module == _FUSED_MODULE
    chain_of = (ops_of(facts), chain.product, call, chain.scores)
    return Finding(
        rule=_ID,
        message=f"attention is written out: its {quantities.byte_count(size)} of scores go to memory and back",
        where=where,
        ns_per_step=None if _may_be_replaced(facts, where) else traffic_ns(facts, 4 * size * call.count, size),
        remedy=_REMEDY_WEIGHTS if is_module else f"{attention_call(*chain_of)}; {tried_by('fused_attention')}",
        count=call.count,
    )


def _may_be_replaced(facts: Facts, where: SourceLine | None) -> bool:
    """Whether Inductor may have put a fused kernel here by itself: in a graph, or in a place that is not known."""
    return facts.capture is None or where is None or bool(graphs_at(facts, where)) or not facts.capture.graphs


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)

"""A mixture's experts run in a Python loop.

What it finds
    Within one function: a choice of rows by their values (nonzero, a boolean
    mask), a product with one expert's weights, and a write of the rows back,
    over and over for different weights, several times for each routing (topk,
    argmax).

Why it costs
    Every expert takes its own small products and a dozen operators around them.
    The number of rows depends on the data, so on a GPU each choice makes the
    host wait, and the compiler breaks the graph or compiles anew.

How it is measured
    From the operators of one eager step. The cost is the waits and the starved
    time in the budget of the graph there; unknown where no graph covers it.

What to do
    Sort the tokens by expert once and multiply all experts together:
    torch.nn.functional.grouped_mm, or a batched product over stacked weights
    with a fixed capacity. In transformers: experts_implementation="grouped_mm".

When it is wrong
    With few experts that each take many tokens, the products dominate, and the
    loop costs little.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.budget import Part
from analyzer.core.finding import Finding
from analyzer.core.ops import OpCall, OpLog
from analyzer.rules.facts import Facts
from analyzer.rules.op_evidence import cost_of_parts, ops_of, times, unless_cut
from analyzer.rules.rule import Rule

_ID: Final = "moe_expert_loop"
_REMEDY: Final = "sort the tokens by expert and multiply all experts in one grouped or batched product"

_LEAST_EXPERTS: Final = 4
"""A choice: the smallest mixtures in use have four experts, and a mask or two alone are no loop."""

_INDEXED: Final = "aten::index"
_CHOOSES: Final = ("aten::nonzero", "aten::masked_select", "aten::nonzero_numpy")
_WRITES: Final = ("aten::index_add_", "aten::index_put_", "aten::index_copy_", "aten::index_add", "aten::index_put")
_ROUTES: Final = ("aten::topk", "aten::argmax", "aten::max", "aten::sort", "aten::multinomial")
"""What a router decides with, once a layer: a mask or two for each layer of a deep model are no experts."""
_PRODUCTS: Final = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::mv", "aten::addmv")

_Function = tuple[str, str | None]


def judge(facts: Facts) -> tuple[Finding, ...]:
    ops = ops_of(facts)
    forward = [call for call in ops.calls if not call.is_backward]
    chosen = _by_function([call for call in forward if _chooses(call)])
    written = _by_function([call for call in forward if call.op in _WRITES])
    routings = times(call for call in forward if call.op in _ROUTES)
    findings = []
    for function, choices in chosen.items():
        writes = written.get(function, [])
        experts = _experts(ops, choices, writes)
        rounds = min(times(choices), times(writes), experts)
        if routings and rounds >= _LEAST_EXPERTS * routings:
            findings.append(_finding(facts, choices))
    return unless_cut(ops, tuple(findings))


def _chooses(call: OpCall) -> bool:
    """Whether it picks rows by their values: how many come out depends on the data."""
    return call.op in _CHOOSES or (call.op == _INDEXED and any(t.dtype == "bool" for t in call.inputs[1:]))


def _by_function(calls: list[OpCall]) -> dict[_Function, list[OpCall]]:
    grouped: dict[_Function, list[OpCall]] = {}
    for call in calls:
        if call.where is not None:
            grouped.setdefault((call.where.file, call.where.function), []).append(call)
    return grouped


def _experts(ops: OpLog, choices: list[OpCall], writes: list[OpCall]) -> int:
    """How many different weights the products between the first choice and the last write take."""
    if not writes:
        return 0
    begin, end = min(c.first for c in choices), max(c.first for c in writes)
    between = [call for call in ops.named(*_PRODUCTS) if begin < call.first < end and not call.is_backward]
    weights = {(t.parameter, t.offset) for call in between for t in call.inputs if t.parameter and len(t.shape) > 1}
    return len(weights)


def _finding(facts: Facts, choices: list[OpCall]) -> Finding:
    dearest = max(choices, key=lambda call: (call.count, -call.first))
    number = quantities.count(times(choices))
    return Finding(
        rule=_ID,
        message=f"experts run one after another: rows are chosen by their values {number} times a step",
        where=dearest.where,
        ns_per_step=cost_of_parts(facts, dearest.where, (), (Part.SYNC, Part.STARVED)),
        remedy=_REMEDY,
        count=times(choices),
    )


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)

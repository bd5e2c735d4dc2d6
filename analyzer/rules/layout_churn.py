"""Tensors are copied to another layout and back.

What it finds
    Copies that only change the order of a tensor in memory, in one direction
    and in the other within a step: x.to(memory_format=torch.channels_last) and
    .contiguous(), or permute(...).contiguous() there and back.

Why it costs
    Each one reads and writes the whole tensor, with strides that caches do not
    like, and computes nothing.

How it is measured
    From the strides of the copies in one eager step: one that turns the order
    A into B and one that turns B into A, for tensors of the same sizes. The
    cost is the bytes of both at the measured memory bandwidth, for tensors
    larger than the last cache of the device; else it is not known.

What to do
    Keep one layout from end to end: for convolutions model and input in
    torch.channels_last; for normalisations over channels an operator that
    takes the dimension instead of a permuted copy.

When it is wrong
    When the work between the two copies gains more from the other layout than
    they cost. The compiler may fuse a copy with its neighbours. Copies that
    reshape, einsum and matmul make by themselves are not meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import Finding
from analyzer.core.ops import OpCall, OpLog, TensorFacts
from analyzer.rules.facts import Facts
from analyzer.rules.op_evidence import ops_of, traffic_ns, unless_cut
from analyzer.rules.remedies import tried_by
from analyzer.rules.rule import Rule

_ID: Final = "layout_churn"
_REMEDY: Final = (
    "keep one layout from end to end, as model.to(memory_format=torch.channels_last) does for convolutions; "
    f"{tried_by('channels_last')}"
)

_COPIES: Final = ("aten::clone", "aten::_to_copy", "aten::copy_")
_RESHAPES: Final = "aten::_unsafe_view"
"""Follows the copy that reshape, einsum or matmul made by itself; after .contiguous() comes a plain view, or none."""

_LEAST_BYTES: Final = 64 * 1024
"""Of one tensor. A choice: a smaller copy costs its dispatch, whatever its layout."""

_Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Turn:
    """A copy that changed the order in memory: the sizes from the outermost dimension in memory to the innermost."""

    call: OpCall
    before: _Order
    after: _Order
    bytes: int


def judge(facts: Facts) -> tuple[Finding, ...]:
    ops = ops_of(facts)
    turns = tuple(_turns(ops))
    findings = []
    used: set[int] = set()
    for there in turns:
        back = next((t for t in turns if _undoes(t, there) and t.call.first not in used), None)
        if back is None or there.call.first in used:
            continue
        used |= {there.call.first, back.call.first}
        findings.append(_finding(facts, there, back))
    return unless_cut(ops, tuple(findings))


def _turns(ops: OpLog) -> Iterator[_Turn]:
    reshapes = {call.first for call in ops.named(_RESHAPES)}
    for call in sorted(ops.named(*_COPIES), key=lambda call: call.first):
        if call.is_backward or call.first + 1 in reshapes or not call.inputs or not call.outputs:
            continue
        source, target = call.inputs[-1], call.outputs[0]
        size = target.bytes
        before, after = _order(source), _order(target)
        is_same = (source.shape, source.dtype, source.device) == (target.shape, target.dtype, target.device)
        if is_same and size is not None and size >= _LEAST_BYTES and before and after and before != after:
            yield _Turn(call, before, after, size)


def _undoes(later: _Turn, earlier: _Turn) -> bool:
    return later.call.first > earlier.call.first and (later.before, later.after) == (earlier.after, earlier.before)


def _order(tensor: TensorFacts) -> _Order | None:
    """The sizes in the order of memory; None for a tensor with holes or overlaps, whose copy may be needed."""
    if len(tensor.strides) != len(tensor.shape):
        return None
    dims = [(stride, size) for size, stride in zip(tensor.shape, tensor.strides, strict=True) if size > 1]
    dims.sort(key=lambda dim: -dim[0])
    expected = 1
    for stride, size in reversed(dims):
        if stride != expected:
            return None
        expected *= size
    return tuple(size for _, size in dims)


def _finding(facts: Facts, there: _Turn, back: _Turn) -> Finding:
    number = min(there.call.count, back.call.count)
    moved = 4 * there.bytes * number  # each of the two reads and writes it
    where = f" and back at {back.call.where}" if back.call.where != there.call.where else " and back"
    size = quantities.byte_count(there.bytes)
    return Finding(
        rule=_ID,
        message=f"a tensor of {size} is copied into another layout{where}, {quantities.byte_count(moved)} moved a step",
        where=there.call.where,
        ns_per_step=traffic_ns(facts, moved, there.bytes),
        remedy=_REMEDY,
        count=number,
    )


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)

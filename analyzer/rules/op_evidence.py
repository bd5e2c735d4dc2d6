"""What the rules on the log of operators ask of the facts, and what they may say of its cost."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from analyzer.core.budget import Part
from analyzer.core.finding import RUN_THE_MODEL, Finding
from analyzer.core.graphs import SourceLine
from analyzer.core.ops import OpCall, OpLog
from analyzer.rules.facts import Facts, RegionFacts
from analyzer.rules.rule import MissingData

HALF_TYPES: Final = ("bfloat16", "float16")
_FULL: Final = "float32"
_CAST: Final = "aten::_to_copy"

_SLOW_RATIO: Final = 0.9
"""Of the float32 rate: below it a half type loses by more than the few per cent to which rates repeat."""


def ops_of(facts: Facts) -> OpLog:
    if facts.ops is None:
        raise MissingData(f"the operators of a step were not logged: {RUN_THE_MODEL}")
    return facts.ops


def unless_cut(ops: OpLog, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings; raises MissingData where there are none and the log is not whole, for then one may be missed."""
    if not findings and not ops.is_complete:
        raise MissingData("the log of operators is not complete: it was cut, or an operator could not be read")
    return findings


def casts_weight(call: OpCall) -> bool:
    """Whether it casts a float32 parameter to a half type, as autocast does in the forward."""
    if call.op != _CAST or call.is_backward or not call.inputs or not call.outputs:
        return False
    source = call.inputs[0]
    return source.parameter is not None and source.dtype == _FULL and call.outputs[0].dtype in HALF_TYPES


def half_ratio(facts: Facts, dtype: str) -> float | None:
    """The device's rate in `dtype` over its float32 rate; None where one was not measured."""
    half, full = (facts.device.peak(dtype), facts.device.peak(_FULL)) if facts.device is not None else (None, None)
    return half / full if half is not None and full else None


def is_half_slow(facts: Facts, dtype: str) -> bool | None:
    """Whether products in this half type are slower here than in float32, by the measured rates; on a CPU without
    them, by its instructions. None where neither tells.
    """
    ratio = half_ratio(facts, dtype)
    if ratio is not None:
        return ratio < _SLOW_RATIO
    is_cpu = facts.workload is not None and facts.workload.device == "cpu"
    known = facts.environment.cpu_half_dtypes if facts.environment is not None and is_cpu else None
    return None if known is None else dtype not in known


def by_line(calls: Iterable[OpCall]) -> dict[SourceLine | None, list[OpCall]]:
    """The calls of each line, in the order in which the lines first ran."""
    grouped: dict[SourceLine | None, list[OpCall]] = {}
    for call in sorted(calls, key=lambda call: call.first):
        grouped.setdefault(call.where, []).append(call)
    return grouped


def times(calls: Iterable[OpCall]) -> int:
    """How often these were called in a step."""
    return sum(call.count for call in calls)


def graphs_at(facts: Facts, where: SourceLine | None) -> tuple[RegionFacts, ...]:
    """The measured graphs that cover this line."""
    if where is None or facts.capture is None:
        return ()
    here = [g.key for g in facts.capture.graphs if any((s.file, s.line) == (where.file, where.line) for s in g.source)]
    return tuple(fact for fact in facts.regions if fact.region in here)


def cost_of_parts(
    facts: Facts, where: SourceLine | None, others: Collection[SourceLine | None], parts: tuple[Part, ...]
) -> int | None:
    """What these parts of the graphs at a line take, which is the most that the line can cost.

    None where no graph with a budget covers the line, or where one of them covers another line of the same finding
    too: the parts then belong to both.
    """
    graphs = graphs_at(facts, where)
    if not graphs or any(fact.budget is None for fact in graphs):
        return None
    theirs = {fact.region for other in others if other != where for fact in graphs_at(facts, other)}
    if any(fact.region in theirs for fact in graphs):
        return None
    total = sum(fact.budget.ns(part) for fact in graphs if fact.budget is not None for part in parts)
    return total if facts.step_ns is None else min(total, facts.step_ns)


def traffic_ns(facts: Facts, moved_bytes: int, smallest_tensor: int) -> int | None:
    """Time that moving these bytes takes at the measured memory bandwidth.

    None where the bandwidth or the size of the last cache is not known, or a tensor fits into it: it may then never
    reach the memory.
    """
    device = facts.device
    if device is None or device.memory_bytes_per_s is None or device.l2_bytes is None:
        return None
    if smallest_tensor <= device.l2_bytes:
        return None
    moved_ns = round(moved_bytes / device.memory_bytes_per_s * 1e9)
    return moved_ns if facts.step_ns is None else min(moved_ns, facts.step_ns)

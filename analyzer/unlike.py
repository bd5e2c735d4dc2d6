"""What makes two recordings another thing than one program before and after a change: to be said before any figure.

It claims only what both show. Where one of them does not say, nothing is claimed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np

from analyzer.core.compared import ComparedRow, Matched
from analyzer.core.quantities import count, share
from analyzer.core.report import WorkloadFacts
from analyzer.core.trace import OpDetail
from analyzer.derive.attribution import Attribution
from analyzer.derive.costs.tensors import dtype_name
from analyzer.reporting.plain_text import plain

MOST: Final = 0.5
"""Of a side's time. A choice: what holds for the larger part of it is what the recording is of."""

_BACKWARD: Final = "autograd::engine::evaluate_function"
"""What PyTorch calls the rows of its autograd engine."""

MOST_KINDS: Final = 3
KIND_LIMIT: Final = 28
"""Kinds of inputs, and characters of each, that make a clause one still reads: `bfloat16[128, 3, 224, 224]` has 26."""

_Shapes = tuple[tuple[int, ...], ...]


def unlike_facts(before: WorkloadFacts, after: WorkloadFacts) -> tuple[str, ...]:
    """In what the reports of two runs say that they ran another thing, a clause each."""
    found = [
        f"another {what}: {one} before, {other} after"
        for what, one, other in (
            ("model", before.name, after.name),
            ("mode", before.mode, after.mode),
            ("number of parameters", count(before.parameters), count(after.parameters)),
        )
        if one != other
    ]
    if before.inputs != after.inputs:
        found.append(_unlike_inputs(before.inputs, after.inputs))
    digests = before.parameters_digest, after.parameters_digest
    if None not in digests and digests[0] != digests[1] and before.parameters == after.parameters:
        found.append("other parameters: as many, of other shapes or types")
    return tuple(found)


def _unlike_inputs(before: Sequence[str], after: Sequence[str]) -> str:
    """What only one side has of them, however many there are: alike ones are counted, the first kinds are named."""
    own, other = Counter(before) - Counter(after), Counter(after) - Counter(before)
    if not own and not other:
        return f"another set of inputs: the same {count(len(before))} in another order"
    how_many = ""
    if len(before) != len(after):
        how_many = f" ({count(len(before))} before, {count(len(after))} after)"
    elif own.total() < len(before):
        how_many = f" ({count(own.total())} of {count(len(before))})"
    only = "" if own and other else "only "
    sides = ((own, "before"), (other, "after"))
    return f"another set of inputs{how_many}: " + "; ".join(
        f"{_kinds(left)} {only}{side}" for left, side in sides if left
    )


def _kinds(inputs: Counter[str]) -> str:
    """`20 × float32[64, 256], False`, in the order of the inputs."""
    kinds = list(inputs.items())
    named = [
        plain(kind, KIND_LIMIT) if n == 1 else f"{count(n)} × {plain(kind, KIND_LIMIT)}"
        for kind, n in kinds[:MOST_KINDS]
    ]
    rest = sum(n for _, n in kinds[MOST_KINDS:])
    return ", ".join(named) + (f" and {count(rest)} more" if rest else "")


def unlike_devices(before: str, after: str) -> tuple[str, ...]:
    return () if before == after else (f"another device: {before} before, {after} after",)


def unlike_work(before: Attribution, after: Attribution) -> tuple[str, ...]:
    """In what two recordings show that another mode, number format or size was recorded, or less of it than there was,
    a clause each.
    """
    return (*_lacking(before, after), *_backward(before, after), *_formats(before, after), *_sizes(before, after))


def _lacking(before: Attribution, after: Attribution) -> tuple[str, ...]:
    sides = (("before", before), ("after", after))
    return tuple(f"rows are missing from the file {side}" for side, own in sides if own.trace.facts.lacks_rows)


def unlike_rows(rows: tuple[ComparedRow, ...]) -> tuple[str, ...]:
    """Whether most of a side's work is found nowhere on the other, by graph, operator or kernel family."""
    work = [row for row in rows if row.matched is not Matched.IDLE]
    for side, times in (
        ("before", [(row.before_ns or 0, row.matched) for row in work]),
        ("after", [(row.after_ns or 0, row.matched) for row in work]),
    ):
        whole, alone = sum(ns for ns, _ in times), sum(ns for ns, how in times if how is Matched.NONE)
        if whole and alone > MOST * whole:
            return (f"another model, it seems: {share(alone / whole)} of the work {side} is nowhere on the other side",)
    return ()


def _backward(before: Attribution, after: Attribution) -> tuple[str, ...]:
    has = [_has_backward(one) for one in (before, after)]
    if None in has or has[0] == has[1]:
        return ()
    return (f"another mode, it seems: only the recording {'before' if has[0] else 'after'} shows a backward pass",)


def _has_backward(one: Attribution) -> bool | None:
    """None where most of the work has no operator, as in replays of graphs, so that nothing could show it."""
    if any(name.startswith(_BACKWARD) for name in one.trace.names):
        return True
    return False if one.work.own_ns[one.work.has_op].sum() > MOST * one.work.own_ns.sum() else None


def _formats(before: Attribution, after: Attribution) -> tuple[str, ...]:
    formats = [_main_format(one) for one in (before, after)]
    if None in formats or formats[0] == formats[1]:
        return ()
    return (f"another number format: most of the time works on {formats[0]} before, on {formats[1]} after",)


def _main_format(one: Attribution) -> str | None:
    """The format that the operators with most of the known time work on; None where none has most of it."""
    times: dict[str, int] = defaultdict(int)
    for _, detail, ns in _operators(one):
        name = dtype_name(detail, 0)
        if name is not None:
            times[name] += ns
    best = max(times, key=lambda name: (times[name], name), default=None)
    return best if best is not None and times[best] > MOST * sum(times.values()) else None


def _sizes(before: Attribution, after: Attribution) -> tuple[str, ...]:
    """Operators of one name and number of inputs that worked on other shapes, by their time."""
    shapes: list[dict[str, set[_Shapes]]] = []
    for one in (before, after):
        own: dict[str, set[_Shapes]] = defaultdict(set)
        for name, detail, _ in _operators(one):
            own[name].add(detail.shapes)
        shapes.append(own)
    common = {name for name in shapes[0] if name in shapes[1]}
    times = [(ns, detail.shapes in shapes[1][name]) for name, detail, ns in _operators(before) if name in common]
    whole, other = sum(ns for ns, _ in times), sum(ns for ns, is_same in times if not is_same)
    if not whole or other <= MOST * whole:
        return ()
    return (
        f"another batch or size: operators that both have worked on shapes that are not there after, in "
        f"{share(other / whole)} of their time before",
    )


def _operators(one: Attribution) -> list[tuple[str, OpDetail, int]]:
    """Name, detail and device time of each kind of operator that launched work and says its shapes."""
    work, trace = one.work, one.trace
    known = np.flatnonzero(work.has_op)
    known = known[trace.has_detail[work.op[known]]]
    times: dict[tuple[int, int], int] = defaultdict(int)
    keys = zip(trace.name_id[work.op[known]].tolist(), trace.detail_id[work.op[known]].tolist(), strict=True)
    # 0.2 µs a kernel.
    for key, ns in zip(keys, work.own_ns[known].tolist(), strict=True):
        times[key] += ns
    return [
        (trace.names[name], trace.details[detail], ns)
        for (name, detail), ns in times.items()
        if trace.details[detail].shapes
    ]

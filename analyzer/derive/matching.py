"""Lays two recordings beside each other: by graph, then by operator, then by kernel family; what is left has no match.

Each nanosecond of either window is in one row, so that the differences of the rows add up to that of the totals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from analyzer.core.compared import ComparedRow, Fate, Matched
from analyzer.derive.attribution import Attribution
from analyzer.derive.idle_reasons import OUTSIDE
from analyzer.derive.kernel_families import family
from analyzer.derive.regions_from_trace import RegionKind
from analyzer.derive.shares import split
from analyzer.derive.trace_budget import TraceBudget

SAME_SHARE: Final = 0.02
"""Device time of one thing repeats to 2 % between two passes (as confidence.BUSY_ERROR): less is no difference."""

IDLE: Final = "idle"
IN_STEPS: Final = "idle in steps"
OUTSIDE_STEPS: Final = "idle between steps, or outside of them"
"""Two rows where a step is marked and the device idled outside of every one, with nothing of the host's recorded: that
is no part of the program.
"""
NO_OPERATOR: Final = "no operator"

_NAMED: Final = (RegionKind.COMPILED, RegionKind.REPLAY, RegionKind.MODULE, RegionKind.RANGE)


@dataclass(frozen=True, slots=True)
class Piece:
    """Kernels of one region, operator and family, in an average step. `kind` None: the region has no name."""

    region: str
    kind: RegionKind | None
    operator: str
    family: str
    ns: int
    count: float


@dataclass(frozen=True, slots=True)
class Side:
    """One recording as pieces; with `idle_ns` they add up to `whole_ns`. `outside_ns` of it lies outside of steps."""

    pieces: tuple[Piece, ...]
    idle_ns: int
    whole_ns: int
    outside_ns: int = 0


def side(attribution: Attribution, budget: TraceBudget, steps: int) -> Side:
    """The window of a recorded trace as pieces of an average step; of all of it where `steps` is 0."""
    trace, work = attribution.trace, attribution.work
    exposed: dict[tuple[str, RegionKind | None, str, str], int] = defaultdict(int)
    count: dict[tuple[str, RegionKind | None, str, str], int] = defaultdict(int)
    regions = [traced.region for traced in budget.regions]
    ops = [trace.names[i] for i in trace.name_id[work.op].tolist()] if len(work) else []
    # 1 µs a row.
    for i, (row, number, ns) in enumerate(
        zip(work.row.tolist(), budget.region_of.tolist(), budget.window.exposed_ns.tolist(), strict=True)
    ):
        kind = regions[number].kind
        operator = ops[i] if work.has_op[i] else NO_OPERATOR
        key = (regions[number].label, kind if kind in _NAMED else None, operator, family(trace.name(row)))
        exposed[key] += ns
        count[key] += 1
    times = max(steps, 1)
    whole = budget.window.elapsed_ns // times
    keys = sorted(exposed, key=lambda k: (k[0], k[1].value if k[1] else "", k[2], k[3]))
    outside = float(budget.idle.ns[:, OUTSIDE].sum()) if steps else 0.0
    pieces = split(whole, [*(float(exposed[k]) for k in keys), budget.window.idle_ns - outside, outside])
    return Side(
        tuple(Piece(*key, ns=ns, count=count[key] / times) for key, ns in zip(keys, pieces, strict=False)),
        idle_ns=pieces[-2] + pieces[-1],
        whole_ns=whole,
        outside_ns=pieces[-1],
    )


def match(before: Side, after: Side) -> tuple[ComparedRow, ...]:
    """The rows of both sides, the largest difference first."""
    left, right = list(before.pieces), list(after.pieces)
    rows: list[ComparedRow] = []
    for matched, name in (
        (Matched.GRAPH, _graph),
        (Matched.OPERATOR, _operator),
        (Matched.FAMILY, _family),
    ):
        left, right, found = _pairs(matched, name, left, right)
        rows += found
    rows += [_row(name, Matched.NONE, own, []) for name, own in _by(_family, left).items()]
    rows += [_row(name, Matched.NONE, [], own) for name, own in _by(_family, right).items()]
    rows += [_judged(name, Matched.IDLE, ns, (0.0, 0.0)) for name, ns in _idle(before, after)]
    return tuple(sorted(rows, key=lambda row: (-abs(row.difference_ns), row.matched, row.name)))


def _idle(before: Side, after: Side) -> list[tuple[str, tuple[int, int]]]:
    if not before.outside_ns and not after.outside_ns:
        return [(IDLE, (before.idle_ns, after.idle_ns))]
    return [
        (IN_STEPS, (before.idle_ns - before.outside_ns, after.idle_ns - after.outside_ns)),
        (OUTSIDE_STEPS, (before.outside_ns, after.outside_ns)),
    ]


def _graph(piece: Piece) -> str | None:
    """A compiled graph by its name; a replay has none that another recording would know."""
    return piece.region if piece.kind is RegionKind.COMPILED else None


def _operator(piece: Piece) -> str | None:
    """The operator within its module, where there is one; a module of compiled code is matched by its kernels."""
    if piece.operator == NO_OPERATOR:
        return None
    inside = f"{piece.region}: " if piece.kind in (RegionKind.MODULE, RegionKind.RANGE) else ""
    return f"{inside}{piece.operator}"


def _family(piece: Piece) -> str | None:
    return piece.family


_Name = Callable[[Piece], str | None]


def _by(name: _Name, pieces: Iterable[Piece]) -> Mapping[str, list[Piece]]:
    found: dict[str, list[Piece]] = defaultdict(list)
    for piece in pieces:
        named = name(piece)
        if named is not None:
            found[named].append(piece)
    return found


def _pairs(
    matched: Matched, name: _Name, left: list[Piece], right: list[Piece]
) -> tuple[list[Piece], list[Piece], list[ComparedRow]]:
    """What both sides have under one name, and what is then left of them."""
    ours, theirs = _by(name, left), _by(name, right)
    both = ours.keys() & theirs.keys()
    rows = [_row(key, matched, ours[key], theirs[key]) for key in sorted(both)]
    return (
        [piece for piece in left if name(piece) not in both],
        [piece for piece in right if name(piece) not in both],
        rows,
    )


def _row(name: str, matched: Matched, left: list[Piece], right: list[Piece]) -> ComparedRow:
    before = sum(piece.ns for piece in left) if left else None
    after = sum(piece.ns for piece in right) if right else None
    counts = (sum(piece.count for piece in left), sum(piece.count for piece in right))
    return _judged(name, matched, (before, after), counts)


def _judged(name: str, matched: Matched, ns: tuple[int | None, int | None], counts: tuple[float, float]) -> ComparedRow:
    before, after = ns
    match before, after:
        case None, _:
            fate = Fate.APPEARED
        case _, None:
            fate = Fate.VANISHED
        case int(), int() if abs(after - before) <= SAME_SHARE * max(before, after):
            fate = Fate.SAME
        case int(), int() if after < before:
            fate = Fate.FASTER
        case _:
            fate = Fate.SLOWER
    return ComparedRow(name, matched, fate, before, after, *counts)

"""Names the regions of a recorded trace: compiled graphs, else CUDA graph launches, else modules and named ranges.

A recorded trace knows no GraphKey. Each region gets one from its label, so that the stages after this one can treat it
like a graph that was captured; it says nothing about the graph's content and holds within traces of one program.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

import numpy as np

from analyzer.core.graphs import Direction, GraphKey
from analyzer.core.step_marks import step_dialect
from analyzer.core.trace import RANGE_PREFIX, BoolColumn, EventKind, IntColumn, Trace
from analyzer.derive.nesting import NOBODY, by_thread, innermost_at, parents
from analyzer.derive.steps import Steps

FX_GRAPH: Final = re.compile(r"## Call CompiledFxGraph (?P<key>\S+) ##")
COMPILED_REGION: Final = re.compile(r"Torch-Compiled Region: (?P<id>\S+)")
COMPILED_FUNCTION: Final = re.compile(r"CompiledFunction(?P<backward>Backward)?")
OUR_RANGE: Final = re.compile(rf"{RANGE_PREFIX}(?P<digest>\w+)\.(?P<direction>inference|forward|backward)")
MODULE: Final = re.compile(r"nn\.Module: (?P<label>.+)")
GRAPH_LAUNCH: Final = re.compile(r"(?:cu|cuda|hip)GraphLaunch\w*")
_AUTOGRAD: Final = re.compile(r"autograd::engine::evaluate_function: .*")
_SKIPPED_RANGE: Final = re.compile(rf"{RANGE_PREFIX}\w+|nccl:.*|gloo:.*|PyTorch Profiler.*|enumerate\(DataLoader\).*")
"""Ranges that torch or the profiler opens around one call: a collective is a kernel's name, not a module."""

_NUMBERED: Final = re.compile(r"_\d+$")

DIGEST_HEX: Final = 12
MOST_MODULES: Final = 24
"""Rows that a screen holds (as `terminal_tables.MAX_ROWS`): the module tree is opened level by level up to it."""
BIG_SHARE: Final = 0.5
"""A module with more of the device's launches than this is opened, as long as its children launch any."""


class RegionKind(Enum):
    """What a region of a recorded trace is; the value is the word shown to people."""

    COMPILED = "compiled graph"
    REPLAY = "graph replay"
    MODULE = "module"
    RANGE = "range"
    BACKWARD = "backward"
    STEP = "step"
    OUTSIDE = "outside of any region"
    UNLINKED = "not linked"


@dataclass(frozen=True, slots=True)
class TraceRegion:
    """One row of a report on a recorded trace. `label` is what people read; `compile_id` as torch counts (`0/1`)."""

    key: GraphKey
    label: str
    kind: RegionKind
    compile_id: str | None = None


@dataclass(frozen=True, slots=True)
class HostRegions:
    """Which host rows open which region. `row[i]` opens `regions[region[i]]`; rows are in order of start."""

    regions: tuple[TraceRegion, ...]
    row: IntColumn
    region: IntColumn

    def at(self, trace: Trace, points_ns: IntColumn, threads: IntColumn) -> IntColumn:
        """The innermost region open at each moment on each thread; NOBODY where there is none."""
        owner = innermost_at(trace, self.row, points_ns, threads)
        found = np.full(owner.size, NOBODY, dtype=np.int64)
        known = owner != NOBODY
        # Of a row that opens two, the last.
        found[known] = self.region[np.searchsorted(self.row, owner[known], side="right") - 1]
        return found


def key_of(label: str, direction: Direction = Direction.INFERENCE) -> GraphKey:
    """The key that stands for a label: of the same label the same, in every trace."""
    return GraphKey(hashlib.sha256(label.encode("utf-8", "replace")).hexdigest()[:DIGEST_HEX], direction)


def label_of(key: GraphKey) -> str:
    """What a graph is called in a trace, which knows no source line of it."""
    return f"graph {key}"


BACKWARD: Final = TraceRegion(key_of("backward", Direction.BACKWARD), "backward (autograd)", RegionKind.BACKWARD)
"""Autograd's own nodes: no module is open around them, and a compiled graph inside is the inner region."""


def host_regions(trace: Trace, steps: Steps, launch_rows: IntColumn) -> HostRegions:
    """The regions that host rows of this trace open. `launch_rows` are the calls that launched its device rows.

    Compiled graphs and modules may both be there (a model compiled in part): modules then name what is around the
    graphs, and the graph is the inner region.
    """
    found = [*_compiled(trace), *(_modules(trace, launch_rows) or _ranges(trace, steps, launch_rows))]
    backward = trace.named(_AUTOGRAD.fullmatch, EventKind.CPU_OP, EventKind.RANGE)
    number: dict[TraceRegion, int] = {}
    # Of the same object only once: to hash a region takes 2 µs, and one has thousands of rows.
    of_object: dict[int, int] = {}
    for _, region in found:
        if id(region) not in of_object:
            of_object[id(region)] = number.setdefault(region, len(number))
    row = np.asarray([row for row, _ in found], dtype=np.int64)
    opened = np.asarray([of_object[id(region)] for _, region in found], dtype=np.int64)
    if backward.size:
        own = number.setdefault(BACKWARD, len(number))
        row, opened = np.append(row, backward), np.append(opened, np.full_like(backward, own))
    order = np.lexsort((opened, row))
    return HostRegions(tuple(number), row[order], opened[order])


def _named(trace: Trace, pattern: re.Pattern[str], *kinds: EventKind) -> Iterator[tuple[int, re.Match[str]]]:
    matches = {name: found for name in trace.names if (found := pattern.fullmatch(name)) is not None}
    for row in trace.named(matches.__contains__, *kinds).tolist():
        yield row, matches[trace.name(row)]


def _compiled(trace: Trace) -> Iterator[tuple[int, TraceRegion]]:
    """Our own ranges, compiled FX graphs, else the frames and autograd functions around them that hold none."""
    kinds = (EventKind.RANGE, EventKind.CPU_OP)
    ours = list(_named(trace, OUR_RANGE, *kinds))
    for row, found in ours:
        key = GraphKey(found["digest"], Direction(found["direction"]))
        yield row, TraceRegion(key, label_of(key), RegionKind.COMPILED)
    if ours:
        return  # the same graphs under better names: these hold from one configuration to the next
    inner = np.asarray([row for row, _ in _named(trace, FX_GRAPH, *kinds)], dtype=np.int64)
    frames = dict(_named(trace, COMPILED_REGION, *kinds))
    functions = dict(_named(trace, COMPILED_FUNCTION, *kinds))
    frame_at = _around(trace, inner, np.asarray(sorted(frames), dtype=np.int64))
    function_at = _around(trace, inner, np.asarray(sorted(functions), dtype=np.int64))
    for i, (row, found) in enumerate(_named(trace, FX_GRAPH, *kinds)):
        frame, function = int(frame_at[i]), int(function_at[i])
        direction = _direction(functions[function]) if function != NOBODY else Direction.INFERENCE
        compile_id = frames[frame]["id"] if frame != NOBODY else None
        yield row, _compiled_region(found["key"], compile_id, direction)
    held = {*frame_at.tolist(), *function_at.tolist()}
    bare_functions = [row for row in sorted(functions) if row not in held]
    in_frames = _around(trace, np.asarray(bare_functions, dtype=np.int64), np.asarray(sorted(frames), dtype=np.int64))
    for row, frame in zip(bare_functions, in_frames.tolist(), strict=True):
        compile_id = frames[frame]["id"] if frame != NOBODY else None
        name = functions[row].group()
        yield row, _compiled_region(name, compile_id, _direction(functions[row]))
    held |= set(in_frames.tolist())
    for row in sorted(frames):
        if row not in held:
            yield row, _compiled_region(frames[row].group(), frames[row]["id"], Direction.INFERENCE)


def _direction(function: re.Match[str]) -> Direction:
    return Direction.BACKWARD if function["backward"] else Direction.FORWARD


@lru_cache(maxsize=1 << 12)
def _compiled_region(name: str, compile_id: str | None, direction: Direction) -> TraceRegion:
    """Named by its compile id where there is one: the key of an FX graph hashes the configuration too, so that the same
    graph compiled another way would not be found again in another trace.
    """
    label = f"graph {compile_id}" if compile_id is not None else f"graph {name}"
    return TraceRegion(key_of(label, direction), label, RegionKind.COMPILED, compile_id)


def _around(trace: Trace, rows: IntColumn, holders: IntColumn) -> IntColumn:
    """The innermost holder around the start of each row, on its thread; NOBODY where there is none."""
    return innermost_at(trace, holders, trace.start_ns[rows], trace.thread[rows])


def _modules(trace: Trace, launch_rows: IntColumn) -> list[tuple[int, TraceRegion]]:
    rows = np.asarray([row for row, _ in _named(trace, MODULE, EventKind.PYTHON)], dtype=np.int64)
    return _cut_tree(trace, rows, launch_rows, RegionKind.MODULE)


def _ranges(trace: Trace, steps: Steps, launch_rows: IntColumn) -> list[tuple[int, TraceRegion]]:
    rows = trace.rows(EventKind.RANGE)
    others = (_SKIPPED_RANGE, FX_GRAPH, COMPILED_REGION, COMPILED_FUNCTION, OUR_RANGE)
    skipped = np.asarray(
        [any(p.fullmatch(name) for p in others) or step_dialect(name) is not None for name in trace.names] or [False],
        dtype=np.bool_,
    )
    rows = rows[~skipped[trace.name_id[rows]] & ~np.isin(rows, steps.rows)] if rows.size else rows
    if len(steps):
        # Markers of other tools around the same step (vLLM's around sglang's) are steps too.
        rows = rows[(trace.start_ns[rows] > steps.start_ns[0]) | (trace.ends(rows) < steps.end_ns[-1])]
    return _cut_tree(trace, rows, launch_rows, RegionKind.RANGE)


def _cut_tree(trace: Trace, rows: IntColumn, launch_rows: IntColumn, kind: RegionKind) -> list[tuple[int, TraceRegion]]:
    """The rows at which a tree of nested ranges is cut: opened level by level while the rows stay few.

    A name is opened while it holds more than BIG_SHARE of the launches and something below it launches too; what it
    launches itself stays with it. Ranges that launch nothing are left out.
    """
    if not rows.size or not launch_rows.size:
        return []
    weight = _launches_inside(trace, rows, launch_rows)
    children: dict[int, list[int]] = {}
    for row, holder in zip(rows.tolist(), parents(trace, rows)[rows].tolist(), strict=True):
        children.setdefault(holder, []).append(row)
    kept: dict[int, str] = {}
    level = [row for row in children.get(NOBODY, ()) if weight[row]]
    while level:
        names = _names_of(trace, level, MOST_MODULES - len(set(kept.values())))
        if names is None:
            break
        kept |= names
        by_name: dict[str, list[int]] = {}
        for row in level:
            by_name.setdefault(names[row], []).append(row)
        wide = [own for own in by_name.values() if sum(weight[row] for row in own) > BIG_SHARE * launch_rows.size]
        level = [child for own in wide for row in own for child in children.get(row, ()) if weight[child]]
    regions = {name: TraceRegion(key_of(f"{kind.value} {name}"), name, kind) for name in set(kept.values())}
    return [(row, regions[name]) for row, name in sorted(kept.items())]


def _names_of(trace: Trace, rows: list[int], most: int) -> dict[int, str] | None:
    """What each row of a level is called: by itself, or by its class where that leaves at most `most`, else None."""
    names = {row: _label(trace.name(row)) for row in rows}
    if len(set(names.values())) <= most:
        return names
    classes = {row: _NUMBERED.sub("", name) for row, name in names.items()}
    counts = Counter(classes[row] for row in {names[row]: row for row in rows}.values())
    if len(counts) > most:
        return None
    return {
        row: f"{name} ({counts[name]} of them)" if counts[name] > 1 else names[row] for row, name in classes.items()
    }


def _label(name: str) -> str:
    """`nn.Module: Linear_3` is `Linear_3`; `## forward ##` is `forward`."""
    found = MODULE.fullmatch(name)
    return found["label"] if found else name.strip("# ") or name


def _launches_inside(trace: Trace, rows: IntColumn, launch_rows: IntColumn) -> dict[int, int]:
    """How many launches lie inside each row, on its thread."""
    found: dict[int, int] = {}
    for thread, own in by_thread(trace, rows):
        moments = np.sort(trace.start_ns[launch_rows[trace.thread[launch_rows] == thread]])
        inside = np.searchsorted(moments, trace.ends(own)) - np.searchsorted(moments, trace.start_ns[own])
        found |= dict(zip(own.tolist(), inside.tolist(), strict=True))
    return found


def replay_rows(trace: Trace, launch: IntColumn, has_launch: BoolColumn) -> BoolColumn:
    """Which device rows were started by the launch of a whole graph."""
    is_graph = np.asarray([GRAPH_LAUNCH.fullmatch(name) is not None for name in trace.names] or [False], dtype=np.bool_)
    found: BoolColumn = has_launch & is_graph[trace.name_id[launch]] if launch.size else has_launch
    return found

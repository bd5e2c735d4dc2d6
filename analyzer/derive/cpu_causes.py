"""Two causes that a CPU's budget cannot tell by times: more threads than CPUs, and loops that were not vectorised."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from analyzer.core.environment import Environment
from analyzer.core.graphs import GraphKey, Region
from analyzer.core.quantities import count

_LOOP: Final = re.compile(r"\bfor\s*\((?:int64_t|long)\s+x\d+\s*=[^{}]*\)\s*(?P<body>\{)")
"""A loop over elements of Inductor's C++ kernels, `for(int64_t x0=…)`; those over threads and lanes are named
otherwise."""

_VECTOR: Final = "at::vec::"
"""What a vectorised loop body computes with (torch/csrc/inductor/cpp_prefix.h)."""


@dataclass(frozen=True, slots=True)
class GraphLoops:
    """The innermost loops in the C++ that Inductor generated for a graph, and how many of them are scalar."""

    key: GraphKey
    loops: int
    scalar: int


def graph_loops(key: GraphKey, code: str) -> GraphLoops:
    """Counts the loops in a graph's generated code: Inductor's output for it, Python around C++ or C++ alone."""
    bodies = [(found.start("body"), _end(code, found.start("body"))) for found in _LOOP.finditer(code)]
    inner = [(a, b) for i, (a, b) in enumerate(bodies) if i + 1 == len(bodies) or bodies[i + 1][0] > b]
    return GraphLoops(key, len(inner), sum(_VECTOR not in code[a:b] for a, b in inner))


def loop_notes(region: Region, loops: tuple[GraphLoops, ...]) -> tuple[str, ...]:
    """A sentence if any loop of this region is scalar; none where its code is not known."""
    own = next((found for found in loops if found.key == region), None)
    if own is None or not own.scalar:
        return ()
    which = "all" if own.scalar == own.loops else f"{count(own.scalar)} of {count(own.loops)}"
    return (
        f"{which} of its generated loops are scalar (no at::vec in the C++): they use one lane of the CPU's vectors",
    )


def thread_notes(environment: Environment | None) -> tuple[str, ...]:
    """A sentence if torch uses more threads than CPUs are usable; none where the CPUs are not known."""
    usable = environment.usable_cpus if environment is not None else None
    if environment is None or usable is None or environment.threads <= usable:
        return ()
    return (
        f"torch uses {count(environment.threads)} threads on {count(usable)} usable CPUs: parallel loops wait for "
        "threads that have no CPU",
    )


def _end(code: str, opened: int) -> int:
    """Where the brace opened at `opened` closes; the end of the text where it does not."""
    depth = 0
    for found in re.finditer(r"[{}]", code[opened:]):
        depth += 1 if found.group() == "{" else -1
        if not depth:
            return opened + found.start()
    return len(code)

"""What Dynamo captured: graphs, why each ended, and what was recompiled or refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum


class Direction(StrEnum):
    """Which of the three programs that AOTAutograd makes of a Dynamo graph."""

    INFERENCE = "inference"
    FORWARD = "forward"
    BACKWARD = "backward"


@dataclass(frozen=True, slots=True, order=True)
class GraphKey:
    """The name of a graph, the same in every process and under every configuration that compiles it.

    `digest` is 12 hex digits over the canonical FX graph with its input shapes, strides, dtypes and devices;
    forward and backward of one Dynamo graph share it.
    """

    digest: str
    direction: Direction

    def __str__(self) -> str:
        return f"{self.digest}.{self.direction}"

    @staticmethod
    def parse(text: str) -> GraphKey:
        """The inverse of `str`. Raises ValueError when `text` is not a graph key."""
        digest, dot, direction = text.partition(".")
        if not dot or not digest:
            raise ValueError(f"not a graph key: {text!r}")
        return GraphKey(digest=digest, direction=Direction(direction))


@dataclass(frozen=True, slots=True, order=True)
class GapKey:
    """An eager gap: what runs after one graph and before the next; None is the edge of the step."""

    after: GraphKey | None
    before: GraphKey | None

    def __str__(self) -> str:
        return f"gap:{self.after or 'start'}>{self.before or 'end'}"


Region = GraphKey | GapKey


@dataclass(frozen=True, slots=True, order=True)
class SourceLine:
    """A place in the user's code. `function` is None where only the line is known."""

    file: str
    line: int
    function: str | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """One line of torch's `graph_breaks` log: where capture stopped, and torch's own reason and hint.

    `count` is how often torch told it, of each frame and cache entry anew. `ways` are the numbers, at this place, of
    the chains of calls by which it was met: what was told of a function and of its callers was met by one. Empty where
    that is not known.
    """

    where: SourceLine | None
    reason: str
    hint: str | None
    compile_id: str | None
    count: int = 1
    ways: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Recompile:
    """A frame compiled again because a guard failed; `is_limit` when torch then gave up and runs it eager."""

    where: SourceLine | None
    guard: str
    compile_id: str | None
    is_limit: bool = False
    count: int = 1


@dataclass(frozen=True, slots=True)
class CudaGraphSkip:
    """A graph that torch refused to run as a CUDA graph, or a part of it that it leaves out, with torch's reason."""

    key: GraphKey | None
    where: SourceLine | None
    reason: str

    @property
    def is_partial(self) -> bool:
        """Whether the rest of the graph is recorded: torch took it apart."""
        return self.reason.startswith("cudagraph partition")


@dataclass(frozen=True, slots=True, order=True)
class OpCount:
    """How often one launch of a kernel runs one of Inductor's operations on an element (`exp`, `load`, …)."""

    op: str
    count: int


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """What Inductor knew of one kernel that it generated, for one launch. None is unknown.

    `bytes` is the traffic of its buffers, each element that it touches once; `reads` and `writes` are its parts, a
    buffer each. `flops` are those of a matrix template, 0 where there is none, with the `dtype` of its inputs; `ops`
    are the operations of its other loops. `again_bytes` are those that accesses through an index may move beside
    `bytes`, where nothing of a buffer larger than the nearest cache is found there the next time.
    """

    name: str
    bytes: int
    flops: int | None = 0
    dtype: str | None = None
    ops: tuple[OpCount, ...] | None = None
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    again_bytes: int = 0


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """A call of an operator in compiled code that Inductor did not generate, with its inputs as a profiler's row tells
    them.

    `op` is the operator's qualified name (`aten::mm`). The rest runs over its inputs in the schema's order, as in
    `OpDetail`, with torch's names for the types of tensors. All of it is empty where it is not known.
    """

    op: str
    shapes: tuple[tuple[int, ...], ...] = ()
    strides: tuple[tuple[int, ...], ...] = ()
    dtypes: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallOrder:
    """What one call of a compiled graph calls, in order: numbers of the different generated `kernels`, and from there
    on of the different `calls` of libraries. Raises ValueError for one that is in neither.
    """

    kernels: tuple[str, ...]
    calls: tuple[LibraryCall, ...]
    order: tuple[int, ...]

    def __post_init__(self) -> None:
        if not all(0 <= entry < len(self.kernels) + len(self.calls) for entry in self.order):
            raise ValueError("the order of a graph's calls names one that is not there")

    @classmethod
    def of(cls, called: Sequence[str | LibraryCall]) -> CallOrder:
        """Of kernels by name and calls of libraries, in order."""
        kernels = tuple(dict.fromkeys(one for one in called if isinstance(one, str)))
        calls = tuple(dict.fromkeys(one for one in called if isinstance(one, LibraryCall)))
        different: tuple[str | LibraryCall, ...] = (*kernels, *calls)
        number = {one: i for i, one in enumerate(different)}
        return cls(kernels, calls, tuple(number[one] for one in called))

    def called(self) -> tuple[str | LibraryCall, ...]:
        """One after another, as `of` takes them."""
        different: tuple[str | LibraryCall, ...] = (*self.kernels, *self.calls)
        return tuple(different[entry] for entry in self.order)


@dataclass(frozen=True, slots=True)
class Graph:
    """One captured graph and direction. Graphs with equal keys are one row with several compile ids.

    `flops` are those of its matrix products and convolutions, `bytes` the compulsory traffic of its compiled
    kernels as Inductor counts it; None where unknown. `kernels` are those that Inductor told us of, by name; empty
    where it compiled them before anybody asked. `loops` are the innermost loops of its generated C++ and `scalar_loops`
    those of them without vectors, on a CPU. `copied_bytes` are those of the inputs that a CUDA graph would copy at each
    replay: all but parameters and buffers. `inputs` are all inputs of one call, those among them.
    `kernels` are those of torch's defaults, `plan_kernels` those that the plan runs in their place, where one number of
    a name is often another kernel; None where no plan was compiled or nothing was told of it. `calls` and `plan_calls`
    are the order in which these kernels and those of libraries are called; None where it is not known.
    """

    key: GraphKey
    compile_ids: tuple[str, ...]
    source: tuple[SourceLine, ...]
    op_count: int
    ended_by: GraphBreak | None
    flops: int | None = None
    bytes: int | None = None
    dtype: str | None = None
    kernels: tuple[KernelFacts, ...] = ()
    loops: int | None = None
    scalar_loops: int | None = None
    copied_bytes: int | None = None
    inputs: int | None = None
    code_bytes: int | None = None
    """What Inductor wrote for it under torch's defaults, without comments, paths and hashes."""
    host_made: tuple[SourceLine, ...] = ()
    """Lines that make a tensor on the host and move it to a device, a CPU too; of a backward none are told."""
    plan_kernels: tuple[KernelFacts, ...] | None = None
    calls: CallOrder | None = None
    plan_calls: CallOrder | None = None

    @property
    def where(self) -> SourceLine | None:
        """The first user line the graph covers."""
        return self.source[0] if self.source else None


@dataclass(frozen=True, slots=True)
class Capture:
    """Everything one `torch.compile` of the workload told us. `graphs` are in order of first call."""

    graphs: tuple[Graph, ...]
    breaks: tuple[GraphBreak, ...]
    recompiles: tuple[Recompile, ...]
    skips: tuple[CudaGraphSkip, ...]
    compile_ns: int
    first_call_ns: int

    def with_plan(self, planned: Capture | None) -> Capture:
        """The same, with what Inductor told of the kernels of the plan, which was captured as `planned`."""
        told = {graph.key: (graph.kernels or None, graph.calls) for graph in planned.graphs} if planned else {}
        return replace(self, graphs=tuple(_with_plan(g, *told.get(g.key, (None, None))) for g in self.graphs))


def _with_plan(graph: Graph, kernels: tuple[KernelFacts, ...] | None, calls: CallOrder | None) -> Graph:
    return replace(graph, plan_kernels=kernels, plan_calls=calls)


def under_plan(graphs: Iterable[Graph]) -> tuple[Graph, ...]:
    """The graphs as the plan runs them: with its kernels, those of the defaults where it is not known which these are,
    and in its order, which that of the defaults says nothing of.

    What all kernels of a graph move was counted under the defaults, and says nothing of what other ones leave of it.
    """
    return tuple(_under_plan(graph) for graph in graphs)


def _under_plan(graph: Graph) -> Graph:
    kernels = graph.kernels if graph.plan_kernels is None else graph.plan_kernels
    is_same = graph.plan_kernels == graph.kernels or not kernels
    return replace(graph, kernels=kernels, bytes=graph.bytes if is_same else None, calls=graph.plan_calls)

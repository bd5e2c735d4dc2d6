"""What torch.compile did with a workload: its graphs, and torch's own words on breaks, recompiles and refusals."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from torch.fx import GraphModule
from torch.utils.flop_counter import flop_registry, sdpa_backward_flop_count, sdpa_flop_count

from analyzer.core.graphs import (
    CallOrder,
    Capture,
    Direction,
    Graph,
    GraphBreak,
    GraphKey,
    KernelFacts,
    Recompile,
    SourceLine,
)
from collectors import torch_compat
from collectors.break_ways import Way, way_of, with_ways
from collectors.copied_inputs import copied_bytes
from collectors.cuda_graph_log import CudaGraphLog
from collectors.host_made import moved_lines
from collectors.sources import frames, function_name, graph_lines, user_line

_BREAK_PLACE: Final = re.compile(r"in user code at (?P<file>.+?):(?P<line>\d+)\s")
_BREAK_REASON: Final = re.compile(
    r"Graph Break Reason: (?P<reason>.*?)(?:\n\s*Developer debug context:|\n\s*Hint:|\nUser code|\Z)", re.S
)
_BREAK_PREAMBLE: Final = re.compile(r"^Encountered graph break when attempting to trace [^\n]*\n+")
_NO_FAKE: Final = re.compile(r"^unsupported operator: (?P<space>\w+)\.(?P<name>\w+)", re.M)
"""The operator that torch cannot trace, which it names in the developer's context alone: it explains nothing and links
to a document (`wrap_fake_exception` in torch/_dynamo/utils.py)."""
_EXPLANATION: Final = re.compile(r"\n\s*Explanation: ")
_COMPUTED_AS: Final = re.compile(r"\s*The branch condition involves a tensor computed as follows:\n.*", re.S)
"""How torch (2.13) derives a condition: by nodes of the graph, with the sizes of this compilation's inputs in them."""
_HINT: Final = re.compile(r"^\s*Hint: (?P<hint>.+)$", re.M)
_RECOMPILED: Final = re.compile(r"Recompiling function (?P<function>\S+) in (?P<file>.+):(?P<line>\d+)")
_WRAPPER: Final = re.compile(r"/torch/_dynamo/\w+\.py$")
_GUARD_LINE: Final = re.compile(r"^\s*- (?:\d+/\d+: )?(?P<guard>.+)$", re.M)
_LIMIT: Final = re.compile(
    r"hit config\.(?P<limit>\w+).*?function: '(?P<function>[^']*)' \((?P<file>.+?):(?P<line>\d+)\)"
    r".*?last reason: (?:\d+/\d+: )?(?P<guard>[^\n]+)",
    re.S,
)
_ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+(?=>)")


@dataclass(slots=True)
class GraphLog:
    """Collects, while graphs are compiled and called, what a `Capture` is made of."""

    root: Path | None
    running: Callable[[], GraphKey | None] = lambda: None
    begins: SourceLine | None = None
    """Where the model's own code begins: the place of what torch says of a wrapper of its own around it."""
    compiling: GraphKey | None = None
    compiles: int = 0
    recompiles: list[Recompile] = field(default_factory=list)
    _graphs: dict[GraphKey, Graph] = field(default_factory=dict)
    _doubtful: dict[GraphKey, set[str]] = field(default_factory=dict)
    _orders: dict[GraphKey, CallOrder | None] = field(default_factory=dict)
    _breaks: list[GraphBreak] = field(default_factory=list)
    _ways: list[Way] = field(default_factory=list)
    cuda_graphs: CudaGraphLog = field(init=False)

    def __post_init__(self) -> None:
        self.cuda_graphs = CudaGraphLog(self.root)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Hear torch's logs while the block runs."""
        with torch_compat.compiler_logs(
            on_break=self._hear_break,
            on_recompile=self._hear_recompile,
            on_limit=self._hear_limit,
            on_cuda_graph=self._hear_cuda_graph,
        ):
            yield

    def add_graph(self, key: GraphKey, dynamo: GraphModule, aot: GraphModule | None) -> None:
        """One more capture of the graph `key`; `aot` is its program in the key's direction, where there is one."""
        self.compiles += 1
        compile_id = _frame_id(torch_compat.current_compile_id())
        ids = (compile_id,) if compile_id else ()
        known = self._graphs.get(key)
        if known is not None:
            merged = tuple(dict.fromkeys(known.compile_ids + ids))
            self._graphs[key] = replace(known, compile_ids=merged)
            return
        program = aot or dynamo
        flops, dtype = _matrix_work(program)
        self._graphs[key] = Graph(
            key=key,
            compile_ids=ids,
            source=graph_lines(dynamo, self.root),
            op_count=sum(node.op.startswith("call_") for node in program.graph.nodes),
            ended_by=None,
            flops=flops,
            dtype=dtype,
            copied_bytes=copied_bytes(dynamo, key.direction),
            inputs=sum(node.op == "placeholder" for node in program.graph.nodes),
            host_made=() if key.direction is Direction.BACKWARD else moved_lines(dynamo, self.root),
        )

    def add_traffic(self, key: GraphKey, traffic_bytes: int) -> None:
        """What Inductor counted for `key`; the first count stands, which is the default's."""
        known = self._graphs.get(key)
        if known is not None and known.bytes is None:
            self._graphs[key] = replace(known, bytes=traffic_bytes)

    def add_kernels(self, key: GraphKey, kernels: tuple[KernelFacts, ...]) -> None:
        """What Inductor knew of the kernels of `key`, under the configuration that is being compiled.

        A name that two of its compilations give to different kernels says nothing, and is left out for good.
        """
        known = self._graphs.get(key)
        if known is None or not kernels:
            return
        names = {facts.name: facts for facts in known.kernels}
        doubtful = self._doubtful.setdefault(key, set())
        for facts in kernels:
            if names.setdefault(facts.name, facts) != facts:
                doubtful.add(facts.name)
        kept = tuple(facts for name, facts in sorted(names.items()) if name not in doubtful)
        self._graphs[key] = replace(known, kernels=kept)

    def add_calls(self, key: GraphKey, calls: CallOrder | None) -> None:
        """What a call of `key` calls, under the configuration that is being compiled; None where that is not known.

        Two of its compilations that differ in it leave it unknown.
        """
        known = self._graphs.get(key)
        if known is None:
            return
        order = calls if self._orders.setdefault(key, calls) == calls else None
        self._orders[key] = order
        self._graphs[key] = replace(known, calls=order)

    def forget_kernels(self) -> None:
        """What is compiled from here on is another configuration: a kernel of the same name there is another one."""
        self._doubtful.clear()
        self._orders.clear()
        self._graphs = {key: replace(graph, kernels=(), calls=None) for key, graph in self._graphs.items()}

    def add_loops(self, key: GraphKey, loops: int, scalar: int) -> None:
        """What the default's generated C++ of `key` loops over."""
        known = self._graphs.get(key)
        if known is not None and known.loops is None:
            self._graphs[key] = replace(known, loops=loops, scalar_loops=scalar)

    def add_code(self, key: GraphKey, written_bytes: int) -> None:
        """How much code the default is for `key`; the first count stands."""
        known = self._graphs.get(key)
        if known is not None and known.code_bytes is None:
            self._graphs[key] = replace(known, code_bytes=written_bytes)

    def add_refusal(self, key: GraphKey, reason: str) -> None:
        """Torch compiled `key` without the CUDA graph it was asked for."""
        self.cuda_graphs.add_refusal(key, self._where(key), reason)

    def capture(self, *, compile_ns: int, first_call_ns: int) -> Capture:
        breaks = with_ways(self._breaks, self._ways)
        graphs = tuple(replace(graph, ended_by=_ended_by(graph, breaks)) for graph in self._graphs.values())
        return Capture(
            graphs=graphs,
            breaks=_counted_breaks(breaks),
            recompiles=_counted(self.recompiles),
            skips=self.cuda_graphs.skips,
            compile_ns=compile_ns,
            first_call_ns=first_call_ns,
        )

    def _hear_break(self, message: str) -> None:
        place, reason = _BREAK_PLACE.search(message), _BREAK_REASON.search(message)
        if reason is None:
            return
        stack = frames(message[message.find("User code traceback:") :]) if "User code traceback:" in message else ()
        told = SourceLine(place["file"], int(place["line"])) if place else None
        why, hint = _told(message, reason["reason"])
        self._ways.append(way_of(stack))
        self._breaks.append(
            GraphBreak(
                where=self._outside_wrappers(user_line(stack, self.root) or told),
                reason=why,
                hint=hint,
                compile_id=_frame_id(torch_compat.current_compile_id()),
            )
        )

    def _outside_wrappers(self, where: SourceLine | None) -> SourceLine | None:
        return self.begins if where is not None and _WRAPPER.search(where.file) is not None else where

    def _hear_recompile(self, message: str) -> None:
        place, guard = _RECOMPILED.search(message), _GUARD_LINE.search(message)
        if place is None:
            return
        where = _frame_line(place)
        text = guard["guard"] if guard else "torch did not say which guard"
        self.recompiles.append(Recompile(where, _one_line(text), _frame_id(torch_compat.current_compile_id())))

    def _hear_limit(self, message: str) -> None:
        limit = _LIMIT.search(message)
        if limit is None:
            return
        where = _frame_line(limit)
        self.recompiles.append(
            Recompile(where, _one_line(limit["guard"]), _frame_id(torch_compat.current_compile_id()), is_limit=True)
        )

    def _hear_cuda_graph(self, message: str) -> None:
        key = self.compiling or self.running()
        self.cuda_graphs.hear(key, self._where(key), message)

    def _where(self, key: GraphKey | None) -> SourceLine | None:
        return self._graphs[key].where if key in self._graphs else None


def _frame_line(found: re.Match[str]) -> SourceLine | None:
    """Where the function begins that torch compiles again; None for what Dynamo wraps around a module of torch's own,
    as nn.Sequential: that is no line of the user's.
    """
    if _WRAPPER.search(found["file"]) is not None:
        return None
    return SourceLine(found["file"], int(found["line"]), function_name(found["function"]))


def _told(message: str, reason: str) -> tuple[str, str | None]:
    """Torch's reason for a graph break in one line, and its hint; of an operator without a fake ours."""
    no_fake = _NO_FAKE.search(message.replace("Developer debug context: ", "\n"))
    if no_fake is not None:
        name = f"{no_fake['space']}::{no_fake['name']}"
        hint = f'give it one that returns an empty tensor like its result: @torch.library.register_fake("{name}")'
        return f"the operator {name} has no fake implementation, which tracing calls in its place", hint
    found = _HINT.search(message)
    why = _EXPLANATION.sub(": ", _BREAK_PREAMBLE.sub("", _COMPUTED_AS.sub("", reason).strip()), count=1)
    return _one_line(why), found["hint"].strip() if found else None


def _ended_by(graph: Graph, breaks: Sequence[GraphBreak]) -> GraphBreak | None:
    """The break in the frame that made the graph. A backward graph ends with its forward, not at a break.

    `breaks` are all that were heard: each cache entry of a frame breaks anew, and its graph has that entry's id alone.
    """
    if graph.key.direction is Direction.BACKWARD:
        return None
    return next((b for b in breaks if b.compile_id is not None and b.compile_id in graph.compile_ids), None)


def _counted_breaks(stops: Sequence[GraphBreak]) -> tuple[GraphBreak, ...]:
    """Equal breaks become one with a count. Cache entries of one frame (`0/0`, `0/1`) are equal."""
    alike: dict[object, list[GraphBreak]] = {}
    for stop in stops:
        alike.setdefault((stop.where, stop.reason), []).append(stop)
    return tuple(
        replace(same[0], count=len(same), ways=tuple(sorted({way for stop in same for way in stop.ways})))
        for same in alike.values()
    )


def _counted(recompiles: Sequence[Recompile]) -> tuple[Recompile, ...]:
    """As of breaks; guards that differ in a number alone are equal."""
    alike: dict[object, list[Recompile]] = {}
    for one in recompiles:
        alike.setdefault((one.where, _shape_of_guard(one.guard), one.is_limit), []).append(one)
    return tuple(replace(same[0], count=len(same)) for same in alike.values())


def _shape_of_guard(guard: str) -> str:
    return re.sub(r"\d+", "N", guard)


def _frame_id(compile_id: str | None) -> str | None:
    """`1/0_2` is the second restart of `1/0`."""
    return None if compile_id is None else compile_id.partition("_")[0]


def _one_line(text: str) -> str:
    """In one line, and the same in every process: without the address that Python prints of an object."""
    return re.sub(r"\s+", " ", _ADDRESS.sub("", text)).strip()


def _attention(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    return int(sdpa_flop_count(query.shape, key.shape, value.shape))  # type: ignore[no-untyped-call]


def _attention_backward(gradient: Any, query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    shapes = (gradient.shape, query.shape, key.shape, value.shape)
    return int(sdpa_backward_flop_count(*shapes))  # type: ignore[no-untyped-call]


# Torch has formulas for the attention kernels of GPUs only (2.13).
_CPU_ATTENTION: Final[Mapping[str, Callable[..., int]]] = {
    "aten._scaled_dot_product_flash_attention_for_cpu": _attention,
    "aten._scaled_dot_product_flash_attention_for_cpu_backward": _attention_backward,
}


def _matrix_work(program: GraphModule) -> tuple[int | None, str | None]:
    """Flops of the matrix products, convolutions and attention of an AOT graph by torch's own formulas, and the
    dtype that most of them run in. (None, None) where a formula could not be applied to any.
    """
    by_dtype: Counter[str] = Counter()
    for node in program.graph.nodes:
        packet = getattr(node.target, "overloadpacket", None)
        formula = flop_registry.get(packet) or _CPU_ATTENTION.get(str(packet))
        if node.op != "call_function" or formula is None:
            continue
        args, kwargs = _values(node.args), _values(node.kwargs)
        try:
            flops = formula(*args, **kwargs, out_val=node.meta.get("val"))
            by_dtype[str(args[0].dtype).removeprefix("torch.")] += int(flops)
        except (TypeError, ValueError, AttributeError, AssertionError, IndexError):
            return None, None  # one missing term would make the sum a lie
    if not by_dtype:
        return None, None
    return sum(by_dtype.values()), by_dtype.most_common(1)[0][0]


def _values(arguments: Any) -> Any:
    if isinstance(arguments, Mapping):
        return {name: _values(value) for name, value in arguments.items()}
    if isinstance(arguments, tuple | list):
        return type(arguments)(_values(value) for value in arguments)
    return arguments.meta.get("val") if hasattr(arguments, "meta") else arguments

"""What torch.compile did with a workload: its graphs, and torch's own words on breaks, recompiles and refusals."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from torch.fx import GraphModule
from torch.utils.flop_counter import flop_registry, sdpa_backward_flop_count, sdpa_flop_count

from analyzer.core.graphs import (
    Capture,
    CudaGraphSkip,
    Direction,
    Graph,
    GraphBreak,
    GraphKey,
    KernelFacts,
    Recompile,
    SourceLine,
)
from collectors import torch_compat
from collectors.copied_inputs import copied_bytes
from collectors.host_made import moved_lines
from collectors.sources import frames, graph_lines, user_line

_BREAK_PLACE: Final = re.compile(r"in user code at (?P<file>.+?):(?P<line>\d+)\s")
_BREAK_REASON: Final = re.compile(
    r"Graph Break Reason: (?P<reason>.*?)(?:\n\s*Developer debug context:|\n\s*Hint:|\nUser code|\Z)", re.S
)
_BREAK_PREAMBLE: Final = re.compile(r"^Encountered graph break when attempting to trace [^\n]*\n+")
_NO_FAKE: Final = re.compile(r"^unsupported operator: (?P<space>\w+)\.(?P<name>\w+)", re.M)
"""The operator that torch cannot trace, which it names in the developer's context alone: it explains nothing and links
to a document (`wrap_fake_exception` in torch/_dynamo/utils.py)."""
_EXPLANATION: Final = re.compile(r"\n\s*Explanation: ")
_HINT: Final = re.compile(r"^\s*Hint: (?P<hint>.+)$", re.M)
_RECOMPILED: Final = re.compile(r"Recompiling function (?P<function>\S+) in (?P<file>.+):(?P<line>\d+)")
_GUARD_LINE: Final = re.compile(r"^\s*- (?:\d+/\d+: )?(?P<guard>.+)$", re.M)
_LIMIT: Final = re.compile(
    r"hit config\.(?P<limit>\w+).*?function: '(?P<function>[^']*)' \((?P<file>.+?):(?P<line>\d+)\)"
    r".*?last reason: (?:\d+/\d+: )?(?P<guard>[^\n]+)",
    re.S,
)
_ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+(?=>)")
_SKIP_WORDS: Final = ("skipping cudagraphs", "cudagraph partition", "disabling cudagraphs")
_REFUSED: Final = "skipping cudagraphs"
"""How torch begins when a graph is left without: when it compiles, or, for inputs that are written to, at the first
call, where it knows which of them are outputs of another CUDA graph."""


@dataclass(slots=True)
class GraphLog:
    """Collects, while graphs are compiled and called, what a `Capture` is made of."""

    root: Path | None
    running: Callable[[], GraphKey | None] = lambda: None
    compiling: GraphKey | None = None
    compiles: int = 0
    recompiles: list[Recompile] = field(default_factory=list)
    _graphs: dict[GraphKey, Graph] = field(default_factory=dict)
    _doubtful: dict[GraphKey, set[str]] = field(default_factory=dict)
    _breaks: list[GraphBreak] = field(default_factory=list)
    _skips: list[CudaGraphSkip] = field(default_factory=list)
    _refused: dict[str, str] = field(default_factory=dict)
    _user_lines: dict[SourceLine | None, SourceLine] = field(default_factory=dict)

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
        """What Inductor knew of the kernels of `key`, those of each configuration together.

        A name that two configurations give to different kernels says nothing, and is left out for good.
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

    def add_skip(self, key: GraphKey | None, reason: str) -> None:
        where = self._graphs[key].where if key in self._graphs else None
        self._skips.append(CudaGraphSkip(key, where, reason))

    def add_refusal(self, key: GraphKey, reason: str) -> None:
        """Torch compiled `key` without the CUDA graph it was asked for."""
        self._refused.setdefault(key.digest, reason)
        self.add_skip(key, reason)

    def refusal(self, digest: str) -> str | None:
        """Why torch refused a CUDA graph to the graphs of this digest, None where it did not."""
        return self._refused.get(digest)

    def capture(self, *, compile_ns: int, first_call_ns: int) -> Capture:
        breaks = _counted(self._breaks)
        graphs = tuple(replace(graph, ended_by=_ended_by(graph, self._breaks)) for graph in self._graphs.values())
        return Capture(
            graphs=graphs,
            breaks=breaks,
            recompiles=_counted(self.recompiles),
            skips=tuple(dict.fromkeys(self._skips)),
            compile_ns=compile_ns,
            first_call_ns=first_call_ns,
        )

    def _hear_break(self, message: str) -> None:
        place, reason = _BREAK_PLACE.search(message), _BREAK_REASON.search(message)
        if reason is None:
            return
        stack = frames(message[message.find("User code traceback:") :]) if "User code traceback:" in message else ()
        told = SourceLine(place["file"], int(place["line"])) if place else None
        inner = user_line(stack, self.root)
        if inner is not None:
            self._user_lines[told] = inner  # torch shows the stack of a place once; later breaks there name it alone
        why, hint = _told(message, reason["reason"])
        self._breaks.append(
            GraphBreak(
                where=self._user_lines.get(told, told),
                reason=why,
                hint=hint,
                compile_id=_frame_id(torch_compat.current_compile_id()),
            )
        )

    def _hear_recompile(self, message: str) -> None:
        place, guard = _RECOMPILED.search(message), _GUARD_LINE.search(message)
        if place is None:
            return
        where = SourceLine(place["file"], int(place["line"]), place["function"])
        text = guard["guard"] if guard else "torch did not say which guard"
        self.recompiles.append(Recompile(where, _one_line(text), _frame_id(torch_compat.current_compile_id())))

    def _hear_limit(self, message: str) -> None:
        limit = _LIMIT.search(message)
        if limit is None:
            return
        where = SourceLine(limit["file"], int(limit["line"]), limit["function"])
        self.recompiles.append(
            Recompile(where, _one_line(limit["guard"]), _frame_id(torch_compat.current_compile_id()), is_limit=True)
        )

    def _hear_cuda_graph(self, message: str) -> None:
        if not any(word in message for word in _SKIP_WORDS):
            return
        key = self.compiling or self.running()
        if key is not None and message.startswith(_REFUSED):
            self.add_refusal(key, _one_line(message))
        else:
            self.add_skip(key, _one_line(message))


def _told(message: str, reason: str) -> tuple[str, str | None]:
    """Torch's reason for a graph break in one line, and its hint; of an operator without a fake ours."""
    no_fake = _NO_FAKE.search(message.replace("Developer debug context: ", "\n"))
    if no_fake is not None:
        name = f"{no_fake['space']}::{no_fake['name']}"
        hint = f'give it one that returns an empty tensor like its result: @torch.library.register_fake("{name}")'
        return f"the operator {name} has no fake implementation, which tracing calls in its place", hint
    found = _HINT.search(message)
    why = _EXPLANATION.sub(": ", _BREAK_PREAMBLE.sub("", reason.strip()), count=1)
    return _one_line(why), found["hint"].strip() if found else None


def _ended_by(graph: Graph, breaks: list[GraphBreak]) -> GraphBreak | None:
    """The break in the frame that made the graph. A backward graph ends with its forward, not at a break.

    `breaks` are all that were heard: each cache entry of a frame breaks anew, and its graph has that entry's id alone.
    """
    if graph.key.direction is Direction.BACKWARD:
        return None
    return next((b for b in breaks if b.compile_id is not None and b.compile_id in graph.compile_ids), None)


def _counted(items: list[Any]) -> tuple[Any, ...]:
    """Equal breaks or recompiles become one with a count. Cache entries of one frame (`0/0`, `0/1`) are equal."""
    first: dict[object, Any] = {}
    counts: Counter[object] = Counter()
    for item in items:
        is_break = isinstance(item, GraphBreak)
        same = (item.where, item.reason) if is_break else (item.where, _shape_of_guard(item.guard), item.is_limit)
        first.setdefault(same, item)
        counts[same] += 1
    return tuple(replace(item, count=counts[same]) for same, item in first.items())


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

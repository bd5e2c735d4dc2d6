"""What Inductor knows of what it compiled: traffic, kernels and their order, refused CUDA graphs, its code."""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import torch
import torch._dynamo
import torch._dynamo.utils
import torch._inductor
from torch._inductor.graph import GraphLowering

from analyzer.core.graphs import CallOrder, KernelFacts
from collectors.torch_compat.compiling import ConfigPatches, compile_inner


def compile_inner_noting(
    gm: torch.fx.GraphModule, inputs: Sequence[Any], patches: ConfigPatches, kwargs: Mapping[str, Any]
) -> Any:
    """The same, with its traffic counted, its kernels noted and what it calls in order: `traffic_bytes`, `kernel_facts`
    and `call_order` read them.
    """
    with _counting_traffic(), _noted_alone(), _noting_kernels(), _noting_calls():
        return compile_inner(gm, inputs, patches, kwargs)


def traffic_bytes(output_code: Any) -> int | None:
    """Bytes that the kernels of a compiled graph read and write at least, by Inductor's own count of its buffers.

    None where it was compiled, and kept in the cache, before anybody counted.
    """
    counted = getattr(getattr(output_code, "metrics_deltas", None), "num_bytes_accessed", None)
    return int(counted) if counted else None


def kernel_facts(output_code: Any) -> tuple[KernelFacts, ...]:
    """What Inductor knew of each kernel of a compiled graph. A name that stands for two different ones is left out.

    Empty where the graph was compiled, and kept in the cache, before anybody noted.
    """
    found = _notes(output_code, _NOTE, KernelFacts)
    names = Counter(facts.name for facts in found)
    return tuple(sorted((f for f in found if names[f.name] == 1), key=lambda facts: facts.name))


def call_order(output_code: Any) -> CallOrder | None:
    """What one call of a compiled graph calls; None where it calls no library, or nobody noted or could tell it all."""
    found = _notes(output_code, _ORDER_NOTE, CallOrder)
    return found[0] if len(found) == 1 else None


_Noted = TypeVar("_Noted")


def _notes(output_code: Any, prefix: str, kind: type[_Noted]) -> list[_Noted]:
    """What was noted under `prefix` of a compiled graph; what another release wrote in another way is left out."""
    import msgspec  # not above: production, which reads no notes, does without

    found = []
    for name in getattr(output_code, "counter_deltas", None) or ():
        if str(name).startswith(prefix):
            with contextlib.suppress(msgspec.DecodeError):
                found.append(msgspec.json.decode(str(name).removeprefix(prefix), type=kind))
    return found


_NOTE: Final = "graphbound kernel, format 1: "
"""Before what is noted of a kernel; counted up when the facts change their meaning. Notes are kept as names of
Inductor's counters, because what those gained while a graph was compiled is kept with it, in the cache of compiled
graphs too."""

_ORDER_NOTE: Final = "graphbound calls, format 2: "
"""The same, before the order of what a graph calls."""


@contextlib.contextmanager
def _noted_alone() -> Iterator[None]:
    """Leave no note among the counters that torch shows."""
    try:
        yield
    finally:
        _forget_notes(_NOTE, _ORDER_NOTE)


def _forget_notes(*prefixes: str) -> None:
    counted = torch._dynamo.utils.counters["inductor"]
    for note in [name for name in counted if str(name).startswith(prefixes)]:
        del counted[note]


@contextlib.contextmanager
def _noting_kernels() -> Iterator[None]:
    """Note what Inductor knows of each kernel when it names it, as counters of the graph being compiled."""
    from torch._inductor.codegen.cpp import CppScheduling  # private modules, here alone
    from torch._inductor.codegen.triton import TritonScheduling

    with contextlib.ExitStack() as stack:
        for scheduling in (CppScheduling, TritonScheduling):
            stack.enter_context(_noting(scheduling))
        yield


@contextlib.contextmanager
def _noting(scheduling: Any) -> Iterator[None]:
    original = scheduling.define_kernel

    def define_kernel(self: Any, source: Any, schedule: Any, *rest: Any, **further: Any) -> Any:
        name = original(self, source, schedule, *rest, **further)
        _note_kernel(str(name), schedule, rest[0] if rest else further.get("kernel"))
        return name

    scheduling.define_kernel = define_kernel
    try:
        yield
    finally:
        scheduling.define_kernel = original


def _note_kernel(name: str, schedule: Any, kernel: Any) -> None:
    import msgspec  # as in _notes
    from torch._inductor.virtualized import V  # a private module, here alone

    from collectors.inductor_kernels import facts_of

    try:
        facts = facts_of(name, schedule, kernel, V.graph)
        note = None if facts is None else msgspec.json.encode(facts).decode()
    except Exception:  # whatever a node trips over, the graph goes on without a note
        return
    if note is not None:
        torch._dynamo.utils.counters["inductor"][f"{_NOTE}{note}"] += 1


@contextlib.contextmanager
def _noting_calls() -> Iterator[None]:
    """Note what each program calls, in the order in which its calls are generated.

    A program that Inductor generates twice (a C++ wrapper for a GPU, 2.11) has the order of the last time. One that it
    generates inside of another, to try it, has a list of its own, which is dropped.
    """
    from torch._inductor.codegen.wrapper import PythonWrapperCodegen  # private modules, here alone
    from torch._inductor.scheduler import Scheduler

    from collectors.inductor_calls import Calls  # as msgspec in _notes

    programs: list[Calls] = []
    codegen, call_library = GraphLowering.codegen, Scheduler.codegen_extern_call
    call_kernel = PythonWrapperCodegen.generate_kernel_call

    def noted_codegen(self: Any) -> Any:
        programs.append(Calls())
        try:
            result = codegen(self)
        finally:
            calls = programs.pop()
        if not programs:
            _note_order(calls.order())
        return result

    def noted_kernel(self: Any, kernel_name: str, *rest: Any, **further: Any) -> Any:
        if programs:
            programs[-1].generated(str(kernel_name))
        return call_kernel(self, kernel_name, *rest, **further)

    def noted_library(self: Any, scheduler_node: Any) -> None:
        calls = programs[-1] if programs else Calls()
        before = len(calls.found)
        call_library(self, scheduler_node)
        # A kernel that the user wrote in Triton is a library's in the scheduler, and called as a generated one.
        if len(calls.found) == before:
            _note_library(calls, scheduler_node)

    with contextlib.ExitStack() as stack:
        for owner, name, noted in (
            (GraphLowering, "codegen", noted_codegen),
            (PythonWrapperCodegen, "generate_kernel_call", noted_kernel),
            (Scheduler, "codegen_extern_call", noted_library),
        ):
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, noted)
        yield


def _note_library(calls: Any, scheduler_node: Any) -> None:
    try:
        calls.library(scheduler_node.node)
    except Exception:  # whatever a node trips over, the graph goes on without its order
        calls.is_whole = False


def _note_order(order: CallOrder | None) -> None:
    import msgspec  # as in _notes

    _forget_notes(_ORDER_NOTE)
    if order is not None:
        torch._dynamo.utils.counters["inductor"][f"{_ORDER_NOTE}{msgspec.json.encode(order).decode()}"] += 1


@contextlib.contextmanager
def _counting_traffic() -> Iterator[None]:
    """Have Inductor count the traffic of what it compiles, which it does only while its metrics log is on.

    Its own `count_bytes` also estimates run times, and that raises for nodes without an output: what cannot be
    counted must not fail the compilation.
    """
    logger = logging.getLogger("torch._inductor.compile_fx.__inductor_metrics")
    level, propagate, is_disabled = logger.level, logger.propagate, logger.disabled
    count = GraphLowering.count_bytes
    logger.disabled = False
    logger.setLevel(logging.INFO)
    logger.propagate = False
    GraphLowering.count_bytes = _count_bytes  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        GraphLowering.count_bytes = count  # type: ignore[method-assign]
        logger.setLevel(level)
        logger.propagate = propagate
        logger.disabled = is_disabled


def _count_bytes(graph: Any) -> tuple[int, list[Any], list[Any]]:
    try:
        return sum(int(node.get_read_write_buffers_sizes()) for node in graph.scheduler.nodes), [], []
    except Exception:  # whatever a node's size trips over, the graph goes on without a count
        return 0, [], []


def cuda_graph_refusals(output_code: Any) -> tuple[str, ...]:
    """Why torch compiled this graph without CUDA graphs although they were asked for; empty where it did not say."""
    reasons = [getattr(output_code, "disabled_cudagraphs_reason", None)]
    reasons += getattr(getattr(output_code, "cudagraph_info", None), "cudagraph_fail_reasons", None) or []
    if not any(reasons) and getattr(output_code, "partition_maps", None) == []:
        # Torch is silent where partitioning leaves nothing over (cudagraph_partition_post_compile, 2.11 to 2.14).
        reasons.append("no part of the graph can be in a CUDA graph")
    return tuple(dict.fromkeys(str(reason) for reason in reasons if reason))


def is_partitioned(output_code: Any) -> bool:
    """Whether Inductor took the graph apart, to keep out of its CUDA graphs what they cannot hold; False where it does
    not say. What it counted is kept with the compiled graph (`Scheduler._codegen_partitions`, 2.11 to 2.14).
    """
    counted = getattr(output_code, "counter_deltas", None) or {}
    return int(counted.get("cudagraph_partitions", 0)) > 1


def generated_code(output_code: Any) -> str | None:
    """The source that Inductor wrote for this graph."""
    source = getattr(output_code, "source_code", None)
    return source if isinstance(source, str) else None

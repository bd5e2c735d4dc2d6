"""Every use of a private torch API, by version: torch 2.11 to the newest release. Nothing else imports one."""

from __future__ import annotations

import contextlib
import copy
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import torch
import torch._dynamo
import torch._dynamo.utils
import torch._functorch.config
import torch._inductor.config
from torch._guards import CompileContext
from torch._inductor.compile_fx import compile_fx, compile_fx_inner, get_cpp_wrapper_config
from torch._inductor.graph import GraphLowering
from torch._ops import OpOverload, OpOverloadPacket
from torch.utils._python_dispatch import TorchDispatchMode

from analyzer.core.graphs import KernelFacts
from collectors.inductor_kernels import facts_of

OLDEST_TORCH: Final = (2, 11)

ConfigPatches = Mapping[str, object]
InnerCompile = Callable[..., Any]
DispatchMode = TorchDispatchMode

RestartAnalysis = torch._dynamo.exc.RestartAnalysis
"""No failure, but torch's way to say that Dynamo must capture the frame anew."""

_MOST_GHZ: Final = 3.0
"""Cycles a nanosecond: an H200 boosts to 1.98 GHz, a GeForce 5090 to some 2.9 (data sheets)."""

_GRAPH_BREAK_LOGS: Final = (
    "torch._dynamo.symbolic_convert.__graph_breaks",
    "torch._dynamo.convert_frame.__graph_breaks",
    "torch._dynamo.exc.__graph_breaks",
)
_RECOMPILE_LOGS: Final = ("torch._dynamo.guards.__recompiles",)
_RECOMPILE_LIMIT_LOGS: Final = ("torch._dynamo.convert_frame",)
_CUDA_GRAPH_LOGS: Final = (
    "torch._inductor.cudagraph_utils.__cudagraphs",
    "torch._inductor.scheduler.__cudagraphs",
    "torch._inductor.cudagraph_trees.__cudagraphs",
)


def torch_version() -> tuple[int, int]:
    """Major and minor of the running torch."""
    major, minor, *_ = torch.__version__.split("+")[0].split(".")
    return int(major), int(minor)


def is_supported() -> bool:
    return torch_version() >= OLDEST_TORCH


def current_compile_id() -> str | None:
    """The compile id (`0/0`) of the frame that Dynamo is compiling on this thread, None outside one."""
    compile_id = CompileContext.current_compile_id()
    return None if compile_id is None else str(compile_id)


def is_torch_op(target: object) -> bool:
    """Whether an FX node's target is an operator of torch's registry, whose text is its stable name."""
    return isinstance(target, OpOverload | OpOverloadPacket)


def reset() -> None:
    """Forget every compiled frame and CUDA graph of this process."""
    torch._dynamo.reset()


def mark_step_begin() -> None:
    """Tell CUDA graphs that the outputs of the last step are no longer needed."""
    torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]


def int8_product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """The int32 product of two int8 matrices. Raises RuntimeError where the device has none."""
    return torch._int_mm(left, right)


def float8_product(left: torch.Tensor, right: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """The bfloat16 product of two float8 matrices, `right` stored by columns, both under one float32 `scale`.

    With the fast accumulation that float8 models are run with. Raises RuntimeError or ValueError where there is none.
    """
    return torch._scaled_mm(left, right, scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16, use_fast_accum=True)


def dynamo_limit(factor: int) -> contextlib.AbstractContextManager[None]:
    """Multiply the recompile limit while several backends keep their entries on the same frames, so that measuring
    them side by side does not make torch give up earlier than it would for each alone.
    """
    config = torch._dynamo.config
    return config.patch(  # type: ignore[no-any-return]
        recompile_limit=config.recompile_limit * factor,
        accumulated_recompile_limit=config.accumulated_recompile_limit * factor,
    )


def compiled_model(model: Callable[..., Any], backend: Any) -> Callable[..., Any]:
    """`torch.compile(model)` with this backend. Nothing is compiled before the first call."""
    return torch.compile(model, backend=backend)


def compile_graph(
    gm: torch.fx.GraphModule,
    inputs: Sequence[Any],
    *,
    patches: ConfigPatches,
    inner: InnerCompile,
) -> Callable[..., Any]:
    """Compile one Dynamo graph with Inductor under its own configuration.

    `gm` is copied first, since compile_fx takes it over. AOTAutograd's own cache is off: on a hit it would not call
    `inner`; Inductor's cache of compiled graphs, which holds nearly all of the time, stays on.
    """
    with torch._functorch.config.patch(enable_autograd_cache=False):
        compiled: Any = compile_fx(_copied(gm), inputs, inner_compile=inner, config_patches=dict(patches))
    return compiled  # type: ignore[no-any-return]


def _copied(gm: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """A copy that shares the parameters, and keeps what Dynamo wrote on the graph and its placeholders.

    `copy.deepcopy` loses both: AOTAutograd then no longer knows which inputs are parameters, and a CUDA graph copies
    every one of them at each replay (0.5 ms of a 2.4 ms step for three 8192 x 8192 layers on an H200).
    """
    graph = copy.deepcopy(gm.graph)
    for ours, theirs in zip(graph.nodes, gm.graph.nodes, strict=True):
        if hasattr(theirs, "_dynamo_source"):
            ours._dynamo_source = theirs._dynamo_source
    copied = torch.fx.GraphModule(gm, graph, class_name=type(gm).__name__)
    copied.meta = dict(gm.meta)
    if hasattr(gm, "_param_name_to_source"):
        copied._param_name_to_source = gm._param_name_to_source
    return copied


def is_static_input(node: torch.fx.Node) -> bool:
    """Whether a placeholder of a Dynamo graph is a parameter or a buffer, which keeps its place between calls."""
    facts = node.meta.get("tensor_dict")
    return bool(facts and facts.get("_dynamo_static_input_type"))


def hold_device(ns: int) -> None:
    """Queue a kernel that keeps the CUDA device busy, with nothing, for at least `ns`."""
    # It counts cycles: no device so far clocks higher than this, and a slower one is held for longer.
    torch.cuda._sleep(round(ns * _MOST_GHZ))  # type: ignore[no-untyped-call]


def compile_inner(
    gm: torch.fx.GraphModule, inputs: Sequence[Any], patches: ConfigPatches, kwargs: Mapping[str, Any]
) -> Any:
    """Inductor's own compilation of one AOT graph. Returns torch's `OutputCode`."""
    with torch._inductor.config.patch(dict(patches)), _counting_traffic(), _noting_kernels():
        return compile_fx_inner(gm, inputs, **kwargs)


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
    notes = [str(n) for n in getattr(output_code, "counter_deltas", None) or () if str(n).startswith(_NOTE)]
    found = [facts for note in notes if (facts := _noted(note)) is not None]
    names = Counter(facts.name for facts in found)
    return tuple(sorted((f for f in found if names[f.name] == 1), key=lambda facts: facts.name))


def _noted(note: str) -> KernelFacts | None:
    try:
        return msgspec.json.decode(note.removeprefix(_NOTE), type=KernelFacts)
    except msgspec.DecodeError:
        return None


_NOTE: Final = "graphbound kernel, format 1: "
"""Before what is noted of a kernel; counted up when the facts change their meaning. Notes are kept as names of
Inductor's counters, because what those gained while a graph was compiled is kept with it, in the cache of compiled
graphs too."""


@contextlib.contextmanager
def _noting_kernels() -> Iterator[None]:
    """Note what Inductor knows of each kernel when it names it, as counters of the graph being compiled."""
    from torch._inductor.codegen.cpp import CppScheduling  # private modules, here alone
    from torch._inductor.codegen.triton import TritonScheduling

    with contextlib.ExitStack() as stack:
        for scheduling in (CppScheduling, TritonScheduling):
            stack.enter_context(_noting(scheduling))
        try:
            yield
        finally:
            counted = torch._dynamo.utils.counters["inductor"]
            for note in [name for name in counted if str(name).startswith(_NOTE)]:
                del counted[note]


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
    from torch._inductor.virtualized import V  # a private module, here alone

    try:
        facts = facts_of(name, schedule, kernel, V.graph)
        note = None if facts is None else msgspec.json.encode(facts).decode()
    except Exception:  # whatever a node trips over, the graph goes on without a note
        return
    if note is not None:
        torch._dynamo.utils.counters["inductor"][f"{_NOTE}{note}"] += 1


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


def cpp_wrapper_patches(patches: ConfigPatches) -> dict[str, object]:
    """What torch itself sets around a compilation with the C++ wrapper, given the graph's own settings."""
    with torch._inductor.config.patch(dict(patches)):
        return dict(get_cpp_wrapper_config())


def boxed_cudagraphs(is_on: bool) -> Any:
    """The mutable flag that compile_fx_inner takes for `cudagraphs`."""
    from torch._inductor.utils import BoxedBool  # a private module, here alone

    return BoxedBool(is_on)


def wrap_compiled(output_code: Any, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put `wrap` around what a compiled graph calls, after CUDA graphs were put around it."""
    output_code.current_callable = wrap(output_code.current_callable)


def cuda_graph_refusals(output_code: Any) -> tuple[str, ...]:
    """Why torch compiled this graph without CUDA graphs although they were asked for; empty where it did not say."""
    reasons = [getattr(output_code, "disabled_cudagraphs_reason", None)]
    reasons += getattr(getattr(output_code, "cudagraph_info", None), "cudagraph_fail_reasons", None) or []
    return tuple(dict.fromkeys(str(reason) for reason in reasons if reason))


def generated_code(output_code: Any) -> str | None:
    """The source that Inductor wrote for this graph."""
    source = getattr(output_code, "source_code", None)
    return source if isinstance(source, str) else None


@contextlib.contextmanager
def compiler_logs(
    *,
    on_break: Callable[[str], None],
    on_recompile: Callable[[str], None],
    on_limit: Callable[[str], None],
    on_cuda_graph: Callable[[str], None],
) -> Iterator[None]:
    """Hear torch's own logs of graph breaks, recompiles, its recompile limit and refused CUDA graphs.

    The breaks come from the log because `torch._dynamo.utils.counters` misses many of them (torch 2.13 counts none
    for a break inside a loop). Loggers and torch's log state are put back.
    """
    log_state = torch._logging._internal.log_state
    had_recompiles = "recompiles" in log_state.artifact_names
    silenced = logging.root.manager.disable
    with contextlib.ExitStack() as stack:
        stack.callback(logging.disable, silenced)
        logging.disable(logging.NOTSET)
        for names, hear in (
            (_GRAPH_BREAK_LOGS, on_break),
            (_RECOMPILE_LOGS, on_recompile),
            (_RECOMPILE_LIMIT_LOGS, on_limit),
            (_CUDA_GRAPH_LOGS, on_cuda_graph),
        ):
            for name in names:
                stack.enter_context(_listen(name, hear, is_artifact="__" in name))
        log_state.artifact_names.add("recompiles")
        try:
            yield
        finally:
            if not had_recompiles:
                log_state.artifact_names.discard("recompiles")


class _Listener(logging.Handler):
    def __init__(self, hear: Callable[[str], None]) -> None:
        super().__init__(logging.DEBUG)
        self._hear = hear

    def emit(self, record: logging.LogRecord) -> None:
        self._hear(record.getMessage())


@contextlib.contextmanager
def _listen(name: str, hear: Callable[[str], None], *, is_artifact: bool) -> Iterator[None]:
    logger = logging.getLogger(name)
    level, propagate, is_disabled = logger.level, logger.propagate, logger.disabled
    handler = _Listener(hear)
    logger.addHandler(handler)
    logger.disabled = False  # as `logging.config.dictConfig` of a user's program leaves every logger it does not know
    if is_artifact:
        # Artifact loggers are silent unless asked for; heard here, they must not also reach the user's terminal.
        logger.setLevel(logging.DEBUG)
        logger.propagate = propagate and bool([h for h in logger.handlers if h is not handler])
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate
        logger.disabled = is_disabled

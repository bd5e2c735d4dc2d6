"""Compiling one graph with Inductor under a configuration of its own."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch._dynamo
import torch._functorch.config
import torch._guards
import torch._inductor
import torch._inductor.config
from torch._guards import CompileContext
from torch._inductor.compile_fx import compile_fx, compile_fx_inner, get_cpp_wrapper_config
from torch.utils._pytree import tree_leaves

from collectors.torch_compat.graphs import copied_graph

ConfigPatches = Mapping[str, object]

InnerCompile = Callable[..., Any]


def compile_graph(
    gm: torch.fx.GraphModule,
    inputs: Sequence[Any],
    *,
    patches: ConfigPatches,
    inner: InnerCompile,
    is_inference: bool = False,
) -> Callable[..., Any]:
    """Compile one Dynamo graph with Inductor under its own configuration.

    `is_inference` compiles it without gradients whatever the mode is: Inductor freezes nothing where they are on.
    `gm` is copied first, since compile_fx takes it over. AOTAutograd's own cache is off: on a hit it would not call
    `inner`; Inductor's cache of compiled graphs, which holds nearly all of the time, stays on.
    """
    mode = torch.no_grad() if is_inference else contextlib.nullcontext()
    with torch._functorch.config.patch(enable_autograd_cache=False), mode:
        compiled: Any = compile_fx(copied_graph(gm), inputs, inner_compile=inner, config_patches=dict(patches))
    return compiled  # type: ignore[no-any-return]


def compiling_again(gm: torch.fx.GraphModule) -> Callable[[], contextlib.AbstractContextManager[None]] | None:
    """To be asked while Dynamo has its backend compile `gm`: what to compile it in once more, after Dynamo has left.

    It is where torch itself compiles a backward, at its first call. None where that could be wrong: Dynamo has written
    its guards by then, and a size that is not fixed could come under another one.
    """
    tracing, compiling = torch._guards.TracingContext.try_get(), CompileContext.try_get()
    if tracing is None or not _has_fixed_sizes(gm):
        return None

    @contextlib.contextmanager
    def again() -> Iterator[None]:
        with torch._guards.tracing(tracing), torch._guards.compile_context(compiling):
            yield

    return again


@contextlib.contextmanager
def compiling_beside() -> Iterator[None]:
    """To compile one more program of a graph that torch has one of already. It matters under DistributedDataParallel.

    Dynamo's DDPOptimizer cuts a graph at the gradient buckets, compiles each part once, takes that program's first
    outputs for fake ones, and counts its backward. A second program must be none of that: it would hand fake tensors to
    a real step, and its backward fail with "expected same # of fw and bw compiles" (2.11 to 2.14).
    """
    tracing: Any = torch._guards.TracingContext.try_get()
    if tracing is None or getattr(tracing, "ddp_optimizer_ctx", None) is None:
        yield
        return
    own = copy.copy(tracing)
    own.ddp_optimizer_ctx = None
    own.fakify_first_call = False
    with torch._guards.tracing(own):
        yield


def _has_fixed_sizes(gm: torch.fx.GraphModule) -> bool:
    values = tree_leaves([node.meta.get("example_value") for node in gm.graph.nodes])
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    if any(isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool) for value in values):
        return False
    return all(t.layout is torch.strided and not _is_symbolic(t) for t in tensors)


def _is_symbolic(tensor: torch.Tensor) -> bool:
    return any(not isinstance(n, int) for n in (*tensor.shape, *tensor.stride(), tensor.storage_offset()))


def compile_with_backend(name: str, gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    """A Dynamo graph compiled by a registered backend. Raises what it raises, or torch's InvalidBackend."""
    compiled: Callable[..., Any] = torch._dynamo.lookup_backend(name)(copied_graph(gm), list(inputs))
    return compiled


def compile_inner(
    gm: torch.fx.GraphModule, inputs: Sequence[Any], patches: ConfigPatches, kwargs: Mapping[str, Any]
) -> Any:
    """Inductor's own compilation of one AOT graph. Returns torch's `OutputCode`."""
    with torch._inductor.config.patch(dict(patches)):
        return compile_fx_inner(gm, inputs, **kwargs)


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

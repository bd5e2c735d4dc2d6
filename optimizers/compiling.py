"""Compiles one Dynamo graph under a candidate: its forward (or inference) under one, its backward under another."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

import torch
from torch.fx import GraphModule

from analyzer.core.graphs import Direction
from collectors import torch_compat
from optimizers.candidates.base import QUANTIZING, Candidate, RefusedError
from optimizers.candidates.fused_matvec import NO_MATVEC
from optimizers.changed_graph import changed_graph
from optimizers.frozen_graph import CHANGED, KeptError, compile_with_constants, require_frozen, require_weights
from optimizers.matvec_graph import fuse_matvecs
from optimizers.merged_graph import merge_alike
from optimizers.quantized_graph import quantize_linears

PRECISION_SET: Final = "the program sets torch's fp32_precision, which cannot be changed beside the setting for TF32"
NOTHING_TO_MERGE: Final = "no two linear layers of the graph take the same input, and no two small products are alike"


class CompileHooks(Protocol):
    """What one compilation asks and tells while it runs."""

    def before(self, direction: Direction, aot: GraphModule) -> None: ...
    def compile_inner(
        self, aot: GraphModule, inputs: Sequence[Any], patches: dict[str, object], kwargs: Mapping[str, Any]
    ) -> Any: ...
    def after(self, direction: Direction, output_code: Any) -> None: ...
    def weights_changed(self) -> None:
        """Weights that a compiled graph has baked in have changed; it runs as captured after this."""


class Unwatched:
    """Production: nobody is told and nothing is put around a call."""

    def before(self, direction: Direction, aot: GraphModule) -> None:
        pass

    def compile_inner(
        self, aot: GraphModule, inputs: Sequence[Any], patches: dict[str, object], kwargs: Mapping[str, Any]
    ) -> Any:
        return torch_compat.compile_inner(aot, inputs, patches, kwargs)

    def after(self, direction: Direction, output_code: Any) -> None:
        pass

    def weights_changed(self) -> None:
        warnings.warn(CHANGED, UserWarning, stacklevel=3)


def compile_candidate(
    gm: GraphModule, inputs: Sequence[Any], forward: Candidate, backward: Candidate, watch: CompileHooks
) -> Callable[..., Any]:
    """`gm` compiled, called as it is. Raises RefusedError where the forward's candidate would not have the graph, and
    what the compiler raises.
    """
    if forward.is_eager:
        return gm.forward
    if forward.backend is not None:
        return torch_compat.compile_with_backend(forward.backend, gm, inputs)
    graph = changed_graph(gm, forward.changes)
    graph = _grouped(graph) if forward.groups else graph
    with _precision(forward):
        return _compiled(graph, inputs, forward, backward, watch)


def _compiled(
    graph: GraphModule, inputs: Sequence[Any], forward: Candidate, backward: Candidate, watch: CompileHooks
) -> Callable[..., Any]:
    """The graph as it is to be compiled, by Inductor or ahead of time."""
    patches = dict(forward.patches)
    if forward.is_packaged:
        package = partial(_packaged, patches=patches)
        return compile_with_constants(graph, inputs, package, watch.weights_changed)
    quantizing = next((change for change in forward.changes if change in QUANTIZING), None)
    if quantizing is not None:

        def quantized(constant: GraphModule, live: Sequence[Any]) -> Callable[..., Any]:
            inner = _inner(forward, backward, watch)
            narrow = quantize_linears(constant, quantizing)
            return torch_compat.compile_graph(narrow, live, patches=patches, inner=inner, is_inference=True)

        return compile_with_constants(graph, inputs, quantized, watch.weights_changed)
    if not forward.freezes:
        inner = _inner(forward, backward, watch)
        return torch_compat.compile_graph(graph, inputs, patches=patches, inner=inner)

    def frozen(constant: GraphModule, live: Sequence[Any]) -> Callable[..., Any]:
        require_weights(constant)
        static = partial(torch_compat.static_positions, constant)
        inner = _inner(forward, backward, watch, partial(require_frozen, constant), static)
        return torch_compat.compile_graph(constant, live, patches=patches, inner=inner, is_inference=True)

    return compile_with_constants(graph, inputs, frozen, watch.weights_changed)


def _packaged(graph: GraphModule, live: Sequence[Any], patches: Mapping[str, object]) -> Callable[..., Any]:
    if not all(isinstance(value, torch.Tensor) for value in live):
        raise RefusedError("AOTInductor is tried for graphs with tensors of fixed sizes alone")
    program = torch_compat.exported(graph, live)
    written = torch_compat.written_constants(program)
    if written:
        raise KeptError(written)
    return torch_compat.compile_package(program, patches)


def _grouped(gm: GraphModule) -> GraphModule:
    merged = merge_alike(gm)
    if merged is None:
        others = torch_compat.subclasses(gm)
        raise RefusedError(f"{NOTHING_TO_MERGE}; {' and '.join(others)} is left alone" if others else NOTHING_TO_MERGE)
    return merged


def _inner(
    forward: Candidate,
    backward: Candidate,
    watch: CompileHooks,
    when_read: Callable[[], None] = lambda: None,
    static: Callable[[int], Sequence[int]] = lambda count: (),
) -> Callable[..., Any]:
    """What stands in for Inductor's compilation of one AOT program; it calls `when_read` first.

    `static` says which of so many inputs keep their place between calls, where torch loses that: baking weights in, it
    forgets the buffers that a graph writes (2.11 to 2.14), and then no CUDA graph would have it.
    """

    def inner(aot: GraphModule, aot_inputs: Sequence[Any], **kwargs: Any) -> Any:
        when_read()
        direction = _direction(kwargs)
        candidate = backward if direction is Direction.BACKWARD else forward
        patches = dict(candidate.patches)
        known = static(len(aot_inputs))
        if known:
            kwargs["static_input_idxs"] = sorted({*kwargs.get("static_input_idxs", ()), *known})
        if direction is Direction.BACKWARD and backward is not forward:
            kwargs["cudagraphs"] = torch_compat.boxed_cudagraphs(candidate.uses_cuda_graphs)
            kwargs["cpp_wrapper"] = candidate.uses_cpp_wrapper
        if direction is Direction.BACKWARD and candidate.uses_cpp_wrapper:
            # A backward is compiled at its first call, outside the settings that torch put around its forward; in
            # torch 2.11 it then fails with "CudaKernelParamCache not populated".
            patches |= torch_compat.cpp_wrapper_patches(patches)
        watch.before(direction, aot)
        if candidate.fuses_matvecs and not fuse_matvecs(aot) and direction is not Direction.BACKWARD:
            raise RefusedError(NO_MATVEC)
        with _precision(candidate):
            output_code = watch.compile_inner(aot, aot_inputs, patches, kwargs)
        if "tf32" in candidate.changes:
            torch_compat.wrap_compiled(output_code, torch_compat.under_tf32)
        watch.after(direction, output_code)
        return output_code

    return inner


@contextlib.contextmanager
def _precision(candidate: Candidate) -> Iterator[None]:
    """What is compiled inside may use TF32 where the candidate says so; Inductor asks the setting as it compiles."""
    if "tf32" not in candidate.changes:
        yield
        return
    try:
        torch.get_float32_matmul_precision()
    except RuntimeError as error:
        raise RefusedError(PRECISION_SET) from error
    with torch_compat.tf32_allowed():
        yield


def _direction(kwargs: Mapping[str, Any]) -> Direction:
    if kwargs.get("is_backward"):
        return Direction.BACKWARD
    return Direction.INFERENCE if kwargs.get("is_inference") else Direction.FORWARD

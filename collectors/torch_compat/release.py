"""What this torch is, and its compiler as a whole: its frames, limits and CUDA graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Final

import torch
import torch._dynamo
from torch._guards import CompileContext
from torch.utils._python_dispatch import TorchDispatchMode

OLDEST_TORCH: Final = (2, 11)

DispatchMode = TorchDispatchMode


class WholeStepMode(DispatchMode):  # type: ignore[no-untyped-call]
    """A dispatch mode under which a user's whole step runs, whatever is in it."""

    # Higher-order operators (flex_attention, cond) would otherwise raise under a mode.
    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        # Otherwise torch.compile refuses to work under a mode, and flex_attention, which calls it, raises.
        return True


RestartAnalysis = torch._dynamo.exc.RestartAnalysis
"""No failure, but torch's way to say that Dynamo must capture the frame anew."""


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


def reset() -> None:
    """Forget every compiled frame and CUDA graph of this process."""
    torch._dynamo.reset()


def forget_cuda_graphs() -> None:
    """Drop every recorded CUDA graph of this process, and its memory."""
    from torch._inductor.cudagraph_trees import reset_cudagraph_trees  # a private module, here alone

    reset_cudagraph_trees()


def recorded_cuda_graphs() -> int | None:
    """How many CUDA graphs Inductor holds for this thread's device; None where it holds none, or does not tell."""
    from torch._inductor import cudagraph_trees  # a private module, here alone

    if not torch.cuda.is_available() or not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return None
    try:
        manager = cudagraph_trees.get_manager(torch.cuda.current_device(), create_if_none_exists=False)
        return None if manager is None else _recorded(manager.roots)
    except (AttributeError, KeyError, TypeError):  # its inner names are nobody's promise
        return None


def _recorded(nodes: Any) -> int:
    return sum(1 + _recorded(node.children) for same in nodes.values() for node in same)


def mark_step_begin() -> None:
    """Tell CUDA graphs that the outputs of the last step are no longer needed."""
    torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]


def is_in_backward() -> bool:
    """Whether autograd is going back through a graph on this thread."""
    return torch._C._current_graph_task_id() != -1


def when_backward_ends(do: Callable[[], None]) -> None:
    """Call `do` once the backward that is under way has ended. To be asked within it."""
    torch.autograd.Variable._execution_engine.queue_callback(do)


def forget_unfinished_reduction(wrapped: torch.nn.parallel.DistributedDataParallel) -> None:
    """Let the next step of a DDP model begin although the last one never came to the end of its backward.

    Of itself every further step raises "Expected to have finished reduction in the prior iteration".
    """
    try:
        wrapped.reducer._check_reducer_finalized()
    except RuntimeError:
        wrapped.reducer._reset_state()


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
    """`torch.compile(model)` with this backend, a compilation that the model came with left aside. Nothing is compiled
    before the first call.
    """
    written = as_written(model)
    compiled = torch.compile(written, backend=backend)
    if isinstance(written, torch.nn.Module) and is_compiled_in_place(written):
        # Its own call would go on to what `model.compile()` made; this is what that makes, with the other backend.
        compiled.forward = torch.compile(written._call_impl, backend=backend)  # type: ignore[attr-defined]
    return compiled


def as_written(model: Callable[..., Any]) -> Callable[..., Any]:
    """The user's own model or function where this is what `torch.compile` gave of it, else the same."""
    inner = getattr(model, "_orig_mod", None) or getattr(model, "_torchdynamo_orig_callable", None)
    return model if inner is None else inner


def is_compiled_in_place(module: torch.nn.Module) -> bool:
    """Whether calls of this module run what `module.compile()` made."""
    return getattr(module, "_compiled_call_impl", None) is not None


def take_compiled_call(module: torch.nn.Module) -> Callable[[], None]:
    """Have a module that was compiled in place run as it is written; what is returned undoes that."""
    made = module._compiled_call_impl
    module._compiled_call_impl = None

    def put_back() -> None:
        module._compiled_call_impl = made

    return put_back

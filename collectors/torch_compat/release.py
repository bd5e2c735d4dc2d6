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

"""The private torch APIs that watching an eager step takes: `torch_compat` for what is not compiled, same versions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import torch
from torch._ops import OpOverload

_TORCH_NAMES: Final = (
    "aten prim prims quantized mkldnn mkl c10d c10d_functional _c10d_functional fsdp symm_mem inductor streams onnx "
    "debug_mode_ops torchvision"
)
_TORCH_NAMESPACES: Final = frozenset(_TORCH_NAMES.split())
_KERNEL_KEYS: Final = ("CPU", "CUDA", "XPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd")


def sequence_number() -> int | None:
    """The number that autograd gives the next node of this thread: an operator's own node has the one before."""
    read = getattr(torch.autograd, "_get_sequence_nr", None)
    return None if read is None else int(read())


def running_node() -> Any:
    """The node whose gradient autograd computes on this thread now, None outside a backward."""
    return torch._C._current_autograd_node()


def is_python_op(operator: object) -> bool:
    """Whether an operator is a user's own with a kernel in Python: made by `torch.library.custom_op` or by `impl`.

    Those of torch itself are not meant, nor `triton_op`, into which the compiler sees.
    """
    from torch._library.custom_ops import OPDEFS  # private modules, here alone
    from torch._library.triton import triton_ops_to_kernels

    if not isinstance(operator, OpOverload):
        return False
    name = str(operator.name()).partition(".")[0]  # type: ignore[no-untyped-call]
    made = OPDEFS.get(name)
    if made is not None:
        module = getattr(getattr(made, "_init_fn", None), "__module__", None) or ""
        return name not in triton_ops_to_kernels and module.partition(".")[0] != "torch"
    namespace, _, short = name.partition("::")
    if namespace in _TORCH_NAMESPACES:
        return False
    known = getattr(torch.library, "_impls", ())
    return any(f"{namespace}/{short}/{key}" in known for key in _KERNEL_KEYS)


def default_optimizer_loop(parameters: list[torch.Tensor], *, is_differentiable: bool) -> tuple[bool, bool]:
    """Whether torch's optimizers could step these parameters fused, and whether they choose foreach by themselves."""
    from torch.optim.optimizer import _default_to_fused_or_foreach  # a private function, here alone

    fused, _ = _default_to_fused_or_foreach(parameters, is_differentiable, use_fused=True)
    _, foreach = _default_to_fused_or_foreach(parameters, is_differentiable, use_fused=False)
    return fused, foreach


@contextlib.contextmanager
def loader_batches(on_batch: Callable[[Any], contextlib.AbstractContextManager[object]]) -> Iterator[None]:
    """Enter `on_batch(iterator)` around each batch that a DataLoader gives while the block runs."""
    from torch.utils.data.dataloader import _BaseDataLoaderIter  # a private class, here alone

    original = _BaseDataLoaderIter.__next__

    def observed(self: Any) -> Any:
        with on_batch(self):
            return original(self)

    _BaseDataLoaderIter.__next__ = observed  # type: ignore[method-assign]
    try:
        yield
    finally:
        _BaseDataLoaderIter.__next__ = original  # type: ignore[method-assign]


def loader_settings(iterator: Any) -> tuple[int | None, bool | None]:
    """The number of workers of a DataLoader's iterator, and whether it pins memory."""
    workers, pins = getattr(iterator, "_num_workers", None), getattr(iterator, "_pin_memory", None)
    return (None if workers is None else int(workers)), (None if pins is None else bool(pins))

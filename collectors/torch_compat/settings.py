"""Torch's numeric settings and operators that have no public name."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any, Final

import torch
import torch._dynamo

_MOST_GHZ: Final = 3.0
"""Cycles a nanosecond: an H200 boosts to 1.98 GHz, a GeForce 5090 to some 2.9 (data sheets)."""


def int8_product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """The int32 product of two int8 matrices. Raises RuntimeError where the device has none."""
    return torch._int_mm(left, right)


def float8_product(left: torch.Tensor, right: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """The bfloat16 product of two float8 matrices, `right` stored by columns, both under one float32 `scale`.

    With the fast accumulation that float8 models are run with. Raises RuntimeError or ValueError where there is none.
    """
    return torch._scaled_mm(left, right, scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16, use_fast_accum=True)


def autocast_functions() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """What Dynamo writes into a graph where a `with torch.autocast(...)` begins and where it ends."""
    return torch.amp.autocast_mode._enter_autocast, torch.amp.autocast_mode._exit_autocast


def is_compile_disabled() -> bool:
    """Whether torch.compile is switched off: TORCH_COMPILE_DISABLE or the program sets the first, Dynamo reads the
    second at each call (`_optimize` in torch/_dynamo/eval_frame.py).
    """
    return bool(torch._dynamo.config.disable) or os.environ.get("TORCHDYNAMO_DISABLE") == "1"


@contextlib.contextmanager
def tf32_allowed() -> Iterator[None]:
    """Float32 matrix products may run as TF32. Raises RuntimeError where torch's newer setting of the same is used."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def under_tf32(call: Callable[..., Any]) -> Callable[..., Any]:
    """`call` with TF32 allowed while it runs, which adds 0.5 µs to it (two settings on an EPYC core, torch 2.13)."""
    get, put = torch.get_float32_matmul_precision, torch.set_float32_matmul_precision

    def called(*args: Any) -> Any:
        before = get()
        put("high")
        try:
            return call(*args)
        finally:
            put(before)

    return called


def hold_device(ns: int) -> None:
    """Queue a kernel that keeps the CUDA device busy, with nothing, for at least `ns`."""
    # It counts cycles: no device so far clocks higher than this, and a slower one is held for longer.
    torch.cuda._sleep(round(ns * _MOST_GHZ))  # type: ignore[no-untyped-call]

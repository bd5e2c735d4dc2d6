"""Torch's settings of float32 products: read, and changed for a while."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def tf32(is_allowed: bool) -> Iterator[None]:
    """TF32 in float32 matrix products on CUDA, on or off, and every precision setting as it was afterwards.

    Torch keeps two sets of settings, and raises in `torch.get_float32_matmul_precision` and in cuBLAS when they
    disagree. The older setter changes both; the newer ones are then put back one by one.
    """
    cuda, onednn = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    before_cuda, before_onednn = cuda.fp32_precision, onednn.fp32_precision
    before = float32_matmul_precision()
    with warnings.catch_warnings():
        # Newer releases warn of the older setter, which this needs for the reason above.
        warnings.simplefilter("ignore")
        cuda.allow_tf32 = is_allowed
        try:
            yield
        finally:
            # Where the user's settings disagreed, the older one was the opposite of the newer.
            opposite = "highest" if before_cuda == "tf32" else "high"
            torch.set_float32_matmul_precision(before or opposite)
            onednn.fp32_precision = before_onednn
            cuda.fp32_precision = before_cuda


def float32_matmul_precision() -> str | None:
    """`torch.get_float32_matmul_precision()`; None where torch refuses to say, its two sets of settings disagreeing."""
    try:
        return str(torch.get_float32_matmul_precision())
    except RuntimeError:
        return None

"""Matrix products, convolutions and attention, in many shapes and types."""

from __future__ import annotations

from typing import Any, Final

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks.verdicts.item import Item, shape_text
from benchmarks.verdicts.place import Call, Place

F32, BF16, F16, I8 = torch.float32, torch.bfloat16, torch.float16, torch.int8
FP8: Final = torch.float8_e4m3fn
SHORT: Final = {F32: "fp32", BF16: "bf16", F16: "fp16"}


def mm(m: int, k: int, n: int, dtype: torch.dtype, *, tf32: bool = False) -> Item:
    def build(place: Place) -> Call:
        return place.call(torch.mm, place.randn(m, k, dtype=dtype), place.randn(k, n, dtype=dtype))

    return Item(f"mm_{'tf32' if tf32 else SHORT[dtype]}_{shape_text(m, k, n)}", "matmul", build, tf32)


def mm_fp8(m: int, k: int, n: int) -> Item:
    def build(place: Place) -> Call:
        left, right = place.randn(m, k, dtype=FP8), place.randn(n, k, dtype=FP8).t()
        one = torch.ones((), device=place.device)

        def run() -> Any:
            return torch._scaled_mm(left, right, scale_a=one, scale_b=one, out_dtype=BF16)

        return Call(run, (left, right))

    return Item(f"mm_fp8_{shape_text(m, k, n)}", "matmul", build)


def mm_int8(m: int, k: int, n: int) -> Item:
    def build(place: Place) -> Call:
        return place.call(torch._int_mm, place.randn(m, k, dtype=I8), place.randn(n, k, dtype=I8).t())

    return Item(f"mm_int8_{shape_text(m, k, n)}", "matmul", build)


def bmm(b: int, m: int, k: int, n: int, dtype: torch.dtype, *, tf32: bool = False) -> Item:
    def build(place: Place) -> Call:
        return place.call(torch.bmm, place.randn(b, m, k, dtype=dtype), place.randn(b, k, n, dtype=dtype))

    return Item(f"bmm_{'tf32' if tf32 else SHORT[dtype]}_{shape_text(b, m, k, n)}", "matmul", build, tf32)


def linear(m: int, k: int, n: int, dtype: torch.dtype) -> Item:
    def build(place: Place) -> Call:
        return place.call(
            F.linear, place.randn(m, k, dtype=dtype), place.randn(n, k, dtype=dtype), place.randn(n, dtype=dtype)
        )

    return Item(f"linear_{SHORT[dtype]}_{shape_text(m, k, n)}", "matmul", build)


def mv(m: int, k: int, dtype: torch.dtype) -> Item:
    def build(place: Place) -> Call:
        return place.call(torch.mv, place.randn(m, k, dtype=dtype), place.randn(k, dtype=dtype))

    return Item(f"mv_{SHORT[dtype]}_{shape_text(m, k)}", "matmul", build)


MATMULS: Final = (
    *(mm(n, n, n, F32) for n in (256, 1024, 2048, 4096)),
    mm(16, 4096, 4096, F32),
    mm(8192, 128, 8192, F32),
    *(mm(n, n, n, F32, tf32=True) for n in (512, 1024, 2048, 4096, 8192)),
    mm(128, 8192, 1024, F32, tf32=True),
    mm(65536, 64, 64, F32, tf32=True),
    *(mm(n, n, n, BF16) for n in (256, 512, 1024, 2048, 4096, 8192)),
    *(mm(m, 4096, 4096, BF16) for m in (1, 8, 64, 128, 256)),
    mm(1, 4096, 32768, BF16),
    mm(4096, 64, 4096, BF16),
    mm(64, 65536, 64, BF16),
    mm(8192, 8192, 16, BF16),
    mm(131072, 128, 128, BF16),
    *(mm(n, n, n, F16) for n in (1024, 4096)),
    mm(32, 8192, 8192, F16),
    *(mm_fp8(n, n, n) for n in (1024, 4096, 8192)),
    mm_fp8(64, 8192, 8192),
    *(mm_int8(n, n, n) for n in (1024, 4096)),
    mm_int8(32, 8192, 8192),
    *(bmm(64, n, 64, n, BF16) for n in (128, 512, 1024)),
    bmm(16, 2048, 2048, 2048, BF16),
    bmm(512, 64, 64, 64, F32),
    bmm(32, 512, 512, 512, F32, tf32=True),
    linear(2048, 4096, 4096, BF16),
    linear(128, 1024, 4096, BF16),
    linear(512, 768, 3072, F32),
    linear(4, 8192, 8192, F16),
    *(mv(n, n, F32) for n in (1024, 8192, 16384)),
    mv(16384, 16384, BF16),
)


def conv(
    image: tuple[int, int, int, int],
    filters: tuple[int, int],
    dtype: torch.dtype,
    *,
    stride: int = 1,
    depthwise: bool = False,
    last: bool = False,
) -> Item:
    """`filters` are their number and their side."""
    number, side = filters

    def build(place: Place) -> Call:
        x = place.randn(*image, dtype=dtype)
        channels = x.shape[1]
        weight = place.randn(channels if depthwise else number, 1 if depthwise else channels, side, side, dtype=dtype)
        if last:
            x, weight = (t.to(memory_format=torch.channels_last) for t in (x, weight))
        groups = channels if depthwise else 1
        return Call(lambda: F.conv2d(x, weight, None, stride, side // 2, 1, groups), (x, weight))

    kind = "dw" if depthwise else f"{side}x{side}"
    layout = "nhwc" if last else "nchw"
    return Item(f"conv_{kind}_s{stride}_{SHORT[dtype]}_{layout}_{shape_text(*image, number)}", "convolution", build)


CONVOLUTIONS: Final = (
    *(conv((32, 256, 56, 56), (64, 1), d, last=last) for d, last in ((F32, False), (BF16, False), (BF16, True))),
    *(conv((32, 64, 56, 56), (64, 3), d, last=last) for d, last in ((F32, False), (BF16, False), (BF16, True))),
    conv((64, 256, 28, 28), (256, 3), F32, last=True),
    conv((64, 256, 28, 28), (256, 3), BF16, last=True),
    conv((64, 512, 14, 14), (512, 3), F16, last=True),
    conv((32, 128, 56, 56), (256, 3), BF16, stride=2, last=True),
    conv((32, 128, 56, 56), (256, 1), F32, stride=2),
    *(conv((32, 96, 112, 112), (96, 3), d, depthwise=True, last=last) for d, last in ((F32, False), (BF16, True))),
    conv((32, 576, 14, 14), (576, 3), F32, depthwise=True),
    conv((1, 96, 56, 56), (96, 3), F32, stride=2, depthwise=True),
    conv((32, 3, 224, 224), (64, 7), F32, stride=2),
    conv((32, 3, 224, 224), (64, 7), BF16, stride=2, last=True),
    conv((1, 512, 7, 7), (512, 3), F32),
    conv((1, 64, 56, 56), (64, 3), BF16, last=True),
)


def attention(
    sizes: tuple[int, int, int, int], dtype: torch.dtype, backend: SDPBackend, *, causal: bool = False
) -> Item:
    """`sizes` are batch, heads, length and the size of a head."""

    def build(place: Place) -> Call:
        q, k, v = (place.randn(*sizes, dtype=dtype) for _ in range(3))
        return attend(q, k, v, backend, causal=causal)

    name = backend.name.split("_")[0].lower()
    return Item(
        f"attention_{name}{'_causal' if causal else ''}_{SHORT[dtype]}_{shape_text(*sizes)}", "attention", build
    )


def attend(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    backend: SDPBackend,
    *,
    mask: torch.Tensor | None = None,
    causal: bool = False,
) -> Call:
    def run() -> Any:
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)

    return Call(run, (q, k, v) if mask is None else (q, k, v, mask))


FLASH, EFFICIENT = SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION
CUDNN, MATH = SDPBackend.CUDNN_ATTENTION, SDPBackend.MATH

ATTENTIONS: Final = (
    *(attention((4, 16, n, 64), BF16, FLASH) for n in (128, 512, 2048)),
    attention((4, 16, 2048, 64), BF16, FLASH, causal=True),
    attention((1, 32, 8192, 128), BF16, FLASH, causal=True),
    attention((16, 12, 512, 64), F16, FLASH),
    *(attention((4, 16, n, 64), F32, EFFICIENT) for n in (256, 1024)),
    attention((4, 16, 1024, 64), BF16, EFFICIENT, causal=True),
    *(attention((4, 16, n, 128), BF16, CUDNN) for n in (512, 2048)),
    attention((2, 32, 4096, 128), BF16, CUDNN, causal=True),
    attention((4, 16, 512, 64), F32, MATH),
    attention((4, 16, 512, 64), BF16, MATH, causal=True),
)

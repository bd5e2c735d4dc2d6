"""The held-out matrix products, convolutions and attention: shapes of models in use, none of them in the first set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend

from benchmarks.verdicts.item import Item, shape_text
from benchmarks.verdicts.items_matmul import (
    BF16,
    CUDNN,
    EFFICIENT,
    F16,
    F32,
    FLASH,
    MATH,
    SHORT,
    attend,
    attention,
    bmm,
    conv,
    linear,
    mm,
    mm_fp8,
    mm_int8,
    mv,
)
from benchmarks.verdicts.place import Call, Place


def project(m: int, k: int, n: int, dtype: torch.dtype, *, tf32: bool = False) -> Item:
    """Rows times a weight as `nn.Linear` holds it: (n, k), read transposed."""

    def build(place: Place) -> Call:
        return place.call(lambda x, w: x @ w.t(), place.randn(m, k, dtype=dtype), place.randn(n, k, dtype=dtype))

    return Item(f"project_{'tf32' if tf32 else SHORT[dtype]}_{shape_text(m, k, n)}", "matmul", build, tf32)


def weight_gradient(rows: int, wide: int, deep: int, dtype: torch.dtype, *, tf32: bool = False) -> Item:
    """What a backward does for a weight: the incoming gradient, transposed, times the rows."""

    def build(place: Place) -> Call:
        return place.call(
            lambda g, x: g.t() @ x, place.randn(rows, wide, dtype=dtype), place.randn(rows, deep, dtype=dtype)
        )

    return Item(f"gradient_{'tf32' if tf32 else SHORT[dtype]}_{shape_text(rows, wide, deep)}", "matmul", build, tf32)


def scores(b: int, m: int, k: int, n: int, dtype: torch.dtype) -> Item:
    """Queries times keys, the keys read transposed."""

    def build(place: Place) -> Call:
        left, right = place.randn(b, m, k, dtype=dtype), place.randn(b, n, k, dtype=dtype)
        return place.call(lambda q, k: torch.bmm(q, k.transpose(1, 2)), left, right)

    return Item(f"scores_{SHORT[dtype]}_{shape_text(b, m, k, n)}", "matmul", build)


HELD_OUT_MATMULS: Final = (
    # Llama 2 of 7 and 13 billion, Llama 3 of 8 and 70: prompts, then a few tokens.
    project(2048, 4096, 11008, BF16),
    project(2048, 11008, 4096, BF16),
    project(3072, 5120, 5120, BF16),
    project(4096, 8192, 1024, BF16),
    project(512, 4096, 32000, BF16),
    *(project(m, 4096, 14336, BF16) for m in (1, 16, 48, 192)),
    project(24, 14336, 4096, BF16),
    # ViT-B and -L, Whisper, CLIP's text, T5's narrow key, a LoRA adapter.
    linear(6304, 768, 3072, F16),
    linear(4112, 1024, 1024, BF16),
    linear(1500, 1280, 5120, F16),
    linear(77, 768, 3072, F16),
    project(4096, 512, 384, BF16),
    project(8192, 4096, 16, BF16),
    project(8192, 16, 4096, BF16),
    # Backward passes.
    weight_gradient(8192, 1024, 4096, BF16),
    weight_gradient(4096, 3072, 768, F16),
    weight_gradient(16384, 512, 512, F32, tf32=True),
    mm(4096, 4096, 1024, BF16),
    # DLRM's towers, an MLP in full precision, wide TF32.
    linear(2048, 479, 1024, F32),
    project(2048, 479, 1024, F32, tf32=True),
    project(1024, 1024, 2048, F32),
    project(64, 1024, 4096, F32),
    project(2048, 3072, 9216, F32, tf32=True),
    project(6304, 768, 768, F32, tf32=True),
    mm_fp8(2048, 4096, 14336),
    mm_fp8(16, 4096, 14336),
    mm_fp8(3072, 5120, 5120),
    mm_int8(2048, 4096, 4096),
    mm_int8(128, 4096, 11008),
    scores(384, 197, 64, 197, F16),
    scores(32, 1536, 128, 1536, BF16),
    scores(16, 4096, 40, 77, F16),
    scores(2048, 27, 64, 27, F32),
    bmm(384, 197, 197, 64, F16),
    bmm(16, 256, 1024, 2816, BF16),
    bmm(128, 256, 64, 256, F32, tf32=True),
    mv(32000, 4096, F16),
    mv(11008, 4096, F32),
)


def grouped(image: tuple[int, int, int, int], side: int, groups: int, dtype: torch.dtype, *, last: bool) -> Item:
    """As many filters as channels, in groups of them; as many groups as channels is a depthwise one."""

    def build(place: Place) -> Call:
        x = place.randn(*image, dtype=dtype)
        parts = min(groups, x.shape[1])
        weight = place.randn(x.shape[1], x.shape[1] // parts, side, side, dtype=dtype)
        if last:
            x, weight = (t.to(memory_format=torch.channels_last) for t in (x, weight))
        return Call(lambda: F.conv2d(x, weight, None, 1, side // 2, 1, parts), (x, weight))

    layout = "nhwc" if last else "nchw"
    return Item(f"conv_g{groups}_{side}x{side}_{SHORT[dtype]}_{layout}_{shape_text(*image)}", "convolution", build)


def other_conv(
    name: str, function: Callable[..., Any], image: tuple[int, ...], weight: tuple[int, ...], dtype: torch.dtype
) -> Item:
    def build(place: Place) -> Call:
        # A filter's sides stay as they are, in miniature too: they are all smaller than that.
        return place.call(function, place.randn(*image, dtype=dtype), place.randn(*weight, dtype=dtype))

    return Item(f"{name}_{SHORT[dtype]}_{shape_text(*image)}_{weight[0]}", "convolution", build)


HELD_OUT_CONVOLUTIONS: Final = (
    # ResNet-50.
    conv((16, 3, 224, 224), (64, 7), F16, stride=2, last=True),
    conv((8, 3, 224, 224), (64, 7), F32, stride=2),
    conv((16, 512, 28, 28), (128, 1), F16, last=True),
    conv((16, 128, 28, 28), (128, 3), F16, last=True),
    conv((16, 128, 28, 28), (128, 3), F32),
    conv((64, 2048, 7, 7), (512, 1), BF16, last=True),
    conv((32, 1024, 14, 14), (2048, 1), F16, stride=2, last=True),
    grouped((16, 256, 56, 56), 3, 32, F16, last=True),
    # EfficientNet, ConvNeXt and MobileNetV3.
    grouped((32, 240, 28, 28), 5, 240, F32, last=False),
    grouped((32, 240, 28, 28), 5, 240, F16, last=True),
    grouped((8, 192, 56, 56), 7, 192, BF16, last=False),
    conv((64, 72, 56, 56), (72, 3), F16, stride=2, depthwise=True, last=True),
    conv((32, 240, 28, 28), (40, 1), F16, last=True),
    # Stable Diffusion, YOLO, a GAN, Whisper, video.
    conv((2, 320, 64, 64), (320, 3), F16),
    conv((2, 640, 32, 32), (640, 3), BF16, last=True),
    conv((2, 1280, 16, 16), (1280, 3), F16, last=True),
    conv((8, 64, 160, 160), (64, 3), F16, last=True),
    other_conv(
        "conv_transposed",
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1),
        (8, 256, 32, 32),
        (256, 128, 4, 4),
        F32,
    ),
    other_conv("conv1d", lambda x, w: F.conv1d(x, w, padding=1), (8, 80, 3000), (512, 80, 3), F16),
    other_conv("conv3d", lambda x, w: F.conv3d(x, w, padding=1), (2, 64, 8, 56, 56), (64, 64, 3, 3, 3), F16),
)


def packed_attention(
    sizes: tuple[int, int, int, int], dtype: torch.dtype, backend: SDPBackend, *, causal: bool = False
) -> Item:
    """As `attention`, on views of one projection that holds queries, keys and values of all heads of a token."""

    def build(place: Place) -> Call:
        batch, heads, length, size = sizes
        packed = place.randn(batch, length, 3, heads, size, dtype=dtype)
        q, k, v = (packed.select(2, i).transpose(1, 2) for i in range(3))
        return attend(q, k, v, backend, causal=causal)

    name = f"packed_{backend.name.split('_')[0].lower()}{'_causal' if causal else ''}"
    return Item(f"attention_{name}_{SHORT[dtype]}_{shape_text(*sizes)}", "attention", build)


def cross_attention(
    sizes: tuple[int, int, int, int], keys: int, dtype: torch.dtype, backend: SDPBackend, *, masked: bool = False
) -> Item:
    """Queries of one length and keys of another: a decoded token, an image's text. `masked` adds a float mask."""

    def build(place: Place) -> Call:
        batch, heads, length, size = sizes
        q = place.randn(batch, heads, length, size, dtype=dtype)
        k, v = (place.randn(batch, heads, keys, size, dtype=dtype) for _ in range(2))
        return attend(q, k, v, backend, mask=place.randn(batch, 1, length, keys, dtype=dtype) if masked else None)

    name = f"cross_{backend.name.split('_')[0].lower()}{'_masked' if masked else ''}"
    return Item(f"attention_{name}_{SHORT[dtype]}_{shape_text(*sizes)}_{keys}", "attention", build)


HELD_OUT_ATTENTIONS: Final = (
    attention((1, 32, 2048, 128), BF16, FLASH, causal=True),
    attention((2, 16, 3072, 64), F16, FLASH),
    packed_attention((32, 12, 197, 64), F16, FLASH),
    packed_attention((8, 12, 1024, 64), BF16, FLASH, causal=True),
    cross_attention((8, 32, 1, 128), 4096, BF16, FLASH),
    cross_attention((2, 8, 4096, 40), 77, F16, FLASH),
    attention((16, 8, 384, 64), F32, EFFICIENT),
    cross_attention((8, 12, 512, 64), 512, BF16, EFFICIENT, masked=True),
    packed_attention((2, 24, 1536, 128), BF16, CUDNN),
    attention((8, 16, 1024, 64), F16, CUDNN, causal=True),
    attention((8, 12, 384, 64), F16, MATH),
)

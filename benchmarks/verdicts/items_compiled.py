"""The kernels that Inductor makes of the blocks of ten real models, and of a few chains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor, nn

from benchmarks.verdicts import blocks
from benchmarks.verdicts.item import Item
from benchmarks.verdicts.place import Call, Place

F32, BF16 = torch.float32, torch.bfloat16


def heads(place: Place, width: int, size: int) -> int:
    """So many heads of `size` as fit the width that is allowed here; at least one, and a divisor of it."""
    return max(1, place.d(width) // min(size, max(place.d(width) // 4, 1)))


def block(name: str, make: Callable[[Place], tuple[nn.Module, tuple[Tensor, ...]]], dtype: torch.dtype) -> Item:
    def build(place: Place) -> Call:
        module, inputs = make(place)
        return place.compiled_call(place.module(module, dtype), *inputs)

    return Item(f"block_{name}", "inductor", build)


def _chain(x: Tensor, y: Tensor) -> Tensor:
    return torch.tanh(x * 0.5 + y).mul(torch.sigmoid(y)) + x


def _heavy(x: Tensor) -> Tensor:
    for _ in range(24):
        x = torch.sin(x) * 1.01 + torch.exp(-x * x)
    return x


def _row_norm(x: Tensor) -> Tensor:
    y = x - x.mean(-1, keepdim=True)
    return y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)


def function(name: str, function: Callable[..., Tensor], shape: tuple[int, ...], inputs: int) -> Item:
    def build(place: Place) -> Call:
        return place.compiled_call(function, *(place.randn(*shape) for _ in range(inputs)))

    return Item(f"chain_{name}", "inductor", build)


def _sequence(place: Place, batch: int, length: int, width: int) -> tuple[Tensor, ...]:
    return (place.randn(batch, length, width, dtype=BF16),)


def _dlrm(p: Place) -> tuple[nn.Module, tuple[Tensor, ...]]:
    return blocks.DLRM(p.d(100_000), 26, p.d(128)), (p.randn(4096, 16), p.rows(100_000, 4096, 26))


def _lstm(p: Place) -> tuple[nn.Module, tuple[Tensor, ...]]:
    return blocks.LSTMCell(p.d(1024), 2), tuple(p.randn(256, 1024) for _ in range(3))


COMPILED: Final = (
    block("gpt", lambda p: (blocks.GPTBlock(p.d(1024), heads(p, 1024, 64)), _sequence(p, 8, 1024, 1024)), BF16),
    block("bert", lambda p: (blocks.BertBlock(p.d(768), heads(p, 768, 64)), _sequence(p, 16, 512, 768)), BF16),
    block("llama", lambda p: (blocks.LlamaBlock(p.d(2048), heads(p, 2048, 64), 1), _sequence(p, 4, 1024, 2048)), BF16),
    block(
        "vit",
        lambda p: (blocks.ViTBlock(p.d(768), heads(p, 768, 64), 16), (p.randn(32, 3, 224, 224, dtype=BF16),)),
        BF16,
    ),
    block("mobilenet", lambda p: (blocks.MobileBlock(p.d(64)), (p.randn(32, 64, 56, 56),)), F32),
    block("resnet", lambda p: (blocks.ResNetBlock(p.d(256)), (p.randn(32, 256, 56, 56, dtype=BF16),)), BF16),
    block("unet", lambda p: (blocks.UNetBlock(p.d(320), 32), (p.randn(4, 320, 64, 64, dtype=BF16),)), BF16),
    block("lstm", _lstm, F32),
    block("moe", lambda p: (blocks.MoEBlock(p.d(512), 8), (p.randn(1024, 512, dtype=BF16),)), BF16),
    block("dlrm", _dlrm, F32),
    function("pointwise", _chain, (64 << 20,), 2),
    function("exp_heavy", _heavy, (16 << 20,), 1),
    function("row_norm", _row_norm, (32768, 4096), 1),
    function("row_norm_small", _row_norm, (64, 512), 1),
    function("column_sum", lambda x: torch.relu(x).sum(0), (65536, 1024), 1),
)

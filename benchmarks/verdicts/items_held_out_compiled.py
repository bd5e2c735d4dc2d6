"""The kernels that Inductor makes of the same ten models at other batches, lengths, widths and types, and of chains."""

from __future__ import annotations

from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.verdicts import blocks
from benchmarks.verdicts.items_compiled import block, function, heads
from benchmarks.verdicts.place import Place

F32, BF16, F16 = torch.float32, torch.bfloat16, torch.float16
Built = tuple[nn.Module, tuple[Tensor, ...]]


def image_input(place: Place, dtype: torch.dtype, *shape: int, last: bool = False) -> tuple[Tensor, ...]:
    image = place.randn(*shape, dtype=dtype)
    return (image.to(memory_format=torch.channels_last) if last else image,)


def _gpt(p: Place) -> Built:
    return blocks.GPTBlock(p.d(768), heads(p, 768, 64)), (p.randn(12, 768, 768, dtype=F16),)


def _bert(p: Place) -> Built:
    return blocks.BertBlock(p.d(1024), heads(p, 1024, 64)), (p.randn(8, 384, 1024, dtype=F16),)


def _llama(p: Place) -> Built:
    count = heads(p, 4096, 128)
    return blocks.LlamaBlock(p.d(4096), count, max(count // 4, 1)), (p.randn(1, 2048, 4096, dtype=BF16),)


def _vit(p: Place) -> Built:
    return blocks.ViTBlock(p.d(1024), heads(p, 1024, 64), 14), image_input(p, F16, 16, 3, 224, 224)


def _unet(p: Place) -> Built:
    return blocks.UNetBlock(p.d(640), 32), image_input(p, F16, 2, 640, 32, 32)


def _lstm(p: Place) -> Built:
    return blocks.LSTMCell(p.d(512), 3), tuple(p.randn(64, 512) for _ in range(3))


def _dlrm(p: Place) -> Built:
    return blocks.DLRM(p.d(200_000), 13, p.d(64)), (p.randn(8192, 16), p.rows(200_000, 8192, 13))


def _swiglu(x: Tensor) -> Tensor:
    gate, up = x.chunk(2, -1)
    return F.silu(gate) * up


def _normed(x: Tensor, y: Tensor) -> Tensor:
    return F.layer_norm(y + F.gelu(x), x.shape[-1:])


def _masked_softmax(x: Tensor, y: Tensor) -> Tensor:
    return torch.softmax(x.masked_fill(y > 1.0, -1e4) * 0.125, -1)


HELD_OUT_COMPILED: Final = (
    block("gpt_12x768x768", _gpt, F16),
    block("bert_8x384x1024", _bert, F16),
    block("llama_1x2048x4096", _llama, BF16),
    block("vit_16x1024", _vit, F16),
    block(
        "mobilenet_64x24", lambda p: (blocks.MobileBlock(p.d(24)), image_input(p, F32, 64, 24, 56, 56, last=True)), F32
    ),
    block(
        "resnet_16x512", lambda p: (blocks.ResNetBlock(p.d(512)), image_input(p, F16, 16, 512, 28, 28, last=True)), F16
    ),
    block("unet_2x640", _unet, F16),
    block("lstm_64x512", _lstm, F32),
    block("moe_16x768", lambda p: (blocks.MoEBlock(p.d(768), 16), (p.randn(512, 768, dtype=BF16),)), BF16),
    block("dlrm_8192x64", _dlrm, F32),
    function("swiglu", _swiglu, (4096, 8192), 1),
    function("norm_gelu", _normed, (16384, 1024), 2),
    function("masked_softmax", _masked_softmax, (16384, 1024), 2),
    function("row_sum_wide", lambda x: (x * x).sum(-1), (256, 65536), 1),
)

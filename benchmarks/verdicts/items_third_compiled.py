"""The third set's kernels of Inductor: the ten models at other batches, lengths, widths and types again, and chains."""

from __future__ import annotations

from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.verdicts import blocks
from benchmarks.verdicts.items_compiled import block, function, heads
from benchmarks.verdicts.items_held_out_compiled import BF16, F16, F32, Built, image_input
from benchmarks.verdicts.place import Place


def _gpt(p: Place) -> Built:
    return blocks.GPTBlock(p.d(1600), heads(p, 1600, 64)), (p.randn(4, 1024, 1600, dtype=BF16),)


def _bert(p: Place) -> Built:
    return blocks.BertBlock(p.d(512), heads(p, 512, 64)), (p.randn(64, 256, 512, dtype=F16),)


def _phi(p: Place) -> Built:
    count = heads(p, 3072, 96)
    return blocks.LlamaBlock(p.d(3072), count, count), (p.randn(1, 1024, 3072, dtype=BF16),)


def _deit(p: Place) -> Built:
    return blocks.ViTBlock(p.d(384), heads(p, 384, 64), 16), image_input(p, BF16, 64, 3, 224, 224)


def _unet(p: Place) -> Built:
    return blocks.UNetBlock(p.d(256), 32), image_input(p, BF16, 2, 256, 64, 64)


def _lstm(p: Place) -> Built:
    return blocks.LSTMCell(p.d(1536), 2), tuple(p.randn(512, 1536, dtype=F16) for _ in range(3))


def _dlrm(p: Place) -> Built:
    return blocks.DLRM(p.d(50_000), 8, p.d(128)), (p.randn(16384, 16), p.rows(50_000, 16384, 8))


def _softcapped(x: Tensor) -> Tensor:
    return torch.softmax(torch.tanh(x / 30.0) * 30.0, -1)


def _gated_norm(x: Tensor, gate: Tensor) -> Tensor:
    return F.rms_norm(x, x.shape[-1:]) * F.silu(gate)


def _layer_scale(x: Tensor, y: Tensor) -> Tensor:
    return x + 1e-2 * F.gelu(y)


THIRD_COMPILED: Final = (
    block("gpt_4x1024x1600", _gpt, BF16),
    block("bert_64x256x512", _bert, F16),
    block("phi_1x1024x3072", _phi, BF16),
    block("deit_64x384", _deit, BF16),
    block("mobilenet_64x32", lambda p: (blocks.MobileBlock(p.d(32)), image_input(p, F16, 64, 32, 56, 56)), F16),
    block("resnet_32x1024", lambda p: (blocks.ResNetBlock(p.d(1024)), image_input(p, BF16, 32, 1024, 14, 14)), BF16),
    block("unet_2x256", _unet, BF16),
    block("lstm_512x1536", _lstm, F16),
    block("moe_4x1024", lambda p: (blocks.MoEBlock(p.d(1024), 4), (p.randn(768, 1024, dtype=F16),)), F16),
    block("dlrm_16384x128", _dlrm, F32),
    function("softcapped", _softcapped, (8192, 4096), 1),
    function("gated_norm", _gated_norm, (8192, 3072), 2),
    function("layer_scale", _layer_scale, (24 << 20,), 2),
    function("smooth_l1", F.smooth_l1_loss, (16 << 20,), 2),
    function("centred_columns", lambda x: x - x.mean(0), (16384, 1024), 1),
)

"""The fourth set's kernels of Inductor: blocks of models in no earlier set, and chains that training is made of."""

from __future__ import annotations

from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.verdicts import blocks_fourth as blocks
from benchmarks.verdicts.item import Item
from benchmarks.verdicts.items_compiled import block, heads
from benchmarks.verdicts.items_held_out_compiled import BF16, F16, F32, Built, image_input
from benchmarks.verdicts.place import Call, Place
from benchmarks.verdicts.shaped import I64, M, Of


def _convnext(p: Place) -> Built:
    return blocks.ConvNeXtBlock(p.d(192)), image_input(p, F16, 32, 192, 28, 28)


def _squeeze(p: Place) -> Built:
    return blocks.SqueezeBlock(p.d(56)), image_input(p, BF16, 48, 56, 40, 40, last=True)


def _swin(p: Place) -> Built:
    # A side that the window divides, in miniature too.
    width = p.d(128)
    return blocks.SwinBlock(width, heads(p, 128, 32), 7), (p.randn(16, 28, 28, width, dtype=F16),)


def _t5(p: Place) -> Built:
    return blocks.T5Block(p.d(768), heads(p, 768, 64)), (p.randn(16, 384, 768, dtype=BF16),)


def _gemma(p: Place) -> Built:
    count = heads(p, 2304, 256)
    width = p.d(2304)
    table = tuple(p.randn(1200, width // count, dtype=BF16) for _ in range(2))
    # Heads and keys' heads divide each other at each size.
    return blocks.GemmaBlock(width, count, 1), (p.randn(2, 1200, 2304, dtype=BF16), *table)


def _dit(p: Place) -> Built:
    return blocks.DiTBlock(p.d(1152), heads(p, 1152, 72)), (
        p.randn(8, 256, 1152, dtype=BF16),
        p.randn(8, 1152, dtype=BF16),
    )


def _mixer(p: Place) -> Built:
    return blocks.MixerBlock(p.d(196), p.d(512)), (p.randn(64, 196, 512, dtype=F16),)


def _graph(p: Place) -> Built:
    edges = (p.rows(80_000, 200_000), p.rows(80_000, 200_000))
    return blocks.GraphConvolution(p.d(128)), (p.randn(80_000, 128), *edges)


def _gru(p: Place) -> Built:
    return blocks.GRUCell(p.d(896), 2), (p.randn(384, 896), p.randn(384, 896))


def _scored(p: Place) -> Built:
    return blocks.ScoredHead(p.d(1024), p.d(24_000)), (p.randn(1500, 1024, dtype=BF16), p.rows(24_000, 1500))


def _decoder(p: Place) -> Built:
    return blocks.DecoderBlock(p.d(192), min(32, p.d(192))), image_input(p, F16, 2, 192, 96, 96)


def _embedded(p: Place) -> Built:
    return blocks.Embedded(p.d(28_996), p.d(640), p.d(768)), (p.rows(28_996, 32, 640), p.rows(2, 32, 640))


def chain(name: str, function: object, *tensors: Of) -> Item:
    """A function of several tensors, compiled."""

    def build(place: Place) -> Call:
        return place.compiled_call(function, *(t.made(place) for t in tensors))  # type: ignore[arg-type]

    return Item(f"chain_{name}", "inductor", build)


def _rms(x: Tensor, weight: Tensor) -> Tensor:
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * weight


def _rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return x * cos[None, :, None, :] + torch.cat((-second, first), -1) * sin[None, :, None, :]


def _loss(x: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(x.float(), labels)


def _rms_gradient(gradient: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """The gradient of a norm's input, and of its weight over all rows."""
    wide, inner = x.float(), gradient.float() * weight.float()
    scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    normed = wide * scale
    return ((inner - normed * (inner * normed).mean(-1, keepdim=True)) * scale).to(x.dtype)


def _weight_gradient_of_norm(gradient: Tensor, x: Tensor) -> Tensor:
    wide = x.float()
    return (gradient.float() * wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).sum(0)


def _adam(weight: Tensor, gradient: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, ...]:
    first = first * 0.9 + gradient * 0.1
    second = second.abs() * 0.999 + gradient * gradient * 0.001
    return weight * 0.999 - 1e-3 * first / (second.sqrt() + 1e-8), first, second


def _dropped(x: Tensor, y: Tensor) -> Tensor:
    return x + F.dropout(y, 0.1)


def _attention_mask(x: Tensor) -> Tensor:
    rows, columns = x.shape[-2:]
    hidden = torch.ones(rows, columns, device=x.device, dtype=torch.bool).triu(1)
    return torch.softmax(x.masked_fill(hidden, float("-inf")), -1)


FOURTH_COMPILED: Final = (
    block("convnext_32x192", _convnext, F16),
    block("squeeze_48x56", _squeeze, BF16),
    block("swin_16x128", _swin, F16),
    block("t5_16x384x768", _t5, BF16),
    block("gemma_2x1200x2304", _gemma, BF16),
    block("dit_8x256x1152", _dit, BF16),
    block("mixer_64x196x512", _mixer, F16),
    block("graph_80000x128", _graph, F32),
    block("gru_384x896", _gru, F32),
    block("scored_1500x24000", _scored, BF16),
    block("decoder_2x192", _decoder, F16),
    block("embedded_32x640x768", _embedded, F32),
    chain("rms", _rms, Of((10_000, 2560), BF16), Of((2560,), BF16)),
    chain("rotary", _rotary, Of((4, 1200, 32, 96), BF16), Of((1200, 96), BF16), Of((1200, 96), BF16)),
    chain("loss", _loss, Of((1200, 40_000), BF16), Of((1200,), I64, high=40_000)),
    chain("rms_gradient", _rms_gradient, Of((8000, 2048), BF16), Of((8000, 2048), BF16), Of((2048,), BF16)),
    chain("norm_weight_gradient", _weight_gradient_of_norm, Of((12_000, 1024), F16), Of((12_000, 1024), F16)),
    chain("adam", _adam, *(Of((6 * M,)) for _ in range(4))),
    chain("dropped", _dropped, Of((7000, 2048), BF16), Of((7000, 2048), BF16)),
    chain("causal_softmax", _attention_mask, Of((40, 600, 600), F16)),
    chain("transposed_sum", lambda x, y: x + y.t(), Of((5000, 3000)), Of((3000, 5000))),
)

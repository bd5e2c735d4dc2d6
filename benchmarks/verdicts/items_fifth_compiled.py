"""The fifth set's kernels of Inductor: blocks of models in no earlier set, chains of other losses and optimizers."""

from __future__ import annotations

from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.verdicts import blocks_fifth as blocks
from benchmarks.verdicts.item import Item
from benchmarks.verdicts.items_compiled import block, heads
from benchmarks.verdicts.items_fourth_compiled import chain
from benchmarks.verdicts.items_held_out_compiled import BF16, F16, F32, Built, image_input
from benchmarks.verdicts.place import Place
from benchmarks.verdicts.shaped import I64, M, Of


def _state_space(p: Place) -> Built:
    return blocks.StateSpaceBlock(p.d(1536), heads(p, 1536, 64), p.d(128)), (p.randn(24, 256, 1536, dtype=BF16),)


def _linear_attention(p: Place) -> Built:
    return blocks.LinearAttentionBlock(p.d(896), heads(p, 896, 64)), (p.randn(8, 1500, 896, dtype=BF16),)


def _conformer(p: Place) -> Built:
    return blocks.ConformerBlock(p.d(512)), (p.randn(16, 700, 512, dtype=F16),)


def _perceiver(p: Place) -> Built:
    return blocks.PerceiverBlock(p.d(640), heads(p, 640, 64), p.d(192)), (p.randn(8, 3000, 640, dtype=BF16),)


def _radiance(p: Place) -> Built:
    return blocks.RadianceField(p.d(256), p.d(10)), (p.randn(3000, 96, 3, dtype=F16),)


def _crosses(p: Place) -> Built:
    return blocks.CrossNetwork(p.d(400_000), p.d(24), p.d(32)), (p.rows(400_000, 12_000, 24),)


def _graph_attention(p: Place) -> Built:
    edges = (p.rows(60_000, 240_000), p.rows(60_000, 240_000))
    return blocks.GraphAttention(p.d(96)), (p.randn(60_000, 96), *edges)


def _radial(p: Place) -> Built:
    return blocks.RadialFilter(p.d(64), p.d(50)), (p.randn(40, 56, 64), p.randn(40, 56, 3))


def _contrastive(p: Place) -> Built:
    return blocks.ContrastiveHead(p.d(768)), (p.randn(5000, 768, dtype=BF16), p.randn(5000, 768, dtype=BF16))


def _codebook(p: Place) -> Built:
    return blocks.Codebook(p.d(6000), p.d(256)), (p.randn(9000, 256),)


def _latent(p: Place) -> Built:
    count = heads(p, 2048, 128)
    table = tuple(p.randn(900, p.d(2048) // count, dtype=BF16) for _ in range(2))
    return blocks.LatentAttention(p.d(2048), count, p.d(512)), (p.randn(2, 900, 2048, dtype=BF16), *table)


def _parallel(p: Place) -> Built:
    return blocks.ParallelBlock(p.d(1280), heads(p, 1280, 80)), (p.randn(4, 640, 1280, dtype=F16),)


def _distilled(x: Tensor, y: Tensor) -> Tensor:
    """How far a small model's scores are from a large one's, both softened."""
    left, right = F.log_softmax(x.float() / 2.0, -1), F.log_softmax(y.float() / 2.0, -1)
    return F.kl_div(left, right, reduction="batchmean", log_target=True)


def _focal(x: Tensor, y: Tensor) -> Tensor:
    target = (y > 1.0).float()
    likely = torch.sigmoid(x)
    right = likely * target + (1 - likely) * (1 - target)
    return (F.binary_cross_entropy_with_logits(x, target, reduction="none") * (1 - right).square()).mean()


def _lion(weight: Tensor, gradient: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
    step = torch.sign(first * 0.9 + gradient * 0.1)
    return weight * 0.999 - 1e-4 * step, first * 0.99 + gradient * 0.01


def _quantised_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """Each row to eight bits by its own largest."""
    scale = x.abs().amax(-1, keepdim=True).float() / 127.0 + 1e-6
    return (x.float() / scale).round().clamp(-127, 127).to(torch.int8), scale


def _dequantised(x: Tensor, scale: Tensor) -> Tensor:
    return (x.remainder(16) - 8).to(BF16) * scale


def _softmax_gradient(gradient: Tensor, y: Tensor) -> Tensor:
    inner = gradient.float() * y.float()
    return (inner - y.float() * inner.sum(-1, keepdim=True)).to(y.dtype)


def _gated_gradient(gradient: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    """Of silu(gate) × up."""
    likely = torch.sigmoid(gate.float())
    outer = gradient.float()
    own = outer * up.float() * likely * (1 + gate.float() * (1 - likely))
    return own.to(gate.dtype), (outer * gate.float() * likely).to(up.dtype)


def _group_normed(x: Tensor) -> Tensor:
    return F.silu(F.group_norm(x, min(16, x.shape[1])))


def _noised(x: Tensor, noise: Tensor, steps: Tensor) -> Tensor:
    """A diffusion's: an image and noise, mixed by the step of each."""
    kept = torch.cos(steps.float() / 1000.0 * 1.57)[:, None, None, None]
    return (x * kept + noise * (1 - kept * kept).sqrt()).to(x.dtype)


FIFTH_COMPILED: Final[tuple[Item, ...]] = (
    block("state_space_24x256x1536", _state_space, BF16),
    block("linear_attention_8x1500x896", _linear_attention, BF16),
    block("conformer_16x700x512", _conformer, F16),
    block("perceiver_8x3000x640", _perceiver, BF16),
    block("inception_32x256", lambda p: (blocks.InceptionBlock(p.d(256)), image_input(p, F16, 32, 256, 28, 28)), F16),
    block(
        "shuffle_48x116",
        lambda p: (blocks.ShuffleBlock(p.d(116)), image_input(p, F32, 48, 116, 36, 36, last=True)),
        F32,
    ),
    block("pyramid_8x384", lambda p: (blocks.PyramidPooling(p.d(384)), image_input(p, BF16, 8, 384, 48, 48)), BF16),
    block("radiance_3000x96", _radiance, F16),
    block("crosses_12000x24", _crosses, F32),
    block("graph_attention_60000x96", _graph_attention, F32),
    block("radial_40x56x64", _radial, F32),
    block("contrastive_5000x768", _contrastive, BF16),
    block("codebook_9000x256", _codebook, F32),
    block("latent_2x900x2048", _latent, BF16),
    block("parallel_4x640x1280", _parallel, F16),
    chain("distilled", _distilled, Of((2500, 16_000), BF16), Of((2500, 16_000), BF16)),
    chain("focal", _focal, Of((12 * M,)), Of((12 * M,))),
    chain("lion", _lion, *(Of((7 * M,)) for _ in range(3))),
    chain("quantised_rows", _quantised_rows, Of((6000, 3584), BF16)),
    chain("dequantised", _dequantised, Of((3000, 6000), I64, high=256), Of((3000, 1), BF16)),
    chain("softmax_gradient", _softmax_gradient, Of((48, 500, 500), BF16), Of((48, 500, 500), BF16)),
    chain("gated_gradient", _gated_gradient, *(Of((5000, 2816), BF16) for _ in range(3))),
    chain("group_norm_silu", _group_normed, Of((12, 192, 56, 56), F16)),
    chain("noised", _noised, Of((64, 4, 160, 160), F16), Of((64, 4, 160, 160), F16), Of((64,), I64, high=1000)),
)

"""The third set's norms, softmax, elementwise, reductions, rows and copies, in neither of the other sets."""

from __future__ import annotations

from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.verdicts.item import Item, shape_text
from benchmarks.verdicts.items_held_out_memory import (
    group_norm,
    layer_norm_of,
    rms_norm,
    scatter_add,
    softmax,
    upsampled,
)
from benchmarks.verdicts.place import Call, Place
from benchmarks.verdicts.shaped import BF16, BOOL, F16, F32, F64, I64, M, Of, called


def _rms_norm_of(rows: int, width: int, dtype: torch.dtype) -> Item:
    return called("norm", "rms_norm_weighted", rms_norm, Of((rows, width), dtype), Of((width,), dtype))


def _batch_norm(x: Of, *, training: bool = False) -> Item:
    def build(place: Place) -> Call:
        image = x.made(place)
        mean, var = (torch.ones(image.shape[1], device=place.device) for _ in range(2))
        return Call(lambda: F.batch_norm(image, mean, var, training=training), (image,))

    return Item(f"batch_norm{'_train' if training else ''}_{x.name}", "norm", build)


THIRD_NORMS: Final = (
    layer_norm_of(4096, 1600, F16),
    layer_norm_of(16384, 768, BF16),
    layer_norm_of(12544, 384, F32),
    layer_norm_of(100_352, 128, F16),
    _rms_norm_of(8192, 3584, BF16),
    _rms_norm_of(4096, 3072, F16),
    _batch_norm(Of((64, 256, 28, 28), BF16)),
    _batch_norm(Of((16, 96, 112, 112), last=True)),
    _batch_norm(Of((32, 128, 56, 56), F16), training=True),
    called("norm", "group_norm", group_norm, Of((4, 640, 64, 64), F16)),
    called("norm", "group_norm", group_norm, Of((8, 256, 64, 64))),
    called("norm", "instance_norm", F.instance_norm, Of((8, 64, 128, 128), F16)),
)


THIRD_SOFTMAXES: Final = (
    called("softmax", "softmax", softmax, Of((8, 12, 768, 768), F16)),
    called("softmax", "softmax", softmax, Of((64, 6, 197, 197), BF16)),
    called("softmax", "softmax_wide", lambda x: F.softmax(x, -1, dtype=F32), Of((16, 12, 384, 384), F16)),
    called("softmax", "softmax", softmax, Of((8192, 2048))),
    called("softmax", "softmax", softmax, Of((131_072, 32))),
    called("softmax", "softmax_classes", lambda x: F.softmax(x, 1), Of((4, 150, 128, 128))),
    called("softmax", "log_softmax", lambda x: F.log_softmax(x, -1), Of((512, 151_936), BF16)),
    called("softmax", "cross_entropy", F.cross_entropy, Of((1024, 50257)), Of((1024,), I64, high=50257)),
)


def _geglu(x: Tensor) -> Tensor:
    value, gate = x.chunk(2, -1)
    return value * F.gelu(gate)


def _rotary(x: Tensor, cos: Tensor) -> Tensor:
    return x * cos[None, :, None, :]


def _fused_adamw(count: int, rows: int, width: int) -> Item:
    """One step of the optimizer over `count` weights at once."""

    def build(place: Place) -> Call:
        weights, gradients, first, second = (list(place.randn(count, rows, width).square().unbind()) for _ in range(4))
        steps = [torch.ones((), device=place.device) for _ in weights]

        def run() -> None:
            torch._fused_adamw_(
                weights,
                gradients,
                first,
                second,
                [],
                steps,
                lr=1e-4,
                beta1=0.9,
                beta2=0.999,
                weight_decay=0.01,
                eps=1e-8,
                amsgrad=False,
                maximize=False,
            )

        return Call(run, (*weights, *gradients, *first, *second))

    return Item(f"fused_adamw_fp32_{shape_text(count, rows, width)}", "elementwise", build)


def _foreach_scale(x: Tensor) -> None:
    torch._foreach_mul_(list(x.unbind()), 0.99)


THIRD_ELEMENTWISE: Final = (
    called("elementwise", "residual", torch.add, Of((16384, 768)), Of((16384, 768))),
    called("elementwise", "residual", torch.add, Of((4096, 3584), BF16), Of((4096, 3584), BF16)),
    called("elementwise", "positions", torch.add, Of((16, 1024, 1600), F16), Of((1024, 1600), F16)),
    called("elementwise", "add_swapped", torch.add, Of((4096, 4096), BF16, swapped=True), Of((4096, 4096), BF16)),
    called("elementwise", "geglu", _geglu, Of((8192, 10240), F16)),
    called("elementwise", "quick_gelu", lambda x: x * torch.sigmoid(1.702 * x), Of((8192, 3072), F16)),
    called("elementwise", "rotary", _rotary, Of((8, 1024, 28, 128), BF16), Of((1024, 128), BF16)),
    called("elementwise", "silu", F.silu, Of((8, 320, 64, 64), F16, last=True)),
    called("elementwise", "relu", F.relu, Of((32, 256, 56, 56), last=True)),
    called("elementwise", "leaky_relu", lambda x: F.leaky_relu(x, 0.1), Of((8, 64, 160, 160), F16)),
    called("elementwise", "softplus", F.softplus, Of((16 * M,))),
    called("elementwise", "tanh", torch.tanh, Of((32 * M,), BF16)),
    called("elementwise", "elu", F.elu, Of((8192, 2048))),
    called("elementwise", "reciprocal_fp64", torch.reciprocal, Of((6 * M,), F64)),
    called("elementwise", "clamp", lambda x: x.clamp(-1.0, 1.0), Of((24_000_000,), F16)),
    called("elementwise", "where", torch.where, Of((16384, 2048), BOOL), Of((16384, 2048)), Of((16384, 2048))),
    called("elementwise", "mask_and", torch.logical_and, Of((16384, 4096), BOOL), Of((16384, 4096), BOOL)),
    called("elementwise", "addcmul", torch.addcmul, Of((12 * M,)), Of((12 * M,)), Of((12 * M,))),
    called("elementwise", "dropout", lambda x: F.dropout(x, 0.2), Of((8192, 3072))),
    _fused_adamw(12, 768, 768),
    called("elementwise", "foreach_scale", _foreach_scale, Of((32, 1024, 768))),
)

THIRD_REDUCTIONS: Final = (
    called("reduction", "sum_rows", lambda x: x.sum(-1), Of((16384, 3072), F16)),
    called("reduction", "sum_all", torch.sum, Of((50_331_648,), BF16)),
    called("reduction", "bias_gradient", lambda x: x.sum(0), Of((32768, 1024), BF16)),
    called("reduction", "bias_gradient", lambda x: x.sum(0), Of((4096, 3072))),
    called("reduction", "bias_gradient_conv", lambda x: x.sum((0, 2, 3)), Of((64, 256, 28, 28), F16)),
    called("reduction", "pool_all", lambda x: x.mean((2, 3)), Of((64, 512, 14, 14))),
    called("reduction", "pool_tokens", lambda x: x.mean(1), Of((64, 512, 768), BF16)),
    called("reduction", "amax_rows", lambda x: x.amax(-1), Of((8192, 8192), BF16)),
    called("reduction", "argmax_rows", lambda x: x.argmax(-1), Of((512, 32000))),
    called("reduction", "norm_all", torch.linalg.vector_norm, Of((25_000_000,))),
    called("reduction", "std_rows", lambda x: x.std(-1), Of((8192, 4096), F16)),
    called("reduction", "l1", F.l1_loss, Of((8 * M,)), Of((8 * M,))),
    called("reduction", "count", torch.count_nonzero, Of((16384, 2048))),
    called("reduction", "max_pool", lambda x: F.max_pool2d(x, 2), Of((16, 64, 112, 112), last=True)),
    called("reduction", "avg_pool", lambda x: F.avg_pool2d(x, 3, 2, 1), Of((32, 256, 56, 56), F16)),
)


def _cache_write(cache: Tensor, index: Tensor, value: Tensor) -> Tensor:
    return cache.index_copy_(2, index, value)


def _embedding_gradient(gradient: Tensor, index: Tensor) -> Tensor:
    return torch.ops.aten.embedding_dense_backward(gradient, index, 30_522, -1, False)


THIRD_ROWS: Final = (
    called("rows", "embedding", lambda w, i: F.embedding(i, w), Of((50257, 1600), F16), Of((8, 1024), I64, high=50257)),
    called("rows", "embedding", lambda w, i: F.embedding(i, w), Of((250_002, 768)), Of((32, 512), I64, high=250_002)),
    called(
        "rows",
        "embedding_bag",
        lambda w, i: F.embedding_bag(i, w, mode="mean"),
        Of((300_000, 128)),
        Of((16384, 10), I64, high=300_000),
    ),
    called("rows", "embedding_gradient", _embedding_gradient, Of((2048, 768)), Of((2048,), I64, high=30_522)),
    called("rows", "neighbours", lambda x, i: x[i], Of((100_000, 256)), Of((120_000,), I64, high=100_000)),
    called("rows", "experts", lambda x, i: x[i], Of((8192, 3072), BF16), Of((16384,), I64, high=8192)),
    called(
        "rows",
        "scatter_add",
        scatter_add,
        Of((100_000, 128)),
        Of((160_000,), I64, high=100_000),
        Of((160_000, 128)),
    ),
    called(
        "rows",
        "index_add",
        lambda t, i, s: t.index_add_(0, i, s),
        Of((50_000, 256)),
        Of((60_000,), I64, high=50_000),
        Of((60_000, 256)),
    ),
    called("rows", "sorted_pick", lambda x, i: x.gather(1, i), Of((8192, 4096)), Of((8192, 512), I64, high=4096)),
    called(
        "rows",
        "cache_write",
        _cache_write,
        Of((8, 16, 1024, 128), F16),
        Of((512,), I64, high=1024),
        Of((8, 16, 512, 128), F16),
    ),
)


def _windows(x: Tensor) -> Tensor:
    """Swin's: 8 × 8 patches of an image whose channels lie last."""
    batch, height, width, channels = x.shape
    return x.view(batch, height // 8, 8, width // 8, 8, channels).permute(0, 1, 3, 2, 4, 5).contiguous()


def _more_heads(x: Tensor) -> Tensor:
    batch, heads, length, size = x.shape
    return x[:, :, None].expand(batch, heads, 7, length, size).reshape(batch, heads * 7, length, size)


def _topk(x: Tensor) -> object:
    return x.topk(min(8, x.shape[-1]), -1)


THIRD_COPIES: Final = (
    called("copy", "split_heads", lambda x: x.transpose(1, 2).contiguous(), Of((16, 1024, 12, 64), F16)),
    called("copy", "transpose", lambda x: x.t().contiguous(), Of((8192, 3072), BF16)),
    called("copy", "transpose", lambda x: x.t().contiguous(), Of((4096, 2048))),
    called("copy", "to_nhwc", lambda x: x.contiguous(memory_format=torch.channels_last), Of((32, 64, 56, 56))),
    called("copy", "to_nchw", lambda x: x.contiguous(), Of((64, 128, 28, 28), BF16, last=True)),
    called("copy", "to_bf16", lambda x: x.to(BF16), Of((24 * M,))),
    called("copy", "to_fp8", lambda x: x.to(torch.float8_e4m3fn), Of((8192, 4096), BF16)),
    called("copy", "to_fp32", lambda x: x.to(F32), Of((8192, 4096), BF16)),
    called("copy", "cat_last", lambda x, y: torch.cat((x, y), -1), Of((8192, 2048), F16), Of((8192, 1024), F16)),
    called(
        "copy",
        "cache_grow",
        lambda x, y: torch.cat((x, y), 2),
        Of((4, 32, 1024, 128), BF16),
        Of((4, 32, 1, 128), BF16),
    ),
    called("copy", "pad", lambda x: F.pad(x, (2, 2, 2, 2)), Of((8, 64, 128, 128))),
    called("copy", "upsample_nearest", upsampled("nearest"), Of((4, 320, 64, 64), BF16, last=True)),
    called("copy", "upsample_bilinear", upsampled("bilinear"), Of((4, 256, 64, 64), F16)),
    called("copy", "windows", _windows, Of((64, 64, 64, 96), F16)),
    called("copy", "flip", lambda x: x.flip(-1), Of((64, 3, 224, 224))),
    called("copy", "more_heads", _more_heads, Of((4, 4, 2048, 128), BF16)),
    called("copy", "pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), Of((8, 64, 128, 128), F16)),
    called("copy", "every_second", lambda x: x[:, ::2].contiguous(), Of((8192, 4096))),
    called("copy", "unfold", lambda x: F.unfold(x, 3, padding=1), Of((1, 64, 128, 128))),
    called("copy", "zeros_like", torch.zeros_like, Of((24 * M,))),
    called("copy", "topk", _topk, Of((4096, 8192), BF16)),
    called("copy", "sort", lambda x: x.sort(-1), Of((2048, 1024))),
    called("copy", "cumsum", lambda x: x.cumsum(-1), Of((4096, 4096))),
)

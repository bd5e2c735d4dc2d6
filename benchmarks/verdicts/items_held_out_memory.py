"""The held-out norms, softmax, elementwise, reductions, rows and copies: shapes and strides of models in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.verdicts.item import Item
from benchmarks.verdicts.shaped import BF16, BOOL, F16, F32, I64, M, Of, called


def _layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], weight, bias)


def layer_norm_of(rows: int, width: int, dtype: torch.dtype) -> Item:
    weights = (Of((width,), dtype), Of((width,), dtype))
    return called("norm", "layer_norm_weighted", _layer_norm, Of((rows, width), dtype), *weights)


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return F.rms_norm(x, x.shape[-1:], weight)


def _batch_norm(x: Tensor, mean: Tensor, var: Tensor) -> Tensor:
    return F.batch_norm(x, mean, var.abs())


def _batch_norm_train(x: Tensor, mean: Tensor, var: Tensor) -> Tensor:
    return F.batch_norm(x, mean, var, training=True)


def group_norm(x: Tensor) -> Tensor:
    return F.group_norm(x, min(32, x.shape[1]))


def _channels(count: int) -> tuple[Of, Of]:
    return Of((count,)), Of((count,))


HELD_OUT_NORMS: Final = (
    layer_norm_of(8192, 1024, BF16),
    layer_norm_of(6304, 768, F16),
    layer_norm_of(2048, 5120, F32),
    layer_norm_of(401_408, 96, F16),
    called("norm", "rms_norm_weighted", rms_norm, Of((4096, 5120), BF16), Of((5120,), BF16)),
    called("norm", "rms_norm_weighted", rms_norm, Of((64, 8192), F16), Of((8192,), F16)),
    called("norm", "batch_norm", _batch_norm, Of((64, 128, 28, 28), F16, last=True), *_channels(128)),
    called("norm", "batch_norm_train", _batch_norm_train, Of((32, 64, 112, 112), BF16), *_channels(64)),
    called("norm", "batch_norm_train", _batch_norm_train, Of((64, 512, 14, 14), F16, last=True), *_channels(512)),
    called("norm", "group_norm", group_norm, Of((2, 320, 64, 64), F16)),
    called("norm", "group_norm", group_norm, Of((8, 512, 32, 32))),
    called("norm", "instance_norm", F.instance_norm, Of((4, 64, 256, 256))),
)


def softmax(x: Tensor) -> Tensor:
    return F.softmax(x, -1)


HELD_OUT_SOFTMAXES: Final = (
    called("softmax", "softmax", softmax, Of((32, 12, 197, 197), F16)),
    called("softmax", "softmax", softmax, Of((8, 16, 512, 512), BF16)),
    called("softmax", "softmax_wide", lambda x: F.softmax(x, -1, dtype=F32), Of((4, 32, 768, 768), BF16)),
    called("softmax", "softmax", softmax, Of((65536, 8))),
    called("softmax", "softmax", softmax, Of((4096, 1000))),
    called("softmax", "softmax_classes", lambda x: F.softmax(x, 1), Of((8, 21, 256, 256))),
    called("softmax", "log_softmax", lambda x: F.log_softmax(x, -1), Of((2048, 50257), BF16)),
    called("softmax", "cross_entropy", F.cross_entropy, Of((2048, 32000)), Of((2048,), I64, high=32000)),
)


def _glu(x: Tensor) -> Tensor:
    gate, up = x.chunk(2, -1)
    return F.silu(gate) * up


def _ema(average: Tensor, value: Tensor) -> Tensor:
    return average.lerp_(value, 0.001)


def _adam_step(weight: Tensor, gradient: Tensor, variance: Tensor) -> Tensor:
    return weight.addcdiv_(gradient, variance.abs().add_(1e-8), value=-1e-3)


def _foreach(x: Tensor, y: Tensor) -> None:
    torch._foreach_add_(list(x.unbind()), list(y.unbind()), alpha=0.1)


HELD_OUT_ELEMENTWISE: Final = (
    called("elementwise", "residual", torch.add, Of((8192, 4096), F16), Of((8192, 4096), F16)),
    called("elementwise", "residual_wide", torch.add, Of((4096, 4096), BF16), Of((4096, 4096))),
    called(
        "elementwise",
        "residual_mixed_layout",
        torch.add,
        Of((16, 256, 56, 56), F16, True),
        Of((16, 256, 56, 56), F16),
    ),
    called("elementwise", "add_transposed", lambda x, y: x + y.t(), Of((4096, 4096)), Of((4096, 4096))),
    called("elementwise", "bias", torch.add, Of((6304, 3072), F16), Of((3072,), F16)),
    called("elementwise", "scale_channels", lambda x, s: x * s[:, :, None, None], Of((32, 240, 28, 28)), Of((32, 240))),
    called("elementwise", "glu", _glu, Of((4096, 22016), BF16)),
    called("elementwise", "silu", F.silu, Of((4096, 11008), BF16)),
    called("elementwise", "gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), Of((8192, 3072))),
    called("elementwise", "sigmoid", torch.sigmoid, Of((64, 72, 56, 56), F16)),
    called("elementwise", "relu6", F.relu6, Of((32, 96, 112, 112), last=True)),
    called("elementwise", "hardswish", F.hardswish, Of((64, 240, 28, 28), F16)),
    called("elementwise", "dropout", lambda x: F.dropout(x, 0.1), Of((16384, 1024), BF16)),
    called(
        "elementwise",
        "masked_fill",
        lambda x, m: x.masked_fill(m, -1e4),
        Of((8, 16, 768, 768), F16),
        Of((8, 1, 768, 768), BOOL),
    ),
    called("elementwise", "greater", lambda x: x > 0.5, Of((32 * M,))),
    called("elementwise", "log1p", lambda x: torch.log1p(x.abs()), Of((24 * M,))),
    called("elementwise", "cos", torch.cos, Of((2048, 128))),
    called("elementwise", "ema", _ema, Of((25_600_000,)), Of((25_600_000,))),
    called("elementwise", "adam_step", _adam_step, Of((8 * M,)), Of((8 * M,)), Of((8 * M,))),
    called("elementwise", "foreach_add", _foreach, Of((24, 1024, 1024)), Of((24, 1024, 1024))),
)

HELD_OUT_REDUCTIONS: Final = (
    called("reduction", "sum_rows", lambda x: x.sum(-1), Of((8192, 11008), BF16)),
    called("reduction", "bias_gradient", lambda x: x.sum(0), Of((8192, 4096), BF16)),
    called("reduction", "bias_gradient_conv", lambda x: x.sum((0, 2, 3)), Of((32, 128, 56, 56))),
    called("reduction", "pool_all", lambda x: x.mean((2, 3)), Of((64, 2048, 7, 7), F16, last=True)),
    called("reduction", "pool_tokens", lambda x: x.mean(1), Of((32, 512, 1024), F16)),
    called("reduction", "argmax_rows", lambda x: x.argmax(-1), Of((256, 50257), F16)),
    called("reduction", "amax_middle", lambda x: x.amax(1), Of((32, 128, 56, 56))),
    called("reduction", "norm_all", torch.linalg.vector_norm, Of((50_000_000,), BF16)),
    called("reduction", "logsumexp", lambda x: x.logsumexp(-1), Of((2048, 32000))),
    called("reduction", "var_mean_rows", lambda x: torch.var_mean(x, -1), Of((16384, 1024), F16)),
    called("reduction", "mse", F.mse_loss, Of((16 * M,)), Of((16 * M,))),
    called("reduction", "any_rows", lambda x: x.any(-1), Of((16384, 4096), BOOL)),
    called("reduction", "max_pool", lambda x: F.max_pool2d(x, 3, 2, 1), Of((32, 64, 112, 112), F16, last=True)),
    called("reduction", "avg_pool", lambda x: F.avg_pool2d(x, 2), Of((32, 128, 56, 56))),
)


def scatter_add(target: Tensor, index: Tensor, source: Tensor) -> Tensor:
    return target.scatter_add_(0, index[:, None].expand_as(source), source)


def _cache_write(cache: Tensor, index: Tensor, value: Tensor) -> Tensor:
    return cache.index_copy_(1, index, value)


HELD_OUT_ROWS: Final = (
    called(
        "rows", "embedding", lambda w, i: F.embedding(i, w), Of((128_256, 4096), BF16), Of((2048,), I64, high=128_256)
    ),
    called(
        "rows", "embedding", lambda w, i: F.embedding(i, w), Of((30_522, 768), F16), Of((8, 2048), I64, high=30_522)
    ),
    called(
        "rows",
        "embedding_bag",
        lambda w, i: F.embedding_bag(i, w, mode="sum"),
        Of((500_000, 64)),
        Of((16384, 20), I64, high=500_000),
    ),
    called("rows", "gather_labels", lambda x, i: x.gather(1, i), Of((4096, 32000)), Of((4096, 1), I64, high=32000)),
    called("rows", "neighbours", lambda x, i: x[i], Of((200_000, 128)), Of((400_000,), I64, high=200_000)),
    called(
        "rows",
        "scatter_add",
        scatter_add,
        Of((169_344, 64)),
        Of((300_000,), I64, high=169_344),
        Of((300_000, 64)),
    ),
    called(
        "rows",
        "index_add",
        lambda t, i, s: t.index_add_(0, i, s),
        Of((16384, 1024), BF16),
        Of((8192,), I64, high=16384),
        Of((8192, 1024), BF16),
    ),
    called(
        "rows",
        "cache_write",
        _cache_write,
        Of((16, 2048, 1024), BF16),
        Of((512,), I64, high=2048),
        Of((16, 512, 1024), BF16),
    ),
)


def _shared_heads(x: Tensor) -> Tensor:
    return x.repeat_interleave(4, 1)


def _topk(x: Tensor) -> object:
    return x.topk(min(50, x.shape[-1]), -1)


def upsampled(mode: str) -> Callable[[Tensor], Tensor]:
    return lambda x: F.interpolate(x, scale_factor=2.0, mode=mode)


HELD_OUT_COPIES: Final = (
    called("copy", "split_heads", lambda x: x.transpose(1, 2).contiguous(), Of((8, 1024, 16, 64), BF16)),
    called("copy", "transpose", lambda x: x.t().contiguous(), Of((4096, 11008), F16)),
    called("copy", "to_nhwc", lambda x: x.contiguous(memory_format=torch.channels_last), Of((64, 3, 224, 224), F16)),
    called("copy", "to_nhwc", lambda x: x.contiguous(memory_format=torch.channels_last), Of((32, 256, 28, 28), F16)),
    called("copy", "to_fp16", lambda x: x.to(F16), Of((50_000_000,))),
    called("copy", "to_fp32", lambda x: x.to(F32), Of((4096, 4096), F16)),
    called("copy", "skip", lambda x, y: torch.cat((x, y), 1), Of((4, 640, 64, 64), F16), Of((4, 320, 64, 64), F16)),
    called("copy", "pad", lambda x: F.pad(x, (1, 1, 1, 1)), Of((16, 64, 112, 112), F16)),
    called("copy", "upsample_nearest", upsampled("nearest"), Of((2, 640, 32, 32), F16)),
    called("copy", "upsample_bilinear", upsampled("bilinear"), Of((8, 64, 128, 128))),
    called("copy", "roll", lambda x: x.roll((-3, -3), (1, 2)), Of((64, 56, 56, 96), F16)),
    called("copy", "shared_heads", _shared_heads, Of((4, 8, 4096, 128), BF16)),
    called("copy", "pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), Of((8, 256, 128, 128), F16)),
    called("copy", "tril", torch.tril, Of((64, 1024, 1024))),
    called("copy", "zeros_like", torch.zeros_like, Of((100_000_000,), F16)),
    called("copy", "topk", _topk, Of((256, 50257), BF16)),
    called("copy", "sort", lambda x: x.sort(-1), Of((32, 50257))),
    called("copy", "cumsum", lambda x: x.cumsum(-1), Of((256, 50257))),
)

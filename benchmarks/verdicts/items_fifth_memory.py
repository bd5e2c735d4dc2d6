"""The fifth set's norms, softmax, elementwise, reductions, rows and copies: shapes and types in no earlier set."""

from __future__ import annotations

from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.verdicts.items_fourth_memory import group_norm_gradients, layer_norm_gradients, optimizer_step
from benchmarks.verdicts.items_held_out_memory import (
    group_norm,
    layer_norm_of,
    rms_norm,
    scatter_add,
    softmax,
    upsampled,
)
from benchmarks.verdicts.shaped import BF16, F16, F32, F64, I64, M, Of, called

aten = torch.ops.aten


def _batch_norm(x: Tensor, mean: Tensor, var: Tensor) -> Tensor:
    return F.batch_norm(x, mean, var.abs())


def _batch_norm_train(x: Tensor, mean: Tensor, var: Tensor) -> Tensor:
    return F.batch_norm(x, mean, var, training=True)


def _batch_norm_gradients(gradient: Tensor, x: Tensor, weight: Tensor, mean: Tensor, scale: Tensor) -> object:
    spread = scale.abs() + 0.1
    return aten.native_batch_norm_backward(
        gradient, x, weight, None, None, mean, spread, True, 1e-5, [True, True, True]
    )


FIFTH_NORMS: Final = (
    layer_norm_of(5000, 3584, BF16),
    layer_norm_of(60_000, 192, F32),
    called("norm", "rms_norm_weighted", rms_norm, Of((6000, 2304), BF16), Of((2304,), BF16)),
    called("norm", "rms_norm_heads", lambda x: F.rms_norm(x, x.shape[-1:]), Of((5000, 28, 128), BF16)),
    called("norm", "group_norm", group_norm, Of((6, 384, 48, 48), F16)),
    called("norm", "group_norm", group_norm, Of((3, 512, 80, 80), BF16)),
    called("norm", "batch_norm", _batch_norm, Of((24, 192, 40, 40), BF16, last=True), Of((192,)), Of((192,))),
    called("norm", "batch_norm_train", _batch_norm_train, Of((24, 96, 64, 64), F32, last=True), Of((96,)), Of((96,))),
    called(
        "norm",
        "batch_norm_backward",
        _batch_norm_gradients,
        *(Of((24, 128, 48, 48)) for _ in range(2)),
        *(Of((128,)) for _ in range(3)),
    ),
    layer_norm_gradients(5000, 2048, F16),
    group_norm_gradients((6, 256, 48, 48), BF16),
)


def _softmax_gradient(x: Tensor, y: Tensor) -> Tensor:
    return aten._softmax_backward_data(x, y, -1, x.dtype)


FIFTH_SOFTMAXES: Final = (
    called("softmax", "softmax", softmax, Of((12, 10, 700, 700), F16)),
    called("softmax", "softmax", softmax, Of((3000, 6000))),
    called("softmax", "softmax", softmax, Of((100_000, 64), F16)),
    called("softmax", "softmax_wide", lambda x: F.softmax(x, -1, dtype=F32), Of((900, 40_000), F16)),
    called("softmax", "softmax_middle", lambda x: F.softmax(x, 1), Of((48, 200, 900))),
    called("softmax", "log_softmax", lambda x: F.log_softmax(x, -1), Of((1500, 24_000), F16)),
    called("softmax", "softmax_backward", _softmax_gradient, Of((6, 12, 600, 600), BF16), Of((6, 12, 600, 600), BF16)),
    called("softmax", "cross_entropy", F.cross_entropy, Of((3000, 20_000), F16), Of((3000,), I64, high=20_000)),
)


def _half_glu(x: Tensor) -> Tensor:
    return F.glu(x, -1)


def _sgd(x: Tensor, gradient: Tensor, momentum: Tensor) -> Tensor:
    momentum.mul_(0.9).add_(gradient)
    return x.add_(momentum, alpha=-0.01)


FIFTH_ELEMENTWISE: Final = (
    called("elementwise", "residual", torch.add, Of((6000, 5120), BF16), Of((6000, 5120), BF16)),
    called("elementwise", "residual_wide", torch.add, Of((5000, 3000), F16), Of((5000, 3000))),
    called("elementwise", "rows_scaled", lambda x, s: x * s, Of((9000, 2200), F16), Of((9000, 1), F16)),
    called("elementwise", "bias", torch.add, Of((9000, 2816), BF16), Of((2816,), BF16)),
    called("elementwise", "gated", _half_glu, Of((6000, 5000), F16)),
    called("elementwise", "gelu", F.gelu, Of((7000, 3584), F16)),
    called("elementwise", "silu", F.silu, Of((9 * M,))),
    called("elementwise", "log_sigmoid", F.logsigmoid, Of((9 * M,), F16)),
    called("elementwise", "erf", torch.erf, Of((14 * M,))),
    called("elementwise", "log_double", lambda x: x.abs().log(), Of((4 * M,), F64)),
    called("elementwise", "power", lambda x: x.abs().pow(1.7), Of((9 * M,), F16)),
    called("elementwise", "larger", torch.maximum, Of((11 * M,), F16), Of((11 * M,), F16)),
    called("elementwise", "equal", torch.eq, Of((9 * M,), I64, high=50), Of((9 * M,), I64, high=50)),
    called("elementwise", "silu_backward", aten.silu_backward, Of((6000, 4096), BF16), Of((6000, 4096), BF16)),
    called("elementwise", "tanh_backward", aten.tanh_backward, Of((11 * M,)), Of((11 * M,))),
    called("elementwise", "uniform", lambda x: x.uniform_(), Of((13 * M,))),
    called("elementwise", "dropout", lambda x: F.dropout(x, 0.2), Of((6000, 3000), F16)),
    called("elementwise", "sgd", _sgd, *(Of((9_000_000,)) for _ in range(3))),
    optimizer_step("sgd_foreach", lambda w: torch.optim.SGD(w, lr=0.01, momentum=0.9, foreach=True), 10, 896, 900),
    optimizer_step("adam_fused", lambda w: torch.optim.Adam(w, fused=w[0].is_cuda), 9, 1024, 700),
    optimizer_step("rmsprop_foreach", lambda w: torch.optim.RMSprop(w, foreach=True), 7, 800, 900),
)


def _pooled_gradient(gradient: Tensor, x: Tensor) -> Tensor:
    return aten.avg_pool2d_backward(gradient[:, :, ::2, ::2].contiguous(), x, [2, 2], [2, 2], [0, 0], False, True, None)


FIFTH_REDUCTIONS: Final = (
    called("reduction", "sum_rows", lambda x: x.sum(-1), Of((30_000, 900), BF16)),
    called("reduction", "sum_all", torch.sum, Of((23_000_000,), F16)),
    called("reduction", "bias_gradient", lambda x: x.sum(0), Of((12_000, 3584), F16)),
    called("reduction", "bias_gradient_conv", lambda x: x.sum((0, 2, 3)), Of((24, 160, 48, 48), BF16)),
    called("reduction", "mean_rows_wide", lambda x: x.mean(-1), Of((600, 50_000))),
    called("reduction", "var_columns", lambda x: x.var(0), Of((9000, 1500))),
    called("reduction", "amax_rows", lambda x: x.amax(-1), Of((6000, 5120), F16)),
    called("reduction", "min_columns", lambda x: x.min(0), Of((5000, 3000))),
    called("reduction", "argmax_middle", lambda x: x.argmax(1), Of((24, 150, 6400), F16)),
    called("reduction", "norm_one", lambda x: torch.linalg.vector_norm(x, 1), Of((19_000_000,))),
    called("reduction", "count_nonzero", torch.count_nonzero, Of((11 * M,), F16)),
    called("reduction", "cosine", F.cosine_similarity, Of((9000, 1024)), Of((9000, 1024))),
    called("reduction", "max_pool", lambda x: F.max_pool2d(x, 2), Of((24, 96, 80, 80), BF16, last=True)),
    called("reduction", "avg_pool_backward", _pooled_gradient, Of((12, 96, 80, 80)), Of((12, 96, 80, 80))),
)


def _summed_bags(weight: Tensor, rows: Tensor) -> Tensor:
    return F.embedding_bag(rows, weight, mode="mean")


def _cache_write(cache: Tensor, index: Tensor, value: Tensor) -> Tensor:
    return cache.index_copy_(2, index, value)


def _embedding_gradient(gradient: Tensor, index: Tensor) -> Tensor:
    return aten.embedding_dense_backward(gradient, index, 20_000, -1, False)


FIFTH_ROWS: Final = (
    called(
        "rows", "embedding", lambda w, i: F.embedding(i, w), Of((152_000, 3584), BF16), Of((3000,), I64, high=152_000)
    ),
    called("rows", "embedding", lambda w, i: F.embedding(i, w), Of((800_000, 48)), Of((6000, 39), I64, high=800_000)),
    called("rows", "embedding_bag_mean", _summed_bags, Of((600_000, 80)), Of((12_000, 12), I64, high=600_000)),
    called("rows", "embedding_gradient", _embedding_gradient, Of((6000, 1280)), Of((6000,), I64, high=20_000)),
    called("rows", "gather_rows", lambda x, i: x.gather(0, i), Of((8000, 900)), Of((8000, 900), I64, high=8000)),
    called("rows", "neighbours", lambda x, i: x[i], Of((150_000, 96), F16), Of((500_000,), I64, high=150_000)),
    called("rows", "scatter_add", scatter_add, Of((70_000, 160)), Of((120_000,), I64, high=70_000), Of((120_000, 160))),
    called(
        "rows",
        "index_add",
        lambda t, i, s: t.index_add_(0, i, s),
        Of((30_000, 400)),
        Of((25_000,), I64, high=30_000),
        Of((25_000, 400)),
    ),
    called(
        "rows",
        "cache_write_heads",
        _cache_write,
        Of((6, 20, 900, 128), BF16),
        Of((300,), I64, high=900),
        Of((6, 20, 300, 128), BF16),
    ),
    called(
        "rows",
        "put_alone",
        lambda t, i, s: t.index_put_((i,), s),
        Of((40_000, 300), F16),
        Of((30_000,), I64, high=40_000),
        Of((30_000, 300), F16),
    ),
    called("rows", "histogram", torch.bincount, Of((5 * M,), I64, high=4000)),
)


def _windows_back(x: Tensor) -> Tensor:
    """Windows of seven by seven put together again."""
    side = min(7, x.shape[1])
    batch = x.shape[0] // 16
    y = x[: batch * 16, :side, :side].reshape(batch, 4, 4, side, side, -1)
    return y.permute(0, 1, 3, 2, 4, 5).reshape(batch, 4 * side, 4 * side, -1)


FIFTH_COPIES: Final = (
    called("copy", "split_heads", lambda x: x.transpose(1, 2).contiguous(), Of((6, 900, 28, 128), BF16)),
    called("copy", "merge_heads", lambda x: x.transpose(1, 2).flatten(2), Of((12, 16, 700, 80), F16)),
    called("copy", "transpose", lambda x: x.t().contiguous(), Of((5000, 7000), BF16)),
    called("copy", "transpose", lambda x: x.t().contiguous(), Of((3000, 6000))),
    called("copy", "to_nhwc", lambda x: x.contiguous(memory_format=torch.channels_last), Of((24, 160, 48, 48), BF16)),
    called("copy", "windows_back", _windows_back, Of((1024, 7, 7, 128), F16)),
    called("copy", "to_bool", lambda x: x.bool(), Of((20 * M,))),
    called("copy", "cat_first", lambda x, y: torch.cat((x, y)), Of((6000, 1500), BF16), Of((3000, 1500), BF16)),
    called("copy", "repeat", lambda x: x.repeat(3, 2), Of((2000, 1500))),
    called("copy", "pad_circular", lambda x: F.pad(x, (2, 2, 2, 2), mode="circular"), Of((12, 64, 96, 96))),
    called("copy", "every_third", lambda x: x[::3].contiguous(), Of((24_000, 1100))),
    called("copy", "upsample_bilinear", upsampled("bilinear"), Of((6, 96, 80, 80), BF16)),
    called("copy", "upsample_nearest", upsampled("nearest"), Of((6, 160, 64, 64))),
    called("copy", "filled", lambda x: torch.full_like(x, 2.0), Of((40_000_000,), BF16)),
    called("copy", "topk", lambda x: x.topk(min(8, x.shape[-1]), -1), Of((6000, 2560))),
    called("copy", "sort", lambda x: x.sort(-1), Of((600, 6000))),
    called("copy", "cumsum", lambda x: x.cumsum(-1), Of((9000, 1500), F16)),
    called("copy", "median_rows", lambda x: x.median(-1), Of((5000, 900))),
)

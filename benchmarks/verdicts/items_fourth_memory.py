"""The fourth set's norms, softmax, elementwise, reductions, rows and copies: operators and shapes in no earlier set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.verdicts.item import Item, shape_text
from benchmarks.verdicts.items_held_out_memory import group_norm, layer_norm_of, upsampled
from benchmarks.verdicts.place import Call, Place
from benchmarks.verdicts.shaped import BF16, BOOL, F16, F32, I64, M, Of, called

aten = torch.ops.aten


def layer_norm_gradients(rows: int, width: int, dtype: torch.dtype) -> Item:
    def build(place: Place) -> Call:
        x, gradient = place.randn(rows, width, dtype=dtype), place.randn(rows, width, dtype=dtype)
        weight, bias = (place.randn(width, dtype=dtype) for _ in range(2))
        _, mean, scale = aten.native_layer_norm(x, [x.shape[1]], weight, bias, 1e-5)
        tensors = (gradient, x, mean, scale, weight, bias)

        def run() -> Any:
            return aten.native_layer_norm_backward(
                gradient, x, [x.shape[1]], mean, scale, weight, bias, [True, True, True]
            )

        return Call(run, tensors)

    return Item(f"layer_norm_backward_{Of((rows, width), dtype).name}", "norm", build)


def group_norm_gradients(shape: tuple[int, int, int, int], dtype: torch.dtype) -> Item:
    def build(place: Place) -> Call:
        x, gradient = place.randn(*shape, dtype=dtype), place.randn(*shape, dtype=dtype)
        batch, channels, height, width = x.shape
        weight, bias = (place.randn(channels, dtype=dtype) for _ in range(2))
        groups = min(32, channels)
        sizes = (batch, channels, height * width, groups)
        _, mean, scale = aten.native_group_norm(x, weight, bias, *sizes, 1e-5)

        def run() -> Any:
            return aten.native_group_norm_backward(gradient, x, mean, scale, weight, *sizes, [True, True, True])

        return Call(run, (gradient, x, mean, scale, weight))

    return Item(f"group_norm_backward_{Of(shape, dtype).name}", "norm", build)


def _rows_normalised(x: Tensor) -> Tensor:
    return F.normalize(x, dim=-1)


def _batch_norm_train(x: Tensor, mean: Tensor, var: Tensor) -> Tensor:
    return F.batch_norm(x, mean, var, training=True)


FOURTH_NORMS: Final = (
    layer_norm_of(6144, 2304, BF16),
    layer_norm_of(200_704, 64, F32),
    called("norm", "layer_norm_image", lambda x: F.layer_norm(x, x.shape[1:]), Of((64, 96, 56, 56), F16)),
    called("norm", "group_norm", group_norm, Of((8, 256, 64, 64), BF16, last=True)),
    called("norm", "batch_norm_rows", _batch_norm_train, Of((32768, 512)), Of((512,)), Of((512,))),
    called("norm", "normalize", _rows_normalised, Of((32768, 768))),
    called("norm", "local_response", lambda x: F.local_response_norm(x, 5), Of((16, 96, 55, 55))),
    layer_norm_gradients(8192, 1280, BF16),
    group_norm_gradients((8, 320, 32, 32), F16),
)


def _softmax_gradient(x: Tensor, y: Tensor) -> Tensor:
    return aten._softmax_backward_data(x, y, -1, x.dtype)


def _log_softmax_gradient(x: Tensor, y: Tensor) -> Tensor:
    return aten._log_softmax_backward_data(x, y, -1, x.dtype)


def _smoothed(x: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(x, labels, label_smoothing=0.1)


FOURTH_SOFTMAXES: Final = (
    called("softmax", "softmax", lambda x: F.softmax(x, -1), Of((16, 8, 640, 640), BF16)),
    called("softmax", "softmax", lambda x: F.softmax(x, -1), Of((24, 16, 1024, 77), F16)),
    called("softmax", "softmax_queries", lambda x: F.softmax(x, -2), Of((64, 300, 600), F16)),
    called("softmax", "softmax_backward", _softmax_gradient, Of((8, 16, 512, 512), F16), Of((8, 16, 512, 512), F16)),
    called("softmax", "log_softmax_backward", _log_softmax_gradient, Of((1024, 32000)), Of((1024, 32000))),
    called("softmax", "cross_entropy_smoothed", _smoothed, Of((4096, 10000)), Of((4096,), I64, high=10000)),
    called("softmax", "bce_logits", F.binary_cross_entropy_with_logits, Of((8192, 1000)), Of((8192, 1000))),
)


def optimizer_step(name: str, make: Callable[..., Any], count: int, rows: int, width: int) -> Item:
    """A step of one of torch's optimizers over `count` weights, as a training loop calls it."""

    def build(place: Place) -> Call:
        weights = [torch.nn.Parameter(place.randn(rows, width)) for _ in range(count)]
        for weight in weights:
            weight.grad = place.randn(rows, width)
        optimizer = make(weights)
        return Call(lambda: optimizer.step(), (*weights, *(w.grad for w in weights if w.grad is not None)))

    return Item(f"{name}_fp32_{shape_text(count, rows, width)}", "elementwise", build)


def _clipped(x: Tensor) -> Tensor:
    """As `clip_grad_norm_`: the norm of all of a list, and the list scaled by it."""
    parts = list(x.unbind())
    total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(parts)))
    torch._foreach_mul_(parts, (1.0 / (total + 1e-6)).clamp(max=1.0))
    return total


def _moments(x: Tensor, y: Tensor) -> None:
    torch._foreach_lerp_(list(x.unbind()), list(y.unbind()), 0.1)


def _quantised(x: Tensor) -> Tensor:
    return (x * 16.0).round().clamp(-128, 127).to(torch.int8)


FOURTH_ELEMENTWISE: Final = (
    called("elementwise", "add_three", lambda x, y, z: x + y + z, *(Of((4096, 2560), BF16) for _ in range(3))),
    called("elementwise", "outer_sum", lambda x, y: x[:, None] + y[None, :], Of((5000,)), Of((6000,))),
    called("elementwise", "rsqrt", lambda x: torch.rsqrt(x.abs() + 1e-6), Of((12 * M,), F16)),
    called("elementwise", "mish", F.mish, Of((16, 64, 128, 128), F16)),
    called("elementwise", "selu", F.selu, Of((10 * M,))),
    called("elementwise", "prelu", F.prelu, Of((16, 64, 112, 112)), Of((64,))),
    called("elementwise", "atan2", torch.atan2, Of((8 * M,)), Of((8 * M,))),
    called("elementwise", "remainder", lambda x: x % 7, Of((6 * M,), I64, high=1000)),
    called("elementwise", "zero_where", lambda x, m: torch.where(m, 0.0, x), Of((8192, 2500)), Of((8192, 2500), BOOL)),
    called(
        "elementwise", "fill_masked", lambda x, m: x.masked_fill_(m, 0.0), Of((8192, 5000), F16), Of((8192, 1), BOOL)
    ),
    called("elementwise", "quantised", _quantised, Of((4096, 4000), F16)),
    called("elementwise", "gelu_backward", aten.gelu_backward, Of((8192, 2560), BF16), Of((8192, 2560), BF16)),
    called("elementwise", "relu_backward", lambda g, x: aten.threshold_backward(g, x, 0), Of((9 * M,)), Of((9 * M,))),
    called(
        "elementwise",
        "dropout_backward",
        lambda g, m: aten.native_dropout_backward(g, m, 1.25),
        Of((8192, 2304), BF16),
        Of((8192, 2304), BOOL),
    ),
    called("elementwise", "normal", lambda x: x.normal_(), Of((10 * M,))),
    called("elementwise", "bernoulli", lambda x: x.bernoulli_(0.5), Of((20 * M,), F16)),
    called("elementwise", "lerp_by", torch.lerp, *(Of((6 * M,)) for _ in range(3))),
    called("elementwise", "clip_norm", _clipped, Of((16, 1024, 1000))),
    called("elementwise", "foreach_lerp", _moments, Of((20, 800, 800)), Of((20, 800, 800))),
    optimizer_step("adamw_foreach", lambda w: torch.optim.AdamW(w, foreach=True), 8, 768, 1000),
)


def _pooled_gradient(x: Tensor) -> Tensor:
    pooled, places = F.max_pool2d(x, 2, return_indices=True)
    return aten.max_pool2d_with_indices_backward(pooled, x, [2, 2], [2, 2], [0, 0], [1, 1], False, places)


FOURTH_REDUCTIONS: Final = (
    called("reduction", "sum_middle", lambda x: x.sum(1), Of((64, 400, 1000))),
    called("reduction", "mean_last_channels", lambda x: x.mean((2, 3)), Of((64, 512, 28, 28), BF16, last=True)),
    called("reduction", "std_columns", lambda x: x.std(0), Of((16384, 768))),
    called("reduction", "argmax_all", torch.argmax, Of((20 * M,), F16)),
    called("reduction", "argmin_columns", lambda x: x.argmin(0), Of((6000, 4000))),
    called("reduction", "max_rows", lambda x: x.max(-1), Of((20000, 1000))),
    called("reduction", "norm_rows", lambda x: torch.linalg.vector_norm(x, dim=-1), Of((40000, 640), F16)),
    called("reduction", "aminmax", torch.aminmax, Of((15 * M,))),
    called("reduction", "logsumexp_columns", lambda x: x.logsumexp(0), Of((2000, 6000))),
    called("reduction", "max_pool", lambda x: F.max_pool2d(x, 3, 1, 1), Of((16, 192, 56, 56), BF16)),
    called("reduction", "max_pool_3d", lambda x: F.max_pool3d(x, 2), Of((4, 64, 16, 56, 56), F16)),
    called("reduction", "avg_pool", lambda x: F.avg_pool2d(x, 3, 1, 1), Of((16, 160, 56, 56), F16, last=True)),
    called(
        "reduction", "pool_to_7", lambda x: F.adaptive_avg_pool2d(x, min(7, x.shape[2])), Of((32, 512, 28, 28), F16)
    ),
    called("reduction", "max_pool_backward", _pooled_gradient, Of((16, 96, 80, 80))),
)


def _summed_weighted(weight: Tensor, rows: Tensor, factors: Tensor) -> Tensor:
    return F.embedding_bag(rows, weight, mode="sum", per_sample_weights=factors)


def _largest_by_row(target: Tensor, rows: Tensor, source: Tensor) -> Tensor:
    return target.scatter_reduce_(0, rows[:, None].expand_as(source), source, "amax")


def _put(target: Tensor, rows: Tensor, source: Tensor) -> Tensor:
    return target.index_put_((rows,), source, accumulate=True)


def _one_hot(x: Tensor, places: Tensor) -> Tensor:
    return torch.zeros_like(x).scatter_(1, places, 1.0)


def _embedding_gradient(gradient: Tensor, index: Tensor) -> Tensor:
    return aten.embedding_dense_backward(gradient, index, 8000, -1, False)


FOURTH_ROWS: Final = (
    called(
        "rows", "embedding", lambda w, i: F.embedding(i, w), Of((49152, 3072), BF16), Of((6, 1000), I64, high=49152)
    ),
    called(
        "rows", "embedding", lambda w, i: F.embedding(i, w), Of((2_000_000, 16)), Of((8192, 26), I64, high=2_000_000)
    ),
    called(
        "rows",
        "embedding_bag_max",
        lambda w, i: F.embedding_bag(i, w, mode="max"),
        Of((400_000, 96)),
        Of((8192, 12), I64, high=400_000),
    ),
    called(
        "rows",
        "embedding_bag_weighted",
        _summed_weighted,
        Of((250_000, 64)),
        Of((16384, 16), I64, high=250_000),
        Of((16384, 16)),
    ),
    called("rows", "embedding_gradient", _embedding_gradient, Of((8192, 1024), BF16), Of((8192,), I64, high=8000)),
    called("rows", "pick_columns", lambda x, i: x.index_select(1, i), Of((8192, 3000)), Of((1500,), I64, high=3000)),
    called(
        "rows",
        "scatter_amax",
        _largest_by_row,
        Of((60_000, 128)),
        Of((100_000,), I64, high=60_000),
        Of((100_000, 128)),
    ),
    called("rows", "put", _put, Of((30_000, 200)), Of((40_000,), I64, high=30_000), Of((40_000, 200))),
    called("rows", "one_hot", _one_hot, Of((8192, 3000)), Of((8192, 1), I64, high=3000)),
    called("rows", "masked_select", torch.masked_select, Of((10 * M,)), Of((10 * M,), BOOL)),
    called("rows", "nonzero", torch.nonzero, Of((12 * M,), BOOL)),
    called("rows", "unique", torch.unique, Of((4 * M,), I64, high=100_000)),
    called("rows", "searchsorted", torch.searchsorted, Of((4096,)), Of((6 * M,))),
)


def _from_patches(x: Tensor) -> Tensor:
    side = int(x.shape[2] ** 0.5)
    return F.fold(x[:, :, : side * side], side * 2, 2, stride=2)


def _warped(x: Tensor, where: Tensor) -> Tensor:
    grid = where[..., :2].clamp(-1.0, 1.0)
    return F.grid_sample(x, grid, align_corners=False)


def _interleaved(x: Tensor) -> Tensor:
    """Rotary positions of neighbouring pairs: the pairs are turned by a quarter."""
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack((-odd, even), -1).flatten(-2)


FOURTH_COPIES: Final = (
    called("copy", "swap_outer", lambda x: x.transpose(0, 1).contiguous(), Of((512, 64, 600))),
    called("copy", "reverse_dims", lambda x: x.permute(2, 1, 0).contiguous(), Of((200, 300, 200))),
    called("copy", "merge_heads", lambda x: x.transpose(1, 2).flatten(2), Of((8, 20, 1000, 64), BF16)),
    called("copy", "transpose_batch", lambda x: x.transpose(1, 2).contiguous(), Of((64, 500, 700), F16)),
    called("copy", "stack", lambda x, y: torch.stack((x, y), -1), Of((6 * M,)), Of((6 * M,))),
    called("copy", "cat_eight", lambda x: torch.cat(x.chunk(8), -1), Of((8192, 1200))),
    called("copy", "pad_reflect", lambda x: F.pad(x, (3, 3, 3, 3), mode="reflect"), Of((8, 48, 160, 160), F16)),
    called("copy", "pad_left", lambda x: F.pad(x, (3, 0)), Of((8, 2048, 700))),
    called("copy", "flip_rows", lambda x: x.flip(0), Of((6000, 2000), F16)),
    called("copy", "expand", lambda x: x[:, None].expand(-1, 16, -1).contiguous(), Of((2000, 700), BF16)),
    called("copy", "triu", lambda x: x.triu(1), Of((24, 900, 900))),
    called("copy", "interleaved", _interleaved, Of((4, 1000, 32, 64), BF16)),
    called("copy", "upsample_bicubic", upsampled("bicubic"), Of((4, 32, 128, 128))),
    called("copy", "upsample_nearest", upsampled("nearest-exact"), Of((4, 128, 80, 80), F16)),
    called("copy", "fold", _from_patches, Of((8, 256, 4096), F16)),
    called("copy", "grid_sample", _warped, Of((4, 64, 128, 128)), Of((4, 128, 128, 2))),
    called("copy", "rfft", torch.fft.rfft, Of((4000, 2048))),
    called("copy", "fft_2d", torch.fft.fft2, Of((32, 256, 256))),
    called("copy", "topk_one", lambda x: x.topk(1, -1), Of((20000, 500))),
    called("copy", "topk_many", lambda x: x.topk(min(100, x.shape[-1]), -1), Of((1000, 20000))),
    called("copy", "sort_numbers", lambda x: x.sort(), Of((3 * M,), I64, high=1_000_000)),
    called("copy", "argsort_rows", lambda x: x.argsort(-1, descending=True), Of((4000, 2000), F16)),
    called("copy", "cumsum_columns", lambda x: x.cumsum(0), Of((3000, 4000))),
    called("copy", "cumprod_rows", lambda x: x.cumprod(-1), Of((6000, 2000))),
)

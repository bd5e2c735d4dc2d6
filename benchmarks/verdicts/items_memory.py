"""Norms, softmax, elementwise, reductions, rows moved about, copies and sorts: kernels without a matrix product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
import torch.nn.functional as F

from benchmarks.verdicts.item import Item, shape_text
from benchmarks.verdicts.place import Call, Place

F32, BF16, F16, F64 = torch.float32, torch.bfloat16, torch.float16, torch.float64
_SHORT: Final = {F32: "fp32", BF16: "bf16", F16: "fp16", F64: "fp64"}
M: Final = 1 << 20


def _unary(name: str, family: str, function: Callable[..., Any], shape: tuple[int, ...], dtype: torch.dtype) -> Item:
    def build(place: Place) -> Call:
        return place.call(function, place.randn(*shape, dtype=dtype))

    return Item(f"{name}_{_SHORT[dtype]}_{shape_text(*shape)}", family, build)


def _binary(name: str, function: Callable[..., Any], shape: tuple[int, ...], dtype: torch.dtype) -> Item:
    def build(place: Place) -> Call:
        return place.call(function, place.randn(*shape, dtype=dtype), place.randn(*shape, dtype=dtype))

    return Item(f"{name}_{_SHORT[dtype]}_{shape_text(*shape)}", "elementwise", build)


def _layer_norm(x: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, x.shape[-1:])


def _weighted_norm(rows: int, width: int, dtype: torch.dtype) -> Item:
    def build(place: Place) -> Call:
        x, weight, bias = place.randn(rows, width, dtype=dtype), *(place.randn(width, dtype=dtype) for _ in range(2))
        return place.call(lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), x, weight, bias)

    return Item(f"layer_norm_weighted_{_SHORT[dtype]}_{shape_text(rows, width)}", "norm", build)


def _batch_norm(shape: tuple[int, ...], dtype: torch.dtype, *, training: bool) -> Item:
    def build(place: Place) -> Call:
        x = place.randn(*shape, dtype=dtype)
        mean, var = (torch.ones(x.shape[1], device=place.device) for _ in range(2))
        return Call(lambda: F.batch_norm(x, mean, var, training=training), (x,))

    return Item(f"batch_norm{'_train' if training else ''}_{_SHORT[dtype]}_{shape_text(*shape)}", "norm", build)


def _group_norm(x: torch.Tensor) -> torch.Tensor:
    return F.group_norm(x, min(32, x.shape[1]))


def _rms_norm(x: torch.Tensor) -> torch.Tensor:
    return F.rms_norm(x, x.shape[-1:])


NORMS: Final = (
    *(_unary("layer_norm", "norm", _layer_norm, s, F32) for s in ((128, 768), (4096, 1024), (65536, 4096))),
    _weighted_norm(16384, 4096, BF16),
    _weighted_norm(256, 1024, F32),
    _batch_norm((64, 256, 56, 56), F32, training=False),
    _batch_norm((64, 256, 56, 56), F32, training=True),
    _unary("group_norm", "norm", _group_norm, (16, 320, 64, 64), BF16),
    *(_unary("rms_norm", "norm", _rms_norm, s, BF16) for s in ((128, 4096), (32768, 4096))),
)


def _softmax(x: torch.Tensor) -> torch.Tensor:
    return F.softmax(x, -1)


SOFTMAXES: Final = (
    *(_unary("softmax", "softmax", _softmax, s, F32) for s in ((64, 128), (16384, 1024), (512, 131072))),
    *(_unary("softmax", "softmax", _softmax, s, BF16) for s in ((4096, 4096), (65536, 2048))),
    _unary("softmax_columns", "softmax", lambda x: F.softmax(x, 0), (4096, 4096), F32),
    _unary("log_softmax", "softmax", lambda x: F.log_softmax(x, -1), (8192, 32000), F32),
)

ELEMENTWISE: Final = (
    *(_binary("add", torch.add, (n,), F32) for n in (1024, M // 16, M, 4 * M, 16 * M, 64 * M, 256 * M)),
    *(_binary("mul", torch.mul, (n,), BF16) for n in (16 * M, 128 * M)),
    *(_unary("exp", "elementwise", torch.exp, (n,), F32) for n in (M, 64 * M)),
    _unary("relu", "elementwise", torch.relu, (64 * M,), F16),
    _unary("erfinv", "elementwise", torch.erfinv, (64 * M,), F32),
    _unary("lgamma", "elementwise", torch.lgamma, (32 * M,), F32),
    _unary("digamma", "elementwise", torch.digamma, (16 * M,), F64),
    _unary("gelu", "elementwise", F.gelu, (64 * M,), BF16),
    _unary("sin_fp64", "elementwise", torch.sin, (16 * M,), F64),
    _binary("pow", torch.pow, (32 * M,), F32),
    _unary("broadcast_add", "elementwise", lambda x: x + x[0], (16384, 4096), F32),
)

REDUCTIONS: Final = (
    *(_unary("sum_all", "reduction", torch.sum, (n,), F32) for n in (M, 64 * M, 256 * M)),
    *(_unary("sum_rows", "reduction", lambda x: x.sum(-1), s, F32) for s in ((4096, 4096), (1048576, 64))),
    *(_unary("sum_columns", "reduction", lambda x: x.sum(0), s, F32) for s in ((4096, 4096), (65536, 1024))),
    _unary("mean_rows", "reduction", lambda x: x.mean(-1), (65536, 1024), BF16),
    _unary("amax_rows", "reduction", lambda x: x.amax(-1), (16384, 8192), F32),
    _unary("argmax_rows", "reduction", lambda x: x.argmax(-1), (8192, 32000), F32),
    _unary("var_rows", "reduction", lambda x: x.var(-1), (32768, 2048), F32),
    _unary("norm_all", "reduction", torch.linalg.vector_norm, (64 * M,), F32),
    _unary("max_pool", "reduction", lambda x: F.max_pool2d(x, 3, 2, 1), (32, 64, 112, 112), F32),
    _unary("avg_pool", "reduction", lambda x: F.adaptive_avg_pool2d(x, 1), (128, 1024, 14, 14), F32),
)


def _embedding(rows: int, width: int, count: int, dtype: torch.dtype) -> Item:
    def build(place: Place) -> Call:
        return place.call(F.embedding, place.rows(rows, count), place.randn(rows, width, dtype=dtype))

    return Item(f"embedding_{_SHORT[dtype]}_{shape_text(rows, width, count)}", "rows", build)


def _gather(shape: tuple[int, int], count: int) -> Item:
    def build(place: Place) -> Call:
        return place.call(lambda x, i: x.gather(1, i), place.randn(*shape), place.rows(shape[1], shape[0], count))

    return Item(f"gather_{shape_text(*shape, count)}", "rows", build)


def _index_select(rows: int, width: int, count: int) -> Item:
    def build(place: Place) -> Call:
        return place.call(lambda x, i: x.index_select(0, i), place.randn(rows, width), place.rows(rows, count))

    return Item(f"index_select_{shape_text(rows, width, count)}", "rows", build)


def _index(rows: int, width: int, count: int) -> Item:
    def build(place: Place) -> Call:
        return place.call(lambda x, i: x[i], place.randn(rows, width), place.rows(rows, count))

    return Item(f"index_{shape_text(rows, width, count)}", "rows", build)


def _scatter_add(rows: int, width: int, count: int) -> Item:
    def build(place: Place) -> Call:
        index = place.rows(rows, count)[:, None]
        source, target = place.randn(count, width), place.randn(rows, width)
        return place.call(lambda t, i, s: t.scatter_add_(0, i.expand_as(s), s), target, index, source)

    return Item(f"scatter_add_{shape_text(rows, width, count)}", "rows", build)


def _index_add(rows: int, width: int, count: int) -> Item:
    def build(place: Place) -> Call:
        return place.call(
            lambda t, i, s: t.index_add_(0, i, s),
            place.randn(rows, width),
            place.rows(rows, count),
            place.randn(count, width),
        )

    return Item(f"index_add_{shape_text(rows, width, count)}", "rows", build)


ROWS: Final = (
    _embedding(50304, 768, 4096, F32),
    _embedding(1000000, 128, 65536, BF16),
    _embedding(32000, 4096, 16384, BF16),
    _gather((16384, 4096), 1024),
    _index_select(1000000, 64, 262144),
    _index(262144, 256, 131072),
    _scatter_add(65536, 64, 262144),
    _index_add(65536, 128, 131072),
)


def _copy(name: str, function: Callable[..., Any], shape: tuple[int, ...], dtype: torch.dtype) -> Item:
    return _unary(name, "copy", function, shape, dtype)


def _topk(x: torch.Tensor) -> object:
    return x.topk(min(16, x.shape[-1]), -1)


COPIES: Final = (
    *(_copy("transpose", lambda x: x.t().contiguous(), s, F32) for s in ((1024, 1024), (16384, 8192))),
    _copy("transpose", lambda x: x.t().contiguous(), (16384, 16384), BF16),
    _copy("permute_nhwc", lambda x: x.permute(0, 2, 3, 1).contiguous(), (64, 256, 56, 56), F32),
    _copy("to_bf16", lambda x: x.to(BF16), (128 * M,), F32),
    _copy("to_fp32", lambda x: x.to(F32), (64 * M,), BF16),
    _copy("cat", lambda x: torch.cat((x, x), -1), (16384, 2048), F32),
    _copy("narrow", lambda x: x[:, : x.shape[1] // 2].contiguous(), (16384, 8192), F32),
    _copy("fill", torch.zeros_like, (128 * M,), F32),
    _copy("topk", _topk, (4096, 32000), F32),
    _copy("sort", lambda x: x.sort(-1), (1024, 16384), F32),
    _copy("sort_all", lambda x: x.sort(), (8 * M,), F32),
    _copy("cumsum", lambda x: x.cumsum(-1), (8192, 8192), F32),
)

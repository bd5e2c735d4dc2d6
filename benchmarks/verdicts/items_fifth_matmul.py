"""The fifth set's matrix products, convolutions, recurrences and attention: shapes and types in no earlier set."""

from __future__ import annotations

from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend

from benchmarks.verdicts.item import Item, shape_text
from benchmarks.verdicts.items_fourth_matmul import (
    attention_gradients,
    conv_gradients,
    fp8_by_rows,
    grouped_queries,
    hidden_keys,
    images_first,
    recurrent,
)
from benchmarks.verdicts.items_held_out_matmul import (
    cross_attention,
    grouped,
    other_conv,
    packed_attention,
    project,
    scores,
    weight_gradient,
)
from benchmarks.verdicts.items_matmul import (
    BF16,
    CUDNN,
    EFFICIENT,
    F16,
    F32,
    FLASH,
    MATH,
    SHORT,
    attend,
    attention,
    bmm,
    conv,
    linear,
    mm,
    mm_fp8,
    mm_int8,
    mv,
)
from benchmarks.verdicts.place import Call, Place
from benchmarks.verdicts.shaped import F64, Of, called


def _bias_and_relu(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch._addmm_activation(bias, x, weight.t(), use_gelu=False)


def _input_gradient(gradient: Tensor, weight: Tensor) -> Tensor:
    """What a backward does for the input of a layer whose weight is as `nn.Linear` holds it."""
    return gradient @ weight


FIFTH_MATMULS: Final = (
    # Qwen2, Mixtral, Command R and GPT-NeoX: prompts, then a few tokens; sizes that no tile divides.
    project(1400, 3584, 18944, BF16),
    project(1280, 6144, 12288, BF16),
    project(4608, 2048, 5632, BF16),
    project(3584, 5120, 1024, F16),
    project(12, 8192, 28672, BF16),
    project(96, 3584, 18944, F16),
    project(400, 2560, 7680, BF16),
    project(777, 1555, 3111, BF16),
    mm(900, 12000, 900, F16),
    linear(3136, 1536, 384, BF16),
    called("matmul", "linear_relu", _bias_and_relu, Of((3000, 1280), F16), Of((5120, 1280), F16), Of((5120,), F16)),
    called("matmul", "input_gradient", _input_gradient, Of((5000, 4096), BF16), Of((4096, 1280), BF16)),
    weight_gradient(12288, 896, 3584, BF16),
    # TF32, full precision, double, eight bits.
    mm(2700, 2700, 2700, F32, tf32=True),
    weight_gradient(12000, 900, 600, F32, tf32=True),
    linear(3000, 600, 1500, F32),
    called("matmul", "mm_double", torch.mm, Of((1500, 1500), F64), Of((1500, 1500), F64)),
    mm_fp8(5120, 5120, 5120),
    mm_fp8(160, 6144, 12288),
    fp8_by_rows(3072, 2048, 8192),
    mm_int8(3072, 2560, 6144),
    # Many small ones, and batches of views.
    bmm(3000, 48, 48, 48, BF16),
    bmm(20, 900, 1100, 1300, BF16),
    bmm(400, 100, 300, 100, F32),
    scores(160, 400, 96, 400, BF16),
    called("matmul", "weighted_values", torch.matmul, Of((4, 20, 600, 600), F16), Of((4, 20, 600, 80), F16)),
    called(
        "matmul",
        "by_head",
        lambda x, w: torch.einsum("blhd,hde->blhe", x, w),
        Of((4, 700, 12, 96), BF16),
        Of((12, 96, 96), BF16),
    ),
    called(
        "matmul",
        "bilinear",
        lambda x, w, y: torch.einsum("bi,ij,bj->b", x, w, y),
        Of((9000, 600)),
        Of((600, 600)),
        Of((9000, 600)),
    ),
    mv(28672, 5120, BF16),
    recurrent("lstm", lambda width: nn.LSTM(width, width), (6, 256, 512), F32),
    recurrent("gru", lambda width: nn.GRU(width, width), (10, 192, 1280), F16),
)


def _separable(image: tuple[int, int, int, int], number: int, dtype: torch.dtype) -> Item:
    """A filter of each channel, then one over channels: two convolutions, channels last."""

    def build(place: Place) -> Call:
        last = torch.channels_last
        x = place.randn(*image, dtype=dtype).to(memory_format=last)
        channels = x.shape[1]
        own = place.randn(channels, 1, 3, 3, dtype=dtype).to(memory_format=last)
        across = place.randn(number, channels, 1, 1, dtype=dtype).to(memory_format=last)

        def run() -> Any:
            return F.conv2d(F.conv2d(x, own, padding=1, groups=channels), across)

        return Call(run, (x, own, across))

    return Item(f"conv_separable_{SHORT[dtype]}_nhwc_{shape_text(*image, number)}", "convolution", build)


FIFTH_CONVOLUTIONS: Final = (
    # VGG, ResNeSt, NFNet, an EfficientDet, SegFormer, SDXL's decoder.
    conv((12, 64, 224, 224), (64, 3), F16, last=True),
    conv((12, 128, 112, 112), (128, 3), BF16, last=True),
    conv((24, 96, 56, 56), (192, 3), BF16, stride=2, last=True),
    conv((6, 3, 512, 512), (32, 7), BF16, stride=2, last=True),
    conv((20, 160, 40, 40), (480, 1), BF16, last=True),
    conv((2, 512, 96, 96), (512, 3), BF16, last=True),
    conv((12, 48, 96, 96), (48, 3), F32),
    conv((24, 80, 40, 40), (80, 3), F16),
    grouped((24, 192, 36, 36), 3, 8, BF16, last=True),
    grouped((24, 480, 20, 20), 5, 480, F16, last=True),
    grouped((8, 128, 64, 64), 7, 128, F16, last=False),
    _separable((16, 192, 48, 48), 256, F16),
    other_conv(
        "conv_dilated_by_2",
        images_first(lambda x, w: F.conv2d(x, w, padding=2, dilation=2)),
        (6, 192, 80, 80),
        (192, 192, 3, 3),
        BF16,
    ),
    other_conv(
        "conv_transposed_by_2",
        images_first(lambda x, w: F.conv_transpose2d(x, w, stride=2)),
        (8, 256, 48, 48),
        (256, 128, 2, 2),
        F16,
    ),
    other_conv("conv_tall", lambda x, w: F.conv2d(x, w, padding=(3, 0)), (16, 128, 48, 48), (128, 128, 7, 1), F16),
    other_conv("conv1d_by_5", lambda x, w: F.conv1d(x, w, stride=5), (6, 64, 20_000), (128, 64, 10), F16),
    other_conv(
        "conv3d_time", lambda x, w: F.conv3d(x, w, padding=(1, 0, 0)), (2, 128, 8, 40, 40), (128, 128, 3, 1, 1), BF16
    ),
    conv_gradients((24, 96, 40, 40), 192, 3, 1, BF16),
    conv_gradients((16, 384, 20, 20), 384, 1, 1, F16),
    conv_gradients((24, 144, 28, 28), 144, 5, 144, BF16),
)


def _soft_bias(sizes: tuple[int, int, int, int], dtype: torch.dtype, backend: SDPBackend) -> Item:
    """A bias for each head that all of a batch share."""

    def build(place: Place) -> Call:
        q, k, v = (place.randn(*sizes, dtype=dtype) for _ in range(3))
        _, count, length, _ = q.shape
        bias = place.randn(1, count, length, length, dtype=dtype)
        return attend(q, k, v, backend, mask=bias.expand(q.shape[0], -1, -1, -1))

    name = f"attention_biased_{backend.name.split('_')[0].lower()}"
    return Item(f"{name}_{SHORT[dtype]}_{shape_text(*sizes)}", "attention", build)


FIFTH_ATTENTIONS: Final = (
    attention((6, 14, 700, 64), BF16, FLASH),
    attention((1, 40, 1536, 128), BF16, FLASH, causal=True),
    attention((2, 12, 1100, 192), F16, FLASH, causal=True),
    grouped_queries((2, 28, 1792, 128), 4, BF16, FLASH, causal=True),
    grouped_queries((6, 24, 900, 64), 8, F16, FLASH),
    packed_attention((6, 10, 1350, 64), BF16, FLASH, causal=True),
    cross_attention((4, 20, 1500, 64), 448, F16, FLASH),
    hidden_keys((6, 16, 520, 64), BF16, EFFICIENT),
    _soft_bias((6, 12, 480, 64), F16, EFFICIENT),
    attention((3, 10, 900, 64), F32, EFFICIENT),
    attention((6, 16, 1200, 128), F16, CUDNN),
    attention((3, 24, 1800, 64), BF16, CUDNN, causal=True),
    attention((6, 10, 420, 64), BF16, MATH),
    attention_gradients((3, 20, 900, 64), F16, causal=True),
    attention_gradients((6, 12, 640, 96), BF16, causal=False),
)

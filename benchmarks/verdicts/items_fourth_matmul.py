"""The fourth set's matrix products, convolutions, recurrences and attention: operators and shapes in no earlier set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks.verdicts.item import Item, shape_text
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
    FP8,
    MATH,
    SHORT,
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
from benchmarks.verdicts.shaped import Of, called


def fp8_by_rows(m: int, k: int, n: int) -> Item:
    """Eight-bit products whose rows and columns each have a scale of their own."""

    def build(place: Place) -> Call:
        left, right = place.randn(m, k, dtype=FP8), place.randn(n, k, dtype=FP8).t()
        by_row = torch.ones((left.shape[0], 1), device=place.device)
        by_column = torch.ones((1, right.shape[1]), device=place.device)

        def run() -> Any:
            return torch._scaled_mm(left, right, scale_a=by_row, scale_b=by_column, out_dtype=BF16)

        return Call(run, (left, right))

    return Item(f"rows_mm_fp8_{shape_text(m, k, n)}", "matmul", build)


def recurrent(name: str, make: Callable[[int], nn.Module], sizes: tuple[int, int, int], dtype: torch.dtype) -> Item:
    """`sizes` are steps, batch and width."""

    def build(place: Place) -> Call:
        steps, batch, width = sizes
        module = place.module(make(place.d(width)), dtype)
        x = place.randn(steps, batch, width, dtype=dtype)
        return Call(lambda: module(x), (x, *module.parameters()))

    return Item(f"{name}_{SHORT[dtype]}_{shape_text(*sizes)}", "matmul", build)


def _bias_and_gelu(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch._addmm_activation(bias, x, weight.t(), use_gelu=True)


FOURTH_MATMULS: Final = (
    # Falcon, StarCoder2, OLMo and Yi: prompts, then a few tokens; sizes that no tile divides.
    project(2048, 4544, 4672, BF16),
    project(768, 4608, 12288, BF16),
    project(3000, 3000, 3000, F16),
    project(1023, 2047, 4095, BF16),
    project(4096, 7168, 2048, BF16),
    project(4, 5120, 13824, BF16),
    project(20, 7168, 20480, BF16),
    mm(1111, 2222, 3333, BF16),
    mm(5000, 768, 2304, F16),
    project(8192, 1280, 3840, F16),
    project(1536, 2560, 10240, BF16),
    linear(50176, 96, 384, F16),
    called("matmul", "linear_gelu", _bias_and_gelu, Of((4096, 1024), BF16), Of((4096, 1024), BF16), Of((4096,), BF16)),
    weight_gradient(6144, 1536, 3072, BF16),
    weight_gradient(10240, 640, 2560, F16),
    # TF32, full precision, eight bits.
    project(8192, 1280, 1280, F32, tf32=True),
    mm(3000, 1000, 2000, F32, tf32=True),
    linear(10000, 100, 100, F32),
    mm_fp8(2560, 5120, 7168),
    mm_fp8(48, 7168, 4096),
    fp8_by_rows(1024, 4096, 6144),
    mm_int8(512, 2048, 8192),
    # Many small ones, and batches of views.
    bmm(8192, 32, 64, 32, F16),
    bmm(6000, 16, 16, 16, F32),
    bmm(48, 384, 1536, 384, F16),
    scores(96, 640, 80, 640, F16),
    called("matmul", "pairs", lambda x: torch.einsum("bid,bjd->bij", x, x), Of((4096, 40, 64))),
    called("matmul", "shared_weight", torch.matmul, Of((24, 400, 1024), BF16), Of((1024, 2048), BF16)),
    called(
        "matmul",
        "biased_scores",
        torch.baddbmm,
        Of((128, 400, 400), F16),
        Of((128, 400, 64), F16),
        Of((128, 64, 400), F16),
    ),
    mv(20480, 7168, BF16),
    recurrent("lstm", lambda width: nn.LSTM(width, width), (12, 256, 768), F16),
    recurrent("gru", lambda width: nn.GRU(width, width), (6, 96, 1024), F32),
)


def images_first(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` on an image and a filter that are both channels last."""

    def run(x: Tensor, weight: Tensor) -> Any:
        last = torch.channels_last
        return function(x.contiguous(memory_format=last), weight.contiguous(memory_format=last))

    return run


def conv_gradients(image: tuple[int, int, int, int], number: int, side: int, groups: int, dtype: torch.dtype) -> Item:
    """What a backward does of a convolution: the gradients of its input and of its filters, channels last."""

    def build(place: Place) -> Call:
        last = torch.channels_last
        x = place.randn(*image, dtype=dtype).to(memory_format=last)
        parts = min(groups, x.shape[1])
        count = place.d(number) if parts == 1 else x.shape[1]
        weight = place.randn(count, x.shape[1] // parts, side, side, dtype=dtype).to(memory_format=last)
        gradient = place.randn(x.shape[0], count, *x.shape[2:], dtype=dtype).to(memory_format=last)
        half = [side // 2] * 2

        def run() -> Any:
            return torch.ops.aten.convolution_backward(
                gradient, x, weight, None, [1, 1], half, [1, 1], False, [0, 0], parts, [True, True, False]
            )

        return Call(run, (gradient, x, weight))

    name = f"conv_backward_{side}x{side}_g{groups}_{SHORT[dtype]}_{shape_text(*image, number)}"
    return Item(name, "convolution", build)


FOURTH_CONVOLUTIONS: Final = (
    # Stems and stages of RegNet, DenseNet, Inception and an EfficientNetV2.
    conv((32, 3, 256, 256), (32, 5), F16, stride=2, last=True),
    conv((24, 24, 128, 128), (96, 3), F16, stride=2, last=True),
    conv((32, 192, 28, 28), (96, 5), F16, last=True),
    conv((16, 768, 28, 28), (192, 1), BF16, last=True),
    conv((32, 128, 28, 28), (32, 3), F32),
    grouped((32, 224, 28, 28), 3, 4, F16, last=True),
    grouped((32, 320, 28, 28), 3, 16, BF16, last=True),
    grouped((32, 288, 28, 28), 5, 288, BF16, last=True),
    conv((32, 192, 56, 56), (192, 3), F32, stride=2, depthwise=True),
    # Dilated (DeepLab), along one side (Mamba, wav2vec, a vocoder), in three dimensions (video, volumes).
    other_conv(
        "conv_dilated",
        images_first(lambda x, w: F.conv2d(x, w, padding=4, dilation=4)),
        (8, 256, 64, 64),
        (256, 256, 3, 3),
        F16,
    ),
    other_conv(
        "conv1d_depthwise",
        lambda x, w: F.conv1d(x, w, padding=3, groups=x.shape[1]),
        (8, 2048, 2048),
        (2048, 1, 4),
        BF16,
    ),
    other_conv(
        "conv1d_dilated", lambda x, w: F.conv1d(x, w, padding=9, dilation=3), (8, 256, 4096), (256, 256, 7), F16
    ),
    other_conv(
        "conv1d_transposed",
        lambda x, w: F.conv_transpose1d(x, w, stride=4, padding=2),
        (8, 256, 2048),
        (256, 128, 8),
        F16,
    ),
    other_conv(
        "conv3d_flat", lambda x, w: F.conv3d(x, w, padding=(0, 1, 1)), (2, 96, 8, 56, 56), (96, 96, 1, 3, 3), F16
    ),
    other_conv(
        "conv3d_by_2", lambda x, w: F.conv3d(x, w, stride=2, padding=1), (1, 48, 32, 64, 64), (96, 48, 3, 3, 3), BF16
    ),
    conv_gradients((32, 128, 28, 28), 128, 3, 1, F16),
    conv_gradients((32, 256, 28, 28), 512, 1, 1, BF16),
    conv_gradients((32, 192, 28, 28), 192, 3, 192, F16),
)


def grouped_queries(
    sizes: tuple[int, int, int, int], kv_heads: int, dtype: torch.dtype, backend: SDPBackend, *, causal: bool = False
) -> Item:
    """Heads of queries that share keys and values, which the kernel itself spreads."""

    def build(place: Place) -> Call:
        batch, heads, length, size = sizes
        q = place.randn(batch, heads, length, size, dtype=dtype)
        # In miniature as many of both: they must divide each other.
        k, v = (place.randn(batch, min(kv_heads, place.d(heads)), length, size, dtype=dtype) for _ in range(2))

        def run() -> Any:
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)

        return Call(run, (q, k, v))

    name = f"attention_gqa{kv_heads}_{backend.name.split('_')[0].lower()}{'_causal' if causal else ''}"
    return Item(f"{name}_{SHORT[dtype]}_{shape_text(*sizes)}", "attention", build)


def hidden_keys(sizes: tuple[int, int, int, int], dtype: torch.dtype, backend: SDPBackend) -> Item:
    """A padded batch: a boolean mask hides the last keys of a sequence."""

    def build(place: Place) -> Call:
        q, k, v = (place.randn(*sizes, dtype=dtype) for _ in range(3))
        batch, _, length, _ = q.shape
        ends = torch.arange(1, batch + 1, device=place.device) * (length // batch)
        mask = (torch.arange(length, device=place.device) < ends[:, None])[:, None, None, :].expand(-1, -1, length, -1)

        def run() -> Any:
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

        return Call(run, (q, k, v, mask))

    name = f"attention_padded_{backend.name.split('_')[0].lower()}"
    return Item(f"{name}_{SHORT[dtype]}_{shape_text(*sizes)}", "attention", build)


def attention_gradients(sizes: tuple[int, int, int, int], dtype: torch.dtype, *, causal: bool) -> Item:
    """The backward of flash attention: of queries, keys and values."""

    def build(place: Place) -> Call:
        q, k, v, gradient = (place.randn(*sizes, dtype=dtype) for _ in range(4))
        aten = torch.ops.aten
        if place.device == "cpu":
            out, lse = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal)
            back = aten._scaled_dot_product_flash_attention_for_cpu_backward
            return Call(lambda: back(gradient, q, k, v, out, lse, 0.0, causal), (q, k, v, gradient, out, lse))
        out, lse, *rest = aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal)
        cut_q, cut_k, max_q, max_k, seed, offset = rest[:6]
        back = aten._scaled_dot_product_flash_attention_backward
        ends = (cut_q, cut_k, max_q, max_k, 0.0, causal, seed, offset)
        return Call(lambda: back(gradient, q, k, v, out, lse, *ends), (q, k, v, gradient, out, lse))

    name = f"attention_backward_flash{'_causal' if causal else ''}"
    return Item(f"{name}_{SHORT[dtype]}_{shape_text(*sizes)}", "attention", build)


FOURTH_ATTENTIONS: Final = (
    grouped_queries((1, 32, 2560, 128), 8, BF16, FLASH, causal=True),
    grouped_queries((4, 16, 1536, 64), 4, F16, FLASH),
    hidden_keys((8, 12, 640, 64), F16, EFFICIENT),
    attention((4, 12, 768, 64), F32, EFFICIENT, causal=True),
    attention((32, 16, 256, 32), F16, FLASH),
    attention((2, 16, 1280, 160), BF16, FLASH),
    packed_attention((8, 16, 577, 80), F16, FLASH),
    cross_attention((16, 16, 4, 128), 3000, BF16, FLASH),
    cross_attention((4, 16, 1024, 72), 300, F16, EFFICIENT),
    attention((8, 12, 1280, 64), BF16, CUDNN, causal=True),
    attention((8, 8, 448, 64), F32, MATH, causal=True),
    attention_gradients((4, 16, 1024, 64), BF16, causal=True),
    attention_gradients((2, 16, 1024, 128), F16, causal=False),
)

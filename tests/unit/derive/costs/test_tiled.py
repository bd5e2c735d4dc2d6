"""Wavefronts of products in tiles: against loads simulated thread by thread, sums on paper, and an H200's counters."""

from __future__ import annotations

import math

import pytest

from analyzer.core.trace import OpDetail
from analyzer.derive.costs import tiled
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.stages import stage_of
from analyzer.derive.costs.table import cost_of
from analyzer.derive.costs.tiled import LINE_BYTES, SLOTS_A_WAVEFRONT, VECTOR_BYTES

HALF = "c10::Half"
UNALIGNED = "void cutlass::Kernel2<cutlass_75_tensorop_f16_s1688gemm_f16_128x128_tn_align1>(x)"
INT8 = "void cutlass::Kernel2<cutlass_80_tensorop_i16832gemm_s8_128x256_128x3_tn_align16>(x)"
CONVOLUTION = "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_{}_nhwc_align8>(x)"
PLAIN = "sm80_xmma_gemm_f32f32_f32f32_f32_{}_n_tilesize{}_stage3_warpsize{}x1_ffma_aligna4_alignc4_execute_kernel__5x"
NVJET = "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_TNT"


def _mm(m: int, k: int, n: int, dtype: str = HALF) -> OpDetail:
    return OpDetail(shapes=((m, k), (k, n)), dtypes=(dtype, dtype), strides=((k, 1), (1, k)), values=("", ""))


def _cost(op: str, detail: OpDetail, kernel: str, launch: Launch | None) -> Cost | None:
    whole = cost_of(op, detail, kernel, launch)
    assert whole is not None
    stage = stage_of(op, detail, kernel, whole, launch)
    return None if stage is None else stage.cost


def _lines_loaded(rows: int, row_bytes: int, stride: int, align: int) -> int:
    """Distinct lines of each load of each warp, where a thread's 16 bytes are loaded `align` at a time and threads lie
    along a row first.
    """
    chunks = [(row, at) for row in range(rows) for at in range(0, row_bytes, VECTOR_BYTES)]
    found = 0
    for first in range(0, len(chunks), 32):
        for part in range(0, VECTOR_BYTES, align):
            found += len({(row * stride + at + part) // LINE_BYTES for row, at in chunks[first : first + 32]})
    return found


@pytest.mark.parametrize("align", [2, 4, 8, 16])
@pytest.mark.parametrize("depth_bytes", [64, 128])
def test_a_row_along_the_inner_dimension_is_loaded_a_line_at_a_time_for_each_part(align: int, depth_bytes: int) -> None:
    tile = tiled._Tile(128, 128, depth_bytes // 2, 2, align, 4, "tn", is_copied=False)
    parts = VECTOR_BYTES // align
    assert tile._lines(128, is_along=True) * parts == _lines_loaded(128, depth_bytes, 8192, align)


@pytest.mark.parametrize("size", [64, 128, 256])
def test_a_row_across_it_is_loaded_in_whole_lines(size: int) -> None:
    tile = tiled._Tile(size, size, 32, 2, 16, 4, "nt", is_copied=True)
    assert tile._lines(size, is_along=False) == _lines_loaded(32, size * 2, 8192, 16)


def test_an_unaligned_product_asks_for_its_tiles_an_element_at_a_time() -> None:
    found = _cost("aten::mm", _mm(256, 64, 128), UNALIGNED, Launch((2, 1, 1), 128))
    assert found is not None
    assert found.near is not None
    step = 256 * 8 + 256 * 64 / 128 + 4 * 128 * 64 / 128  # lines in eight parts, laid down, loaded by 2 × 2 warps
    end = 128 * 128 * (2 * 4 + 2 * 8) / 128
    assert found.near == round(2 * (2 * step + end) * SLOTS_A_WAVEFRONT)
    assert found.is_fed
    aligned = _cost("aten::mm", _mm(256, 64, 128), UNALIGNED.replace("align1", "align8"), Launch((2, 1, 1), 128))
    assert aligned is not None
    assert aligned.near is not None
    assert found.near > 2.5 * aligned.near


def test_what_is_not_there_is_not_loaded_but_is_multiplied() -> None:
    full = _cost("aten::mm", _mm(256, 64, 256), UNALIGNED, Launch((4, 1, 1), 128))
    part = _cost("aten::mm", _mm(197, 64, 197), UNALIGNED, Launch((4, 1, 1), 128))
    assert full is not None
    assert part is not None
    assert full.near is not None
    assert part.near is not None
    assert (197 / 256) ** 2 < part.near / full.near < 1.0


def test_a_copy_into_shared_memory_is_one_wavefront_a_line() -> None:
    found = _cost("aten::_int_mm", _mm(128, 256, 256, "signed char"), INT8, Launch((1, 1, 1), 256))
    assert found is not None
    step = 384 + 8 * 128 * 128 / 128  # 2 × 4 warps of 64 × 64
    assert found.near == round((2 * step + 128 * 256 * (2 * 4 + 4) / 128) * SLOTS_A_WAVEFRONT)


def _conv(channels: int, filters: int, side: int, stride: int) -> OpDetail:
    image = (2, channels, 64, 64)
    return OpDetail(
        shapes=(image, (filters, channels, side, side), *((),) * 7),
        dtypes=("c10::BFloat16",) * 2 + ("ScalarList",) * 3 + ("Scalar",) * 4,
        values=("", "", "[0, 0]", f"[{stride}, {stride}]", "[1, 1]", "1", "False", "False", "True"),
    )


@pytest.mark.parametrize(("channels", "more"), [(3, 32 / 3), (32, 1.0), (48, 64 / 48)])
def test_a_convolution_of_few_channels_multiplies_zeros(channels: int, more: float) -> None:
    found = _cost(
        "aten::cudnn_convolution",
        _conv(channels, 128, 16, 16),
        CONVOLUTION.format("128x128_32x5"),
        Launch((1, 1, 1), 128),
    )
    assert found is not None
    assert found.flops is not None
    # Sixteen places of each image, of a tile of 128.
    assert found.masked_flops == pytest.approx((more * 128 / 32 - 1) * found.flops, abs=1)
    steps = 16 * 16 * math.ceil(channels / 32)
    filled = math.sqrt(2 * 16 / 128)
    step = max(256 * filled, 128) + 256
    assert found.near == pytest.approx((steps * step + 128 * 128 * (8 + 2 * filled**2) / 128) * SLOTS_A_WAVEFRONT)


def test_a_product_for_hopper_reads_shared_memory_as_long_as_it_multiplies_where_groups_have_64_columns() -> None:
    found = _cost("aten::mm", _mm(1920, 640, 1280), NVJET, Launch((100, 1, 1), 384))
    assert found is not None
    assert found.near is not None
    multiplied = 1920 * 640 * 1280 / 2048
    end = 1920 * 1280 * (2 + 2) / 128
    assert found.near == round((multiplied + end) * SLOTS_A_WAVEFRONT)


@pytest.mark.parametrize(("channels", "more"), [(64, 1.0), (32, 2.0), (80, 128 / 80)])
def test_a_convolution_for_hopper_goes_over_whole_steps_of_channels(channels: int, more: float) -> None:
    name = "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize64x64x64_warpgroupsize1x1x1_g1"
    found = _cost("aten::cudnn_convolution", _conv(channels, 64, 4, 4), name, Launch((8, 1, 1), 128))
    assert found is not None
    assert found.flops is not None
    assert found.masked_flops == pytest.approx((more - 1) * found.flops, abs=1)
    multiplied = 2 * 16 * 16 * 64 * 16 * channels * more / 2048
    assert found.near == pytest.approx((multiplied + 8 * 64 * 64 * 8 / 128) * SLOTS_A_WAVEFRONT, rel=1e-6)
    indexed = name.replace("gemm_", "gemm_indexed_")
    assert _cost("aten::cudnn_convolution", _conv(channels, 64, 4, 4), indexed, Launch((8, 1, 1), 128)) is None


@pytest.mark.parametrize(
    ("kernel", "launch", "tile"),
    [
        (UNALIGNED, Launch((4, 1, 1), 128), (128, 128, 32)),
        (NVJET, Launch((4, 1, 1), 384), (192, 128, 64)),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x32x8_stage3_x", None, (64, 32, 8)),
        (PLAIN.format("nn", "64x32x8", "2x2"), None, (64, 32, 8)),
    ],
)
@pytest.mark.parametrize("sizes", [(197, 100, 130), (1, 512, 700), (384, 128, 256)])
def test_whole_tiles_are_multiplied(
    kernel: str, launch: Launch | None, tile: tuple[int, int, int], sizes: tuple[int, int, int]
) -> None:
    (m, k, n), (rows, columns, depth) = sizes, tile
    found = _cost("aten::mm", _mm(m, k, n), kernel, launch)
    assert found is not None
    assert found.flops == 2 * m * k * n

    def filled(down: int, over: int) -> int:
        return math.ceil(down / rows) * rows * math.ceil(over / columns) * columns

    done = 2 * min(filled(m, n), filled(n, m)) * math.ceil(k / depth) * depth
    assert found.masked_flops == done - found.flops


def test_flash_attention_loads_keys_and_values_once_for_each_warp() -> None:
    kernel = "pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 64, 4, false, false, x>>(x)"
    keys_and_values, queries = 2 * 64 * 64 * 2, 128 * 64 * 2
    by_hand = 3 * (keys_and_values * 5 + queries) / 128 * SLOTS_A_WAVEFRONT
    assert tiled.attention(kernel, 2, 3 * 128 * 64) == round(by_hand)
    blocks = tiled.attention(kernel, 2, 128 * 64 * 1000.0, 10)
    assert blocks == (tiled.attention(kernel, 2, 128 * 64 * 1000.0) or 0) + 10 * 4 * 128 * 64 * 2
    assert tiled.attention("flash_fwd_splitkv_kernel<x>", 2, 1000.0) is None


def test_each_score_loads_its_bias_by_itself_from_a_bank_of_eight_rows() -> None:
    scores = 2 * (128 + 4 * 64 * 64 / 128)
    kept = 64 * 64 * 2 / 128
    values = 64 * 64 * 2 / 128 + 4 * 64 * 128 / 128
    plain = tiled.efficient_attention((64, 64), 64, 5.0, has_bias=False)
    assert plain == round(5 * (scores + kept + values) * SLOTS_A_WAVEFRONT)
    biased = tiled.efficient_attention((64, 64), 64, 5.0, has_bias=True)
    assert biased - plain == round(5 * (2 * kept + 64 * 64 / 32 * 8) * SLOTS_A_WAVEFRONT)


@pytest.mark.parametrize("dtype", [HALF, "float"])
def test_a_bias_is_told_by_the_operators_fourth_input_and_goes_with_no_product(dtype: str) -> None:
    shapes = ((2, 96, 4, 64),) * 3
    kernel = f"fmha_cutlassF_{'f16' if dtype == HALF else 'f32'}_aligned_64x64_rf_sm80(x)"
    near, is_fed = [], []
    for bias in ((), (2, 4, 96, 96)):
        detail = OpDetail(
            shapes=(*shapes, bias, *((),) * 10),
            dtypes=(*(dtype,) * 3, dtype if bias else "", *("",) * 4, *("Scalar",) * 3, *("",) * 3),
            values=("",) * 8 + ("0.", "0", "False", "", "", ""),
        )
        found = _cost("aten::_efficient_attention_forward", detail, kernel, Launch((2, 4, 2), 128))
        assert found is not None
        near.append(found.near)
        is_fed.append(found.is_fed)
    tiles = 2 * 4 * 2 * 2  # two blocks of queries by two of keys, of each head
    wanted = [tiled.efficient_attention((64, 64), 64, tiles, has_bias=has_bias) for has_bias in (False, True)]
    assert near == (wanted if dtype == HALF else [None, None])
    assert is_fed == [dtype == HALF, False]


@pytest.mark.parametrize(
    ("kernel", "launch"),
    [
        (UNALIGNED, None),
        ("void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm>(x)", Launch((2, 1, 1), 128)),
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_tn", Launch((2, 1, 1), 128)),
        ("nvjet_sm100_tst_320x128_64x3_1x2_h_bz_coopB_NNT", Launch((2, 1, 1), 384)),
    ],
)
def test_a_kernel_whose_tile_is_not_told_keeps_the_products_cost(kernel: str, launch: Launch | None) -> None:
    assert _cost("aten::mm", _mm(256, 64, 128), kernel, launch) is None


@pytest.mark.parametrize("shapes", [((0, 64), (64, 128)), ((256, 0), (0, 128))])
def test_an_empty_product_has_no_tiles(shapes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    detail = OpDetail(shapes=shapes, dtypes=(HALF, HALF), values=("", ""))
    for kernel in (UNALIGNED, NVJET):
        assert _cost("aten::mm", detail, kernel, Launch((1, 1, 1), 128)) is None

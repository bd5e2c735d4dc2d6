"""Products in tiles outside the matrix units: instructions and loads of one warp, counted by hand."""

from __future__ import annotations

import pytest

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.plain_tiles import COPY_SLOTS, END_SLOTS, OUTPUT_SLOTS, STEP_SLOTS
from analyzer.derive.costs.stages import Stage, stage_of
from analyzer.derive.costs.table import cost_of
from analyzer.derive.costs.tiled import SLOTS_A_WAVEFRONT

NAME = "sm80_xmma_gemm_f32f32_f32f32_f32_{}_n_tilesize{}x8_stage3_warpsize{}x1_ffma_execute_{}kernel__5x"


def _mm(m: int, k: int, n: int) -> OpDetail:
    return OpDetail(shapes=((m, k), (k, n)), dtypes=("float", "float"), strides=((k, 1), (1, k)), values=("", ""))


def _stage(detail: OpDetail, kernel: str, blocks: int) -> Stage:
    whole = cost_of("aten::mm", detail, kernel)
    assert whole is not None
    stage = stage_of("aten::mm", detail, kernel, whole, Launch((blocks, 1, 1), 128))
    assert stage is not None
    return stage


def _cost(detail: OpDetail, layout: str, tile: str, warps: str, blocks: int) -> Cost:
    return _stage(detail, NAME.format(layout, tile, warps, ""), blocks).cost


@pytest.mark.parametrize(
    ("tile", "warps", "own"),
    [
        ("64x64", "1x4", (8, 4)),  # a warp has 64 × 16: eight threads along the 64, four along the 16
        ("128x32", "2x2", (8, 4)),
        ("64x128", "1x4", (8, 8)),
        ("128x128", "2x2", (16, 8)),  # 64 × 64
        ("32x32", "1x2", (4, 4)),
    ],
)
def test_each_thread_multiplies_its_rows_by_its_columns_and_loads_both(
    tile: str, warps: str, own: tuple[int, int]
) -> None:
    rows, columns = map(int, tile.split("x"))
    count = int(warps[0]) * int(warps[2])
    found = _cost(_mm(rows, 80, columns), "tn", tile, warps, 1)
    copies = (rows + columns) * 8 // (32 * count)
    step = 8 * (own[0] * own[1] + sum(own) / 4) + STEP_SLOTS + COPY_SLOTS * copies
    assert found.issued == 32 * count * (10 * step + END_SLOTS + OUTPUT_SLOTS * own[0] * own[1])
    # 32 threads load 128 bytes for each of their numbers; whole tiles are copied, kept twice and stored.
    wavefronts = 10 * count * (8 * sum(own) + copies) + rows * columns * 4 * 3 / 128
    assert found.near == wavefronts * SLOTS_A_WAVEFRONT
    assert found.is_fed
    assert found.masked_flops == 0
    assert found.instructions == 0


def test_what_is_not_there_is_neither_copied_nor_stored() -> None:
    full, part = (_cost(_mm(side, 64, side), "tn", "64x64", "1x4", 1) for side in (64, 32))
    assert full.issued == part.issued
    assert full.near is not None
    assert part.near is not None
    left_out = 8 * 4 * 8 / 2 + 64 * 64 * 4 / 128 * 3 / 4
    assert full.near - part.near == left_out * SLOTS_A_WAVEFRONT


def test_a_split_product_ends_as_often_as_it_has_blocks() -> None:
    whole, split = (_cost(_mm(64, 512, 64), "tn", "64x64", "1x4", blocks) for blocks in (1, 8))
    assert whole.issued is not None
    assert split.issued is not None
    assert split.issued - whole.issued == 7 * 4 * 32 * (END_SLOTS + OUTPUT_SLOTS * 32)


def test_what_adds_up_the_parts_of_a_split_product_does_that_alone() -> None:
    product, adds = (_stage(_mm(64, 512, 128), NAME.format("tn", "64x64", "1x4", end), 2) for end in ("", "split_k_"))
    assert product.cost.flops == 2 * 64 * 512 * 128
    assert not product.is_beside
    assert adds.is_beside
    assert adds.cost.flops == 0
    assert adds.cost.reads == (2 * 64 * 128 * 4,)


@pytest.mark.parametrize("layout", ["nn", "nt", "tt"])
def test_how_operands_across_the_inner_dimension_are_loaded_no_name_tells(layout: str) -> None:
    found = _cost(_mm(64, 512, 64), layout, "64x64", "1x4", 1)
    assert found.near is None
    assert found.issued == _cost(_mm(64, 512, 64), "tn", "64x64", "1x4", 1).issued


def test_without_its_warps_only_the_tile_is_known() -> None:
    found = _stage(_mm(60, 512, 64), "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_x", 1).cost
    assert (found.issued, found.near) == (None, None)
    assert found.masked_flops == 2 * 4 * 512 * 64

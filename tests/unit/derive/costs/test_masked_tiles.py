"""Where a causal mask or the end of a sequence cuts through a tile, a fused attention multiplies all of it."""

from __future__ import annotations

import pytest

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.attention import filled_up
from analyzer.derive.costs.fused_attention import CAUSAL_PAIR, END_PAIR, SYNC_PAIR
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.stages import stage_of
from analyzer.derive.costs.table import cost_of

FLASH = "aten::_flash_attention_forward"
CUDNN = "aten::_cudnn_attention_forward"
FLASH_KERNEL = "pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 64, 4, false, false, x>>(x)"
CUDNN_KERNEL = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0"
HALF = "c10::Half"


def _flash(length: int, keys: int, *, causal: bool, window: int = -1) -> OpDetail:
    shapes = ((2, length, 4, 64), (2, keys, 4, 64), (2, keys, 4, 64))
    values = ("",) * 8 + (str(causal), "False", "0.125", str(window), str(window))
    return OpDetail(shapes=(*shapes, *((),) * 10), dtypes=(HALF,) * 3 + ("Scalar",) * 10, values=values)


def _by_hand(length: int, rows: int, columns: int) -> float:
    """Tile by tile, those with a pair that is seen."""
    pairs = 0
    for top in range(0, length, rows):
        for left in range(0, length, columns):
            if left <= min(top + rows, length) - 1:
                pairs += rows * columns
    return pairs / (length * (length + 1) / 2)


@pytest.mark.parametrize("length", [1, 100, 128, 197, 1024])
@pytest.mark.parametrize(("rows", "columns"), [(128, 128), (128, 64), (64, 128)])
def test_all_tiles_with_a_pair_that_is_seen_are_multiplied(length: int, rows: int, columns: int) -> None:
    found = filled_up(FLASH, _flash(length, length, causal=True), rows, columns)
    assert found == pytest.approx(_by_hand(length, rows, columns))
    assert found >= 1.0


@pytest.mark.parametrize(
    "detail",
    [
        _flash(256, 384, causal=False),
        _flash(256, 512, causal=True),
        _flash(256, 256, causal=True, window=32),
        OpDetail(),
    ],
)
def test_where_tiles_are_full_or_not_known_to_be_cut_nothing_is_thrown_away(detail: OpDetail) -> None:
    assert filled_up(FLASH, detail, 128, 128) == 1.0


@pytest.mark.parametrize(
    ("queries", "keys", "more"), [(1, 4096, 128), (197, 197, (256 / 197) ** 2), (128, 77, 128 / 77)]
)
def test_behind_the_end_of_a_sequence_a_tile_is_multiplied_all_the_same(queries: int, keys: int, more: float) -> None:
    assert filled_up(FLASH, _flash(queries, keys, causal=False), 128, 128) == pytest.approx(more)


def test_the_name_of_a_kernel_tells_its_tiles() -> None:
    detail = _flash(1024, 1024, causal=True)
    whole = cost_of(FLASH, detail, FLASH_KERNEL)
    assert whole is not None
    assert whole.flops
    stage = stage_of(FLASH, detail, FLASH_KERNEL, whole)
    assert stage is not None
    more = _by_hand(1024, 128, 64)
    assert stage.cost.flops == whole.flops
    assert stage.cost.masked_flops == pytest.approx(whole.flops * (more - 1), abs=1)
    assert stage.cost.instructions == pytest.approx(SYNC_PAIR * 2 * 4 * 1024 * 1025 / 2 * more, abs=1)


def test_cudnns_warp_groups_share_the_rows_of_a_block() -> None:
    sizes = (2, 4, 1024, 64)
    detail = OpDetail(
        shapes=(sizes, sizes, sizes, *((),) * 9),
        dtypes=(HALF,) * 3 + ("",) * 3 + ("Scalar",) * 6,
        values=("",) * 6 + ("1024", "1024", "False", "0.", "True", "False"),
    )
    whole = cost_of(CUDNN, detail, CUDNN_KERNEL)
    assert whole is not None
    assert whole.flops
    stage = stage_of(CUDNN, detail, CUDNN_KERNEL, whole, Launch((132, 1, 1), 384))
    assert stage is not None
    assert stage.cost.masked_flops / whole.flops == pytest.approx(_by_hand(1024, 128, 128) - 1, rel=1e-3)
    assert stage_of(CUDNN, detail, CUDNN_KERNEL, whole) is None


@pytest.mark.parametrize(("width", "times"), [(80, 96 / 80), (96, 1.0)])
def test_heads_are_filled_up_to_the_width_of_a_tile(width: int, times: float) -> None:
    sizes = (2, 128, 4, width)
    detail = OpDetail(
        shapes=(sizes, sizes, sizes, *((),) * 6),
        dtypes=((HALF,) * 3 + ("",) * 2 + ("Scalar",) * 4),
        values=("", "", "", "", "", "128", "128", "0.", "False"),
    )
    kernel = "flash_fwd_kernel<Flash_fwd_kernel_traits<96, 128, 64, 4, false, false, x>>(x)"
    whole = cost_of(FLASH, detail, kernel)
    assert whole is not None
    stage = stage_of(FLASH, detail, kernel, whole)
    assert stage is not None
    assert stage.cost.flops == whole.flops == 4 * 2 * 4 * 128 * 128 * width
    assert stage.cost.masked_flops == pytest.approx((times - 1.0) * whole.flops)


@pytest.mark.parametrize(
    ("length", "causal", "even", "masked", "slots"),
    [
        (512, True, True, 2 * 4 / (2 + 4 + 6 + 8), CAUSAL_PAIR),  # two tiles of 64 keys at each row of 128 queries
        (500, True, False, (2 + 3 * 3) / (2 + 4 + 6 + 8), CAUSAL_PAIR),  # and a third, but where a row has only two
        (500, False, False, 1 / 8, END_PAIR),
        (512, False, True, 0.0, END_PAIR),
    ],
)
def test_scores_of_tiles_that_a_mask_may_cut_are_held_against_it(
    length: int, causal: bool, even: bool, masked: float, slots: int
) -> None:
    flags = ", ".join(str(flag).lower() for flag in (False, causal, False, False, even, True, False, False))
    kernel = f"flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 64, 4, false, false, x, y<z> >, {flags}>(x)"
    detail = _flash(length, length, causal=causal)
    whole = cost_of(FLASH, detail, kernel)
    assert whole is not None
    plain, told = (stage_of(FLASH, detail, name, whole) for name in (FLASH_KERNEL, kernel))
    assert plain is not None
    assert plain.cost.instructions
    assert told is not None
    assert told.cost.instructions == pytest.approx(plain.cost.instructions * (1 + slots * masked / SYNC_PAIR), rel=1e-6)

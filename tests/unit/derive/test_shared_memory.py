"""Shared memory beside the matrix units, against an H200's counters and against the arithmetic on paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.derive.shared_memory import is_turned, shared_over_matrix
from tests.golden.counters_h200.load import load

ON_TOP = 0.10
"""What counters show beyond the operands' reads: tiles loaded, results stored."""
LEAST_TENSOR_PERCENT = 50.0


@pytest.mark.parametrize(
    ("kernel", "ratio"),
    [
        ("nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT", 1.0),
        ("nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_bias_TNT", 1.0),
        ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", 0.75),
        ("nvjet_sm90_qqtst_128x128_128x6_2x1_v_bz_coopA_algo2_TNT", 0.75),
        # The longer side is the rows of the instructions, unless it is no multiple of 64.
        ("nvjet_sm90_tst_128x256_64x4_2x1_v_ssched_bz_coopA_TNN", 0.75),
        ("nvjet_sm90_hsh_128x192_64x5_2x1_v_bz_coopB_NNN", 1.0),
        ("nvjet_sm90_tst_192x192_64x4_2x1_v_bz_coopB_TNN", 0.5 * (64 + 96) / 96),
        ("nvjet_sm90_qqtst_144x128_128x6_1x2_h_bz_coopA_algo2_TNT", 0.5 * (64 + 144) / 144),
        ("nvjet_sm90_tst_256x8_64x6_2x1_v_bz_NNT", 4.5),
        ("nvjet_sm90_tst_64x64_64x13_2x1_v_bz_NNT", 1.0),
        ("nvjet_sm90_tst_112x128_64x7_2x1_v_bz_TNN", 0.5 * (64 + 112) / 112),
        (
            "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize256x64x32_warpgroupsize1x1x1_g1",
            1.0,
        ),
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_execute", 0.75),
        # TF32 is multiplied from rows along the inner dimension alone: these turn one tile, or both, first.
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x256x32_warpgroupsize2x1x1_execute", 0.625 + 0.25),
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32_warpgroupsize1x1x1_execute", 0.75 + 0.5),
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_tt_n_tilesize128x256x32_warpgroupsize2x1x1_execute", 0.625 + 0.5),
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_nt_n_tilesize128x256x32_warpgroupsize2x1x1_execute", 0.625 + 0.75),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize128x256x64_warpgroupsize2x1x1_execute", 0.625),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x64x8_stage3_warpsize2x2x1_ffma", None),
        ("nvjet_sm100_tst_320x128_64x3_1x2_h_bz_coopB_NNT", None),
        ("", None),
    ],
)
def test_the_ratio_follows_from_the_columns_of_an_instruction(kernel: str, ratio: float | None) -> None:
    assert shared_over_matrix(kernel) == (None if ratio is None else pytest.approx(ratio))


def test_counters_show_what_the_operands_reads_foretell() -> None:
    """Where the matrix units are busy, neither DRAM nor the L2 outweighs shared memory."""
    seen = 0
    for counted in load().counters:
        ratio = shared_over_matrix(counted.kernel)
        if (
            ratio is None
            or is_turned(counted.kernel)
            or (counted.tensor_percent or 0.0) < LEAST_TENSOR_PERCENT
            or counted.memory_percent is None
        ):
            continue
        assert counted.tensor_percent is not None
        shown = counted.memory_percent / counted.tensor_percent
        assert ratio <= shown <= ratio + ON_TOP
        assert (shown > 1.0) is (ratio >= 1.0), "which of the two is nearer its peak"
        seen += 1
    assert seen >= 10


@pytest.mark.parametrize(
    ("tile", "split", "ratio", "kernels"), [("128x192_", "coopB", 1.0, 3), ("128x256_", "coopA", 0.75, 2)]
)
def test_counters_show_which_side_of_a_tile_is_the_rows_of_its_instructions(
    tile: str, split: str, ratio: float, kernels: int
) -> None:
    golden = Path(__file__).parents[2] / "golden"
    own = [
        (c, c.memory_percent / c.tensor_percent)
        for name in ("counters_held_out_h200", "counters_third_h200", "counters_fourth_h200")
        for c in load(golden / name).counters
        if f"_{tile}" in c.kernel and split in c.kernel and c.memory_percent and (c.tensor_percent or 0.0) > 60.0
    ]
    assert len(own) == kernels
    for counted, shown in own:
        assert shared_over_matrix(counted.kernel) == pytest.approx(ratio)
        assert ratio <= shown <= ratio + ON_TOP


TURNED_WITHIN = 0.15


def test_counters_show_about_what_turning_is_taken_to_add() -> None:
    """An estimate: the name says that tiles are turned, and not how."""
    golden = Path(__file__).parents[2] / "golden"
    sets = ("counters_h200", "counters_third_h200", "counters_fourth_h200")
    seen = 0
    for counted in (c for name in sets for c in load(golden / name).counters):
        ratio, memory = shared_over_matrix(counted.kernel), counted.memory_percent
        if not is_turned(counted.kernel) or ratio is None or memory is None or not counted.tensor_percent:
            continue
        if (counted.dram_percent or 0.0) > memory / 2:
            continue  # there memory is DRAM's
        assert memory / counted.tensor_percent == pytest.approx(ratio, rel=TURNED_WITHIN)
        seen += 1
    assert seen >= 5


@pytest.mark.parametrize(
    ("kernel", "turned"),
    [
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x256x32_warpgroupsize2x1x1_execute", True),
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x256x32_warpgroupsize2x1x1_execute", False),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize128x256x64_warpgroupsize2x1x1_execute", False),
        ("nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT", False),
    ],
)
def test_only_what_is_not_multiplied_from_columns_is_turned(kernel: str, turned: bool) -> None:
    assert is_turned(kernel) is turned

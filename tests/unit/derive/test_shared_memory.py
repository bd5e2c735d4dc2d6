"""Shared memory beside the matrix units, against an H200's counters and against the arithmetic on paper."""

from __future__ import annotations

import pytest

from analyzer.derive.shared_memory import shared_over_matrix
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
        ("nvjet_sm90_tst_128x256_64x4_2x1_v_ssched_bz_coopA_TNN", 0.625),
        ("nvjet_sm90_tst_64x64_64x13_2x1_v_bz_NNT", None),
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x256x32", None),
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
        if ratio is None or (counted.tensor_percent or 0.0) < LEAST_TENSOR_PERCENT or counted.memory_percent is None:
            continue
        assert counted.tensor_percent is not None
        shown = counted.memory_percent / counted.tensor_percent
        assert ratio <= shown <= ratio + ON_TOP
        assert (shown > 1.0) is (ratio >= 1.0), "which of the two is nearer its peak"
        seen += 1
    assert seen >= 10

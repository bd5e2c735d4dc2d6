"""What an H200's hardware counted of 166 more items' kernels: the agreement reached since must not be lost.

The golden is `tests/golden/counters_held_out_h200`. When it was recorded no kernel of it had been looked at, and 75.0 %
of the time agreed. Every figure is a floor just under what was reached with the formulas that were added then.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import pytest

from analyzer.core.budget import Part
from benchmarks.verdicts.evaluate_counters import JudgedRecording, counter_section, judge
from benchmarks.verdicts.held_kernels import Held, agreed, byte_error, share_within
from tests.golden.archive import packed_files, zip_traces
from tests.golden.counters_h200.load import load

FOLDER: Final = Path(__file__).parents[2] / "golden" / "counters_held_out_h200"


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> JudgedRecording:
    return judge(load(FOLDER), zip_traces(tmp_path_factory.mktemp("held_out") / "traces.zip", FOLDER))


def _of(judged: JudgedRecording, item: str, kernel: str = "") -> Held:
    """The longest kernel of an item whose name holds `kernel`."""
    return max((h for h in judged.held if h.item == item and kernel in h.ours.name), key=lambda h: h.ours.ns)


def test_no_file_is_large_and_none_names_a_machines_folder() -> None:
    assert len(packed_files(FOLDER)) == 8


@pytest.mark.parametrize(
    ("figure", "floor"),
    [
        # 75.0 %, 87.9 %, 79.3 %, 78.9 % and 64.8 % when it was recorded.
        ("agreement by time, kernels ≥ 5 µs, unknown counted against us", 0.946),
        ("agreement by time where we judged and the throughputs are over 5 points apart", 0.97),
        ("not what is asked: the first figure, with either part right", 0.973),
        ("the bytes that we expect memory to move within 15 % of DRAM's, kernels larger than the L2, unknown", 0.929),
        ("not what is asked: all that a kernel touches within 15 % of DRAM's", 0.718),
    ],
)
def test_the_agreement_reached_is_kept(judged: JudgedRecording, figure: str, floor: float) -> None:
    (check,) = [c for c in counter_section(judged).checks if c.what.startswith(figure)]
    assert check.found is not None
    assert check.found >= floor


@pytest.mark.parametrize(("half", "before", "floor"), [(0, 0.792, 0.90), (1, 0.711, 0.915)])
def test_formulas_hold_on_the_half_that_gave_them_no_constant(
    judged: JudgedRecording, half: int, before: float, floor: float
) -> None:
    found = agreed([h for h in judged.of_issue if h.half == half])
    assert found is not None
    assert found >= floor > before


@pytest.mark.parametrize(("half", "floor"), [(0, 0.91), (1, 0.82)])
def test_bytes_less_what_the_cache_keeps_hold_on_both_halves(judged: JudgedRecording, half: int, floor: float) -> None:
    found = share_within([h for h in judged.large if h.half == half])
    assert found is not None
    assert found >= floor


def test_no_kernel_of_five_microseconds_is_left_without_a_class(judged: JudgedRecording) -> None:
    assert [h.item for h in judged.of_issue if not h.is_known] == []


@pytest.mark.parametrize(
    ("item", "kernel", "part"),
    [
        # What no formula counted when it was recorded.
        ("neighbours_fp32_200000x128", "", Part.LATENCY),
        ("upsample_bilinear_fp32_8x64x128x128", "", Part.LATENCY),
        ("upsample_nearest_fp16_2x640x32x32", "", Part.COMPUTE),
        ("cumsum_fp32_256x50257", "", Part.LATENCY),
        ("max_pool_fp16_nhwc_32x64x112x112", "", Part.COMPUTE),
        ("avg_pool_fp32_32x128x56x56", "", Part.COMPUTE),
        ("embedding_bag_fp32_500000x64", "EmbeddingBag", Part.COMPUTE),
        ("cache_write_bf16_16x2048x1024", "", Part.COMPUTE),
        ("cross_entropy_fp32_2048x32000", "nll_loss", Part.LATENCY),
        # An output that is given is not read.
        ("relu6_fp32_nhwc_32x96x112x112", "", Part.MEMORY),
        # A switch over the type of each of two inputs.
        ("residual_wide_bf16_4096x4096", "", Part.COMPUTE),
        ("log_softmax_bf16_2048x50257", "", Part.MEMORY),
        # Tiles of 32 × 32 for three channels.
        ("conv_7x7_s2_fp32_nchw_8x3x224x224x64", "nchwToNhwc", Part.COMPUTE),
        # Far from the power limit a kernel has a higher clock than the one that measured the peak.
        ("attention_flash_causal_bf16_1x32x2048x128", "", Part.LATENCY),
    ],
)
def test_a_kernel_is_under_the_roof_that_its_counters_show(
    judged: JudgedRecording, item: str, kernel: str, part: Part
) -> None:
    one = _of(judged, item, kernel)
    assert one.truth is part
    assert one.ours.part is part


@pytest.mark.parametrize("half", [0, 1])
def test_shares_of_products_are_those_of_the_counters(judged: JudgedRecording, half: int) -> None:
    """With the clock of the measured peak for all of them the medians were 1.10 and 1.09."""
    shares = [
        h.ours.compute_share / (h.counters.sm_percent / 100)
        for h in judged.of_issue
        if h.half == half and h.ours.compute_share and h.counters.sm_percent and _is_full_of_products(h)
    ]
    assert len(shares) > 10
    assert 0.96 < float(np.median(shares)) < 1.04


def _is_full_of_products(held: Held) -> bool:
    """Whether the tensor cores are the busiest part of the multiprocessors, and busy at all; not with `mma`."""
    tensor, sm = held.counters.tensor_percent or 0.0, held.counters.sm_percent or 0.0
    return bool(held.ours.flops) and tensor > 15 and abs(tensor - sm) < 1 and "flash_fwd" not in held.ours.name


@pytest.mark.parametrize("item", ["neighbours_fp32_200000x128", "mse_fp32_16777216", "relu6_fp32_nhwc_32x96x112x112"])
def test_what_a_kernel_moves_is_counted(judged: JudgedRecording, item: str) -> None:
    error = byte_error(_of(judged, item))
    assert error is not None
    assert abs(error) < 0.15


def test_rows_that_are_all_under_way_at_once_are_found_in_the_cache(judged: JudgedRecording) -> None:
    error = byte_error(_of(judged, "layer_norm_weighted_fp32_2048x5120"))
    assert error is not None
    assert abs(error) < 0.05


def test_what_the_cache_still_holds_of_the_writes_is_said(judged: JudgedRecording) -> None:
    (note,) = [n for n in counter_section(judged).notes if "DRAM had written" in n]
    assert "82% where a kernel ran alone, after a flush" in note
    assert "102% where a kernel ran after the kernels before it" in note

"""The sets that test others: how long each item takes at an H200's roofs, without one, and that they run small."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.verdicts.item import Item
from benchmarks.verdicts.items import FIFTH_ITEMS, FOURTH_ITEMS, HELD_OUT_ITEMS, THIRD_ITEMS, by_name
from benchmarks.verdicts.place import Place
from benchmarks.verdicts.stopwatch import Stopwatch
from benchmarks.verdicts.traced import trace_items

MOST_SHARE: Final = 0.05
LEAST_S: Final = 5e-6
PEAKS: Final = {"tf32": 400e12, "fp8": 1_470e12, "int8": 870e12, "fp32": 51e12}
HALF_PEAK: Final = 780e12
BYTES_PER_S: Final = 4.3e12
"""Dense matrix rates and bandwidth that were measured on an H200 (`tests/golden/counters_h200`)."""


def _as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _roof_s(item: Item) -> float:
    """At the nearer roof, its tensors read and its results written once; without any data."""
    place = Place("meta", None, _as_it_is)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        call = item.build(place)
        try:
            result = call.run()
        except NotImplementedError:
            result = None  # as many results as the data say
    moved = sum(t.nbytes for t in {id(t): t for t in call.tensors}.values()) + _bytes(result)
    kind = "tf32" if item.tf32 else next((k for k in PEAKS if f"_{k}" in item.name), None)
    peak = HALF_PEAK if kind is None else PEAKS[kind]
    return max(counter.get_total_flops() / peak, moved / BYTES_PER_S)


def _bytes(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.nbytes
    return sum(map(_bytes, value)) if isinstance(value, tuple | list) else 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "items",
    [HELD_OUT_ITEMS, THIRD_ITEMS, FOURTH_ITEMS, FIFTH_ITEMS],
    ids=["held_out", "third", "fourth", "fifth"],
)
def test_no_kernel_of_a_set_is_foretold_to_outweigh_the_others(items: tuple[Item, ...]) -> None:
    # A block of a model is many kernels.
    found = {item.name: _roof_s(item) for item in items if not item.name.startswith("block_")}
    total = sum(found.values())
    assert [name for name, s in found.items() if s > MOST_SHARE * total] == []
    assert sum(s > LEAST_S for s in found.values()) >= 110, "with those of the blocks over 130 that count"
    assert sum(s > 80e-6 for name, s in found.items() if "project" in name or "mm_" in name) >= 6, "big products stay"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [
        "gradient_bf16_8192x1024x4096",
        "scores_fp32_2048x27x64x27",
        "conv_g32_3x3_fp16_nhwc_16x256x56x56",
        "attention_packed_flash_fp16_32x12x197x64",
        "batch_norm_fp16_nhwc_64x128x28x28",
        "cross_entropy_fp32_2048x32000",
        "foreach_add_fp32_24x1024x1024",
        "cache_write_bf16_16x2048x1024",
        "masked_fill_fp16_8x16x768x768",
        "fused_adamw_fp32_12x768x768",
        "add_swapped_bf16_swapped_4096x4096",
        "batch_norm_fp32_nhwc_16x96x112x112",
        "windows_fp16_64x64x64x96",
        "more_heads_bf16_4x4x2048x128",
        "embedding_gradient_fp32_2048x768",
        "rotary_bf16_8x1024x28x128",
        "rows_mm_fp8_1024x4096x6144",
        "gru_fp32_6x96x1024",
        "conv_backward_3x3_g1_fp16_32x128x28x28x128",
        "attention_gqa4_flash_fp16_4x16x1536x64",
        "attention_backward_flash_causal_bf16_4x16x1024x64",
        "group_norm_backward_fp16_8x320x32x32",
        "adamw_foreach_fp32_8x768x1000",
        "unique_i64_4194304",
        "grid_sample_fp32_4x64x128x128",
        "conv_separable_fp16_nhwc_16x192x48x48x256",
        "by_head_bf16_4x700x12x96",
        "batch_norm_backward_fp32_24x128x48x48",
        "adam_fused_fp32_9x1024x700",
        "avg_pool_backward_fp32_12x96x80x80",
        "put_alone_fp16_40000x300",
        "windows_back_fp16_1024x7x7x128",
        "block_state_space_24x256x1536",
        "block_graph_attention_60000x96",
    ],
)
def test_an_item_runs_in_miniature(name: str, tmp_path: Path) -> None:
    with torch.no_grad():
        traced = trace_items([by_name(name)], "cpu", tmp_path, Stopwatch(6000.0, "test"))
    assert [(i.name, i.error, i.step) for i in traced.items] == [(name, None, 0)]

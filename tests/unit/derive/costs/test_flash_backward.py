"""The three kernels of FlashAttention-2's backward pass: each moves what it does, and one alone multiplies."""

from __future__ import annotations

import pytest

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.fused_attention import SYNC_PAIR
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.stages import stage_of
from analyzer.derive.costs.table import cost_of

OP = "aten::_flash_attention_backward"
TRAITS = "pytorch_flash::Flash_bwd_kernel_traits<128, 64, 128, 8, 2, 4, 2, false, false, cutlass::half_t, x>"
PREPARES = f"void pytorch_flash::flash_bwd_dot_do_o_kernel<true, {TRAITS}>(x)"
MULTIPLIES = f"void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<{TRAITS}, false, true>(x)"
CONVERTS = f"void pytorch_flash::flash_bwd_convert_dq_kernel<{TRAITS}>(x)"
LENGTH, HEADS, WIDTH, BATCH = 1_024, 16, 128, 2
HALF = BATCH * LENGTH * HEADS * WIDTH * 2
SUMS = 2 * HALF
LOGS = BATCH * HEADS * LENGTH * 4


def _detail(*, causal: bool = False, length: int = LENGTH, width: int = WIDTH) -> OpDetail:
    tensors = ((BATCH, length, HEADS, width),) * 5
    values = ("",) * 8 + (str(length), str(length), "0.", str(causal), *("",) * 5)
    dtypes = (*("c10::Half",) * 5, "float", "", "", *("Scalar",) * 4, *("",) * 5)
    return OpDetail(shapes=(*tensors, (BATCH, HEADS, length), *((),) * 11), dtypes=dtypes, values=values)


def _whole(detail: OpDetail) -> Cost:
    whole = cost_of(OP, detail, MULTIPLIES)
    assert whole is not None
    return whole


def _step(kernel: str, detail: OpDetail) -> Cost:
    stage = stage_of(OP, detail, kernel, _whole(detail))
    assert stage is not None
    assert not stage.is_beside
    return stage.cost


def test_the_first_reads_output_and_gradient_and_clears_the_sums() -> None:
    found = _step(PREPARES, _detail())
    assert (sum(found.reads), sum(found.writes)) == (2 * HALF, SUMS + LOGS)
    assert found.flops == 0


def test_the_last_converts_the_sums() -> None:
    found = _step(CONVERTS, _detail())
    assert (found.reads, found.writes) == ((SUMS,), (HALF,))
    assert found.flops == 0


def test_the_sums_are_of_whole_tiles() -> None:
    found = _step(CONVERTS, _detail(length=1_000, width=80))
    assert found.reads == (BATCH * HEADS * 1_024 * 96 * 4,)


def test_the_second_does_all_the_products_and_adds_to_the_sums() -> None:
    whole, found = _whole(_detail()), _step(MULTIPLIES, _detail())
    assert found.flops == whole.flops == 10 * BATCH * HEADS * LENGTH * LENGTH * WIDTH
    assert sum(found.reads) == 4 * HALF + SUMS + 2 * LOGS
    assert sum(found.writes) == SUMS + 2 * HALF
    assert found.bytes == sum(found.reads) + sum(found.writes)
    assert found.masked_flops == 0
    assert found.instructions == SYNC_PAIR * BATCH * HEADS * LENGTH * LENGTH


def test_shared_memory_is_asked_for_every_operand_by_each_row_or_column_of_warps() -> None:
    # Tile of 64 queries and 128 keys, eight warps: 2 x 4 for scores, 4 x 2 for keys and values, 2 x 4 for queries.
    q, k, s = 64 * 128, 128 * 128, 64 * 128
    scores = 2 * (4 * q + 2 * k)
    keys_and_values = 2 * (2 * s + 4 * q)
    queries = 4 * s + 2 * k
    kept_and_brought = 2 * s + 2 * q
    tiles = BATCH * HEADS * (LENGTH // 64) * (LENGTH // 128)
    added = 4 * q
    slots = tiles * (
        2 * (scores + keys_and_values + queries + kept_and_brought) + added
    )  # 128 bytes, and 128 slots, a clock
    assert _step(MULTIPLIES, _detail()).near == slots
    assert _step(MULTIPLIES, _detail()).is_fed


def test_each_block_takes_its_keys_and_values_in_and_their_gradients_out() -> None:
    without = _step(MULTIPLIES, _detail()).near
    stage = stage_of(OP, _detail(), MULTIPLIES, _whole(_detail()), Launch((8, 2, 16), 256))
    assert stage is not None
    assert stage.cost.near is not None
    assert without is not None
    # In, and through shared memory out again: four times a tile of each, 128 bytes and slots a clock.
    assert stage.cost.near - without == 8 * 2 * 16 * 4 * 2 * 128 * 128 * 2


def test_under_a_causal_mask_whole_tiles_are_multiplied() -> None:
    whole, found = _whole(_detail(causal=True)), _step(MULTIPLIES, _detail(causal=True))
    assert whole.flops
    pairs = sum(64 * min(-(-(top + 64) // 128) * 128, LENGTH) for top in range(0, LENGTH, 64))
    assert (whole.flops + found.masked_flops) / whole.flops == pytest.approx(pairs / (LENGTH * (LENGTH + 1) / 2))


def test_packed_sequences_and_names_without_a_tile_are_left_to_the_operator() -> None:
    packed = OpDetail(shapes=((2_048, 16, 128),) * 5, dtypes=("c10::Half",) * 5)
    assert stage_of(OP, packed, CONVERTS, _whole(_detail())) is None
    assert stage_of(OP, _detail(), "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<x>", _whole(_detail())) is None

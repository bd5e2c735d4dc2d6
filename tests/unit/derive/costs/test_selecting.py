"""The passes of `topk` that go over the whole input move it, and the rest of its kernels is not charged for it."""

from __future__ import annotations

import pytest

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.selecting import (
    COUNTING_THREAD,
    DIGIT_SLOTS,
    PICK_SLOTS,
    PICKING_THREAD,
    SUMMING_COUNT,
    SUMMING_THREAD,
    WITHIN_THREAD,
)
from analyzer.derive.costs.stages import stage_of
from analyzer.derive.costs.table import cost_of

TOPK = OpDetail(
    shapes=((32, 8_192), (), (), (), ()),
    dtypes=("c10::BFloat16", *("Scalar",) * 4),
    values=("", "8", "-1", "True", "True"),
    strides=((8_192, 1), (), (), (), ()),
)
READ = 32 * 8_192 * 2
COUNTS = "void at::native::mbtopk::computeBlockDigitCounts<c10::BFloat16, unsigned int, unsigned int, 2>(x)"
SUMS = "at::native::mbtopk::computeDigitCumSum(short*, unsigned int*, unsigned int)"
FINDS = "void at::native::mbtopk::computeBlockwiseWithinKCounts<unsigned int, c10::BFloat16>(x)"
PICKS = "void at::native::mbtopk::gatherTopK<c10::BFloat16, unsigned int, 2>(x)"


def _step(kernel: str, launch: Launch | None) -> Cost | None:
    whole = cost_of("aten::topk", TOPK, kernel, launch)
    assert whole is not None
    assert whole.is_floor
    stage = stage_of("aten::topk", TOPK, kernel, whole, launch)
    assert stage is None or (not stage.is_shared and not stage.is_beside)
    return None if stage is None else stage.cost


def test_a_pass_that_counts_digits_reads_everything_and_writes_counts_for_each_block() -> None:
    found = _step(COUNTS, Launch((64, 1, 1), 256))
    assert found is not None
    assert (found.reads, found.writes) == ((READ,), (64 * 256 * 2,))
    assert found.instructions == DIGIT_SLOTS * 32 * 8_192 + COUNTING_THREAD * 64 * 256
    assert not found.is_floor
    assert not found.is_counted


def test_the_pass_that_picks_reads_everything_and_adds_up_once_for_each_element() -> None:
    found = _step(PICKS, Launch((64, 1, 1), 256))
    assert found is not None
    assert (found.reads, found.writes) == ((READ,), (32 * 8 * (2 + 8),))
    assert found.instructions == PICK_SLOTS * 32 * 8_192 + PICKING_THREAD * 64 * 256
    assert not found.is_counted


def test_what_all_blocks_of_a_row_counted_is_summed_up() -> None:
    found = _step(SUMS, Launch((32, 1, 1), 256))
    assert found is not None
    # Rows of 8,192 may be a block each: 64 elements a thread.
    assert (found.reads, found.writes) == ((32 * 256 * 2,), (32 * 256 * 4,))
    assert found.instructions == 32 * 256 * (SUMMING_THREAD + SUMMING_COUNT)
    assert not found.is_floor


def test_each_block_finds_the_digit_of_its_row_in_the_sums() -> None:
    found = _step(FINDS, Launch((64, 1, 1), 256))
    assert found is not None
    assert (found.reads, found.writes) == ((32 * 256 * 4, 64 * 256 * 2), (64 * 4,))
    assert found.instructions == 64 * 256 * WITHIN_THREAD


@pytest.mark.parametrize(
    ("kernel", "launch"),
    [
        (COUNTS, None),
        (SUMS, None),
        (FINDS, None),
        ("void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(x)", Launch((32, 1, 1), 1_024)),
    ],
)
def test_other_kernels_are_no_such_pass(kernel: str, launch: Launch | None) -> None:
    assert _step(kernel, launch) is None

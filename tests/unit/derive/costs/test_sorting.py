"""Rows that a block sorts stay in its shared memory between the passes."""

from __future__ import annotations

import random

import pytest

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.sorting import RANK_WAVEFRONTS, SCATTER
from analyzer.derive.costs.stages import stage_of
from analyzer.derive.costs.table import cost_of
from analyzer.derive.costs.tiled import SLOTS_A_WAVEFRONT

KERNEL = "void at::native::radixSortKVInPlace<2, -1, 32, 32, float, long, unsigned int>(x)"


BLOCKS = Launch((64, 1, 1), 32)


def _sorted(rows: int, width: int, dtype: str = "float", launch: Launch | None = BLOCKS) -> Cost | None:
    detail = OpDetail(
        shapes=((rows, width), (), ()),
        dtypes=(dtype, "Scalar", "Scalar"),
        values=("", "-1", "False"),
        strides=((width, 1), (), ()),
    )
    whole = cost_of("aten::sort", detail, KERNEL, launch)
    assert whole is not None
    stage = stage_of("aten::sort", detail, KERNEL, whole, launch)
    return None if stage is None else stage.cost


@pytest.mark.parametrize(("dtype", "item", "passes", "words"), [("float", 4, 8, 3), ("c10::Half", 2, 4, 3)])
def test_each_pass_goes_through_counters_keys_and_places(dtype: str, item: int, passes: int, words: int) -> None:
    found = _sorted(64, 1024, dtype)
    assert found is not None
    moved = 64 * 1024 * (item + 8)
    assert (found.reads, found.writes) == ((moved,), (moved,))
    assert not found.is_floor
    wavefronts = 64 * 1024 / 32 * passes * (RANK_WAVEFRONTS + words * (SCATTER + 1))
    assert found.near == round(wavefronts * SLOTS_A_WAVEFRONT)
    assert not found.is_fed


def test_a_row_that_does_not_fill_its_block_is_filled_up() -> None:
    full, part = _sorted(64, 1024), _sorted(64, 600)
    assert full is not None
    assert part is not None
    assert full.near == part.near
    assert part.bytes < full.bytes


def test_without_its_launch_nothing_is_said_of_it() -> None:
    assert _sorted(64, 1024, launch=None) is None


def test_the_fullest_bank_of_32_throws_has_so_many() -> None:
    draw = random.Random(0)
    most = [
        max(map(throws.count, set(throws))) for throws in ([draw.randrange(32) for _ in range(32)] for _ in range(2000))
    ]
    assert sum(most) / len(most) == pytest.approx(SCATTER, abs=0.1)

"""Rows found by an index move no more than themselves; elements found by one may move a sector each, or two."""

from __future__ import annotations

import pytest

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.placing import GATHER_SLOTS, SWAP_SLOTS
from analyzer.derive.costs.stages import stage_of
from analyzer.derive.costs.table import cost_of

ROWS = "vectorized_gather_kernel<16, long>(char*, char*, long*)"
INNER = "_scatter_gather_elementwise_kernel<128, 8, _cuda_scatter_gather_internal_kernel<true, float, long>::operator()"
LAUNCH = Launch((100, 1, 1), 32)


def _step(op: str, detail: OpDetail, kernel: str, launch: Launch | None = LAUNCH) -> Cost | None:
    whole = cost_of(op, detail, kernel, launch)
    assert whole is not None
    assert whole.is_floor
    stage = stage_of(op, detail, kernel, whole, launch)
    return None if stage is None else stage.cost


def _gather(width: int, *, spread: bool, dim: str = "0") -> OpDetail:
    return OpDetail(
        shapes=((1_000, width), (), (100, width), ()),
        dtypes=("float", "Scalar", "long int", "Scalar"),
        values=("", dim, "", "False"),
        strides=((width, 1), (), (1, 0) if spread else (width, 1), ()),
    )


@pytest.mark.parametrize(
    ("detail", "is_floor"),
    [
        (_gather(16, spread=True), False),
        (_gather(4, spread=True), True),  # half a sector each
        (_gather(16, spread=False), True),
        (_gather(16, spread=True, dim="1"), True),  # a column that is found again and again
    ],
)
def test_only_rows_of_a_sector_and_more_are_all_that_moves(detail: OpDetail, is_floor: bool) -> None:
    found = _step("aten::gather", detail, ROWS)
    assert found is not None
    assert found.is_floor is is_floor
    assert found.instructions == GATHER_SLOTS * 100 * 32


@pytest.mark.parametrize(
    ("reduce", "slots"),
    [
        ("<ReduceMaximum>", SWAP_SLOTS),
        ("<ReduceMinimum>", SWAP_SLOTS),
        ("<ReduceMultiply>", SWAP_SLOTS),
        ("<ReduceAdd>", 0),
        ("<TensorAssign>", 0),
    ],
)
def test_what_no_instruction_adds_in_memory_is_swapped_in(reduce: str, slots: int) -> None:
    detail = OpDetail(
        shapes=((1_000, 16), (), (100, 16), (100, 16), (), ()),
        dtypes=("float", "Scalar", "long int", "float", "", "Scalar"),
        values=("", "0", "", "", "", "True"),
        strides=((16, 1), (), (1, 0), (16, 1), (), ()),
    )
    found = _step("aten::scatter_reduce_", detail, INNER + reduce)
    assert found is not None
    assert found.instructions == (GATHER_SLOTS + slots) * 100 * 16
    assert found.is_counted is (slots == 0)
    assert not found.is_floor


SELECTED = OpDetail(shapes=((10_000,), (10_000,)), dtypes=("float", "bool"), values=("", ""), strides=((1,), (1,)))
ELEMENTS = "index_elementwise_kernel<128, 4, gpu_index_kernel<x>>(x)"


def test_a_mask_selects_as_many_as_its_kernel_was_launched_for() -> None:
    found = _step("aten::masked_select", SELECTED, ELEMENTS, Launch((2, 1, 1), 128))
    assert found is not None
    # Places in order touch each sector once, and 1,024 of them a sector each at most.
    assert (found.reads, found.writes) == ((1_024 * 32, 1_024 * 8), (1_024 * 4,))
    assert found.instructions == GATHER_SLOTS * 1_024
    dense = _step("aten::masked_select", SELECTED, ELEMENTS, Launch((40, 1, 1), 128))
    assert dense is not None
    assert (dense.reads, dense.writes) == ((40_000, 80_000), (40_000,))
    assert _step("aten::masked_select", SELECTED, ELEMENTS, None) is None


JOIN = "CatArrayBatchedCopy_alignedK_contig<at::native::(anonymous namespace)::OpaqueType<4u>, unsigned int, 2, 128>(x)"


def _joined(shapes: tuple[tuple[int, ...], ...], dim: str) -> Cost:
    detail = OpDetail(shapes=((), ()), dtypes=("TensorList", "Scalar"), values=("", dim), lists=(shapes,))
    found = cost_of("aten::cat", detail, JOIN, LAUNCH)
    assert found is not None
    assert (found.reads, found.writes) == ((2 * 4_000,), (2 * 4_000,))
    return found


def test_numbers_stacked_last_cross_a_sector_each_and_fill_it_again_for_each_tensor() -> None:
    found = _joined(((1_000, 1), (1_000, 1)), "-1")
    assert found.crossings == 8_000 + 2_000 * 32
    assert (found.rereads, found.reread_span) == (3 * 8_000, 16_000)


@pytest.mark.parametrize(
    ("shapes", "dim"), [(((1, 1_000), (1, 1_000)), "1"), (((500, 2), (500, 2)), "0"), (((1_000, 1), (1_000, 1)), "")]
)
def test_tensors_that_lie_one_behind_the_other_move_once(shapes: tuple[tuple[int, ...], ...], dim: str) -> None:
    found = _joined(shapes, dim)
    assert (found.crossings, found.rereads) == (None, 0)

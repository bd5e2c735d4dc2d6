"""Pointwise Triton kernels over tensors that lie across what they write: each thread loads a line of its own."""

from __future__ import annotations

import pytest

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.inductor import triton
from analyzer.derive.costs.tiled import SLOTS_A_WAVEFRONT

CHANNELS_LAST = ((2, 64, 16, 16), (16384, 1, 1024, 64))
CONTIGUOUS = ((2, 64, 16, 16), (16384, 256, 16, 1))
HALVED = ((2, 64, 8, 8), (4096, 64, 8, 1))
DOUBLED = ((2, 64, 32, 32), (65536, 1024, 32, 1))
COUNT = 2 * 64 * 16 * 16
BIAS = ((64,), (1,))

Tensor = tuple[tuple[int, ...], tuple[int, ...]]


def _near(*tensors: Tensor, name: str = "triton_poi_fused_add_0", sizes: int = 1, dtype: str = "float") -> int | None:
    detail = OpDetail(
        shapes=(*(shape for shape, _ in tensors), *((),) * sizes),
        strides=(*(strides for _, strides in tensors), *((),) * sizes),
        dtypes=(*(dtype,) * len(tensors), *("Scalar",) * sizes),
        values=(*("",) * len(tensors), *(str(COUNT),) * sizes),
    )
    found = triton(name, detail)
    assert found is not None
    return found.near


@pytest.mark.parametrize(("read", "lines"), [(CONTIGUOUS, COUNT), (HALVED, COUNT), (DOUBLED, 4 * COUNT)])
def test_each_element_of_the_larger_is_a_line(read: Tensor, lines: int) -> None:
    assert _near(read, BIAS, CHANNELS_LAST) == lines * SLOTS_A_WAVEFRONT
    assert _near(read, read, CHANNELS_LAST) == 2 * lines * SLOTS_A_WAVEFRONT


def test_what_may_be_touched_in_part_is_no_more_than_what_is_computed() -> None:
    assert _near(DOUBLED, CHANNELS_LAST, name="triton_poi_fused_slice_0") == COUNT * SLOTS_A_WAVEFRONT
    assert _near(HALVED, CHANNELS_LAST, name="triton_poi_fused__unsafe_index_0") == COUNT * SLOTS_A_WAVEFRONT


@pytest.mark.parametrize("tensors", [(CHANNELS_LAST, CHANNELS_LAST), (BIAS, CONTIGUOUS), (CONTIGUOUS, CONTIGUOUS)])
def test_what_lies_alike_shares_its_lines(tensors: tuple[Tensor, ...]) -> None:
    assert _near(*tensors) is None


def test_neighbours_within_a_line_are_loaded_together() -> None:
    near, far = ((16, 31), (31, 1)), ((16, 32), (32, 1))
    assert _near(near, ((16, 31), (1, 16))) is None
    assert _near(far, ((16, 32), (1, 16))) == 512 * SLOTS_A_WAVEFRONT
    assert _near(far, ((16, 32), (1, 16)), dtype="c10::Half") is None


def test_a_tile_of_two_indices_and_a_reduction_are_walked_in_other_ways() -> None:
    assert _near(CONTIGUOUS, CHANNELS_LAST, sizes=2) is None
    assert _near(CONTIGUOUS, CHANNELS_LAST, name="triton_red_fused_mean_0") is None


def test_without_strides_nothing_is_said() -> None:
    shapes, dtypes = (CONTIGUOUS[0], CHANNELS_LAST[0], ()), ("float", "float", "Scalar")
    for strides in ((), ((), (), ()), (CONTIGUOUS[1], ()), ((), CHANNELS_LAST[1], ())):
        found = triton("triton_poi_fused_add_0", OpDetail(shapes=shapes, dtypes=dtypes, strides=strides))
        assert found is not None
        assert found.near is None

"""Warps are followed over strided tensors: each sector that one touches crosses, however little of it is wanted."""

from __future__ import annotations

import pytest

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.strided import crossings


def _copy(dims: tuple[int, ...], to: tuple[int, ...], of: tuple[int, ...], dtype: str = "float") -> OpDetail:
    return OpDetail(shapes=(dims, dims, ()), dtypes=(dtype, dtype, "Scalar"), strides=(to, of, ()))


def test_a_dense_copy_crosses_as_much_as_it_moves() -> None:
    assert crossings(_copy((64, 64), (64, 1), (64, 1))) == 2 * 64 * 64 * 4


@pytest.mark.parametrize(("dtype", "item"), [("c10::BFloat16", 2), ("float", 4), ("double", 8)])
def test_a_transpose_reads_a_sector_for_each_element(dtype: str, item: int) -> None:
    count = 256 * 256
    assert crossings(_copy((256, 256), (256, 1), (1, 256), dtype)) == count * item + count * 32


def test_a_stride_of_two_reads_twice_as_much() -> None:
    assert crossings(_copy((1024,), (1,), (2,))) == 1024 * 4 + 2 * 1024 * 4


def test_a_broadcast_row_is_read_as_it_lies_and_a_broadcast_column_once_a_warp() -> None:
    dims = (64, 64)
    row = OpDetail(shapes=(dims, (64,)), dtypes=("float", "float"), strides=((64, 1), (1,)))
    column = OpDetail(shapes=(dims, (64, 1)), dtypes=("float", "float"), strides=((64, 1), (1, 1)))
    assert crossings(row) == 2 * 64 * 64 * 4
    assert crossings(column) == 64 * 64 * 4 + 64 * 64 // 32 * 32


def test_what_is_not_told_is_not_guessed() -> None:
    assert crossings(OpDetail()) is None
    assert crossings(OpDetail(shapes=((4, 4),), dtypes=("float",))) is None
    assert crossings(OpDetail(shapes=((4, 4), (3,)), dtypes=("float", "float"), strides=((4, 1), (1,)))) is None
    assert crossings(_copy((0, 4), (4, 1), (4, 1))) == 0

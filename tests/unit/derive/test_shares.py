"""Pieces add up to the whole."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.derive.shares import split


@settings(deadline=None)
@given(st.integers(0, 10**18), st.lists(st.floats(0, 1e12), min_size=1, max_size=9))
def test_the_pieces_add_up_exactly(total: int, weights: list[float]) -> None:
    pieces = split(total, weights)
    assert sum(pieces) == total
    assert min(pieces) >= 0


@settings(deadline=None)
@given(st.integers(0, 10**9), st.lists(st.integers(1, 10**6), min_size=1, max_size=9))
def test_no_piece_is_more_than_one_from_its_exact_share(total: int, weights: list[int]) -> None:
    for piece, weight in zip(split(total, [float(w) for w in weights]), weights, strict=True):
        assert abs(piece - total * weight / sum(weights)) <= 1


def test_weights_of_nothing_give_all_to_the_first() -> None:
    assert split(7, [0.0, 0.0]) == (7, 0)


def test_the_largest_remainder_gets_the_odd_nanosecond() -> None:
    assert split(10, [1.0, 1.0, 1.0]) == (4, 3, 3)
    assert split(10, [1.4, 1.4, 7.2]) == (2, 1, 7)


@pytest.mark.parametrize(("total", "weights"), [(-1, [1.0]), (1, [-1.0]), (1, [])])
def test_what_cannot_be_split_raises(total: int, weights: list[float]) -> None:
    with pytest.raises(ValueError, match=r"negative|nothing"):
        split(total, weights)

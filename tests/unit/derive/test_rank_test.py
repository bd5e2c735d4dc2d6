"""The rank test, held against published tables and against counting every arrangement."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.derive.rank_test import EXACT_SAMPLES, smallest_p, two_sided

# Critical values of U, two-sided (Mann & Whitney 1947; Siegel 1956, table K): the largest U with p at most so much.
CRITICAL = (
    (5, 5, 2, 0.05), (6, 6, 5, 0.05), (7, 7, 8, 0.05), (8, 8, 13, 0.05), (10, 10, 23, 0.05), (20, 20, 127, 0.05),
    (5, 8, 6, 0.05), (9, 12, 26, 0.05), (5, 5, 0, 0.01), (8, 8, 7, 0.01), (10, 10, 16, 0.01), (20, 20, 105, 0.01),
)  # fmt: skip

small = st.lists(st.integers(0, 5), min_size=1, max_size=5)


def with_u(first: int, second: int, u: int) -> tuple[list[int], list[int]]:
    """Two samples without ties in which `u` pairs of one of each have the first above the second."""
    # The largest of the first steps over as many of the second as still fit.
    places = []
    left = u
    for _ in range(first):
        over = min(second, left)
        places.append(over)
        left -= over
    ordered = sorted(places)
    return [over * 100 + n for n, over in enumerate(ordered)], [n * 100 + 50 for n in range(second)]


@pytest.mark.parametrize(("first", "second", "u", "p"), CRITICAL)
def test_it_agrees_with_the_published_critical_values(first: int, second: int, u: int, p: float) -> None:
    assert two_sided(*with_u(first, second, u)) <= p
    assert two_sided(*with_u(first, second, u + 1)) > p


def test_it_agrees_with_the_example_of_scipys_documentation() -> None:
    assert two_sided([19, 22, 16, 29, 24], [20, 11, 17, 12]) == pytest.approx(0.1111111111111111)


@given(small, small)
def test_with_ties_it_is_the_share_of_all_arrangements_at_least_so_uneven(first: list[int], second: list[int]) -> None:
    pooled = [*first, *second]
    rank = {value: sum(v < value for v in pooled) + (sum(v == value for v in pooled) + 1) / 2 for value in pooled}
    sums = [sum(rank[pooled[i]] for i in chosen) for chosen in combinations(range(len(pooled)), len(first))]
    mine = sum(rank[value] for value in first)
    low, high = sum(s <= mine + 1e-9 for s in sums) / len(sums), sum(s >= mine - 1e-9 for s in sums) / len(sums)
    assert two_sided(first, second) == pytest.approx(min(1.0, 2 * min(low, high)))


@given(small, small)
def test_swapping_the_sides_changes_nothing(first: list[int], second: list[int]) -> None:
    assert two_sided(first, second) == pytest.approx(two_sided(second, first))


@pytest.mark.parametrize("shift", [0.0, 0.3, 0.8])
def test_the_approximation_takes_over_without_a_jump(shift: float) -> None:
    draws = np.random.default_rng(1)
    half = EXACT_SAMPLES // 2
    first, second = draws.normal(size=half).tolist(), draws.normal(shift, size=half).tolist()
    exact = two_sided(first, second)
    # One more sample on each side, which are equal, turns the approximation on and hardly adds evidence.
    assert two_sided([*first, 0.4], [*second, 0.4]) == pytest.approx(exact, abs=0.03)


def test_equal_samples_differ_in_nothing() -> None:
    assert two_sided([5] * 7, [5] * 7) == 1.0
    assert two_sided([5] * 60, [5] * 60) == 1.0


def test_the_least_probability_is_that_of_two_sets_apart() -> None:
    assert two_sided(range(7), range(10, 17)) == pytest.approx(smallest_p(7, 7))
    assert smallest_p(6, 6) > 0.002 > smallest_p(7, 7)


def test_an_empty_side_is_refused() -> None:
    with pytest.raises(ValueError, match="both sides"):
        two_sided([], [1])

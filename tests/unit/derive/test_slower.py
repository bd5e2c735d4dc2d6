"""SLOWER only where a factor and a rank test agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.samples import Samples
from analyzer.core.trial import Change
from analyzer.derive.slower import STORED_FACTOR, TURN_FACTOR, compare_turns, turns_needed


def turns(seed: int, count: int = 36, *, slower: float = 1.0, noise: float = 0.01) -> tuple[Samples, ...]:
    """Turns of five steps of 10 ms."""
    draws = np.random.default_rng(seed)
    levels = draws.normal(1.0, noise, count) * slower
    return tuple(Samples(tuple(int(level * n) for n in draws.normal(1e7, 1e4, 5))) for level in levels)


def test_five_per_cent_are_found_in_turn_and_are_no_alarm_against_stored_samples() -> None:
    base, head = turns(1), turns(2, slower=1.05)
    assert compare_turns(base, head, TURN_FACTOR, in_turn=True).outcome is Change.SLOWER
    assert compare_turns(base, head, STORED_FACTOR, in_turn=False).outcome is Change.SAME


def test_a_difference_below_the_factor_is_the_same_however_sure() -> None:
    found = compare_turns(turns(1, noise=0.001), turns(2, slower=1.02, noise=0.001), TURN_FACTOR, in_turn=True)
    assert found.p < 1e-6
    assert found.outcome is Change.SAME


def test_a_ratio_above_the_factor_that_the_ranks_do_not_bear_is_noise() -> None:
    base, head = turns(1, 4), turns(2, 4, slower=1.3)
    found = compare_turns(base, head, TURN_FACTOR, in_turn=True)
    assert found.ratio > 1.2
    assert found.outcome is Change.NOISY, "four turns a side can prove nothing"


def test_wide_noise_is_never_called_the_same() -> None:
    assert (
        compare_turns(turns(1, 8, noise=0.3), turns(2, 8, noise=0.3), TURN_FACTOR, in_turn=True).outcome is Change.NOISY
    )


def test_the_fewest_turns_are_those_with_which_the_test_can_say_anything() -> None:
    assert turns_needed() == 7


def test_a_drift_of_both_sides_cancels_when_taken_in_turn() -> None:
    drift = [1 + n / 20 for n in range(20)]
    base = tuple(Samples((int(1e7 * d),)) for d in drift)
    head = tuple(Samples((int(1.01e7 * d),)) for d in drift)
    assert compare_turns(base, head, TURN_FACTOR, in_turn=True).outcome is Change.SAME
    assert compare_turns(base, head, TURN_FACTOR, in_turn=False).outcome is Change.NOISY


def test_the_times_of_pairs_never_say_the_opposite_of_their_ratio() -> None:
    """Turns of a machine that drifts: by the medians of the sides the head is 5 % faster, by the pairs 2 % slower."""
    levels = ((100, 102), (200, 190), (198, 202), (100, 102), (202, 188))
    base = tuple(Samples((one * 1000,)) for one, _ in levels)
    head = tuple(Samples((other * 1000,)) for _, other in levels)
    found = compare_turns(base, head, TURN_FACTOR, in_turn=True)
    assert found.ratio == pytest.approx(1.02, abs=0.001)
    assert (found.base_ns, found.head_ns) in {(100_000, 102_000), (198_000, 202_000)}
    apart = compare_turns(base, head, TURN_FACTOR, in_turn=False)
    assert (apart.base_ns, apart.head_ns, apart.is_paired) == (198_000, 188_000, False)
    assert apart.ratio == pytest.approx(188 / 198)


@given(st.integers(0, 10_000), st.integers(2, 30), st.floats(0.5, 2.0))
def test_times_and_ratio_are_on_one_side(seed: int, count: int, slower: float) -> None:
    base, head = turns(seed, count, noise=0.2), turns(seed + 1, count, slower=slower, noise=0.2)
    for in_turn in (True, False):
        found = compare_turns(base, head, TURN_FACTOR, in_turn=in_turn)
        if abs(found.ratio - 1) > 0.1:
            assert (found.head_ns > found.base_ns) == (found.ratio > 1)


@given(st.integers(0, 10_000), st.floats(0.5, 2.0))
def test_swapping_the_sides_inverts_the_verdict(seed: int, slower: float) -> None:
    base, head = turns(seed, 12), turns(seed + 1, 12, slower=slower)
    there, back = (compare_turns(*pair, TURN_FACTOR, in_turn=True) for pair in ((base, head), (head, base)))
    opposite = {Change.SLOWER: Change.FASTER, Change.FASTER: Change.SLOWER}
    assert back.p == pytest.approx(there.p)
    if there.outcome in opposite and abs(slower - 1) > 0.1:
        assert back.outcome is opposite[there.outcome]


@given(st.integers(0, 10_000), st.integers(1, 30))
def test_a_thing_compared_with_itself_is_never_slower_or_faster(seed: int, count: int) -> None:
    same = turns(seed, count, noise=0.2)
    found = compare_turns(same, same, TURN_FACTOR, in_turn=True)
    assert found.outcome is Change.SAME
    assert found.ratio == 1.0

"""What a comparison says it could have seen: never less than its factor, more under more noise, and true."""

from __future__ import annotations

import numpy as np
import pytest

from analyzer.core.samples import Samples
from analyzer.core.trial import Change
from analyzer.derive.rank_test import pairs_needed, two_sided
from analyzer.derive.seen_slowdown import seen_slowdown
from analyzer.derive.slower import P_LIMIT, STORED_FACTOR, TURN_FACTOR, compare_turns, turns_needed

PAIRS, TURNS = 3, 12


def turns(levels: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[Samples, ...]:
    return tuple(Samples((round(level),)) for level in levels)


def sides(noise: float, seed: int, slower: float = 1.0, between: float = 0.0) -> tuple[tuple[Samples, ...], ...]:
    """Base and head in turn: `noise` of a turn against the next, `between` of a process against the next."""
    random = np.random.default_rng(seed)
    return tuple(
        turns(
            1e7 * factor * np.repeat(random.normal(1, between, PAIRS), TURNS) * random.normal(1, noise, PAIRS * TURNS)
        )
        for factor in (1.0, slower)
    )


def seen(noise: float, seed: int = 1, between: float = 0.0) -> float:
    found = seen_slowdown(*sides(noise, seed, between=between), TURN_FACTOR, in_turn=True, processes=PAIRS)
    assert found is not None
    return found


def test_without_noise_it_is_what_the_factor_lets_pass() -> None:
    assert seen(0.0) == pytest.approx(TURN_FACTOR - 1, abs=1e-6)


def test_more_noise_hides_more() -> None:
    found = [seen(noise) for noise in (0.01, 0.03, 0.1, 0.3)]
    assert found == sorted(found)
    assert found[0] >= TURN_FACTOR - 1
    assert found[-1] > 0.2, "with a third of noise nobody sees five per cent"
    assert seen(0.01, between=0.05) > 0.05, "what one process differs from the next by hides as much"


@pytest.mark.parametrize(("noise", "between"), [(0.02, 0.005), (0.05, 0.005), (0.1, 0.02)])
def test_a_slow_down_of_that_size_is_found(noise: float, between: float) -> None:
    size = float(np.median([seen(noise, seed, between) for seed in range(3)]))
    verdicts = [
        compare_turns(*sides(noise, 100 + seed, 1 + size, between), TURN_FACTOR, in_turn=True, processes=PAIRS).outcome
        for seed in range(20)
    ]
    # Of 20 at 95 %, 15 and fewer come once in 400; the seeds are fixed.
    assert verdicts.count(Change.SLOWER) > 15
    half = [
        compare_turns(*sides(noise, 100 + seed, 1 + size / 3, between), TURN_FACTOR, in_turn=True, processes=PAIRS)
        for seed in range(10)
    ]
    assert sum(one.outcome is Change.SLOWER for one in half) < 9, "and it is no idle bound"


def test_a_true_difference_of_the_sides_hides_nothing() -> None:
    base, head = sides(0.02, 5)
    faster = tuple(Samples((turn.ns[0] * 2,)) for turn in base)
    asked = {"in_turn": True, "processes": PAIRS}
    one = seen_slowdown(base, head, TURN_FACTOR, **asked)  # type: ignore[arg-type]
    other = seen_slowdown(faster, tuple(Samples((t.ns[0] * 2,)) for t in head), TURN_FACTOR, **asked)  # type: ignore[arg-type]
    assert one is not None
    assert other == pytest.approx(one, rel=1e-6), "a share has no unit"


def test_stored_samples_may_hide_what_days_differ_by_and_too_few_turns_see_nothing() -> None:
    base, head = sides(0.01, 2)
    found = seen_slowdown(base[:TURNS], head[:TURNS], STORED_FACTOR, in_turn=False)
    assert found is not None
    assert STORED_FACTOR**2 - 1 <= found < STORED_FACTOR**2 - 1 + 0.05
    few = turns_needed() - 1
    assert seen_slowdown(base[:few], head[:few], STORED_FACTOR, in_turn=False) is None


@pytest.mark.parametrize(("noise", "between"), [(0.003, 0.03), (0.03, 0.03), (0.1, 0.015)])
def test_of_stored_samples_too_a_slow_down_of_that_size_is_found(noise: float, between: float) -> None:
    """One process a side, which tells nothing of how much the next differs: by the factor alone 55 % were found."""

    def a_day(seed: int, slower: float = 1.0) -> tuple[tuple[Samples, ...], tuple[Samples, ...]]:
        base, head = sides(noise, seed, slower, between)
        return base[:TURNS], head[:TURNS]

    claims = [seen_slowdown(*a_day(seed), STORED_FACTOR, in_turn=False) for seed in range(3)]
    size = float(np.median([claim for claim in claims if claim is not None]))
    found = [compare_turns(*a_day(100 + n, 1 + size), STORED_FACTOR, in_turn=False).outcome for n in range(40)]
    assert found.count(Change.SLOWER) >= 36


@pytest.mark.parametrize(("first", "second"), [(7, 7), (12, 12), (12, 36), (36, 36), (40, 40), (60, 60)])
def test_the_pairs_that_are_needed_are_the_fewest_that_the_test_calls_different(first: int, second: int) -> None:
    needed = pairs_needed(first, second, P_LIMIT)
    assert needed is not None

    def with_pairs(number: int) -> float:
        """In so many pairs the second is above: one of the second after another is put above all of the first."""
        whole, rest = divmod(number, first)
        above = [first + 0.5] * whole + ([rest - 0.5] if rest else [])
        low = [-1.0 - n for n in range(second - len(above))]
        return two_sided([float(n) for n in range(first)], [*low, *(value + n * 1e-3 for n, value in enumerate(above))])

    assert with_pairs(needed) < P_LIMIT
    assert with_pairs(needed - 1) >= P_LIMIT


def test_no_number_of_pairs_is_enough_where_the_test_can_find_nothing() -> None:
    few = turns_needed() - 1
    assert pairs_needed(few, few, P_LIMIT) is None

"""What may honestly be said of repeated measurements."""

from __future__ import annotations

import numpy as np
import pytest

from analyzer.core.samples import Samples, median_ratio, ratio_interval


def _noisy(median: float, noise: float, *, count: int = 60, seed: int = 3) -> Samples:
    draws = np.random.default_rng(seed).normal(median, noise * median, count)
    return Samples(tuple(int(v) for v in draws))


def test_samples_are_never_empty() -> None:
    with pytest.raises(ValueError, match="empty"):
        Samples(())


def test_one_sample_is_its_own_median_without_spread() -> None:
    one = Samples((42,))
    assert (one.median_ns, one.spread) == (42, 0.0)
    assert (one.interval().low, one.interval().high) == (42, 42)


def test_an_outlier_moves_neither_median_nor_spread_much() -> None:
    calm = Samples((100, 101, 99, 100, 102, 98, 100))
    hit = Samples((*calm.ns, 100_000))
    assert hit.median_ns == calm.median_ns
    assert hit.spread < 0.02


def test_the_spread_is_half_the_distance_of_the_quartiles() -> None:
    assert Samples(tuple(range(0, 401))).spread == pytest.approx(0.5)


def test_the_interval_holds_the_median_and_narrows_with_samples() -> None:
    few, many = _noisy(1e6, 0.05, count=10), _noisy(1e6, 0.05, count=400)
    for samples in (few, many):
        assert samples.interval().low <= samples.median_ns <= samples.interval().high
    assert many.interval().high - many.interval().low < few.interval().high - few.interval().low


def test_the_same_samples_give_the_same_interval() -> None:
    samples = _noisy(1e6, 0.1)
    assert samples.interval() == samples.interval()
    assert ratio_interval(samples, _noisy(9e5, 0.1)) == ratio_interval(samples, _noisy(9e5, 0.1))


def test_a_thing_against_itself_is_1_exactly() -> None:
    samples = _noisy(1e6, 0.2)
    interval = ratio_interval(samples, samples)
    assert (interval.low, interval.high) == (1.0, 1.0)


def test_swapping_the_sides_inverts_the_ratio() -> None:
    before, after = _noisy(2e6, 0.05, seed=1), _noisy(1e6, 0.05, seed=2)
    forth, back = ratio_interval(before, after), ratio_interval(after, before)
    assert forth.low == pytest.approx(1 / back.high, rel=1e-3)
    assert forth.high == pytest.approx(1 / back.low, rel=1e-3)


def test_a_drift_that_hit_both_sides_cancels_when_taken_in_turn() -> None:
    drift = np.linspace(1.0, 2.0, 80)
    before = Samples(tuple((drift * 2e6).astype(int).tolist()))
    after = Samples(tuple((drift * 1e6).astype(int).tolist()))
    in_turn = ratio_interval(before, after)
    apart = ratio_interval(before, Samples(after.ns[:-1]))
    assert in_turn.high - in_turn.low < 0.01
    assert apart.high - apart.low > 0.1


def test_a_real_difference_excludes_1_and_noise_does_not() -> None:
    base = _noisy(1e6, 0.05, seed=1)
    assert ratio_interval(base, _noisy(8e5, 0.05, seed=2)).low > 1.0
    same = ratio_interval(base, _noisy(1e6, 0.05, seed=2))
    assert same.low < 1.0 < same.high


def test_thinning_keeps_the_first_and_spreads_over_the_whole_time() -> None:
    assert Samples(tuple(range(120))).thinned(40).ns == tuple(range(0, 120, 3))
    assert Samples((1, 2)).thinned(40) == Samples((1, 2))
    assert len(Samples(tuple(range(101))).thinned(40).ns) == 40


def test_pairs_tell_what_a_host_of_two_speeds_hides_from_medians() -> None:
    """8 % faster in every pair, half of the steps at 0.6 of the speed: medians fall anywhere between."""
    pace = np.where(np.random.default_rng(5).random(40) < 0.5, 1.0, 1.6)
    before, after = (Samples(tuple(int(step * 1e6 * one) for one in pace)) for step in (4.86, 4.5))
    assert median_ratio(before, after) == pytest.approx(1.08, rel=1e-3)
    interval = ratio_interval(before, after)
    assert interval.high - interval.low < 0.001
    apart = Samples(after.ns[:-1])
    assert median_ratio(before, apart) == before.median_ns / apart.median_ns
    assert ratio_interval(before, apart).high > 1.5


def test_swapping_the_sides_inverts_the_ratio_of_an_even_number_of_pairs() -> None:
    before, after = Samples((10, 20, 30, 41)), Samples((7, 19, 33, 17))
    assert median_ratio(before, after) == pytest.approx(1 / median_ratio(after, before))

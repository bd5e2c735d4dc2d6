"""Before against after: FASTER only where it is, beyond noise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.samples import Samples
from analyzer.core.trial import Change
from analyzer.derive.compare import MIN_CHANGE, compare
from tests.reports import MS, an_accuracy, some_samples

times = st.lists(st.integers(1_000, 10**9), min_size=5, max_size=30)


@given(times)
def test_a_thing_compared_with_itself_is_the_same(ns: list[int]) -> None:
    """Taken in turn, a drift hits both sides and cancels."""
    found = compare(Samples(tuple(ns)), Samples(tuple(ns)))
    assert found.outcome is Change.SAME
    assert found.ratio == 1.0
    assert (found.interval.low, found.interval.high) == (1.0, 1.0)


@given(times, st.floats(0.1, 10))
def test_swapping_the_sides_inverts_the_ratio(ns: list[int], factor: float) -> None:
    before, after = Samples(tuple(ns)), Samples(tuple(round(n * factor) + 1 for n in reversed(ns)))
    there, back = compare(before, after), compare(after, before)
    assert there.ratio * back.ratio == pytest.approx(1.0)
    assert there.interval.low * back.interval.high == pytest.approx(1.0)
    swapped = {Change.FASTER: Change.SLOWER, Change.SLOWER: Change.FASTER}
    if there.outcome in swapped:
        assert back.outcome is swapped[there.outcome]
    assert (back.before_ns, back.after_ns) == (there.after_ns, there.before_ns)


@given(times, st.integers(2, 1000))
def test_the_unit_of_time_does_not_matter(ns: list[int], factor: int) -> None:
    other = [n + 7_000 for n in reversed(ns)]
    one = compare(Samples(tuple(ns)), Samples(tuple(other)))
    scaled = compare(Samples(tuple(n * factor for n in ns)), Samples(tuple(n * factor for n in other)))
    assert scaled.ratio == pytest.approx(one.ratio, rel=1e-3)


@pytest.mark.parametrize(
    ("after_ms", "outcome"),
    [
        (5.0, Change.FASTER),
        (9.7, Change.FASTER),
        (20.0, Change.SLOWER),
        (10.3, Change.SLOWER),
        (10.0, Change.SAME),
        (10 / (1 + MIN_CHANGE / 2), Change.SAME),
    ],
)
def test_a_change_has_to_be_beyond_noise(after_ms: float, outcome: Change) -> None:
    assert compare(some_samples(10.0), some_samples(after_ms)).outcome is outcome


def test_wide_samples_decide_nothing() -> None:
    before = Samples(tuple(round(ms * MS) for ms in (5, 15, 8, 12, 10, 7, 13)))
    after = Samples(tuple(round(ms * MS) for ms in (13, 6, 11, 8, 9, 14, 5)))
    assert compare(before, after).outcome is Change.NOISY


def test_a_wrong_result_is_never_faster() -> None:
    wrong = an_accuracy(is_right=False)
    found = compare(some_samples(10.0), some_samples(1.0), wrong)
    assert found.outcome is Change.WRONG_RESULT
    assert found.accuracy is wrong
    assert compare(some_samples(10.0), some_samples(1.0), an_accuracy()).outcome is Change.FASTER

"""Times that are a scheduler's ticks are told from times that are the model's."""

from __future__ import annotations

import pytest

from analyzer.core.samples import Samples
from analyzer.derive.ticks import is_decisive, tick_of

MS = 1_000_000


def test_times_that_are_whole_ticks_and_not_all_the_same_are_noticed() -> None:
    assert tick_of(Samples(tuple(n * 4 * MS + 30_000 for n in (2, 3, 2, 4, 2, 3, 2)))) == 4 * MS


def test_the_longest_tick_that_fits_is_named() -> None:
    assert tick_of(Samples(tuple(n * 10 * MS for n in (1, 2, 1, 3, 1, 2, 1)))) == 10 * MS


@pytest.mark.parametrize(
    "times",
    [
        [8.0, 8.01, 7.99, 8.02, 8.0, 8.01, 7.98],  # a steady step of 8 ms
        [8.0, 8.01, 12.0, 8.02, 8.0, 8.01, 7.98],  # and one disturbed step
        [7.1, 8.0, 12.0, 9.3, 4.0, 8.01, 6.6],
        [4.0, 8.0, 12.0],  # too few to tell
        [0.02, 0.01, 0.03, 0.02, 0.01, 0.02, 0.01],  # far below a tick
    ],
)
def test_other_times_are_no_ticks(times: list[float]) -> None:
    assert tick_of(Samples(tuple(round(ms * MS) for ms in times))) is None


def test_a_tick_matters_where_half_of_it_is_much_of_the_step() -> None:
    assert is_decisive(Samples((8 * MS,)), 4 * MS)
    assert not is_decisive(Samples((80 * MS,)), 4 * MS)

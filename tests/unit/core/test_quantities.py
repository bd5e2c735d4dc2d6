"""Text for units: what a number looks like to a person."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core import quantities


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (31_800_000, "31.8 ms"),
        (950_000, "0.95 ms"),
        (412_000, "412 µs"),
        (9_996_000, "10.0 ms"),
        (999_900_000, "1.00 s"),
        (999.9, "1.00 µs"),
        (12, "12 ns"),
        (0, "0 ns"),
        (2_350_000_000, "2.35 s"),
        (125e9, "2 min 5 s"),
        (-31_800_000, "-31.8 ms"),
        (None, "unknown"),
    ],
)
def test_a_duration_has_the_unit_that_fits(ns: float | None, text: str) -> None:
    assert quantities.duration(ns) == text


def test_digits_below_the_noise_are_not_shown() -> None:
    assert quantities.duration(31_840_000, spread=0.003) == "31.8 ms"
    assert quantities.duration(31_840_000, spread=0.05) == "32 ms"
    assert quantities.duration(14_300_000, spread=0.5) == "14 ms"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((31_800_000, 11_500_000), "31.8 → 11.5 ms"),
        ((31_800_000, 950_000), "31.8 → 0.95 ms"),
        ((31_800_000, 4_000), "31.8 ms → 4.00 µs"),
        ((None, 11_500_000), "unknown → 11.5 ms"),
        ((None, None), "unknown → unknown"),
        ((200e9, 31_800_000), "3 min 20 s → 31.8 ms"),
    ],
)
def test_times_side_by_side_share_a_unit_unless_one_would_vanish_in_it(
    values: tuple[float | None, ...], text: str
) -> None:
    assert quantities.durations(values) == text


@pytest.mark.parametrize(
    ("ns", "text"), [(31_800_000, "31.8"), (40_000, "0.04"), (400, "<0.01"), (0, "0"), (None, "unknown")]
)
def test_a_column_of_milliseconds_never_rounds_something_to_nothing(ns: float | None, text: str) -> None:
    assert quantities.milliseconds(ns) == text


@pytest.mark.parametrize(
    ("part", "text"), [(0, "0 %"), (0.001, "<1 %"), (0.5, "50 %"), (0.996, ">99 %"), (1.0, "100 %"), (None, "unknown")]
)
def test_a_share_is_all_or_nothing_only_when_it_is(part: float | None, text: str) -> None:
    assert quantities.share(part) == text


@pytest.mark.parametrize(
    ("value", "text"), [(2.77, "2.8×"), (1.02, "1.02×"), (12.3, "12×"), (0.5, "0.50×"), (None, "unknown")]
)
def test_a_ratio_shows_the_digits_that_decide(value: float | None, text: str) -> None:
    assert quantities.ratio(value) == text


def test_a_ratio_and_its_interval_have_the_same_decimals() -> None:
    assert quantities.ratio_with_interval(2.77, 2.71, 2.86) == "2.8× (95 % 2.7–2.9)"
    assert quantities.ratio_with_interval(1.01, 0.98, 1.04) == "1.01× (95 % 0.98–1.04)"
    assert quantities.ratio_with_interval(2.77, 2.75, 2.79) == "2.77× (95 % 2.75–2.79)"


@pytest.mark.parametrize(
    ("ns", "text"),
    [(0.4e9, "0.4 s"), (9.96e9, "10 s"), (59.6e9, "1 min 0 s"), (3_599.7e9, "1 h 0 min"), (None, "unknown")],
)
def test_waiting_is_told_in_words(ns: float | None, text: str) -> None:
    assert quantities.clock(ns) == text


def test_bytes_are_binary_and_rates_decimal() -> None:
    assert quantities.byte_count(1_610_612_736) == "1.50 GiB"
    assert quantities.byte_count(512) == "512 B"
    assert quantities.rate(4.21e12, "B") == "4.21 TB/s"
    assert quantities.rate(812e12, "FLOP") == "812 TFLOP/s"


@pytest.mark.parametrize(
    ("value", "text"), [(3.1e-3, "3.1e-03"), (0.0, "0"), (float("inf"), "inf"), (float("nan"), "nan")]
)
def test_an_error_may_be_infinite(value: float, text: str) -> None:
    assert quantities.error_size(value) == text


@given(st.integers(min_value=1, max_value=10**15))
def test_a_time_that_is_not_zero_is_never_shown_as_zero(ns: int) -> None:
    assert not quantities.duration(ns).startswith(("0 ", "0.00 "))


@given(st.integers(min_value=1, max_value=10**11 - 10**9))
def test_a_duration_is_within_two_per_cent_of_what_it_says(ns: int) -> None:
    number, unit = quantities.duration(ns).replace(",", "").split(" ")
    shown = float(number) * {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1.0}[unit]
    assert shown == pytest.approx(ns, rel=0.02)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "unknown"),
        (0, "0"),
        (0.0482, "0.0482"),
        (2.5, "2.50"),
        (118.72, "119"),
        (1063.4, "1,060"),
        (2e-6, "2e-06"),
    ],
)
def test_a_measure_without_a_unit_has_three_digits(number: float | None, text: str) -> None:
    assert quantities.decimal(number) == text


def test_a_long_time_keeps_its_sign() -> None:
    assert quantities.duration(-125e9) == f"-{quantities.duration(125e9)}" == "-2 min 5 s"


@pytest.mark.parametrize(
    ("number", "text"), [(1.0, "1 kernel"), (0.0, "0 kernels"), (2.5, "2.5 kernels"), (None, "unknown kernels")]
)
def test_one_thing_is_said_in_the_singular(number: float | None, text: str) -> None:
    assert quantities.average_of(number, "kernel") == text

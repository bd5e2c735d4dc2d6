"""The one place that makes text for a unit. Takes integers of nanoseconds, bytes and plain ratios; never measures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

UNKNOWN: Final = "unknown"
"""What is shown for None: never 0, never an empty cell."""

SIGNIFICANT_DIGITS: Final = 3
"""The most digits of a time that are shown: a step on one machine repeats to about a per cent (design, measuring)."""

MIN_DIGITS: Final = 2
"""The fewest, however loud the noise: one digit would make 14 and 6 ms look like 10 and 6."""


NS_PER_S: Final = 1_000_000_000
"""Nanoseconds in a second."""


class _Unit(NamedTuple):
    name: str
    size: float
    at_least: float
    """The smallest quantity shown in this unit, in the base unit."""


_TIME_UNITS: Final = (
    _Unit("s", 1e9, 1e9),
    # A step of half a millisecond is compared with others of a few: 0.50 ms, not 500 µs.
    _Unit("ms", 1e6, 5e5),
    _Unit("µs", 1e3, 1e3),
    _Unit("ns", 1.0, 0.0),
)
_BYTE_UNITS: Final = (
    _Unit("TiB", 2.0**40, 2.0**40),
    _Unit("GiB", 2.0**30, 2.0**30),
    _Unit("MiB", 2.0**20, 2.0**20),
    _Unit("KiB", 2.0**10, 2.0**10),
    _Unit("B", 1.0, 0.0),
)
_RATE_PREFIXES: Final = (
    _Unit("P", 1e15, 1e15),
    _Unit("T", 1e12, 1e12),
    _Unit("G", 1e9, 1e9),
    _Unit("M", 1e6, 1e6),
    _Unit("", 1.0, 0.0),
)
_LONG_S: Final = 100.0
"""From here on seconds are shown as minutes."""


def duration(ns: float | None, *, spread: float | None = None) -> str:
    """`ns` nanoseconds as `31.8 ms`, `0.95 ms` or `412 µs`; None is `unknown`.

    `spread` is the noise as a share of the value: digits below it are not shown.
    """
    if ns is None:
        return UNKNOWN
    if abs(ns) >= _LONG_S * 1e9:
        return clock(ns) if ns > 0 else f"-{clock(-ns)}"
    unit = _unit_of(ns, _TIME_UNITS)
    return f"{_number(ns, unit, spread)} {unit.name}"


def durations(values_ns: Sequence[float | None], *, separator: str = " → ") -> str:
    """Several times in one unit: `31.8 → 11.5 ms`. The unit is the largest one's, unless the smallest would lose
    its digits in it; then each has its own.
    """
    known = [abs(v) for v in values_ns if v is not None and v != 0]
    if not known:
        return separator.join(duration(v) for v in values_ns)
    unit = _unit_of(max(known), _TIME_UNITS)
    if min(known) < unit.size / 100 or max(known) >= _LONG_S * 1e9:
        return separator.join(duration(v) for v in values_ns)
    texts = [UNKNOWN if v is None else _number(v, unit, None) for v in values_ns]
    return f"{separator.join(texts)} {unit.name}"


def milliseconds(ns: float | None) -> str:
    """A column of milliseconds without its unit: `31.8`, `0.04`, `<0.01`; None is `unknown`."""
    if ns is None:
        return UNKNOWN
    return "<0.01" if 0 < ns < 5_000 else _number(ns, _Unit("ms", 1e6, 0.0), None)


def clock(ns: float | None) -> str:
    """How long somebody waited: `0.4 s`, `38 s`, `2 min 5 s`, `1 h 4 min`; None is `unknown`."""
    if ns is None:
        return UNKNOWN
    seconds = max(ns, 0.0) / 1e9
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def byte_count(count: float | None) -> str:
    """`1.50 GiB`, `512 B`; None is `unknown`."""
    if count is None:
        return UNKNOWN
    unit = _unit_of(count, _BYTE_UNITS)
    return f"{_number(count, unit, None)} {unit.name}"


def rate(per_second: float | None, of: str) -> str:
    """`812 TFLOP/s`, `4.21 TB/s`: decimal prefixes, as data sheets have them; None is `unknown`."""
    if per_second is None:
        return UNKNOWN
    unit = _unit_of(per_second, _RATE_PREFIXES)
    return f"{_number(per_second, unit, None)} {unit.name}{of}/s"


def count(number: float | None) -> str:
    """A number of things: `12`, `1,204`, `2.5`; None is `unknown`."""
    if number is None:
        return UNKNOWN
    return f"{round(number):,}" if abs(number - round(number)) < 0.05 else f"{number:,.1f}"


def decimal(number: float | None) -> str:
    """A measure without a unit, to three digits: `0.0482`, `2.50`, `1,060`; None is `unknown`."""
    if number is None:
        return UNKNOWN
    if number == 0 or not math.isfinite(number) or abs(number) < 1e-4:
        return f"{number:.3g}"
    rounded = _rounded(number, SIGNIFICANT_DIGITS)
    magnitude = math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(SIGNIFICANT_DIGITS - 1 - magnitude, 0)}f}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 step`, `3 steps`; `many` where an s is not enough."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def average_of(number: float | None, one: str) -> str:
    """`1 kernel`, `2.5 kernels`, `1,204 kernels`: things as `count` writes them."""
    said = count(number)
    return f"{said} {one if said == '1' else f'{one}s'}"


def some_have(part: int, whole: int, one: str) -> str:
    """`1 of 3 steps has`, `2 of 3 steps have`, `all 3 steps have`, `the only step has`."""
    if part == whole:
        return f"the only {one} has" if whole == 1 else f"all {whole} {one}s have"
    return f"{part} of {counted(whole, one)} {'has' if part == 1 else 'have'}"


def share(part: float | None) -> str:
    """A share between 0 and 1 as whole per cents. Neither a trace of something nor a missing trace is rounded away:
    `<1 %`, `>99 %`; None is `unknown`.
    """
    if part is None:
        return UNKNOWN
    if 0 < part < 0.005:
        return "<1 %"
    if 0.995 <= part < 1:
        return ">99 %"
    return f"{part:.0%}".replace("%", " %")


def ratio(value: float | None) -> str:
    """`2.8×`, `1.02×`, `12×`: two digits, three next to 1, where the second decimal decides; None is `unknown`."""
    return UNKNOWN if value is None else f"{_ratio_digits(value, near_one=_is_near_one(value))}×"


def ratio_with_interval(value: float | None, low: float, high: float) -> str:
    """`2.8× (95 % 2.7–2.9)`, all three to the same decimals."""
    if value is None:
        return UNKNOWN
    near_one = any(_is_near_one(v) for v in (value, low, high)) or high - low < 0.1
    texts = [_ratio_digits(v, near_one=near_one) for v in (value, low, high)]
    return f"{texts[0]}× (95 % {texts[1]}–{texts[2]})"


def error_size(value: float | None) -> str:
    """A relative error: `3.1e-03`, `0`, `inf`; None is `unknown`."""
    if value is None:
        return UNKNOWN
    return f"{value:.1e}" if math.isfinite(value) and value != 0 else f"{value:g}"


def _is_near_one(value: float) -> bool:
    return 0.9 < value < 1.1


def _ratio_digits(value: float, *, near_one: bool) -> str:
    if not math.isfinite(value):
        return f"{value:g}"
    if near_one or abs(value) < 0.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if abs(value) < 9.95 else f"{value:.0f}"


def _unit_of(value: float, units: tuple[_Unit, ...]) -> _Unit:
    # Rounded first, so that 999.9 µs does not show as `1000 µs`.
    rounded = _rounded(abs(value), SIGNIFICANT_DIGITS)
    return next(unit for unit in units if rounded >= unit.at_least)


def _number(value: float, unit: _Unit, spread: float | None) -> str:
    if unit.size == 1.0:
        return f"{round(value):,}"
    digits = SIGNIFICANT_DIGITS if spread is None or spread <= 0 else _digits_above(spread)
    scaled = _rounded(value / unit.size, digits)
    if scaled == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(scaled)))
    # At most two decimals, so that 0.95 and 31.8 ms line up and nothing claims a nanosecond of a millisecond.
    decimals = min(max(digits - 1 - magnitude, 0), 2)
    return f"{scaled:,.{decimals}f}"


def _digits_above(spread: float) -> int:
    return min(max(math.ceil(-math.log10(spread)), MIN_DIGITS), SIGNIFICANT_DIGITS)


def _rounded(value: float, digits: int) -> float:
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))

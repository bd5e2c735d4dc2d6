"""What the arguments of a command may look like: text in, a checked value out. For argparse's `type=`."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from typing import Final

from analyzer.core.settings import MEANING_CHANGES, DimRange

_SECONDS_OF: Final = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_BYTES_OF: Final = {
    "B": 1,
    **{f"{letter}iB": 1024**n for n, letter in enumerate("KMGT", start=1)},
    **{f"{letter}B": 1000**n for n, letter in enumerate("kMGT", start=1)},
}
_QUANTITY: Final = re.compile(r"(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<unit>[A-Za-z]*)")
_RANGE: Final = re.compile(r"(?P<input>\d+|[^\W\d]\w*)(?:\.(?P<dim>\d+))?:(?P<low>\d+)-(?P<high>\d+)", re.ASCII)
_LONGEST_S: Final = 30 * 24 * 3600.0
"""A month, so that no number of seconds is too large for a clock."""


def named(text: str) -> str:
    """A name or a path as it is. An empty one would stand for the working directory, or for nothing at all."""
    if not text.strip():
        raise ArgumentTypeError("nothing was given: is it a variable that is not set here?")
    return text


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def shape(text: str) -> tuple[int, ...] | tuple[DimRange, ...]:
    """The sizes of one shape, of `1x3x224x224`; or ranges of sizes, of `0:1-64`, `0.1:16-512` or `mask.1:16-512`."""
    if ":" in text:
        return tuple(map(_range, text.split(",")))
    sizes = text.lower().split("x")
    if not all(size.isdecimal() and int(size) > 0 for size in sizes):
        raise ArgumentTypeError(f"{text!r} is not a shape like 1x3x224x224")
    return tuple(int(size) for size in sizes)


def _range(text: str) -> DimRange:
    found = _RANGE.fullmatch(text.strip())
    if found is None or not 0 < int(found["low"]) < int(found["high"]):
        raise ArgumentTypeError(
            f"{text!r} is no range of sizes like 0:1-64 (INPUT:LOW-HIGH) or 0.1:16-512 (INPUT.DIM:…)"
        )
    place = int(found["input"]) if found["input"].isdecimal() else found["input"]
    return DimRange(place, int(found["dim"] or 0), int(found["low"]), int(found["high"]))


def names(text: str) -> tuple[str, ...]:
    found = tuple(name.strip() for name in text.split(","))
    if not all(found):
        raise ArgumentTypeError(f"{text!r} is not a list like fused,cuda_graphs")
    return found


def seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return found


def duration(text: str) -> float:
    """Seconds, of `90`, `90s`, `2m` or `1.5h`."""
    found = _QUANTITY.fullmatch(text.strip())
    if found is None or found["unit"] not in _SECONDS_OF or not 0 < _in_seconds(found) <= _LONGEST_S:
        raise ArgumentTypeError(f"{text!r} is not a time like 90s, 2m or 1.5h")
    return _in_seconds(found)


def byte_count(text: str) -> int:
    """Bytes, of `4GiB`, `512MiB` or `2.5GB`. A bare number is refused: nobody knows of what."""
    found = _QUANTITY.fullmatch(text.strip())
    if found is None or found["unit"] not in _BYTES_OF or not (count := _in_bytes(found)):
        raise ArgumentTypeError(f"{text!r} is not an amount of memory like 4GiB or 512MiB")
    return count


def meaning_changes(text: str) -> tuple[str, ...]:
    """Changes of meaning, each once, in the order of `MEANING_CHANGES`."""
    asked = names(text)
    unknown = [name for name in asked if name not in MEANING_CHANGES]
    if unknown:
        raise ArgumentTypeError(f"no such change: {', '.join(unknown)}; choose of {', '.join(MEANING_CHANGES)}")
    return tuple(name for name in MEANING_CHANGES if name in asked)


def _in_seconds(found: re.Match[str]) -> float:
    return float(found["number"]) * _SECONDS_OF[found["unit"]]


def _in_bytes(found: re.Match[str]) -> int:
    return int(float(found["number"]) * _BYTES_OF[found["unit"]])

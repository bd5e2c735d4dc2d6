"""By which calls a graph break is met, so that one break that torch reports of several frames is one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import torch

from analyzer.core.graphs import GraphBreak, SourceLine
from collectors.sources import is_ours, is_standard

Way = tuple[tuple[str, int], ...]
"""The lines of the user's code through which a place is reached, outermost first; empty where torch names none."""

_TORCH: Final = f"{Path(torch.__file__).resolve().parent}/"


def way_of(stack: Iterable[SourceLine]) -> Way:
    """The frames below ours, without those of torch and of Python's library: torch leaves them out of some reports."""
    below: list[tuple[str, int]] = []
    for frame in stack:
        if is_ours(frame.file):
            below.clear()
        elif not (is_of_torch(frame.file) or is_standard(frame.file)):
            below.append((frame.file, frame.line))
    return tuple(below)


def is_of_torch(file: str) -> bool:
    """Whether it is a file of the torch that runs."""
    return file.startswith(_TORCH)


def with_ways(breaks: Sequence[GraphBreak], ways: Sequence[Way]) -> list[GraphBreak]:
    """Each break with the number of the way by which it was met; those of one place are numbered in the order told.

    Torch (2.11 to 2.14) reports a break in a called function of the frame that inlines the call, then of the function
    itself, which it compiles alone: two frames, one stack. A way that is the end of another one is that other one.
    """
    by_place: dict[SourceLine | None, list[Way]] = {}
    for stop, way in zip(breaks, ways, strict=True):
        by_place.setdefault(stop.where, []).append(way)
    whole = {where: _not_ends_of_others(told) for where, told in by_place.items()}
    return [
        replace(stop, ways=(_number(way, whole[stop.where]),)) if way else stop
        for stop, way in zip(breaks, ways, strict=True)
    ]


def _not_ends_of_others(ways: Sequence[Way]) -> tuple[Way, ...]:
    distinct = tuple(dict.fromkeys(way for way in ways if way))
    return tuple(way for way in distinct if not any(other != way and _is_end(way, other) for other in distinct))


def _number(way: Way, whole: Sequence[Way]) -> int:
    return next(number for number, other in enumerate(whole) if _is_end(way, other))


def _is_end(way: Way, other: Way) -> bool:
    return other[len(other) - len(way) :] == way if len(way) <= len(other) else False

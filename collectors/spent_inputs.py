"""Inputs that a step uses up: a generator is empty after the first one, and every further step would run on nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from collectors.workload import InputSet

_NOTHING: Final = object()


def spent_inputs(sets: Iterable[InputSet]) -> tuple[str, ...]:
    """The iterators among the inputs that give nothing any more, as people write them: `0`, `0[2]`, `x`.

    One that still gives something loses an item by being asked.
    """
    found = [
        path
        for inputs in sets
        for name, value in (*enumerate(inputs.args), *inputs.kwargs.items())
        for path, one in _iterators(str(name), value)
        if next(one, _NOTHING) is _NOTHING
    ]
    return tuple(dict.fromkeys(found))


def _iterators(path: str, value: Any) -> Iterator[tuple[str, Iterator[Any]]]:
    if isinstance(value, Iterator):
        yield path, value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _iterators(f"{path}[{name!r}]", one)
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value):
            yield from _iterators(f"{path}[{number}]", one)

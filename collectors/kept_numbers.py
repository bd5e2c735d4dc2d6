"""The Python numbers that a model keeps on its modules and in its inputs: a counter, a running scale."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from typing import Final

import torch

from collectors.data import MAX_DEPTH, is_data, module_data
from collectors.outputs import children
from collectors.workload import Workload

INPUT: Final = "input"
"""How the path of an input begins; all others are the model's."""

NUMBER: Final = "number"
"""How the path of one begins (`number layer.calls`): its float64 is the place it has, not the precision it was made in.
"""

COMPILERS_OWN: Final = "['capturable']"
"""How the path of a switch of a torch optimizer ends, which Dynamo turns on as it traces the first step on a GPU
(`_set_capturable` in torch/_dynamo/variables/optimizer.py): it is no result of a step."""

Number = bool | int | float | complex
Numbers = Number | tuple[Number, ...]
"""One number, or a list of numbers of one type."""

_DTYPES: Final = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}

_FOLDED: Final = 2**61 - 1
"""Whole numbers beyond int64 are compared by their remainder of this prime: equal ones have the same, others hardly."""


def kept_numbers(workload: Workload) -> dict[str, Numbers]:
    """By path, what lies in the attributes of the model's modules and within the inputs; of another callable's own
    nothing.

    numpy's numbers are none of these: torch.compile may hand back an array of no dimensions in their place.
    """
    numbers = (found for start, value in _holders(workload) for found in _numbers(value, f"{NUMBER} {start}"))
    return {path: found for path, found in numbers if not path.endswith(COMPILERS_OWN)}


def _holders(workload: Workload) -> Iterator[tuple[str, object]]:
    model = workload.model
    own = module_data(model) if isinstance(model, torch.nn.Module) else ()
    found = itertools.chain(own, input_values(workload))
    yield from ((path, value) for path, value in found if not isinstance(value, torch.Tensor))


def input_values(workload: Workload) -> Iterator[tuple[str, object]]:
    """Each input that is data, as `input 0` or `input ids`; of several sets `input 0 of set 1`, …"""
    for number, one in enumerate(workload.every_set, start=1):
        which = f" of set {number}" if workload.sets else ""
        for name, value in (*enumerate(one.args), *one.kwargs.items()):
            if is_data(value):
                yield f"{INPUT} {name}{which}", value


def is_number(path: str) -> bool:
    """Whether the path is of a Python number, and not of a tensor."""
    return path.startswith(NUMBER + " ")


def as_tensor(numbers: Numbers) -> torch.Tensor:
    """On the CPU: bool, int64, float64 or complex128, of no dimension for one number and of one for a list."""
    first = numbers[0] if isinstance(numbers, tuple) else numbers
    dtype = _DTYPES[type(first)]
    if dtype != torch.int64:
        return torch.tensor(numbers, dtype=dtype)
    held = [_folded(one) for one in numbers] if isinstance(numbers, tuple) else _folded(numbers)
    return torch.tensor(held, dtype=dtype)


def are_alike(left: Numbers, right: Numbers) -> bool:
    """Whether two are of one type and one value; NaN is like NaN."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(are_alike(a, b) for a, b in zip(left, right, strict=True))
    is_nan = left != left and right != right
    return type(left) is type(right) and (left == right or is_nan)


def _numbers(value: object, path: str, depth: int = 0) -> Iterator[tuple[str, Numbers]]:
    if type(value) in _DTYPES:
        yield path, value  # type: ignore[misc]
    elif (
        isinstance(value, list | tuple | deque) and len({type(one) for one in value}) == 1 and type(value[0]) in _DTYPES
    ):
        yield path, tuple(value)
    elif depth <= MAX_DEPTH and not isinstance(value, torch.Tensor | str):
        for step, child in children(value):
            yield from _numbers(child, path + step, depth + 1)


def _folded(number: Number) -> int:
    assert isinstance(number, int)
    return number if -(2**63) <= number < 2**63 else number % _FOLDED

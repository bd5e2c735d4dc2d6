"""Several sets of inputs for one step: told from one set, and made of one set by changing sizes. Runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import torch

from analyzer.core.errors import UsageError
from analyzer.core.settings import DimRange

MOST_SETS: Final = 16
"""Sets that are taken of a generator. A step is one pass over all of them, and each may be compiled for."""

MADE_SETS: Final = 4
"""Sets made of a range of sizes: both ends, and two between that are evenly spread by their ratio."""

SETS_NOTE: Final = (
    "get_inputs() gave a list of {count} {kind}s, which were taken for {count} sets of inputs; give a tuple where they "
    "are the arguments of one call"
)
CUT_NOTE: Final = f"the first {MOST_SETS} sets that get_inputs() yields were taken"


@dataclass(frozen=True, slots=True)
class GivenSets:
    """`sets` as the user gave each, and what must be said of how they were understood."""

    sets: tuple[Any, ...]
    notes: tuple[str, ...] = ()


def given_sets(inputs: object) -> GivenSets | None:
    """The sets that `inputs` hold; None where they are one set of arguments.

    Several sets are a generator (or any iterator), or a list of at least two tuples, or of at least two dicts with
    text keys. A list of anything else is the arguments of one call. An iterator may hold no set.
    """
    if isinstance(inputs, Iterator):
        taken = tuple(islice(inputs, MOST_SETS + 1))
        return GivenSets(taken[:MOST_SETS], (CUT_NOTE,) if len(taken) > MOST_SETS else ())
    if not isinstance(inputs, list) or len(inputs) < 2:
        return None
    for kind in (tuple, dict):
        if all(type(one) is kind for one in inputs) and all(map(_is_a_set, inputs)):
            return GivenSets(tuple(inputs), (SETS_NOTE.format(count=len(inputs), kind=kind.__name__),))
    return None


def _is_a_set(one: object) -> bool:
    return not isinstance(one, dict) or all(isinstance(name, str) for name in one)


def sizes_between(low: int, high: int) -> tuple[int, ...]:
    """MADE_SETS sizes from `low` to `high`, fewer where there are not so many."""
    steps = range(MADE_SETS)
    return tuple(dict.fromkeys(round(low * (high / low) ** (step / (MADE_SETS - 1))) for step in steps))


def resized(
    args: Sequence[Any], kwargs: Mapping[str, Any], ranges: Sequence[DimRange]
) -> tuple[tuple[tuple[Any, ...], dict[str, Any]], ...]:
    """Sets of inputs in which the dimensions that are named take sizes in their ranges, all of them together.

    A tensor is cut, or its values are repeated, so that they stay such as the model knows. Raises UsageError for an
    input that there is not, that is no tensor, or that lacks the dimension.
    """
    tensors = [_tensor(args, kwargs, one) for one in ranges]
    counts = [sizes_between(one.low, one.high) for one in ranges]
    made = []
    for step in range(max(len(sizes) for sizes in counts)):
        new_args, new_kwargs = list(args), dict(kwargs)
        for one, tensor, sizes in zip(ranges, tensors, counts, strict=True):
            size = sizes[min(step, len(sizes) - 1)]
            held: Any = new_args if isinstance(one.input, int) else new_kwargs
            # Of an input that is named twice the first change stays.
            held[one.input] = _with_size(held[one.input], one.dim, size) if tensor is not None else None
        made.append((tuple(new_args), new_kwargs))
    return tuple(made)


def _tensor(args: Sequence[Any], kwargs: Mapping[str, Any], one: DimRange) -> torch.Tensor:
    if isinstance(one.input, int):
        value = args[one.input] if one.input < len(args) else None
    else:
        value = kwargs.get(one.input)
    if not isinstance(value, torch.Tensor):
        known = [str(number) for number, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        known += [name for name, arg in kwargs.items() if isinstance(arg, torch.Tensor)]
        raise UsageError(f"--shape {one}: there is no input tensor {one.input}", hint=f"there are {', '.join(known)}")
    if one.dim >= value.dim():
        raise UsageError(f"--shape {one}: input {one.input} has {value.dim()} dimensions, counted from 0")
    return value


def _with_size(tensor: torch.Tensor, dim: int, size: int) -> torch.Tensor:
    if not tensor.shape[dim]:
        raise UsageError(f"dimension {dim} of an input is empty: it has no values to repeat")
    places = torch.arange(size, device=tensor.device) % tensor.shape[dim]
    with torch.no_grad():
        return tensor.index_select(dim, places).requires_grad_(tensor.requires_grad)

"""Whether a result depends on random numbers, and can be another draw of what eager draws: of its size, and turned the
same way.
"""

from __future__ import annotations

from typing import Final

import torch

from collectors.effects import Results
from optimizers.allowances import NOISE, SMALL_TENSOR
from optimizers.likeness import distance, is_alike, is_whole, pairs, size

SIZES: Final = 3.0
"""Times the larger, or smaller, of two draws of eager. Of many elements the sizes of draws are nearly the same."""

EVEN: Final = 1.5
"""Times the smaller of two draws: of larger ones it cannot be said how much of what they have in common a third has."""

ALIKE: Final = 0.5
"""Cosine of two draws from which on what they have in common is most of them, and can be asked of a third."""

TURNED: Final = (0.4, 2.5)
"""The share of what two draws have in common that a third has of it: 1 but for luck. Under dropout of one in ten a
gradient has 0.95 to 1.05; none, the negative of it and five times as much are 0, -1 and 5."""


def are_of_other_draws(eager: Results, again: Results, other: Results) -> bool:
    """Whether another seed changes more than the order of additions, which atomics change from run to run."""
    repeats = dict(again)
    return any(
        not is_alike(own, drawn) and distance(own, drawn) > NOISE * distance(own, repeats[path])
        for path, (own, drawn) in pairs(eager, other)
    )


def odd_draws(draws: Results, one: Results, other: Results) -> frozenset[str]:
    """The paths at which one draw of eager is none by what two others are: a layer that some seeds leave out."""
    three = zip(draws, one, other, strict=True)
    asked = ((path, draw, a, b) for (path, draw), (_, a), (_, b) in three if not (draw.is_meta or is_whole(draw)))
    return frozenset(path for path, draw, a, b in asked if no_draw(draw, a, b) is not None)


def no_draw(tensor: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> str | None:
    """Why it is none, given two draws of eager; None where it may be one, or too few elements to tell."""
    if tensor.numel() < SMALL_TENSOR or tensor.shape != one.shape or one.is_complex():
        return None
    own, sizes = size(tensor), sorted((size(one), size(other)))
    if not sizes[0] / SIZES <= own <= sizes[1] * SIZES:
        return f"its values are of size {own:.2g}, those of two runs of the model of {sizes[0]:.2g} and {sizes[1]:.2g}"
    if sizes[1] > EVEN * sizes[0]:
        return None
    first, second, third = (_flat(each) for each in (one, other, tensor))
    common = float(first @ second)
    if common < ALIKE * float(first.norm() * second.norm()):
        return None
    ratio = float(third @ (first + second)) / 2 / common
    if TURNED[0] <= ratio <= TURNED[1]:
        return None
    return f"it has {ratio:.2g} times what two runs of the model with other random numbers have in common"


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    wide = tensor.detach().to(torch.float64).flatten()
    return torch.where(torch.isfinite(wide), wide, 0)

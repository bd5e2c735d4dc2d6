"""Parts of a result that its largest values outshine: an error of the whole in ‖·‖₂ says nothing of them.

Logits whose padded places hold -1e9 have the same norm whatever the others are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

import torch

from collectors.effects import Results
from collectors.kept_numbers import is_number
from collectors.tensor_parts import computable
from optimizers.likeness import is_whole

FAR: Final = 300.0
NEAR: Final = 3.0
"""Of the largest magnitude: with next to nothing between it over FAR and over NEAR there is a gap, as between scores of
a few units and the -10,000 of a mask (BERT). Values of one distribution leave none: of normal ones with a largest of 4
three quarters lie there."""

STRAY: Final = 0.01
"""Of the elements below the gap, as many may lie in it."""

LEAST: Final = 64
"""Elements below the gap that are not zero: the error of fewer is luck."""

MOST_LEVELS: Final = 3
"""Masks within masks: what is below a gap may have one of its own."""

_PART: Final = " but for its largest values"


@dataclass(frozen=True, slots=True)
class Outshone:
    """By path of a result, the elements of each part, the larger part first: as many parts as there are gaps."""

    parts: Mapping[str, tuple[torch.Tensor, ...]] = field(default_factory=dict)

    def added(self, results: Results, leave_out: Collection[str] = ()) -> Results:
        """The results, and behind them the parts of those that have any; as they are where they have them already."""
        known = {path for path, _ in results}
        parts = (
            (name, _only(tensor, mask))
            for path, tensor in results
            for name, mask in _named(path, self.parts.get(path, ()))
            if name not in known and name not in leave_out
        )
        return (*results, *parts)


def outshone(eager: Results) -> Outshone:
    """The parts of the results of an eager run that their largest values outshine."""
    found = ((path, _masks(tensor)) for path, tensor in eager if _may_have_parts(path, tensor))
    return Outshone({path: masks for path, masks in found if masks})


def is_part_of(path: str, paths: Collection[str]) -> bool:
    """Whether this is the path of a part of what lies at one of these."""
    whole, part, _ = path.partition(_PART)
    return bool(part) and whole in paths


def _may_have_parts(path: str, tensor: torch.Tensor) -> bool:
    return not (tensor.is_meta or is_number(path) or is_whole(tensor)) and tensor.numel() > LEAST


def _masks(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    magnitude = computable(tensor.detach()).abs()
    # A 300th of what a half holds may be less than it holds.
    magnitude = magnitude.float() if magnitude.dtype.itemsize < torch.float32.itemsize else magnitude
    magnitude = torch.where(torch.isfinite(magnitude), magnitude, 0)
    masks: list[torch.Tensor] = []
    while len(masks) < MOST_LEVELS:
        largest = magnitude.max()
        small = magnitude <= largest / FAR
        below, between = small & (magnitude > 0), ~small & (magnitude < largest / NEAR)
        count, stray = torch.stack((below.sum(), between.sum())).tolist()
        if count < LEAST or stray > STRAY * count:
            break
        masks.append(small & masks[-1] if masks else small)
        magnitude = torch.where(below, magnitude, 0)
    return tuple(masks)


def _named(path: str, masks: tuple[torch.Tensor, ...]) -> list[tuple[str, torch.Tensor]]:
    return [(path + _PART * level, mask) for level, mask in enumerate(masks, start=1)]


def _only(tensor: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Zero where the mask is not; what has no values, or another shape, as it is."""
    if tensor.is_meta or tensor.shape != mask.shape:
        return tensor
    values = computable(tensor)
    return torch.where(mask.to(values.device), values, 0)

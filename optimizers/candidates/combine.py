"""Which candidates go together, and the candidate that two or more of them make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from analyzer.core.graphs import Direction
from analyzer.core.plan import FUSED
from optimizers.candidates.base import EVERY_DIRECTION, JOIN, Axis, Candidate

FUSION: Final = "fusion + "
"""What every title of a compiled candidate begins with; a combination says it once."""


def can_combine(left: Candidate, right: Candidate) -> str | None:
    """Why these two cannot be had together, None where they can. The order does not matter."""
    if left.id == right.id:
        return f"{left.title} is the same candidate"
    for one, other in ((left, right), (right, left)):
        if one.axis is Axis.ALONE:
            return f"{one.title} combines with nothing"
        if one.id == FUSED:
            return f"{other.title} is made of {one.title} already"
        reason = _excluded(one, other)
        if reason is not None:
            return reason
    if _devices(left, right) == ():
        return f"no device can run both {left.title} and {right.title}"
    if _directions(left, right) == ():
        return f"no graph can have both {left.title} and {right.title}"
    if left.axis is right.axis and right.id not in left.joins and left.id not in right.joins:
        return f"{left.title} and {right.title} are two ways to do the same"
    return None


def combined(parts: Sequence[Candidate]) -> Candidate:
    """The candidate of all these at once, in the order given. Raises ValueError with the reason where there is none.

    Where two name the same setting, the one of the launch axis counts: the others only say their default there.
    """
    if not parts:
        raise ValueError("a combination needs a part")
    if len(parts) == 1:
        return parts[0]
    for number, part in enumerate(parts):
        for other in parts[:number]:
            reason = can_combine(other, part)
            if reason is not None:
                raise ValueError(reason)
    launches = [part for part in parts if part.axis is Axis.LAUNCH]
    made = [part for part in parts if part.axis is not Axis.LAUNCH]
    patches = {name: value for part in (*made, *launches) for name, value in part.patches}
    first, *rest = parts
    return replace(
        first,
        id=JOIN.join(part.id for part in parts),
        title=" + ".join([first.title, *(part.title.removeprefix(FUSION) for part in rest)]),
        patches=tuple(patches.items()),
        axis=Axis.ALONE,
        uses_cuda_graphs=any(part.uses_cuda_graphs for part in parts),
        uses_cpp_wrapper=any(part.uses_cpp_wrapper for part in parts),
        freezes=any(part.freezes for part in parts),
        groups=any(part.groups for part in parts),
        fuses_matvecs=any(part.fuses_matvecs for part in parts),
        tunes_products=any(part.tunes_products for part in parts),
        changes=tuple(dict.fromkeys(change for part in parts for change in part.changes)),
        devices=_devices(*parts),
        directions=_directions(*parts),
        since=max((part.since for part in parts if part.since is not None), default=None),
        lacking=next((part.lacking for part in parts if part.lacking is not None), None),
        needs_same_forward=any(part.needs_same_forward for part in parts),
        excludes=(),
        joins=(),
        whole_of=None,
        caveat="; ".join(part.caveat for part in parts if part.caveat is not None) or None,
        is_dear=any(part.is_dear for part in parts),
        parts=tuple(part.id for part in parts),
    )


def _excluded(one: Candidate, other: Candidate) -> str | None:
    return next((reason for excluded, reason in one.excludes if excluded == other.id), None)


def _devices(*parts: Candidate) -> tuple[str, ...]:
    return tuple(device for device in parts[0].devices if all(device in part.devices for part in parts))


def _directions(*parts: Candidate) -> tuple[Direction, ...]:
    return tuple(direction for direction in EVERY_DIRECTION if all(direction in part.directions for part in parts))

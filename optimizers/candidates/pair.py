"""A graph's forward under one candidate and its backward under another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from analyzer.core.graphs import Direction
from optimizers.candidates.base import Candidate
from optimizers.candidates.known import candidate_of

SPLIT: Final = "/"
"""Between the two ids of a pair whose sides differ, as in `fused/cpp_wrapper`."""


@dataclass(frozen=True, slots=True)
class Pair:
    forward: Candidate
    backward: Candidate

    @property
    def id(self) -> str:
        return self.forward.id if self.is_single else f"{self.forward.id}{SPLIT}{self.backward.id}"

    @property
    def title(self) -> str:
        return self.forward.title if self.is_single else f"{self.forward.title}, backward {self.backward.title}"

    @property
    def is_single(self) -> bool:
        return self.forward.id == self.backward.id

    def refusal(self, device: str, direction: Direction, release: tuple[int, int] | None = None) -> str | None:
        """Why it cannot be tried for a graph whose forward, or inference, is of this direction; None where it can."""
        reason = self.forward.refusal(device, direction, release)
        if reason is not None or self.is_single:
            return reason
        if direction is Direction.INFERENCE:
            return "the graph has no backward, so none of its own"
        if self.backward.needs_same_forward:
            return f"the backward can have {self.backward.title} only with its forward"
        if not (self.forward.is_inductors and self.backward.is_inductors):
            return "forward and backward can differ only where Inductor compiles both"
        if self.forward.changes != self.backward.changes:
            return "what changes a graph's results changes its forward and its backward together"
        return self.backward.refusal(device, Direction.BACKWARD, release)


AnyCandidate: TypeAlias = Candidate | Pair
"""What a graph can be given: one candidate for both directions, or one for each."""


def caveat_of(pair_id: str) -> str | None:
    """What whoever uses this candidate or pair must know; None where there is nothing, or no such candidate here."""
    try:
        pair = pair_of(pair_id)
    except KeyError:
        return None
    said = dict.fromkeys(c.caveat for c in (pair.forward, pair.backward) if c.caveat is not None)
    return "; ".join(said) or None


def changes_of(pair_ids: Iterable[str]) -> tuple[str, ...]:
    """The changes of meaning that these candidates and pairs make. Raises KeyError where one is none."""
    pairs = [pair_of(pair_id) for pair_id in pair_ids]
    return tuple(dict.fromkeys(c for pair in pairs for side in (pair.forward, pair.backward) for c in side.changes))


def pair_of(pair_id: str) -> Pair:
    """The pair of `forward/backward`, or of one candidate for both. Raises KeyError where there is none."""
    forward, _, backward = pair_id.partition(SPLIT)
    first = candidate_of(forward)
    return Pair(first, candidate_of(backward) if backward else first)

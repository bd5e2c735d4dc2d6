"""What the search is told, where it measures, and what it hands back. Values only: nothing is decided here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from analyzer.core.graphs import Direction
from analyzer.core.samples import Interval, Samples
from analyzer.core.trial import Change, Comparison, Trial, TrialOutcome
from analyzer.core.verdict import Bound
from analyzer.derive.compare import compare
from optimizers.candidates.pair import SPLIT

Choices = Mapping[str, str]
"""The id of a candidate by the digest of a graph, or of a pair where forward and backward differ. Graphs that are not
named run under the default."""


def for_direction(candidate: str, direction: Direction) -> str:
    """The candidate that a graph gets in one direction out of one that may be split."""
    forward, _, backward = candidate.partition(SPLIT)
    return backward if backward and direction is Direction.BACKWARD else forward


class Lab(Protocol):
    """Where trials are made. Raises nothing of a candidate's."""

    def prepare(self, wanted: Mapping[str, Sequence[str]], *, is_bounded: bool = True) -> None:
        """Compile these candidates for these graphs (by digest), beside the default for all. What was prepared before
        and is named again is there afterwards as it was. Candidates whose turn comes when no time is left are not
        compiled, unless nothing bounds it; measuring one then says UNTRIED.
        """

    def keeps_built(self) -> bool:
        """Whether the next `prepare` compiles only what the last one did not; else it compiles all of it again."""

    def measure(self, choices: Choices) -> Trial:
        """One step with these candidates by digest and the default for all other graphs: few samples."""

    def refine(self, choices: Choices, trial: Trial) -> Trial:
        """The same trial with further samples joined to its own; as it was where no more could be taken."""

    def duel(self, choices: Choices, other: Choices, step_ns: int) -> tuple[Samples, Samples] | None:
        """Steps of some `step_ns` under `other` and under `choices`, both measured before, taken in turn; None where no
        more could be taken.
        """

    def left_s(self) -> float | None:
        """Wall time left to the search; below 0 where it is over, None where nothing bounds it."""

    def tried(self, trial: CandidateTrial | JointTrial, done: int, total: int) -> None:
        """A trial has ended, or one that had is better known now; `total` is how many there may be."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What the operations of a graph tell before it is compiled. `merged_share` is how many of them are left where what
    is alike is merged; None where nothing is. `products` counts its products of floating-point matrices, `matvecs`
    those in which either side is one vector (of a batched product: one a batch); what attention and recurrent layers
    multiply is not among them.
    """

    merged_share: float | None = None
    products: int = 0
    matvecs: int = 0


@dataclass(frozen=True, slots=True)
class Target:
    """One digest: what it costs a step, forward and backward together, and what it was predicted to cost under each
    candidate (None: no prediction). None is unknown.

    `share` is its share of the step. `starved_share` is the share of the step in which the host kept this graph's
    device waiting, `kernel_room` the share that its kernels take beyond what the roofs of the device allow.
    `bound` is the verdict of its costlier direction. `compile_s` is what the default took to compile it. `paced` are
    the candidates that were predicted by what they leave of the default's time, which goes with the host's pace; what
    a device alone takes does not.
    """

    digest: str
    elapsed_ns: int
    share: float
    predicted_ns: Mapping[str, int | None]
    starved_share: float | None = None
    bound: Bound = Bound.UNDECIDED
    kernel_room: float | None = None
    compile_s: float | None = None
    has_backward: bool = False
    outline: Outline | None = None
    paced: frozenset[str] = frozenset()

    @property
    def merged_share(self) -> float | None:
        return None if self.outline is None else self.outline.merged_share

    def predicted_saving(self, candidate: str) -> float | None:
        """What a candidate was predicted to save, as a share of the step; negative for a loss."""
        predicted = self.predicted_ns.get(candidate)
        if predicted is None or not self.elapsed_ns:
            return None
        return self.share * (self.elapsed_ns - predicted) / self.elapsed_ns

    def foretold_ns(self, candidate: str, trial: Trial) -> int | None:
        """The prediction, for a trial's minute of the machine: of `paced` ones as much of the default that was taken in
        turn with it as of the one that they were predicted from (0.62 and 0.86 ms a step of one model on two cores).
        """
        predicted, against_ns = self.predicted_ns.get(candidate), trial.region_against_ns
        if predicted is None or candidate not in self.paced or not against_ns:
            return predicted
        return round(predicted * against_ns / self.elapsed_ns)


@dataclass(frozen=True, slots=True)
class CandidateTrial:
    digest: str
    candidate: str
    predicted_ns: int | None
    trial: Trial

    @property
    def choices(self) -> dict[str, str]:
        return {self.digest: self.candidate}


@dataclass(frozen=True, slots=True)
class JointTrial:
    """A choice for every graph at once. `name` says where it came from."""

    name: str
    choices: Choices
    trial: Trial


@dataclass(frozen=True, slots=True)
class Found:
    """`best` are the choices to go on with; empty means the default for every graph. `untried` are graphs for which
    nothing at all was tried; `notes` say what else the reader should know of the search.
    """

    trials: tuple[CandidateTrial, ...]
    joint: tuple[JointTrial, ...]
    best: Choices
    untried: tuple[str, ...]
    notes: tuple[str, ...] = ()


def with_samples(trial: Trial, against: Samples, step_ns: Samples) -> Trial:
    """The trial with further samples behind its own, still pair by pair."""
    if trial.against is None or trial.step_ns is None:
        return trial
    return replace(
        trial,
        against=Samples((*trial.against.ns, *against.ns)),
        step_ns=Samples((*trial.step_ns.ns, *step_ns.ns)),
    )


def speedup(trial: Trial) -> float:
    """Of the trial's step over the default's, from samples taken in turn; 0 where it was not measured."""
    if trial.step_ns is None or trial.against is None:
        return 0.0
    return compared(trial.against, trial.step_ns).ratio


def speedup_interval(trial: Trial) -> Interval | None:
    """Of `speedup`; None where it was not measured."""
    if trial.step_ns is None or trial.against is None:
        return None
    return compared(trial.against, trial.step_ns).interval


def step_ratio(trial: Trial, other: Trial) -> float:
    """Median step of the trial over the other's, which were not taken in turn; 0 where either was not measured."""
    if trial.step_ns is None or other.step_ns is None:
        return 0.0
    return trial.step_ns.median_ns / max(other.step_ns.median_ns, 1)


def change(trial: Trial) -> Change | None:
    """The step against the default's; None where it was not measured, or gave wrong results."""
    if trial.outcome is not TrialOutcome.MEASURED or trial.step_ns is None or trial.against is None:
        return None
    return compared(trial.against, trial.step_ns).outcome


@lru_cache(maxsize=512)
def compared(against: Samples, step_ns: Samples) -> Comparison:
    """`compare`, once for each trial: a search asks for it at every turn, and it draws thousands of samples."""
    return compare(against, step_ns)


def is_faster(trial: Trial) -> bool:
    """Right, and faster than the default by more than the noise of both."""
    return change(trial) is Change.FASTER


def saved_share(trial: Trial) -> float:
    """The share of a default step that the trial saved; 0 where it was not measured."""
    ratio = speedup(trial)
    return 1 - 1 / ratio if ratio else 0.0

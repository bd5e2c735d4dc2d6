"""What trials cost in wall time, as estimated beforehand and as this run shows, and which of them still fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from analyzer.core.quantities import NS_PER_S, share
from analyzer.core.trial import TrialOutcome
from optimizers.contenders import Contender
from optimizers.trials import CandidateTrial, Target

UNKNOWN_COMPILE_S: Final = 10.0
"""What the default takes to compile a graph of which that is not known: near the middle of nine models on an H200."""

REBUILD_SHARE: Final = 0.5
"""Of its first compile time, what compiling a graph again takes when its kernels lie in torch's cache."""

FIRST_TRIAL_S: Final = 2.0
"""Of a trial that is only measured, before any was: its warm-up, its accuracy and its first samples (0.5 s)."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One graph that is to be given one contender."""

    target: Target
    contender: Contender


@dataclass(slots=True)
class Pace:
    """Learns, as the search goes on. `start_s` is what the next compilation costs before it compiles anything: the
    model in a fresh process, where it needs one.
    """

    start_s: float = 0.0
    _trials_s: list[float] = field(default_factory=list)
    _ratios: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    """By contender, the seconds of the default on a graph that had it, and how many times those it took itself."""
    _begun: set[str] = field(default_factory=set)
    """Single candidates that were compiled before: what the first of a run costs is spent."""
    _merged: dict[str, float] = field(default_factory=dict)
    """By digest, what compiling it merged took, relative to what the same takes where nothing is merged."""

    @property
    def trial_s(self) -> float:
        """What measuring takes, in the mean so far."""
        return sum(self._trials_s) / len(self._trials_s) if self._trials_s else FIRST_TRIAL_S

    def measured(self, seconds: float) -> None:
        """A trial was measured in so many seconds."""
        self._trials_s.append(seconds)

    def learn(self, target: Target, contender: Contender, tried: CandidateTrial) -> None:
        """What the trial says of how long its candidate compiles, for graphs that have not had it."""
        compile_ns = tried.trial.compile_ns
        if not compile_ns or not target.compile_s or tried.trial.outcome is not TrialOutcome.MEASURED:
            return
        ratio, once_s = compile_ns / NS_PER_S / target.compile_s, self._once_s(contender)
        if once_s:
            # How much of the first one's time comes once is not known: the rest of it is no more than is usual.
            ratio = min(max(ratio - once_s / target.compile_s, 0.0), contender.compile_ratio)
        self._begun.update(contender.parts)
        if contender.merges and contender.compile_ratio:
            found = max(self._merged.get(target.digest, 0.0), ratio / contender.compile_ratio)
            self._merged[target.digest] = found
        found_ratio = ratio / self._left(target, contender)
        self._ratios.setdefault(contender.id, []).append((target.compile_s, found_ratio))

    def compile_s(self, proposal: Proposal) -> float:
        """As long as it took on another graph, and by the table's ratio for what this one's default takes longer, for a
        part of it every graph takes alike; by that ratio alone where it had none. The longest of these.
        """
        target, contender = proposal.target, proposal.contender
        known = self._ratios.get(contender.id, [(default_s(target), contender.compile_ratio)])
        seconds = max(_grown_s(default_s(target), of, ratio, contender.compile_ratio) for of, ratio in known)
        return self._once_s(contender) + seconds * self._left(target, contender)

    def _once_s(self, contender: Contender) -> float:
        return 0.0 if self._begun.issuperset(contender.parts) else contender.once_s

    def _left(self, target: Target, contender: Contender) -> float:
        """How much of the graph is left to compile: after merging as it was seen, or as many operations as are left."""
        if not contender.merges:
            return 1.0
        return self._merged.get(target.digest, target.merged_share or 1.0)

    def need_s(self, proposal: Proposal) -> float:
        return self.compile_s(proposal) + self.trial_s

    def rebuild_s(self, targets: Iterable[Target], built: Iterable[Proposal]) -> float:
        """Compiling the default and what was built before once more, so that something new can stand beside them."""
        defaults = sum(default_s(target) for target in targets)
        return self.start_s + REBUILD_SHARE * (defaults + sum(self.compile_s(proposal) for proposal in built))


def _grown_s(default: float, other: float, ratio: float, growth: float) -> float:
    """What a graph of `default` seconds takes, where one of `other` took `ratio` times that: six graphs of a model were
    expected to take 6 min each by the ratio of one that compiles in a moment, and took 30 s.
    """
    if default <= other or ratio <= growth:
        return default * ratio
    return other * ratio + (default - other) * growth


def default_s(target: Target) -> float:
    return UNKNOWN_COMPILE_S if target.compile_s is None else target.compile_s


def fitting(
    proposals: Sequence[Proposal], pace: Pace, base_s: float, left_s: float | None
) -> tuple[tuple[Proposal, ...], tuple[Proposal, ...]]:
    """Those that fit the time left, in order, and those that do not. `base_s` is spent whichever is taken.

    The order stands: what fits is a beginning of it, but for single ones that are too long and leave room for later
    ones.
    """
    if left_s is None:
        return tuple(proposals), ()
    taken: list[Proposal] = []
    left_out: list[Proposal] = []
    room_s = left_s - base_s
    for proposal in proposals:
        need_s = pace.need_s(proposal)
        if need_s <= room_s:
            taken.append(proposal)
            room_s -= need_s
        else:
            left_out.append(proposal)
    return tuple(taken), tuple(left_out)


def no_time_notes(left_out: Sequence[Proposal]) -> tuple[str, ...]:
    """What the search had no time for, and what it was predicted to give."""
    if not left_out:
        return ()
    told: list[str] = []
    for candidate in dict.fromkeys(proposal.contender.id for proposal in left_out):
        targets = [proposal.target for proposal in left_out if proposal.contender.id == candidate]
        savings = [saving for target in targets if (saving := target.predicted_saving(candidate)) is not None]
        graphs = f" for {len(targets)} graphs" if len(targets) > 1 else ""
        gives = _foretold(sum(savings)) if savings else "no prediction"
        told.append(f"{candidate}{graphs} ({gives})")
    return (f"left untried for lack of time: {', '.join(told)}; --budget gives the search more",)


def _foretold(saving: float) -> str:
    return f"predicted to save {share(saving)} of a step" if saving > 0 else "predicted to save nothing"

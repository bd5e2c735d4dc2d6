"""The search for a plan: graph by graph, then all graphs together, each step measured.

Takes a `measure` function and imports no collector, so that it is tested on costs that are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from analyzer.core.quantities import share
from analyzer.core.trial import Change, Trial, TrialOutcome
from analyzer.derive.compare import compare

MAX_GRAPHS: Final = 12
"""Graphs tried one by one, the costliest first; the rest follow the plan's most common choice."""

MIN_SHARE: Final = 0.005
"""A graph under half a per cent of the step cannot repay a trial: no candidate removes more than all of it."""

NEAR_FLOOR: Final = 0.10
"""A trial that leaves less than a tenth of the step between it and the step without any starved time leaves no room
for a candidate that only saves the host's time."""

Choices = Mapping[str, str]


class Lab(Protocol):
    """Where trials are made."""

    def prepare(self, wanted: Mapping[str, Sequence[str]]) -> None:
        """Compile these candidates for these graphs (by digest), beside the default for all."""

    def measure(self, choices: Choices) -> Trial:
        """One step with these candidates by digest and the default for all other graphs. Raises nothing of theirs."""

    def tried(self, trial: CandidateTrial | JointTrial, done: int, total: int) -> None:
        """A trial has ended; `total` is how many there may be."""


@dataclass(frozen=True, slots=True)
class Target:
    """One digest: what it costs a step, forward and backward together, and what it was predicted to cost under each
    candidate (None: no prediction). `starved_share` is the share of the step in which the host kept this
    graph's device waiting, None where that is not known.
    """

    digest: str
    elapsed_ns: int
    share: float
    predicted_ns: Mapping[str, int | None]
    starved_share: float | None = None


@dataclass(frozen=True, slots=True)
class CandidateTrial:
    digest: str
    candidate: str
    predicted_ns: int | None
    trial: Trial


@dataclass(frozen=True, slots=True)
class JointTrial:
    """A choice for every graph at once. `name` says where it came from."""

    name: str
    choices: Choices
    trial: Trial


@dataclass(frozen=True, slots=True)
class Found:
    """`best` are the choices to go on with; empty means the default for every graph."""

    trials: tuple[CandidateTrial, ...]
    joint: tuple[JointTrial, ...]
    best: Choices
    untried: tuple[str, ...]


def worth_trying(targets: Sequence[Target]) -> tuple[Target, ...]:
    """The graphs that are tried one by one, the costliest first."""
    ranked = sorted(targets, key=lambda target: (-target.elapsed_ns, target.digest))
    return tuple(target for target in ranked[:MAX_GRAPHS] if target.share >= MIN_SHARE)


def search(targets: Sequence[Target], stages: Sequence[Sequence[str]], lab: Lab) -> Found:
    """Try each candidate for each graph alone, then the best of each together and each candidate everywhere.

    Candidates of a later stage are dearer to compile, and only save the host's time: they are left untried, with the
    reason, for a graph whose best trial so far is near the step without any starved time. Nothing is chosen that is
    not faster than the default beyond noise, and the joint choice is the fastest of those measured as a whole: a win
    alone need not be one together.
    """
    tried = worth_trying(targets)
    total = len(tried) * sum(len(stage) for stage in stages)
    trials: list[CandidateTrial] = []
    wanted: dict[str, list[str]] = {target.digest: [] for target in tried}
    for number, stage in enumerate(stages):
        skipped = {t.digest: reason for t in tried if number and (reason := _no_room(t, trials))}
        if len(skipped) < len(tried):
            for target in tried:
                wanted[target.digest] += [] if target.digest in skipped else stage
            lab.prepare(wanted)
        for target in tried:
            for candidate in stage:
                reason = skipped.get(target.digest)
                untried = Trial(outcome=TrialOutcome.UNTRIED, reason=reason)
                trial = untried if reason else lab.measure({target.digest: candidate})
                trials.append(CandidateTrial(target.digest, candidate, target.predicted_ns.get(candidate), trial))
                lab.tried(trials[-1], len(trials), total)
    best = {digest: candidate for target in tried for digest, candidate in _best_of(target.digest, trials)}
    others = [candidate for stage in stages for candidate in stage]
    joint = _joint_trials(best, tried, others, trials, lab)
    return Found(
        trials=tuple(trials),
        joint=joint,
        best=_fastest(joint, trials, best),
        untried=tuple(target.digest for target in targets if target not in tried),
    )


def _no_room(target: Target, trials: Sequence[CandidateTrial]) -> str | None:
    """Why nothing that saves the host's time is worth compiling for this graph any more, None where it may be."""
    if target.starved_share is None:
        return None
    steps = [1 / speedup(t.trial) for t in trials if t.digest == target.digest and is_faster(t.trial)]
    left = min(steps, default=1.0) - (1 - target.starved_share)
    if left >= NEAR_FLOOR:
        return None
    return f"it can only save the host's time, of which {share(max(left, 0.0))} of a step is left"


def _best_of(digest: str, trials: Sequence[CandidateTrial]) -> list[tuple[str, str]]:
    """The fastest candidate that beats the default beyond noise, as at most one (digest, candidate)."""
    faster = [t for t in trials if t.digest == digest and is_faster(t.trial)]
    if not faster:
        return []
    winner = max(faster, key=lambda t: speedup(t.trial))
    return [(digest, winner.candidate)]


def _joint_trials(
    best: Choices, tried: Sequence[Target], others: Sequence[str], trials: Sequence[CandidateTrial], lab: Lab
) -> tuple[JointTrial, ...]:
    """Whole-model choices worth measuring that no trial has measured already."""
    if len(tried) < 2:
        return ()
    wanted: list[tuple[str, dict[str, str]]] = [("best of each graph", dict(best))] if len(best) > 1 else []
    for candidate in others:
        able = _able(candidate, tried, trials)
        if len(able) > 1 and able != best:
            wanted.append((f"{candidate} everywhere", able))
    joint: list[JointTrial] = []
    for name, choices in wanted:
        joint.append(JointTrial(name, choices, lab.measure(choices)))
        lab.tried(joint[-1], len(joint), len(wanted))
    return tuple(joint)


def _able(candidate: str, tried: Sequence[Target], trials: Sequence[CandidateTrial]) -> dict[str, str]:
    """The graphs that ran under this candidate and gave right results."""
    ran = {t.digest for t in trials if t.candidate == candidate and t.trial.outcome is TrialOutcome.MEASURED}
    return {target.digest: candidate for target in tried if target.digest in ran}


def _fastest(joint: Sequence[JointTrial], trials: Sequence[CandidateTrial], best: Choices) -> Choices:
    """The choices of the fastest measured whole, alone or joint; the default where none beats it."""
    options = [(speedup(j.trial), tuple(sorted(j.choices.items()))) for j in joint if is_faster(j.trial)]
    options += [(speedup(t.trial), ((t.digest, t.candidate),)) for t in trials if is_faster(t.trial)]
    if not options:
        return {}
    top = max(option[0] for option in options)
    # Between wholes that are equal but for noise the one that chooses for each graph separately is kept: the others
    # put a candidate where it does not help.
    preferred = tuple(sorted(best.items()))
    for ratio, choices in options:
        if choices == preferred and ratio >= top * (1 - TIE):
            return dict(choices)
    return dict(max(options)[1])


TIE: Final = 0.01
"""Wholes within 1 % of each other are equal: the spread of interleaved medians on a quiet H200 step is near that."""


def speedup(trial: Trial) -> float:
    """Median step of the default over the trial's, from samples taken in turn; 0 where it was not measured."""
    if trial.step_ns is None or trial.against is None:
        return 0.0
    return trial.against.median_ns / max(trial.step_ns.median_ns, 1)


def is_faster(trial: Trial) -> bool:
    """Right, and faster than the default by more than the noise of both."""
    if trial.outcome is not TrialOutcome.MEASURED or trial.step_ns is None or trial.against is None:
        return False
    return compare(trial.against, trial.step_ns).outcome is Change.FASTER

"""All graphs together: whether the wins of each appear in the whole, and which choice hurts where they do not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from analyzer.core.trial import Trial, TrialOutcome
from optimizers.contenders import Contenders, Role
from optimizers.trials import CandidateTrial, Choices, JointTrial, Target, saved_share

TIE: Final = 0.01
"""Wholes within 1 % of each other are equal: the spread of interleaved medians on a quiet H200 step is near that."""

SHOULD_APPEAR: Final = 0.65
"""Of the sum of the single wins, from which on nothing is suspected. Three graphs of `mixed_graphs` on a busy H200
saved 49 % of a step together where the sum of their own trials was 70 %, and none of them hurt."""

MAX_EVERYWHERE: Final = 3
"""Candidates tried on every graph at once, those first that saved most alone."""

MAX_LEFT_OUT: Final = 6
"""Wholes measured with one choice less. The suspicious come first, so that the culprit is seldom far down."""

BEST_OF_EACH: Final = "best of each graph"

Attempt = Callable[[str, Choices], JointTrial | None]
"""Measure a whole under a name; None where there was no time for it."""


@dataclass(frozen=True, slots=True)
class Wins:
    """The trial that won alone, by digest, and `gain`: how many times better than the default a whole is, 0 if not."""

    alone: Mapping[str, CandidateTrial]
    gain: Callable[[Choices, Trial], float]

    @property
    def choices(self) -> dict[str, str]:
        return {digest: trial.candidate for digest, trial in self.alone.items()}


def joint_trials(
    wins: Wins,
    targets: Sequence[Target],
    all_of: Contenders,
    trials: Sequence[CandidateTrial],
    attempt: Attempt,
    spread: Collection[tuple[str, str]] = (),
) -> tuple[JointTrial, ...]:
    """The wholes that were measured. Nothing for one graph: its trials were of the whole already. `spread` are graphs,
    by digest, and candidates that were built for wholes alone.
    """
    if len(targets) < 2:
        return ()
    done: list[JointTrial] = []
    if len(wins.alone) > 1:
        whole = attempt(BEST_OF_EACH, wins.choices)
        done += [] if whole is None else [whole, *_without_what_hurts(whole, wins, attempt)]
    for candidate, able in _everywhere(targets, all_of, trials, spread).items():
        if not any(dict(joint.choices) == able for joint in done):
            whole = attempt(f"{candidate} everywhere", able)
            done += [] if whole is None else [whole]
    return tuple(done)


def _without_what_hurts(whole: JointTrial, wins: Wins, attempt: Attempt) -> list[JointTrial]:
    """Leave one choice out after another, the most suspicious first, and go on from each whole that is better for it.

    Stops as soon as the wins that are left add up.
    """
    best, done = whole, list[JointTrial]()
    suspects = _suspects(whole, wins)
    while suspects and len(done) < MAX_LEFT_OUT and len(best.choices) > 1 and not _adds_up(best, wins):
        suspect = suspects.pop(0)
        fewer = {digest: candidate for digest, candidate in best.choices.items() if digest != suspect}
        if len(fewer) == 1:
            break  # that is a trial of its own, and was measured
        tried = attempt(f"{BEST_OF_EACH}, without {best.choices[suspect]} for {suspect}", fewer)
        if tried is None:
            break
        done.append(tried)
        if wins.gain(tried.choices, tried.trial) > wins.gain(best.choices, best.trial) * (1 + TIE):
            best = tried
    return done


def _adds_up(whole: JointTrial, wins: Wins) -> bool:
    if whole.trial.outcome is not TrialOutcome.MEASURED:
        return False
    hoped = sum(saved_share(wins.alone[digest].trial) for digest in whole.choices)
    return saved_share(whole.trial) >= SHOULD_APPEAR * hoped - TIE


def _suspects(whole: JointTrial, wins: Wins) -> list[str]:
    """The digests, those first whose graph lost most, together, of the time that it had gained alone."""
    return sorted(
        whole.choices, key=lambda digest: (-_lost(digest, whole, wins), saved_share(wins.alone[digest].trial))
    )


def _lost(digest: str, whole: JointTrial, wins: Wins) -> float:
    """In ns a step; 0 where either was not timed by graph."""
    together, alone = (_own_saving(digest, trial) for trial in (whole.trial, wins.alone[digest].trial))
    return 0.0 if together is None or alone is None else alone - together


def _own_saving(digest: str, trial: Trial) -> int | None:
    mine = [region for region in trial.regions if region.key.digest == digest]
    if not mine or any(region.against_ns is None for region in mine):
        return None
    return sum((region.against_ns or 0) - region.ns for region in mine)


def _everywhere(
    targets: Sequence[Target],
    all_of: Contenders,
    trials: Sequence[CandidateTrial],
    spread: Collection[tuple[str, str]],
) -> dict[str, dict[str, str]]:
    """The candidates worth trying on every graph, for they ran on several: those first that saved most in sum. With the
    choices of each: graphs that ran under it and gave right results, or were built with it for this.

    None need have won alone: CUDA graphs that follow one another share their memory.
    """
    sums: dict[str, float] = {}
    for tried in trials:
        found = all_of.find(tried.candidate)
        if found is not None and found.id == tried.candidate and found.role is not Role.KERNELS:
            sums[tried.candidate] = sums.get(tried.candidate, 0.0) + saved_share(tried.trial)
    ran = {(t.digest, t.candidate) for t in trials if t.trial.outcome is TrialOutcome.MEASURED} | {*spread}
    able = {name: {t.digest: name for t in targets if (t.digest, name) in ran} for name in sums}
    built = {candidate for _, candidate in spread}
    ranked = sorted(sums, key=lambda candidate: (candidate not in built, -sums[candidate], candidate))
    several = [candidate for candidate in ranked if len(able[candidate]) > 1]
    return {candidate: able[candidate] for candidate in several[:MAX_EVERYWHERE]}


def best_whole(joint: Sequence[JointTrial], trials: Sequence[CandidateTrial], wins: Wins) -> dict[str, str]:
    """The choices of the best measured whole, alone or joint; empty, the default, where none beats it.

    Between wholes that are equal but for noise the one that chooses for each graph separately is kept: the others put
    a candidate where it does not help.
    """
    options = [(wins.gain(j.choices, j.trial), tuple(sorted(j.choices.items()))) for j in joint]
    options += [(wins.gain(t.choices, t.trial), ((t.digest, t.candidate),)) for t in trials]
    options = [option for option in options if option[0] > 0]
    if not options:
        return {}
    top = max(option[0] for option in options)
    for ratio, choices in options:
        if dict(choices) == wins.choices and ratio >= top * (1 - TIE):
            return dict(choices)
    return dict(max(options)[1])

"""Where the search's trials are made: in the session, which may be lost at any of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from analyzer.core.report import WorkloadFacts
from analyzer.core.run import LostChildError, Skip
from analyzer.core.samples import Samples
from analyzer.core.trial import Trial, TrialOutcome
from analyzer.driver import Driver
from analyzer.measured import Measured
from analyzer.narrator import Narrator
from optimizers.trials import CandidateTrial, Choices, JointTrial, with_samples

LOAD_LIMIT_S: Final = 600.0
"""Loading a model of tens of GB from a slow disk; past it the user is told rather than left waiting."""

TRIAL_LIMIT_S: Final = 300.0
"""Silence allowed in a trial that does not compile: its samples take seconds, a hung kernel takes for ever."""

NOT_BUILT: Final = "the process that held it was lost, and it was not compiled again"

MAX_RESTARTS: Final = 8
"""Beyond so many lost processes the search ends with what it has."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Wall time: for compiling one candidate, and for the whole search from now on, None where nothing bounds that."""

    compile_s: float
    search_s: float | None = None


class PipelineLab:
    """Builds candidates and measures trials. A lost process costs the candidate it was at; a fresh one goes on."""

    def __init__(
        self,
        driver: Driver,
        measured: Measured,
        progress: Narrator,
        limits: Limits,
        *,
        needs_fresh: bool,
        skip: Sequence[Skip] = (),
    ) -> None:
        self._ends_s = None if limits.search_s is None else time.monotonic() + limits.search_s
        self._driver = driver
        self._measured = measured
        self._progress = progress
        self._timeout_s = limits.compile_s
        self._needs_start = needs_fresh
        self._needs_judge = True
        self._skip: list[Skip] = list(skip)
        self._wanted: dict[str, tuple[str, ...]] = {}
        self._restarts = 0
        self._keeps = False

    def prepare(self, wanted: Mapping[str, Sequence[str]], *, is_bounded: bool = True) -> None:
        self._wanted = {digest: tuple(candidates) for digest, candidates in wanted.items()}
        self._build(is_bounded=is_bounded)
        self._keeps = self._driver.call("keeps_built")

    def keeps_built(self) -> bool:
        return self._keeps and not self._needs_start

    def measure(self, choices: Choices) -> Trial:
        known = self._known(choices)
        return known if known is not None else self._trial(choices)

    def refine(self, choices: Choices, trial: Trial) -> Trial:
        if trial.step_ns is None:
            return trial
        try:
            taken = self._in_turn(choices, {}, trial.step_ns.median_ns)
        except LostChildError as lost:
            return self._lost(choices, lost)
        return trial if taken is None else with_samples(trial, *taken)

    def duel(self, choices: Choices, other: Choices, step_ns: int) -> tuple[Samples, Samples] | None:
        try:
            return self._in_turn(choices, other, step_ns)
        except LostChildError as lost:  # of which of the two is not known
            self._restart(lost)
            return None

    def left_s(self) -> float | None:
        return None if self._ends_s is None else self._ends_s - time.monotonic()

    def tried(self, trial: CandidateTrial | JointTrial, done: int, total: int) -> None:
        if isinstance(trial, CandidateTrial):
            self._keep(trial)
            self._progress.step(done, total, f"{trial.candidate} {trial.trial.outcome.value}")
        else:
            self._measured.joint.append(trial)
            self._progress.step(done, total, f"together: {trial.name}")

    def _keep(self, trial: CandidateTrial) -> None:
        """In place of what was known of the same before."""
        kept = self._measured.trials
        same = [n for n, old in enumerate(kept) if (old.digest, old.candidate) == (trial.digest, trial.candidate)]
        if same:
            kept[same[0]] = trial
        else:
            kept.append(trial)

    def _trial(self, choices: Choices) -> Trial:
        try:
            trial: Trial = self._driver.call("trial", dict(choices), limit_s=self._timeout_s + TRIAL_LIMIT_S)
            return trial
        except LostChildError as lost:
            return self._lost(choices, lost)

    def _in_turn(self, choices: Choices, other: Choices, step_ns: int) -> tuple[Samples, Samples] | None:
        limit_s = self._timeout_s + TRIAL_LIMIT_S
        taken: tuple[Samples, Samples] | None = self._driver.call(
            "in_turn", dict(choices), dict(other), step_ns, limit_s=limit_s
        )
        return taken

    def _lost(self, choices: Choices, lost: LostChildError) -> Trial:
        """What these choices cost, which took the process down; a fresh one goes on without them."""
        outcome = outcome_of(lost)
        for digest, candidate in choices.items():
            self._give_up(Skip(digest, candidate, outcome, lost.message))
        self._restart(lost)
        return Trial(outcome=outcome, reason=lost.message)

    def _known(self, choices: Choices) -> Trial | None:
        """The trial of what was given up before, where all of it was, and of what is not built."""
        if not all(candidate in self._wanted.get(digest, ()) for digest, candidate in choices.items()):
            return Trial(outcome=TrialOutcome.UNTRIED, reason=NOT_BUILT)
        skipped = [s for s in self._skip if choices.get(s.digest) == s.candidate]
        if skipped and len(skipped) == len(choices):
            return Trial(outcome=skipped[0].outcome, reason=skipped[0].reason)
        return None

    def _build(self, *, is_bounded: bool = True) -> None:
        """Compile everything wanted, without what took a process down; tried again after each loss."""
        while True:
            try:
                self._start_if_needed()
                limits = {"limit_s": TRIAL_LIMIT_S, "compile_limit_s": self._timeout_s}
                self._driver.call("build", self._wanted, self.left_s() if is_bounded else None, **limits)
                return
            except LostChildError as lost:
                event = lost.event
                if event is None or event.key is None or event.candidate is None or event.is_over:
                    raise
                seconds = f"{self._timeout_s:.0f}"
                reason = f"gave up compiling after {seconds} s" if lost.hung else lost.message
                self._give_up(Skip(event.key.digest, event.candidate, outcome_of(lost), reason))
                self._count_restart(lost)

    def _start_if_needed(self) -> None:
        # Not in the process that profiled, for CUPTI stays on it: on an H200 (torch 2.11, CUDA 13) a launch then cost
        # the host 9 to 13 µs in place of 6, a replay of 40 kernels 13 to 23 in place of 2.4. TEARDOWN_CUPTI=1 has
        # Kineto take it off, but of two recordings one right after the other, as the profiled pass makes them, one came
        # out without a kernel, and CUPTI stayed.
        if self._needs_start:
            start_afresh(self._driver, self._skip)
            self._needs_start, self._needs_judge = False, True
        if self._needs_judge:
            self._driver.call("prepare_judge", limit_s=LOAD_LIMIT_S)
            self._needs_judge = False

    def _give_up(self, skip: Skip) -> None:
        self._skip.append(skip)
        self._progress.note(f"{skip.candidate} for graph {skip.digest}: {skip.outcome.value}; {skip.reason}")

    def _restart(self, lost: LostChildError) -> None:
        self._count_restart(lost)
        self._build()

    def _count_restart(self, lost: LostChildError) -> None:
        self._needs_start = True
        self._restarts += 1
        if self._restarts > MAX_RESTARTS:
            raise lost


def start_afresh(driver: Driver, skip: Sequence[Skip]) -> WorkloadFacts:
    """The model in a fresh process, in place of one that was lost, and run once. Raises GraphboundError."""
    driver.start(tuple(skip), LOAD_LIMIT_S)
    facts: WorkloadFacts = driver.call("start", limit_s=LOAD_LIMIT_S)
    return facts


def outcome_of(lost: LostChildError) -> TrialOutcome:
    """What losing its process means for a candidate."""
    return TrialOutcome.TIMED_OUT if lost.hung else TrialOutcome.CRASHED

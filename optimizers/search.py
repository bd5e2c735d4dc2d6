"""The search for a plan: graph by graph, then all graphs together, each step measured and within a time.

Takes a lab to measure in and imports no collector, so that it is tested on costs that are known.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from analyzer.core.quantities import NS_PER_S, clock
from analyzer.core.settings import Objective
from analyzer.core.trial import Trial, TrialOutcome
from analyzer.derive.compare import MIN_CHANGE
from optimizers.contenders import Contender, Contenders, Role
from optimizers.goal import Goal, goal_notes
from optimizers.joint import BEST_OF_EACH, TIE, Wins, best_whole, joint_trials
from optimizers.pace import Pace, Proposal, fitting, no_time_notes
from optimizers.rounds import ROUNDS, goes_on_top, is_overdue, split_of
from optimizers.trials import CandidateTrial, Choices, Found, JointTrial, Lab, Target, speedup_interval, step_ratio
from optimizers.worth import is_promising, why_not, worth_trying

MAX_REFINED: Final = 3
"""Times that further samples are taken of one trial: each time as many as the first, so that its interval halves."""

AT_ONCE: Final = 4
AT_ONCE_S: Final = 20.0
"""Candidates that are compiled before any of them is measured, and what that is estimated to take: at least one. Two of
GPTlite took over 100 s on an H200, in which a search of 117 s had no trial; more than one where they are quickly
compiled, because each build costs a warm-up of its own."""

LOST_ELSEWHERE: Final = 2
"""Graphs of one verdict on which a candidate was never the best before it is left out for the others, where time is
short. Each trial takes seconds, and ten graphs of one model are seldom of ten kinds."""

Tried = CandidateTrial | JointTrial

NO_TIME: Final = "the search's time was over"


@dataclass(frozen=True, slots=True)
class Aims:
    """`start_s` is what the first compilation costs beside compiling: the model in a fresh process."""

    objective: Objective = Objective.LATENCY
    memory_limit_bytes: int | None = None
    start_s: float = 0.0


def search(targets: Sequence[Target], all_of: Contenders, lab: Lab, aims: Aims) -> Found:
    """Try candidates for each graph alone, round by round, then the best of each together and each everywhere.

    What cannot repay its trial, or has no time left, is left UNTRIED with the reason. Nothing is chosen that is not
    better than the default beyond noise at what is aimed at, and the choice is the best of the wholes that were
    measured: a win alone need not be one together.
    """
    return _Search(worth_trying(targets), all_of, lab, aims).run(targets)


class _Search:
    """One search in progress."""

    def __init__(self, targets: tuple[Target, ...], all_of: Contenders, lab: Lab, aims: Aims) -> None:
        self._targets = targets
        self._all = all_of
        self._lab = lab
        self._pace = Pace(start_s=aims.start_s)
        compile_s = {t.digest: t.compile_s for t in targets if t.compile_s is not None}
        self._goal = Goal(aims.objective, aims.memory_limit_bytes, None, compile_s)
        self._trials: dict[tuple[str, str], CandidateTrial] = {}
        self._built: list[Proposal] = []
        self._refined: dict[tuple[str, str], int] = {}
        self._no_time: list[Proposal] = []
        self._lost: list[Proposal] = []  # left out for what they gave on other graphs
        self._held: dict[tuple[tuple[str, str], ...], float] = {}
        """The gain of choices that were held against others directly, in place of that over the default."""
        self._joint = 0

    def run(self, targets: Sequence[Target]) -> Found:
        for number in range(len(ROUNDS)):
            self._round(number)
        self._splits()
        spread = self._spread()
        wins = Wins(self._winners(), self._whole_gain)
        joint = joint_trials(wins, self._targets, self._all, self._measured(), self._attempt, spread)
        return Found(
            trials=tuple(self._trials.values()),
            joint=joint,
            best=self._best_whole(joint, wins),
            untried=tuple(target.digest for target in targets if target not in self._targets),
            notes=(*goal_notes(self._goal), *no_time_notes(self._no_time)),
        )

    # -- rounds ---------------------------------------------------------------------------------------------------

    def _round(self, number: int) -> None:
        ranked: list[tuple[int, Proposal]] = []
        for target in self._targets:
            wanted = ROUNDS[number](target, self._all, self._of(target), self._gain)
            worth = [
                one for one in wanted if (target.digest, one.id) not in self._trials and self._is_worth(target, one)
            ]
            ranked += [(rank, Proposal(target, contender)) for rank, contender in enumerate(worth)]
        self._try([proposal for _, proposal in sorted(ranked, key=self._turn)])

    def _turn(self, ranked: tuple[int, Proposal]) -> tuple[bool, int, bool]:
        """One candidate for each graph before the second for any: where time runs out, no graph is left with nothing.
        Of one rank, what is known to promise something before what has to show it.
        """
        rank, one = ranked
        overdue = is_overdue(one.target, one.contender, self._of(one.target), self._gain)
        return not overdue, rank, not is_promising(one.target, one.contender)

    def _is_worth(self, target: Target, contender: Contender) -> bool:
        """Whether it is to be tried; its trial says why, where it is not."""
        refusal = self._all.refusal(contender, has_backward=target.has_backward)
        if refusal is not None:
            self._record(target, contender.id, Trial(outcome=TrialOutcome.REFUSED, reason=refusal))
            return False
        reason = why_not(target, contender, self._of(target), self._all)
        if reason is not None:
            self._leave(Proposal(target, contender), reason)
        return reason is None

    def _try(self, proposals: Sequence[Proposal]) -> None:
        """A few at a time where what was built stands meanwhile: a search that is ended early then has their trials.

        The first ones are few anyhow: only they show whether it does.
        """
        left = tuple(proposals)
        while left := tuple(proposal for proposal in left if not self._has_lost_elsewhere(proposal)):
            base_s = self._base_s()
            taken, left_out = fitting(left, self._pace, base_s, self._left_s())
            is_forced = not taken and not self._built and not self._is_over()
            if is_forced:
                # However short the time, something is tried in it: an estimate must not be all that the user gets.
                taken, left_out = left[:1], left[1:]
            if not taken:
                self._leave_out(left_out, base_s)
                return
            if self._lab.keeps_built() or not self._built:
                taken = self._at_once(taken)
            self._built += taken
            self._prepare()
            # Also where the time is over by now: what is built is measured in seconds, and what is not says so at once.
            for proposal in taken:
                if not self._has_lost_elsewhere(proposal):
                    self._measure(proposal)
            left = tuple(self._on_the_best(proposal) for proposal in left if proposal not in taken)

    def _on_the_best(self, proposal: Proposal) -> Proposal:
        """Other kernels, or a dear launch, on top of what was seen to be the best of their graph since they were
        proposed: what wins adds up so with one trial each. Not where a backward may want others than its forward, which
        trials apart tell.
        """
        target, contender = proposal.target, proposal.contender
        best = self._best(target)
        base = self._all.find(best.candidate) if best is not None and not target.has_backward else None
        if base is None or contender.is_asked or not goes_on_top(contender, base):
            return proposal
        both = self._all.together(base, contender)
        if both is None or both.id == base.id or (target.digest, both.id) in self._trials:
            return proposal
        is_refused = self._all.refusal(both, has_backward=False) is not None
        return proposal if is_refused or why_not(target, both, self._of(target), self._all) else Proposal(target, both)

    def _has_lost_elsewhere(self, proposal: Proposal) -> bool:
        """Whether it is left out for what it gave on other graphs of the same verdict; its trial says so."""
        target, contender = proposal.target, proposal.contender
        if contender.is_asked or self._lab.left_s() is None:
            return False
        alike = [one for one in self._targets if one.bound is target.bound and one is not target]
        found = [t for one in alike for t in self._of(one) if t.candidate == contender.id and _is_known(t)]
        if len(found) < LOST_ELSEWHERE or any(map(self._is_best, found)):
            return False
        self._lost.append(proposal)
        self._leave(proposal, f"on {len(found)} other graphs that are bound by the same it was not the best")
        return True

    def _is_best(self, trial: CandidateTrial) -> bool:
        """Whether no other candidate of its graph gained as much, and it gained at all."""
        gain = self._gain(trial)
        rivals = [t for t in self._trials.values() if t.digest == trial.digest and t.candidate != trial.candidate]
        return gain > 0 and all(self._gain(rival) < gain for rival in rivals)

    def _at_once(self, proposals: Sequence[Proposal]) -> tuple[Proposal, ...]:
        seconds = itertools.accumulate(map(self._pace.compile_s, proposals))
        soon = sum(1 for s in seconds if s <= AT_ONCE_S)
        return tuple(proposals[: min(max(soon, 1), AT_ONCE)])

    def _leave_out(self, proposals: Sequence[Proposal], base_s: float) -> None:
        left = clock(round(max(self._lab.left_s() or 0.0, 0.0) * NS_PER_S))
        for proposal in proposals:
            needed = clock(round((base_s + self._pace.need_s(proposal)) * NS_PER_S))
            rest = left if left != needed else "a little less"
            self._leave_for_time(proposal, f"it takes about {needed}, and {rest} was left for it")

    def _prepare(self) -> None:
        wanted: dict[str, list[str]] = {target.digest: [] for target in self._targets}
        for proposal in self._built:
            wanted[proposal.target.digest].append(proposal.contender.id)
        self._lab.prepare(wanted)
        self._pace.start_s = 0.0
        if self._goal.needs_default and self._goal.default is None and not self._is_over():
            self._goal = replace(self._goal, default=self._lab.measure({}))

    def _measure(self, proposal: Proposal) -> None:
        target, contender = proposal.target, proposal.contender
        choices = {target.digest: contender.id}
        before_s = self._lab.left_s()
        trial = self._goal.limited(self._lab.measure(choices))
        if trial.outcome is TrialOutcome.UNTRIED:
            self._leave_for_time(proposal, trial.reason or NO_TIME)
            return
        self._record(target, contender.id, trial)
        self._settle(target, contender.id)
        self._pace.learn(target, contender, self._trials[target.digest, contender.id])
        after_s = self._lab.left_s()
        if before_s is not None and after_s is not None:
            self._pace.measured(before_s - after_s)

    def _splits(self) -> None:
        """Another candidate for the backward, where the trials by direction promise something of it."""
        proposals = []
        for target in self._targets:
            found = split_of(target, self._all, self._of(target))
            if found is not None:
                contender, ns = found
                predicted = {**target.predicted_ns, contender.id: ns}
                proposals.append(Proposal(replace(target, predicted_ns=predicted), contender))
        self._try(proposals)

    def _spread(self) -> frozenset[tuple[str, str]]:
        """Build the ways to launch that were left out for what they gave on other graphs, for trials of all graphs: a
        little on each of ten is more than what noise hides on one. The graphs, by digest, and candidates built so.
        """
        lost = [proposal for proposal in self._lost if proposal.contender.role is Role.LAUNCH]
        left_s = self._left_s()
        if not lost or (left_s is not None and self._base_s() + sum(map(self._pace.compile_s, lost)) > left_s):
            return frozenset()
        self._built += lost
        self._prepare()
        return frozenset((proposal.target.digest, proposal.contender.id) for proposal in lost)

    # -- samples --------------------------------------------------------------------------------------------------

    def _settle(self, target: Target, candidate: str) -> None:
        """Further samples where it is open whether the trial beats the default, or the best of its graph."""
        while not self._is_over() and self._refinable(target, candidate):
            rival = self._rival(target, candidate)
            is_close = rival is not None and self._are_close(target, candidate, rival)
            if not is_close and not self._is_open(target, candidate):
                break
            self._refine(target, candidate)
            if rival is not None and is_close and self._refinable(target, rival):
                self._refine(target, rival)
        rival = self._rival(target, candidate)
        if rival is not None:
            self._duel(self._trials[target.digest, candidate], self._trials[target.digest, rival])

    def _duel(self, one: Tried, other: Tried) -> None:
        """Both in turn, where the one that beat its default by more is not the faster one: the default varied.

        What beat it by less is believed, and the other is held against that. GPTlite's default on an H200 took 16 ms
        in five trials and 24 ms in a sixth, whose candidate of 8.8 ms was then chosen over one of 7.9.
        """
        if self._gain(one) > self._gain(other):
            one, other = other, one
        slower = other.trial.step_ns
        # Also where the time is over: half a second of steps of what is built.
        if slower is None or not self._is_contradicted(one, other):
            return
        taken = self._lab.duel(one.choices, other.choices, slower.median_ns)
        if taken is not None:
            others, mine = taken
            self._held[_key(other.choices)] = self._gain(one) * mine.median_ns / max(others.median_ns, 1)

    def _is_contradicted(self, one: Tried, other: Tried) -> bool:
        """Whether `other`, which gained more over its default, is the slower one; both by more than a tie."""
        if self._goal.objective is not Objective.LATENCY or not self._gain(one) or _key(other.choices) in self._held:
            return False
        gained = self._gain(other) / self._gain(one)
        return gained > 1 + TIE and step_ratio(other.trial, one.trial) > 1 + TIE

    def _refinable(self, target: Target, candidate: str) -> bool:
        trial = self._trials[target.digest, candidate].trial
        done = self._refined.get((target.digest, candidate), 0)
        return trial.outcome is TrialOutcome.MEASURED and done < MAX_REFINED

    def _refine(self, target: Target, candidate: str) -> None:
        pair = (target.digest, candidate)
        self._refined[pair] = self._refined.get(pair, 0) + 1
        self._record(target, candidate, self._lab.refine({target.digest: candidate}, self._trials[pair].trial))

    def _is_open(self, target: Target, candidate: str) -> bool:
        """Whether it may, or may not, be faster than the default."""
        mine = speedup_interval(self._trials[target.digest, candidate].trial)
        return mine is not None and mine.low <= 1 + MIN_CHANGE <= mine.high

    def _are_close(self, target: Target, candidate: str, rival: str) -> bool:
        """Whether either of the two may be the faster one, by more than a tie."""
        mine, other = (speedup_interval(self._trials[target.digest, name].trial) for name in (candidate, rival))
        if mine is None or other is None or mine.high < 1 + MIN_CHANGE:
            return False
        is_tie = mine.high < other.low * (1 + TIE) and other.high < mine.low * (1 + TIE)
        return not is_tie and mine.low < other.high and other.low < mine.high

    def _rival(self, target: Target, candidate: str) -> str | None:
        """The graph's best trial beside this one."""
        best = self._best(target, besides=candidate)
        return best.candidate if best is not None else None

    # -- wholes ---------------------------------------------------------------------------------------------------

    def _winners(self) -> dict[str, CandidateTrial]:
        return {target.digest: best for target in self._targets if (best := self._best(target)) is not None}

    def _best_whole(self, joint: Sequence[JointTrial], wins: Wins) -> Choices:
        """Held once more against the fastest of all, where that is another."""
        measured = self._measured()
        best = best_whole(joint, measured, wins)
        wholes: list[Tried] = [*joint, *measured]
        gaining = [tried for tried in wholes if self._gain(tried)]
        chosen = next((tried for tried in gaining if dict(tried.choices) == best), None)
        if chosen is None:
            return best
        fastest = min(gaining, key=lambda tried: step_ratio(tried.trial, chosen.trial))
        self._duel(fastest, chosen)
        return best_whole(joint, measured, wins)

    def _attempt(self, name: str, choices: Choices) -> JointTrial | None:
        # The best of each is tried also where the time is over: it is built, and without it all wins but one are lost.
        is_best = name == BEST_OF_EACH
        if self._is_over() and not is_best:
            return None
        trial = self._lab.measure(choices)
        if is_best and trial.outcome is TrialOutcome.UNTRIED:
            # A process that was lost took them along. All were measured, and their kernels lie in torch's cache.
            self._lab.prepare({digest: [candidate] for digest, candidate in choices.items()}, is_bounded=False)
            trial = self._lab.measure(choices)
        joint = JointTrial(name, choices, self._goal.limited(trial))
        self._joint += 1
        self._lab.tried(joint, self._joint, 0)
        return joint

    # -- what is known --------------------------------------------------------------------------------------------

    def _of(self, target: Target) -> list[CandidateTrial]:
        return [trial for trial in self._trials.values() if trial.digest == target.digest]

    def _best(self, target: Target, besides: str | None = None) -> CandidateTrial | None:
        """The graph's trial that gained most, None where none gained."""
        gaining = [t for t in self._of(target) if t.candidate != besides and self._gain(t)]
        return max(gaining, key=self._gain, default=None)

    def _measured(self) -> list[CandidateTrial]:
        return [trial for trial in self._trials.values() if trial.trial.outcome is not TrialOutcome.UNTRIED]

    def _gain(self, tried: Tried) -> float:
        return self._whole_gain(tried.choices, tried.trial)

    def _whole_gain(self, choices: Choices, trial: Trial) -> float:
        gain = self._goal.gain(choices, trial)
        return self._held.get(_key(choices), gain) if gain else gain

    def _left_s(self) -> float | None:
        """For trials of one graph alone: all graphs together are measured once more."""
        left_s = self._lab.left_s()
        return left_s if left_s is None or len(self._targets) < 2 else left_s - self._pace.trial_s

    def _base_s(self) -> float:
        """What is compiled again before anything new is."""
        return 0.0 if self._lab.keeps_built() else self._pace.rebuild_s(self._targets, self._built)

    def _is_over(self) -> bool:
        left_s = self._lab.left_s()
        return left_s is not None and left_s <= 0

    def _leave(self, proposal: Proposal, reason: str) -> None:
        self._record(proposal.target, proposal.contender.id, Trial(outcome=TrialOutcome.UNTRIED, reason=reason))

    def _leave_for_time(self, proposal: Proposal, reason: str) -> None:
        self._no_time.append(proposal)
        self._leave(proposal, reason)

    def _record(self, target: Target, candidate: str, trial: Trial) -> None:
        tried = CandidateTrial(target.digest, candidate, target.foretold_ns(candidate, trial), trial)
        self._trials[target.digest, candidate] = tried
        total = max(len(self._trials), len(self._targets) * len(self._all.single))
        self._lab.tried(tried, len(self._trials), total)


def _is_known(trial: CandidateTrial) -> bool:
    return trial.trial.outcome in (TrialOutcome.MEASURED, TrialOutcome.WRONG_RESULT)


def _key(choices: Choices) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(choices.items()))

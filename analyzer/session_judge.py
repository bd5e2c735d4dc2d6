"""The results of steps in one session, each judged by eager and by a run in higher precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from analyzer.core.run import Event
from analyzer.core.trial import Accuracy, AccuracyReference
from analyzer.session_words import chaotic_note, drawn_note, once_note, unsteady_note, unwidened_note, varying_note
from collectors.effects import Results, effects, written
from collectors.recomputed import is_kept, once_results
from collectors.reference import (
    FURTHER_SEED,
    OTHER_SEED,
    elsewhere_results,
    first_results,
    reference_results,
    reseeded_results,
    shaken_results,
    steady_results,
)
from collectors.state import State
from collectors.step import Stepper
from optimizers.accuracy import Judge, judge_of
from optimizers.likeness import unlike, unsteady, without

MORE_SEEDS: Final = range(FURTHER_SEED, FURTHER_SEED + 3)
"""A random step is wrong where it is under each of these seeds too: what chance brings once in twenty times it brings
in all of them once in a hundred thousand."""

RUNS_AGAIN: Final = 8
"""Eager runs that are asked before the first result is found wrong: what a model writes in every fifth of its steps is
missed by them once in six times, by one four times in five. Later one is asked, which is enough for what drifts."""


class StepJudge:
    """Judges nothing until it is prepared. `results` are what it holds steps against then, None before."""

    def __init__(self, announce: Callable[[Event], None]) -> None:
        self._announce = announce
        self.results: Judge | None = None
        self._eager: Stepper | None = None
        self._written: frozenset[str] = frozenset()
        self._unsteady: frozenset[str] = frozenset()
        self._drawn: dict[str, None] = {}
        self._chaotic: dict[str, None] = {}
        self._elsewhere: frozenset[str] = frozenset()
        """The holders in which eager itself writes at other places than in its first step."""
        self._runs_again = RUNS_AGAIN
        self._once: Results | None = None
        """What eager gives where its checkpoints write nothing again, empty where it has none; None: not asked yet."""
        self._written_once: frozenset[str] = frozenset()
        self._unwidened: list[str] = []
        """Why there is no run in higher precision; empty where there is one."""

    @property
    def is_prepared(self) -> bool:
        return self.results is not None

    @property
    def notes(self) -> tuple[str, ...]:
        """What of the results could not be compared so far, a sentence each."""
        varying = self.results.uncompared - self._unsteady if self.results is not None else ()
        found = (
            (unsteady_note, sorted(self._unsteady)),
            (varying_note, sorted(varying)),
            (drawn_note, list(self._drawn)),
            (chaotic_note, list(self._chaotic)),
            (once_note, sorted(self._written_once)),
        )
        unwidened = tuple(map(unwidened_note, self._unwidened))
        return unwidened + tuple(note(paths) for note, paths in found if paths)

    def prepare(self, eager: Stepper) -> None:
        """Run eager, and a copy in higher precision. Puts the first state back. Raises what the user's model raises."""
        self._announce(Event("running in higher precision"))
        self._eager, self._written = eager, frozenset(eager.state.written)
        once, again = first_results(eager), first_results(eager)
        # What two equal runs leave different, a caller's cache or a clock, is none of what a candidate has to repeat.
        changing = unlike(once, again).intersection(eager.state.written)
        eager.state.written = tuple(path for path in eager.state.written if path in changing or _is_among(path, once))
        self._unsteady = unsteady(once, again) | changing
        other = first_results(eager, OTHER_SEED)
        self._unwidened.clear()
        judge = judge_of((once, again, other), *reference_results(eager.workload, eager.state, self._unwidened.append))
        self.results = judge.without(changing)
        eager.state.written = tuple(path for path in eager.state.written if path not in changing)
        eager.state.restore()

    def compare_with(self, default: Stepper) -> None:
        """Find nothing wrong from now on that is as good as torch's own default."""
        if self.results is not None:
            self.results = self.results.beside(steady_results(default))

    def accuracy(self, stepper: Stepper, changes: Sequence[str] = ()) -> Accuracy | None:
        """Of a step in steady state, under these changes of meaning; None where there is nothing to judge by.

        Nothing is found wrong in what eager itself, run once more, would be wrong in.
        """
        if self.results is None:
            return None
        found = self._found(self.results, stepper, changes)
        if found.is_right or not self._sees_eager_change(stepper.state):
            return found
        return self._found(self.results, stepper, changes)

    def _found(self, judge: Judge, stepper: Stepper, changes: Sequence[str]) -> Accuracy:
        results = steady_results(stepper)
        added = self._what_eager_leaves_alone(stepper)
        if added is not None:
            return added
        self._drawn |= dict.fromkeys(judge.drawn_anew(results))
        accuracy = judge.judge(results, changes)
        if not accuracy.is_right:
            once = self._what_is_written_once(judge, results)
            self._written_once |= once
            judge = judge.without(once)
            accuracy = judge.judge(results, changes)
        if judge.doubts(accuracy):
            self._announce(Event("seeing how far rounding alone goes"))
            self.results = judge = self._wiser(judge, stepper)
            accuracy = judge.judge(results, changes)
        self._chaotic |= dict.fromkeys(judge.passed_by_size(results))
        if accuracy.is_right or not accuracy.is_random:
            return accuracy
        wrong = judge.wrong_in(results, changes)
        for seed in MORE_SEEDS:
            other = steady_results(stepper, seed)
            here = judge.wrong_in(other, changes)
            wrong &= here
            if not wrong:
                return judge.without(here).judge(other, changes)
        return accuracy

    def _what_is_written_once(self, judge: Judge, results: Results) -> frozenset[str]:
        """The paths of what these results have as eager has it where no checkpoint computes anything again; empty where
        any is otherwise. It then says nothing of them that eager writes them twice.
        """
        if self._eager is None or judge.is_random:
            return frozenset()
        if self._once is None:
            self._once = once_results(self._eager) or ()
        known, eager = dict(results), dict(judge.eager)
        paths = [p for p in unlike(judge.eager, without(self._once, judge.uncompared)) if is_kept(p) and p in known]
        asked = tuple((path, tensor) for path, tensor in self._once if path in paths and path in eager)
        if not asked:
            return frozenset()
        # As far off as eager is from the wider run, twice written as that is.
        errors = tuple(judge.judge_one(path, eager[path]).eager_error for path, _ in asked)
        by_once = Judge(AccuracyReference.EAGER, None, asked, repeat_errors=errors)
        found = by_once.judge(tuple((path, known[path]) for path, _ in asked))
        return frozenset(path for path, _ in asked) if found.is_right else frozenset()

    def _sees_eager_change(self, state: State) -> bool:
        """Whether eager, run again, is not what it was when this was prepared: a count that cannot be put back, a key
        made anew in each step. Nothing of that is asked from then on. Puts the first state back.
        """
        if self._eager is None or self.results is None:
            return False
        changing: frozenset[str] = frozenset()
        elsewhere: frozenset[str] = frozenset()
        for _ in range(self._runs_again):
            changing |= self.results.wrong_in(first_results(self._eager))
            now = written(self._eager.workload, state)
            elsewhere |= {_holder(path) for path in now if path not in self._written}
        state.restore()
        self._runs_again = 1
        elsewhere -= self._elsewhere
        self._elsewhere |= elsewhere
        self._unsteady |= changing | elsewhere
        self.results = self.results.without(changing)
        state.written = tuple(path for path in state.written if path not in changing)
        return bool(changing or elsewhere)

    def _wiser(self, judge: Judge, stepper: Stepper) -> Judge:
        """The judge who knows how far eager gets by luck."""
        workload, state = stepper.workload, stepper.state
        if judge.is_random and self._eager is not None:
            judge = judge.seeded(reseeded_results(self._eager))
        judge = judge.shaken(_asked(judge, results) for results in shaken_results(workload, state))
        if not judge.has_numbers:
            return judge
        return judge.holding([_asked(judge, results) for results in elsewhere_results(workload, state)])

    def _what_eager_leaves_alone(self, stepper: Stepper) -> Accuracy | None:
        """What is wrong with what the last step wrote where eager writes nothing; None where it wrote nothing there, or
        the values that eager has there: a compiled step may keep another tensor of them.

        Puts the first state back where it wrote there.
        Not asked of a random step: whether it writes may be drawn too.
        """
        if self._eager is None or self.results is None or self.results.is_random:
            return None
        now = written(stepper.workload, stepper.state)
        paths = [path for path in now if path not in self._written and _holder(path) not in self._elsewhere]
        if not paths:
            return None
        found = effects(stepper.workload, paths)
        first_results(self._eager)
        judge = Judge(AccuracyReference.EAGER, None, effects(self._eager.workload, paths))
        stepper.state.restore()
        accuracy = judge.judge(found)
        if judge.doubts(accuracy):
            accuracy = self._wiser_of_effects(judge, stepper, paths).judge(found)
        return None if accuracy.is_right else accuracy

    def _wiser_of_effects(self, judge: Judge, stepper: Stepper, paths: Sequence[str]) -> Judge:
        """The judge of these effects alone, who knows which of them eager has by luck."""
        state = stepper.state
        asked, state.written = state.written, tuple(paths)
        try:
            return self._wiser(judge, stepper)
        finally:
            state.written = asked

    def kept_bytes(self) -> int:
        """What it keeps on a GPU."""
        return self.results.kept_bytes if self.results is not None else 0


def _is_among(path: str, results: Results) -> bool:
    """Whether a tensor of this path, or parts of one, are there: a key of the first step alone is in no later one."""
    return any(name.startswith(path) for name, _ in results)


def _holder(path: str) -> str:
    """Up to the first key or place: what holds one of each step's own holds others in the next."""
    return path.partition("[")[0]


def _asked(judge: Judge, results: Results) -> Results:
    """What of the results the judge is asked about, where he is asked about effects alone."""
    asked = {path for path, _ in judge.eager}
    return tuple((path, tensor) for path, tensor in results if path in asked)

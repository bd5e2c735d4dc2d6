"""The results of steps in one session, each judged by eager and by a run in higher precision."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from analyzer.core.run import Event
from analyzer.core.trial import Accuracy, AccuracyReference
from collectors.effects import effects, written
from collectors.reference import first_results, reference_results, shaken_results, steady_results
from collectors.step import Stepper
from optimizers.accuracy import Judge, Results, judge_of, unlike

OTHER_SEED: Final = 1


class StepJudge:
    """Judges nothing until it is prepared. `results` are what it holds steps against then, None before."""

    def __init__(self, announce: Callable[[Event], None]) -> None:
        self._announce = announce
        self.results: Judge | None = None
        self._eager: Stepper | None = None
        self._written: frozenset[str] = frozenset()

    @property
    def is_prepared(self) -> bool:
        return self.results is not None

    def prepare(self, eager: Stepper) -> None:
        """Run eager, and a copy in higher precision. Puts the first state back. Raises what the user's model raises."""
        self._announce(Event("running in higher precision"))
        self._eager, self._written = eager, frozenset(eager.state.written)
        once, again = first_results(eager), first_results(eager)
        # What two equal runs leave different, a caller's cache or a clock, is none of what a candidate has to repeat.
        changing = unlike(once, again).intersection(eager.state.written)
        eager.state.written = tuple(path for path in eager.state.written if path not in changing)
        runs = _without(once, changing), _without(again, changing), first_results(eager, OTHER_SEED)
        self.results = judge_of(runs, *reference_results(eager.workload, eager.state))
        eager.state.restore()

    def compare_with(self, default: Stepper) -> None:
        """Find nothing wrong from now on that is as good as torch's own default."""
        if self.results is not None:
            self.results = self.results.beside(steady_results(default))

    def accuracy(self, stepper: Stepper, changes: Sequence[str] = ()) -> Accuracy | None:
        """Of a step in steady state, under these changes of meaning; None where there is nothing to judge by."""
        if self.results is None:
            return None
        results = steady_results(stepper)
        added = self._what_eager_leaves_alone(stepper)
        if added is not None:
            return added
        accuracy = self.results.judge(results, changes)
        if not self.results.doubts(accuracy):
            return accuracy
        self._announce(Event("seeing how far rounding alone goes"))
        self.results = self.results.shaken(shaken_results(stepper.workload, stepper.state))
        return self.results.judge(results, changes)

    def _what_eager_leaves_alone(self, stepper: Stepper) -> Accuracy | None:
        """What is wrong with what the last step wrote where eager writes nothing; None where it wrote nothing there, or
        the values that eager has there: a compiled step may keep another tensor of them.

        Puts the first state back where it wrote there.
        Not asked of a random step: whether it writes may be drawn too.
        """
        if self._eager is None or self.results is None or self.results.is_random:
            return None
        paths = [path for path in written(stepper.workload, stepper.state) if path not in self._written]
        if not paths:
            return None
        found = effects(stepper.workload, paths)
        first_results(self._eager)
        judge = Judge(AccuracyReference.EAGER, None, effects(self._eager.workload, paths))
        stepper.state.restore()
        accuracy = judge.judge(found)
        return None if accuracy.is_right else accuracy

    def kept_bytes(self) -> int:
        """What it keeps on a GPU."""
        return self.results.kept_bytes if self.results is not None else 0


def _without(results: Results, paths: Collection[str]) -> Results:
    return tuple((path, tensor) for path, tensor in results if path not in paths)

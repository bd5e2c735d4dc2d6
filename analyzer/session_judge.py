"""The results of steps in one session, each judged by eager and by a run in higher precision."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from analyzer.core.run import Event
from analyzer.core.trial import Accuracy
from collectors.reference import first_results, reference_results, shaken_results, steady_results
from collectors.step import Stepper
from optimizers.accuracy import Judge, Results, judge_of, unlike

OTHER_SEED: Final = 1


class StepJudge:
    """Judges nothing until it is prepared. `results` are what it holds steps against then, None before."""

    def __init__(self, announce: Callable[[Event], None]) -> None:
        self._announce = announce
        self.results: Judge | None = None

    @property
    def is_prepared(self) -> bool:
        return self.results is not None

    def prepare(self, eager: Stepper) -> None:
        """Run eager, and a copy in higher precision. Puts the first state back. Raises what the user's model raises."""
        self._announce(Event("running in higher precision"))
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
        accuracy = self.results.judge(results, changes)
        if not self.results.doubts(accuracy):
            return accuracy
        self._announce(Event("seeing how far rounding alone goes"))
        self.results = self.results.shaken(shaken_results(stepper.workload, stepper.state))
        return self.results.judge(results, changes)

    def kept_bytes(self) -> int:
        """What it keeps on a GPU."""
        return self.results.kept_bytes if self.results is not None else 0


def _without(results: Results, paths: Collection[str]) -> Results:
    return tuple((path, tensor) for path, tensor in results if path not in paths)

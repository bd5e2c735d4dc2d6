"""The package of a model against its default compilation: right, and how fast. Runs where the model lives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from analyzer.core.errors import GraphboundError
from analyzer.core.trial import Accuracy, AccuracyReference, Trial, TrialOutcome
from analyzer.session_words import first_of, outcome, wrong_reason
from collectors import torch_compat
from collectors.effects import Results, models_own
from collectors.reference import OTHER_SEED, steady_results, step_results
from collectors.state import State
from collectors.step import Stepper
from collectors.timing import as_it_is, sample_in_turn, turn_count
from collectors.workload import Workload
from optimizers.accuracy import Judge, judge_of
from optimizers.backend import failure_of
from optimizers.export import export_package

OWN_STEP: Final = "the workload runs the model through a step function of its own, which no package can hold"


def package_trial(workload: Workload, state: State, default: Stepper, judge: Judge | None, path: Path) -> Trial:
    """Export the model to `path`, load it again, judge its results and time it in turn with the default.

    What cannot be exported, loaded or run is FAILED with the reason. A file is left only where the results are right.
    """
    if workload.step is not None:
        return Trial(outcome=TrialOutcome.REFUSED, reason=OWN_STEP)
    try:
        trial = _measured(workload, state, default, judge, path)
    except GraphboundError:
        raise
    except Exception as error:  # torch.export and a compiler may raise anything; it costs the package
        failure = failure_of(error)
        trial = Trial(outcome=failure.outcome, reason=failure.reason)
    finally:
        state.restore()
    if trial.outcome is not TrialOutcome.MEASURED:
        path.unlink(missing_ok=True)
    return trial


def _measured(workload: Workload, state: State, default: Stepper, judge: Judge | None, path: Path) -> Trial:
    state.restore()
    package = export_package(workload.model, workload.args, workload.kwargs, path)
    packaged = Stepper(workload, package.call, state)
    state.restore()
    first_ns = packaged.timed()
    accuracy = None
    if judge is not None:
        # Loaded anew: what the model keeps, a package keeps for itself, and one call has changed it.
        fresh = Stepper(workload, torch_compat.load_package(path), state)
        accuracy = _judged(fresh, default, judge)
    trial = Trial(
        outcome=outcome(accuracy),
        accuracy=accuracy,
        compile_ns=package.compile_ns,
        cautions=_cautions(sorted(models_own(state.written)), package.operators),
    )
    if accuracy is not None and not accuracy.is_right:
        return replace(trial, reason=wrong_reason(accuracy))
    rounds = turn_count(max(first_ns, default.timed()), ways=2)
    against, step_ns = sample_in_turn(((default, as_it_is), (packaged, as_it_is)), rounds)
    return replace(trial, step_ns=step_ns, against=against)


def _cautions(kept: Sequence[str], operators: Sequence[str]) -> tuple[str, ...]:
    """What a package takes for granted where it is loaded: a state of its own, operators of the user's."""
    found: list[str] = []
    if kept:
        found.append(
            f"a step writes to what the model keeps ({first_of(kept)}): the package keeps its buffers to itself, goes "
            "on from call to call, and begins at each load where the model stood when it was exported"
        )
    if operators:
        found.append(f"it calls {first_of(operators)}, to be registered by whatever loads it before the first call")
    return tuple(found)


def _judged(fresh: Stepper, default: Stepper, judge: Judge) -> Accuracy:
    """Of the first call of a package; where the model keeps what it computes, of the next one too, which builds on it.

    AOTInductor of torch 2.13 forgets what is written to a buffer without dimensions on the CPU: each call is the first.
    """
    state = fresh.state
    own = models_own(state.written)
    first = judge.without(own).judge(steady_results(fresh))
    if not first.is_right or not own:
        return first
    second = _next_results(fresh)
    eager = Stepper(fresh.workload, fresh.workload.model, state)
    runs = (_second_results(eager), _second_results(eager), _second_results(eager, OTHER_SEED))
    later = judge_of(runs, AccuracyReference.EAGER, None).beside(_second_results(default)).without(own).judge(second)
    if later.is_right:
        return first
    return replace(later, detail=f"its second call: {later.detail or 'the state of the first is not in it'}")


def _second_results(stepper: Stepper, seed: int | None = None) -> Results:
    """Of the second of two steps from the state as it was found."""
    steady_results(stepper, seed)
    return _next_results(stepper)


def _next_results(stepper: Stepper) -> Results:
    stepper.prepare()
    return step_results(stepper)

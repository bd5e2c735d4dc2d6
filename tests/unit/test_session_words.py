"""What a session says of results that it could not compare, or found wrong."""

from __future__ import annotations

from analyzer.core.errors import ExitCode
from analyzer.core.plan import EAGER, FUSED
from analyzer.core.samples import Samples
from analyzer.core.trial import Accuracy, AccuracyReference, TrialOutcome
from analyzer.session_words import (
    drawn_note,
    first_step_notes,
    nothing_compiled,
    unsteady_note,
    varying_note,
    way,
    wrong_reason,
)

WRONG = Accuracy(AccuracyReference.FLOAT64, 0.5, 1e-7, 5e-7, is_right=False, worst="output[0]")


def test_the_candidate_eager_is_not_called_the_model() -> None:
    assert wrong_reason(WRONG, (FUSED,)) == "output[0] is off by 0.5 where the model itself is off by 1e-07"
    assert wrong_reason(WRONG, (EAGER, EAGER)).startswith("as captured, without a compiler, output[0] is off by 0.5")


def test_a_way_with_wrong_results_is_no_measured_one() -> None:
    wrong = way("default", Samples((1, 2, 3)), WRONG)
    assert wrong.outcome is TrialOutcome.WRONG_RESULT
    assert wrong.accuracy is WRONG
    assert "off by 0.5" in str(wrong.reason)
    assert way("default", Samples((1, 2, 3))).outcome is TrialOutcome.MEASURED


def test_what_cannot_be_read_is_named_and_else_nothing_is_said() -> None:
    assert first_step_notes((), (), ()) == ()
    results, kept = first_step_notes((), ("output[1]",), ("Opaque",))
    assert "output[1] cannot be read" in results
    assert "type Opaque" in kept


def test_what_is_not_compared_is_named_and_no_more_than_three() -> None:
    one, many = unsteady_note(("number seen",)), unsteady_note(tuple("abcde"))
    assert one == "number seen differs from run to run of the model itself, from one state and one seed: not compared"
    assert many.startswith("a, b, c and 2 more differ from run")
    assert varying_note(("output[0]",)).startswith("output[0] changes its shape")
    assert varying_note(("output[0]", "output[1]")).startswith("output[0], output[1] change their shape")
    assert "values are not" in drawn_note(("output[1]",))


def test_that_nothing_compiled_is_said_to_whoever_is_at_fault() -> None:
    theirs = nothing_compiled("BackendCompilerFailed: no", is_ours=False)
    assert theirs.exit_code is ExitCode.USER_PROGRAM
    ours = nothing_compiled("failed in Graphbound itself, at backend.py:1: AttributeError", is_ours=True)
    assert ours.exit_code is ExitCode.INTERNAL
    assert "report it" in str(ours.hint)

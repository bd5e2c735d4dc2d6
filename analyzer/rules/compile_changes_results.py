"""torch.compile changes what the model computes.

What it finds
    A workload whose default compilation gives other results than the model
    itself, by more than the rounding of another order of operations.

Why it costs
    No time: whatever the compiled model saves, it computes something else.

How it is measured
    One step in steady state, from the same state, inputs and seeds, against a
    run of the same weights in float64 (or float32): the compiled results may
    not be three times further from it than eager's. Before anything is called
    wrong, eager runs eight times more with weights one unit of rounding off:
    where a value lies next to the corner of a ReLU, that alone changes whole
    gradients, and as much is allowed. Tensors of another number, shape or
    dtype, and a NaN where eager has none, are wrong whatever the rest. So is
    another Python number on a module (a counter) than the model leaves there,
    where that stays the same on quite other weights and inputs.

What to do
    Look for code that asks whether it is compiled or traced
    (`torch.compiler.is_compiling()`), that changes state behind Dynamo's back,
    or that keeps Python values which change from step to step. Leave the model
    uncompiled until it agrees.

When it is wrong
    Where the branch for compiled code is meant to differ, as an approximation
    that export needs. It stays undecided, and says so, where only eager could
    be compared with, where integers differ (rounding can swap two that are
    near), and where a step is random. A counter that the model keeps for
    eager runs alone (`if not torch.compiler.is_compiling()`) is reported too.
"""

from __future__ import annotations

from typing import Final

from analyzer.core.finding import Confidence, Finding
from analyzer.core.report import DEFAULT_PLAN
from analyzer.core.trial import Accuracy, AccuracyReference
from analyzer.rules.facts import Facts
from analyzer.rules.rule import MissingData, Rule

_ID: Final = "compile_changes_results"
_LEAVE: Final = "leave the model uncompiled, and"
_REMEDY: Final = f"{_LEAVE} look for torch.compiler.is_compiling() and for state kept in Python"

# What optimizers/likeness.py says of gradients that one side alone has.
_LOST_GRADIENT: Final = "eager gives grad:"
_LOST: Final = (
    f"{_LEAVE} where it calls an operator of your own, register its gradient with torch.library.register_autograd: "
    "eager may go back through the C++ of one without, compiled code gives nothing there"
)
_ADDED_GRADIENT: Final = "this gives grad:"
_ADDED: Final = (
    f"{_LEAVE} where it has a checkpoint, set use_reentrant=False: a reentrant one gives its weights no gradient in "
    "eager where none of its inputs wants one"
)


def judge(facts: Facts) -> tuple[Finding, ...]:
    default = facts.plan(DEFAULT_PLAN)
    if default is None or default.accuracy is None:
        raise MissingData("the default's results were not compared with the model's")
    accuracy = default.accuracy
    if accuracy.is_right:
        return ()
    if accuracy.is_random:
        raise MissingData("the default's results differ from the model's, which are random themselves")
    if accuracy.detail is None and accuracy.reference is AccuracyReference.EAGER:
        raise MissingData(
            f"{_where(accuracy)} differs from eager's, and no run in higher precision says which of them is right"
        )
    text = f"torch.compile changes what this model computes: {_how(accuracy)}"
    return (Finding(_ID, text, None, None, _remedy(accuracy.detail or "")),)


def _remedy(detail: str) -> str:
    if detail.startswith(_LOST_GRADIENT):
        return _LOST
    return _ADDED if detail.startswith(_ADDED_GRADIENT) else _REMEDY


def _how(accuracy: Accuracy) -> str:
    if accuracy.detail is not None:
        return f"{_where(accuracy)}: {accuracy.detail}"
    return (
        f"{_where(accuracy)} is off by {accuracy.error:.2g}, the model itself by {accuracy.eager_error:.2g} "
        f"(against {accuracy.reference.value})"
    )


def _where(accuracy: Accuracy) -> str:
    return accuracy.worst or "the result"


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)

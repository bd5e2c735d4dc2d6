"""compile_changes_results."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from analyzer.core.trial import Accuracy, AccuracyReference
from analyzer.rules.compile_changes_results import judge
from analyzer.rules.facts import Facts
from analyzer.rules.rule import MissingData
from optimizers.likeness import mismatch
from tests.reports import a_plan_trial
from tests.rule_facts import facts


def judged(**changes: Any) -> Facts:
    accuracy = Accuracy(
        **{
            "reference": AccuracyReference.FLOAT64,
            "error": 0.5,
            "eager_error": 1e-7,
            "allowed": 5e-7,
            "is_right": False,
            "worst": "output[0]",
            **changes,
        }
    )
    return facts(plans=(a_plan_trial("eager", 8.0), a_plan_trial("default", 5.0, accuracy=accuracy)))


def test_results_far_from_the_reference_are_found_and_both_distances_told() -> None:
    (finding,) = judge(judged())
    assert "output[0] is off by 0.5, the model itself by 1e-07 (against float64)" in finding.message
    assert finding.ns_per_step is None


def test_another_shape_is_found_whatever_it_was_compared_with() -> None:
    (finding,) = judge(judged(reference=AccuracyReference.EAGER, detail="eager returns 2 tensors, this 1"))
    assert "eager returns 2 tensors" in finding.message


def test_right_results_are_silent() -> None:
    assert judge(judged(error=2e-7, is_right=True)) == ()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"reference": AccuracyReference.EAGER}, "no run in higher precision"),
        ({"is_random": True}, "random themselves"),
        ({"is_random": True, "detail": "NaN or infinity where eager has none"}, "random themselves"),
    ],
)
def test_a_difference_that_may_be_right_is_not_stated(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(MissingData, match=says):
        judge(judged(**changes))


def test_results_that_were_not_compared_are_not_right() -> None:
    with pytest.raises(MissingData, match="not compared"):
        judge(facts(plans=(a_plan_trial("default", 5.0, accuracy=None),)))


def test_gradients_that_one_side_alone_has_are_laid_to_what_makes_them() -> None:
    some, gradient = ("output", torch.ones(1)), ("grad:first.weight", torch.ones(1))
    lost, added = mismatch((some, gradient), (some,)), mismatch((some,), (some, gradient))
    (finding,) = judge(judged(worst=None, error=math.inf, detail=lost))
    assert "register_autograd" in str(finding.remedy)
    (finding,) = judge(judged(worst=None, error=math.inf, detail=added))
    assert "use_reentrant=False" in str(finding.remedy)
    (finding,) = judge(judged())
    assert "is_compiling" in str(finding.remedy)

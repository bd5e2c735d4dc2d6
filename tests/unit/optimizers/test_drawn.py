"""Another draw is of the size of two that are known, and turned as they are where these are."""

from __future__ import annotations

import pytest
import torch

from analyzer.core.trial import AccuracyReference
from optimizers.accuracy import Judge, judge_of
from optimizers.drawn import no_draw

COMMON = torch.randn(32, 64, generator=torch.Generator().manual_seed(0))


def draw(seed: int, share: float = 0.3, common: torch.Tensor = COMMON) -> torch.Tensor:
    return common + torch.randn(common.shape, generator=torch.Generator().manual_seed(seed)) * share


def a_judge(share: float) -> Judge:
    eager, other = (("output", draw(1, share)),), (("output", draw(2, share)),)
    return judge_of((eager, eager, other), AccuracyReference.FLOAT64, (("output", COMMON.double()),))


@pytest.mark.parametrize("times", [0.0, -1.0, 0.3, 5.0])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.8])
def test_nothing_of_what_draws_have_in_common_is_no_draw(share: float, times: float) -> None:
    judge = a_judge(share)
    assert judge.is_random
    assert judge.judge((("output", draw(3, share)),)).is_right
    found = judge.judge((("output", draw(3, share) * times),))
    assert not found.is_right
    assert judge.doubts(found)


def test_draws_with_nothing_in_common_are_told_by_their_size_alone() -> None:
    one, other, third = (draw(seed, 1.0, COMMON * 0) for seed in (1, 2, 3))
    assert no_draw(third, one, other) is None
    assert no_draw(-third, one, other) is None
    assert "of size" in str(no_draw(third * 4, one, other))
    assert "of size" in str(no_draw(third * 0, one, other))
    assert no_draw(third * 2, one, other) is None


def test_of_few_elements_and_of_another_shape_nothing_is_said() -> None:
    assert no_draw(COMMON[0, :4] * 9, COMMON[0, :4], COMMON[0, :4]) is None
    assert no_draw(COMMON * 9, COMMON[0], COMMON[0]) is None


def test_a_layer_that_some_seeds_leave_out_is_no_wrong_result() -> None:
    judge = a_judge(0.3)
    none = (("output", COMMON * 0),)
    assert not judge.judge(none).is_right
    wiser = judge.seeded([(("output", draw(4)),), none])
    assert wiser.uneven == {"output"}
    assert wiser.judge(none).is_right
    assert not judge.seeded([(("output", draw(4)),)]).judge(none).is_right


def test_draws_of_other_sizes_are_asked_for_no_size() -> None:
    eager, other = (("output", COMMON),), (("output", COMMON * 9),)
    judge = judge_of((eager, eager, other), AccuracyReference.EAGER, None)
    assert judge.judge((("output", COMMON * 5),)).is_right

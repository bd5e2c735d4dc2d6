"""What the largest values of a result outshine is compared on its own."""

from __future__ import annotations

import pytest
import torch

from analyzer.core.trial import AccuracyReference
from optimizers.accuracy import Judge, judge_of
from optimizers.outshone import is_part_of, outshone

LOGITS = torch.randn(32, 100, generator=torch.Generator().manual_seed(0))
PADDED = torch.arange(100) >= 98
REST = "output but for its largest values"


def masked(logits: torch.Tensor, fill: float = -1e9) -> torch.Tensor:
    return logits.masked_fill(PADDED, fill)


def a_judge(eager: torch.Tensor, other: torch.Tensor | None = None) -> Judge:
    runs = tuple((("output", one),) for one in (eager, eager, eager if other is None else other))
    return judge_of(runs, AccuracyReference.FLOAT64, (("output", eager.double()),))  # type: ignore[arg-type]


@pytest.mark.parametrize("fill", [-1e9, 1e9, -1e4, torch.finfo(torch.float32).min])
@pytest.mark.parametrize("wrong", [-LOGITS, LOGITS * 0, LOGITS * 1.01], ids=["negated", "nothing", "a little more"])
def test_masked_logits_are_wrong_where_only_the_others_are(fill: float, wrong: torch.Tensor) -> None:
    judge = a_judge(masked(LOGITS, fill))
    assert judge.judge((("output", masked(LOGITS * (1 + 1e-7), fill)),)).is_right
    found = judge.judge((("output", masked(wrong, fill)),))
    assert not found.is_right
    assert found.worst == REST


def test_a_mask_that_is_added_leaves_no_hiding_place_either() -> None:
    eager = LOGITS + torch.where(PADDED, -10_000.0, 0.0)
    judge = a_judge(eager)
    assert judge.judge((("output", eager),)).is_right
    assert judge.judge((("output", torch.where(PADDED, eager, -LOGITS)),)).worst == REST
    assert not judge.judge((("output", torch.where(PADDED, eager * 1.1, LOGITS)),)).is_right


def test_a_mask_within_a_mask_has_parts_of_its_own() -> None:
    eager = masked(LOGITS).masked_fill(torch.arange(100) < 2, 1e4)
    names = [path for path, _ in a_judge(eager).eager]
    assert names == ["output", REST, f"{REST} but for its largest values"]
    parts = dict(a_judge(eager).eager)
    assert parts[REST].abs().max() == 1e4
    assert parts[f"{REST} but for its largest values"].abs().max() < 10
    wrong = masked(-LOGITS).masked_fill(torch.arange(100) < 2, 1e4)
    assert not a_judge(eager).judge((("output", wrong),)).is_right


@pytest.mark.parametrize(
    "whole",
    [
        LOGITS,
        LOGITS.exp(),
        torch.zeros(100),
        torch.full((100,), float("inf")),
        torch.tensor([1e9] + [1.0] * 63),
        torch.arange(1000),
        torch.cat((torch.zeros(500), torch.ones(500))),
        torch.empty(100, device="meta"),
    ],
    ids=["normal", "lognormal", "zeros", "infinite", "few", "whole numbers", "sparse", "no values"],
)
def test_other_results_have_no_parts(whole: torch.Tensor) -> None:
    assert not outshone((("output", whole),)).parts


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.complex64])
def test_parts_are_of_the_numbers_own_type_where_that_can_be_computed_with(dtype: torch.dtype) -> None:
    values = masked(LOGITS / 10, 440.0) if dtype is torch.float8_e4m3fn else masked(LOGITS, 3e4)
    results = (("output", values.to(dtype)),)
    found = outshone(results)
    whole, part = found.added(results)
    assert part[0] == REST
    assert part[1].abs().max() < whole[1].to(part[1].dtype).abs().max() / 3
    assert found.added((whole, part)) == (whole, part)
    assert found.added(results, {REST}) == results


def test_of_another_shape_and_without_values_parts_are_what_the_whole_is() -> None:
    found = outshone((("output", masked(LOGITS)),))
    for other in (torch.ones(3), torch.empty(32, 100, device="meta")):
        assert found.added((("output", other),))[1] == (REST, other)


def test_what_is_not_asked_is_asked_of_no_part() -> None:
    judge = a_judge(masked(LOGITS)).without(["output"])
    assert judge.eager == ()
    assert judge.judge((("output", masked(-LOGITS)),)).is_right
    only = a_judge(masked(LOGITS)).without([REST])
    assert [path for path, _ in only.asked((("output", masked(LOGITS)),))] == ["output"]
    assert is_part_of(REST, {"output"})
    assert not is_part_of("output", {"output"})

"""Right results pass, however they are rounded; wrong ones do not, however they hide."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.trial import Accuracy, AccuracyReference
from optimizers import likeness
from optimizers.accuracy import ACCUSED, Judge, accused, judge_of
from optimizers.allowances import FACTOR, FLOOR_LIMIT
from optimizers.likeness import are_equal, relative_error, size

torch.manual_seed(0)
W, X = torch.randn(64, 64), torch.randn(32, 64)
WIDE = X.double() @ W.double()
NARROW = (X.bfloat16() @ W.bfloat16()).detach()


def named(*tensors: torch.Tensor) -> tuple[tuple[str, torch.Tensor], ...]:
    return tuple((f"output[{index}]", tensor) for index, tensor in enumerate(tensors))


def a_judge(eager: torch.Tensor = NARROW, wide: torch.Tensor | None = WIDE, **changes: Any) -> Judge:
    kind = AccuracyReference.FLOAT64 if wide is not None else AccuracyReference.EAGER
    return Judge(kind, None if wide is None else named(wide), named(eager), **changes)


def is_right(judge: Judge, *results: torch.Tensor) -> bool:
    return judge.judge(named(*results)).is_right


def test_eager_itself_is_right() -> None:
    accuracy = a_judge().judge(named(NARROW))
    assert accuracy.is_right
    assert accuracy.error == accuracy.eager_error > 0
    assert accuracy.worst == "output[0]"
    assert accuracy.allowed >= FACTOR * accuracy.eager_error


def test_other_roundings_in_bfloat16_are_right() -> None:
    in_float32 = (X.bfloat16().float() @ W.bfloat16().float()).bfloat16()
    by_halves = X[:, :32].bfloat16() @ W[:32].bfloat16() + X[:, 32:].bfloat16() @ W[32:].bfloat16()
    assert not torch.equal(by_halves, NARROW)
    assert is_right(a_judge(), in_float32)
    assert is_right(a_judge(), by_halves)


def test_a_better_result_than_eagers_is_right() -> None:
    assert is_right(a_judge(), WIDE.bfloat16())


@pytest.mark.parametrize(
    "wrong",
    [
        NARROW * 1.05,
        NARROW.flip(0),
        torch.zeros_like(NARROW),
        NARROW + 1,
        -NARROW,
        (X.bfloat16() @ W.bfloat16().T),
    ],
    ids=["scaled", "rows swapped", "zeros", "shifted", "negated", "transposed weight"],
)
def test_a_wrong_result_is_wrong(wrong: torch.Tensor) -> None:
    accuracy = a_judge().judge(named(wrong))
    assert not accuracy.is_right
    assert accuracy.error > accuracy.allowed


def test_one_wrong_row_is_seen_in_float32() -> None:
    eager = X @ W
    wrong = eager.clone()
    wrong[7] = 0
    assert not is_right(a_judge(eager), wrong)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_nan_and_infinity_elsewhere_are_wrong_and_in_the_same_place_right(value: float) -> None:
    there, elsewhere = NARROW.clone(), NARROW.clone()
    there[0, 0] = value
    elsewhere[0, 1] = value
    judge = a_judge(there)
    assert is_right(judge, there)
    assert not is_right(judge, elsewhere)
    assert not is_right(judge, NARROW)
    assert judge.judge(named(NARROW)).worst == "output[0]"


def test_infinities_of_the_other_sign_are_wrong() -> None:
    plus = NARROW.clone()
    plus[0, 0] = float("inf")
    minus = plus.clone()
    minus[0, 0] = float("-inf")
    assert not is_right(a_judge(plus), minus)


@pytest.mark.parametrize(
    ("results", "says"),
    [
        (named(NARROW[:-1]), "is torch.bfloat16[31, 64]"),
        (named(NARROW.float()), "is torch.float32[32, 64]"),
        ((), "eager gives output[0], this does not"),
        (named(NARROW, NARROW), "this gives output[1], eager does not"),
        ((("other", NARROW),), "eager gives output[0], this does not"),
    ],
)
def test_results_of_another_kind_are_wrong(results: Any, says: str) -> None:
    accuracy = a_judge().judge(results)
    assert not accuracy.is_right
    assert says in str(accuracy.detail)


def test_integers_and_booleans_are_exact() -> None:
    for tensor in (torch.arange(5), torch.tensor([True, False])):
        judge = a_judge(tensor, tensor)
        assert is_right(judge, tensor.clone())
        other = tensor.clone()
        other[0] = other[1]
        assert not is_right(judge, other)


def test_the_one_wrong_tensor_among_many_is_named() -> None:
    small, big = torch.ones(8) * 1e-6, torch.ones(8) * 1e6
    judge = Judge(AccuracyReference.FLOAT64, named(big.double(), small.double(), big.double()), named(big, small, big))
    accuracy = judge.judge(named(big, small * 2, big))
    assert (accuracy.is_right, accuracy.worst) == (False, "output[1]")


def test_a_gradient_that_eager_has_is_missed() -> None:
    eager = (("output", NARROW), ("grad:weight", W))
    judge = Judge(AccuracyReference.EAGER, None, eager)
    assert not judge.judge((("output", NARROW),)).is_right


def test_without_a_wider_run_eager_is_the_reference() -> None:
    eager = X @ W
    judge = a_judge(eager, None)
    accuracy = judge.judge(named((X.double() @ W.double()).float()))
    assert accuracy.is_right
    assert accuracy.reference is AccuracyReference.EAGER
    assert not is_right(judge, eager * 1.001)


@pytest.mark.parametrize(
    "useless",
    [torch.full_like(WIDE, float("nan")), torch.randn_like(WIDE), WIDE[:1], torch.zeros_like(WIDE)],
    ids=["nan", "noise", "another shape", "zeros"],
)
def test_a_wider_run_that_came_to_nothing_lets_nothing_through(useless: torch.Tensor) -> None:
    judge = a_judge(wide=useless)
    assert is_right(judge, NARROW)
    assert not is_right(judge, NARROW * 1.2)
    assert not is_right(judge, torch.zeros_like(NARROW))


def test_zeros_are_wrong_however_far_eager_is_off() -> None:
    far = (WIDE + 0.5 * WIDE.std() * torch.randn_like(WIDE)).float()
    judge = a_judge(far)
    assert is_right(judge, far)
    assert not is_right(judge, torch.zeros_like(far))


def random_judge() -> Judge:
    """A model with dropout: two eager runs under different seeds, and one of the same seed in float64."""
    keep = torch.rand(3, 32, 64) > 0.5
    return a_judge(X * keep[0], (X * keep[0]).double(), other_eager=named(X * keep[1]), is_random=True)


def test_a_random_model_is_judged_by_its_own_spread() -> None:
    judge = random_judge()
    assert is_right(judge, X * (torch.rand(32, 64) > 0.5))
    assert not is_right(judge, X * 20)
    assert judge.judge(named(X)).is_random


def test_a_random_model_may_not_turn_into_nan() -> None:
    assert not is_right(random_judge(), torch.full_like(X, float("nan")))


def test_nothing_to_compare_is_said() -> None:
    accuracy = Judge(AccuracyReference.EAGER, None, ()).judge(())
    assert accuracy.is_right
    assert accuracy.detail == "no tensors"


@given(st.sampled_from((torch.float32, torch.bfloat16, torch.float16)), st.integers(1, 200))
def test_one_unit_of_rounding_is_always_right_and_a_fifth_never(dtype: torch.dtype, size: int) -> None:
    eager = torch.linspace(1, 2, size).to(dtype)
    judge = a_judge(eager, eager.double())
    eps = torch.finfo(dtype).eps
    assert is_right(judge, (eager.double() * (1 + eps)).to(dtype))
    assert not is_right(judge, (eager.double() * 1.2).to(dtype))
    assert FLOOR_LIMIT < 0.2


def test_the_error_is_relative_and_zero_truth_is_absolute() -> None:
    truth = torch.tensor([3.0, 4.0])
    assert relative_error(torch.tensor([3.0, 5.0]), truth) == pytest.approx(0.2)
    assert relative_error(torch.tensor([0.3, 0.4]), torch.zeros(2)) == pytest.approx(0.5)
    assert relative_error(torch.tensor([1j]), torch.tensor([2j])) == pytest.approx(0.5)


def test_equal_means_the_same_bits_nan_included() -> None:
    nan = torch.tensor([float("nan"), 1.0])
    assert are_equal(named(nan), named(nan.clone()))
    assert not are_equal(named(nan), named(torch.tensor([float("nan"), 1.0 + 1e-7])))
    assert not are_equal(named(nan), named(nan, nan))
    assert not are_equal(named(torch.tensor([1])), named(torch.tensor([2])))


def test_the_error_of_a_scalar_is_luck_and_that_of_many_elements_is_not() -> None:
    generator = torch.Generator().manual_seed(0)
    wrong = dict.fromkeys((1, 2, 4, 64), 0)
    for count in wrong:
        for _ in range(300):
            truth = torch.ones(count)
            eager, again = (truth + 1e-3 * torch.randn(count, generator=generator) for _ in range(2))
            judge = Judge(AccuracyReference.FLOAT64, (("loss", truth),), (("loss", eager),))
            wrong[count] += not judge.judge((("loss", again),)).is_right
    assert max(wrong.values()) <= 3
    many = torch.ones(64)
    judge = Judge(AccuracyReference.FLOAT64, (("o", many),), (("o", many + 1e-3),))
    assert not judge.judge((("o", many + 4e-3),)).is_right
    few = torch.ones(1)
    judge = Judge(AccuracyReference.FLOAT64, (("o", few),), (("o", few + 1e-6),))
    assert not judge.judge((("o", few + 0.01),)).is_right


def test_a_gradient_that_is_rounding_alone_is_not_compared_digit_by_digit() -> None:
    """The gradient of a bias before a batch norm is 0; eager gives 1e-9 of one sign, Inductor 2e-9 of the other."""
    eager = torch.tensor([1e-9, -2e-9, 1.5e-9] * 40)
    other = torch.randn(120)
    wide = (("grad", torch.zeros(120, dtype=torch.float64)), ("other", other.double()))
    judge = Judge(AccuracyReference.FLOAT64, wide, (("grad", eager), ("other", other)))
    assert judge.judge((("grad", -2 * eager), ("other", other))).is_right
    assert not judge.judge((("grad", torch.full((120,), 1e-3)), ("other", other))).is_right


@pytest.mark.parametrize(("times", "is_right"), [(1.1, True), (0.9 * ACCUSED, True), (1.1 * ACCUSED, False)])
def test_torchs_default_is_accused_only_beyond_doubt(times: float, is_right: bool) -> None:
    found = accused(Accuracy(AccuracyReference.FLOAT64, times * 0.02, 0.007, 0.02, is_right=False))
    assert found is not None
    assert found.is_right is is_right


def test_nan_where_eager_has_none_is_beyond_doubt() -> None:
    found = accused(Accuracy(AccuracyReference.FLOAT64, 1.0, 0.5, 1.0, is_right=False, detail="NaN"))
    assert found is not None
    assert not found.is_right


def off_by(share: float, seed: int = 1) -> torch.Tensor:
    """The true result with an error of this share of its size."""
    noise = torch.randn(WIDE.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return WIDE + noise * share * WIDE.norm() / noise.norm()


EAGER_1 = off_by(0.01)


def test_what_is_as_good_as_torchs_default_is_not_wrong() -> None:
    alone = a_judge(EAGER_1)
    beside = alone.beside(named(off_by(0.031, seed=2)))
    for result in (off_by(0.031, seed=2), off_by(0.04, seed=3)):
        assert not is_right(alone, result)
        assert is_right(beside, result)
    assert not is_right(beside, off_by(0.05, seed=4))


def test_a_good_default_takes_nothing_away_from_what_is_allowed() -> None:
    beside = a_judge(EAGER_1).beside(named(off_by(0.001, seed=2)))
    assert is_right(beside, off_by(0.029, seed=3))


@pytest.mark.parametrize("default", [off_by(0.5, seed=2), torch.zeros_like(WIDE), WIDE + float("nan"), WIDE[:, :3]])
def test_a_default_that_is_wrong_itself_is_no_measure(default: torch.Tensor) -> None:
    beside = a_judge(EAGER_1).beside(named(default))
    assert not is_right(beside, off_by(0.031, seed=3))
    assert not is_right(beside, default)
    assert is_right(beside, EAGER_1)


def test_a_default_of_whole_numbers_is_no_measure() -> None:
    eager, other = torch.arange(4), torch.arange(4) + 1
    judge = Judge(AccuracyReference.EAGER, None, named(eager)).beside(named(other))
    assert not judge.judge(named(other)).is_right
    assert judge.judge(named(eager)).is_right


def test_a_random_model_is_judged_without_the_default() -> None:
    judge = a_judge(EAGER_1, other_eager=named(off_by(0.01, seed=9)), is_random=True)
    assert judge.beside(named(off_by(0.03))) == judge


def test_the_judge_of_runs_knows_random_models_and_useless_wide_runs() -> None:
    same = judge_of((named(NARROW), named(NARROW), named(NARROW)), AccuracyReference.FLOAT64, named(WIDE))
    assert not same.is_random
    assert same.reference is not None
    random = judge_of((named(NARROW), named(NARROW), named(NARROW * 2)), AccuracyReference.FLOAT64, named(WIDE, WIDE))
    assert random.is_random
    assert random.other_eager is not None
    assert random.reference is None


def test_results_on_a_cpu_take_nothing_of_a_gpu() -> None:
    assert a_judge().kept_bytes == 0


ONES = torch.ones(64)


def flipped(*places: int) -> torch.Tensor:
    return ONES.clone().index_fill(0, torch.tensor(places), 0.0)


def test_a_result_as_far_off_as_eager_gets_by_luck_is_right() -> None:
    """A ReLU next to its corner: the mask of one element, and with it a gradient, is decided by rounding."""
    judge = a_judge(ONES, ONES.double())
    found = judge.judge(named(flipped(3)))
    assert not found.is_right
    assert judge.doubts(found)
    wiser = judge.shaken([named(flipped(5)), named(ONES)])
    again = wiser.judge(named(flipped(3)))
    assert again.is_right
    assert again.eager_error == pytest.approx(1 / 8)
    assert not wiser.doubts(wiser.judge(named(ONES * 2)))
    assert not is_right(wiser, ONES * 2)


def test_luck_excuses_no_other_tensor_and_nothing_where_rounding_changes_nothing() -> None:
    judge = Judge(AccuracyReference.FLOAT64, named(ONES.double(), ONES.double()), named(ONES, ONES))
    wiser = judge.shaken([named(flipped(5), ONES)])
    assert wiser.judge(named(flipped(3), ONES)).is_right
    assert not wiser.judge(named(ONES, flipped(3))).is_right
    calm = judge.shaken([named(ONES, ONES)])
    assert not calm.judge(named(flipped(3), ONES)).is_right


def chaotic_judge(judge: Judge) -> Judge:
    """Who saw eager, its weights rounded otherwise, as far off as twice the truth."""
    return judge.shaken([tuple((path, tensor * 3) for path, tensor in judge.eager)])


@pytest.mark.parametrize("eager", [ONES, ONES * 1.5, ONES * 3], ids=["near", "off", "too far for a reference"])
def test_a_gradient_that_rounding_alone_turns_round_is_judged_by_how_far_and_by_its_size(eager: torch.Tensor) -> None:
    judge = a_judge(eager, ONES.double())
    turned = eager * torch.tensor([1.0, -1.0]).repeat(32)
    assert not is_right(judge, turned)
    wiser = chaotic_judge(judge)
    found = wiser.judge(named(turned))
    assert found.is_right
    assert found.error > 1
    assert wiser.passed_by_size(named(turned)) == ("output[0]",)
    assert not is_right(wiser, eager * 40)
    assert not is_right(wiser, eager + float("nan"))


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_a_gradient_that_fades_is_wrong_however_far_off_eager_gets(share: float) -> None:
    found = chaotic_judge(a_judge(ONES, ONES.double())).judge(named(ONES * share))
    assert not found.is_right
    assert found.detail == f"its values are of size {share:.2g}, the model's own of 1"


def test_what_rounding_leaves_alone_is_named_nowhere_and_judged_as_ever() -> None:
    judge = Judge(AccuracyReference.FLOAT64, named(ONES.double(), ONES.double()), named(ONES, ONES))
    wiser = judge.shaken([named(ONES * 3, ONES)])
    assert wiser.passed_by_size(named(-ONES, ONES)) == ("output[0]",)
    assert wiser.judge(named(-ONES, ONES)).is_right
    assert not wiser.judge(named(ONES, -ONES)).is_right
    assert wiser.passed_by_size(named(ONES, -ONES)) == ()
    assert judge.passed_by_size(named(-ONES, ONES)) == ()
    assert wiser.passed_by_size(named(ONES)) == ()


def test_rounding_noise_beside_a_true_zero_is_not_named() -> None:
    """The gradient of a bias before a batch norm: MobileNetV2 has 34 of them, and every run gives others."""
    noise = torch.randn(64, generator=torch.Generator().manual_seed(1)) * 1e-8
    judge = Judge(AccuracyReference.FLOAT64, named(noise.double() * 1e-9, ONES.double()), named(noise, ONES))
    wiser = judge.shaken([named(-noise * 2, ONES)])
    assert wiser.judge(named(-noise, ONES)).is_right
    assert wiser.passed_by_size(named(-noise, ONES)) == ()


def test_the_size_of_each_of_eagers_results_is_asked_once_however_many_are_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MobileNetV2 in training has 160 results, 34 of them noise: each judgement asked for 5,400 sizes."""
    asked: list[torch.Tensor] = []

    def counted(tensor: torch.Tensor) -> float:
        asked.append(tensor)
        return size(tensor)

    monkeypatch.setattr(likeness, "size", counted)
    noise = torch.randn(8, 64, generator=torch.Generator().manual_seed(1)) * 1e-8
    eager, wide = (*noise, ONES), (*(noise.double() * 1e-9), ONES.double())
    judge = Judge(AccuracyReference.FLOAT64, named(*wide), named(*eager))
    for results in (named(*-noise, ONES), named(*(noise * 2), ONES)):
        assert judge.judge(results).is_right
    assert len(asked) == len(eager)


def test_whole_numbers_may_differ_where_eagers_do_by_rounding_alone() -> None:
    ids, other = torch.arange(64), torch.arange(64).index_fill(0, torch.tensor([7]), 0)
    judge = Judge(AccuracyReference.FLOAT64, None, named(ids))
    found = judge.judge(named(other))
    assert not found.is_right
    assert judge.doubts(found)
    assert judge.shaken([named(other)]).judge(named(other)).is_right
    assert not judge.shaken([named(other)]).judge(named(ids + 1)).is_right
    assert not judge.shaken([named(ids)]).judge(named(other)).is_right


@pytest.mark.parametrize("wrong", [torch.full((64,), float("nan")), torch.ones(63), ONES.half()])
def test_nothing_is_doubted_that_luck_does_not_make(wrong: torch.Tensor) -> None:
    judge = a_judge(ONES, ONES.double())
    assert not judge.doubts(judge.judge(named(wrong)))


@pytest.mark.parametrize("share", [0.5, 0.0, -1.0, 2.0])
def test_luck_excuses_no_half_of_a_single_number(share: float) -> None:
    """A mean in bfloat16, off by 0.0035 in eager: half of it was within 1500 times that."""
    mean = torch.tensor(0.3359375, dtype=torch.bfloat16)
    judge = a_judge(mean, torch.tensor(0.33476, dtype=torch.float64))
    assert is_right(judge, mean + 0.004)
    assert not is_right(judge, mean * share)
    assert not judge.shaken([named(mean * 1.01)]).judge(named(mean * share)).is_right


@pytest.mark.parametrize("kept", [0.0, -1.0, 8.0])
def test_what_a_model_rounds_on_purpose_is_no_noise_though_a_wider_run_has_nothing_of_it(kept: float) -> None:
    """`y - y.bfloat16().float()`: in float64 nothing is rounded, and torch.compile leaves both casts out."""
    low = WIDE.float() - WIDE.float().bfloat16().float()
    judge = Judge(AccuracyReference.FLOAT64, named(WIDE, torch.zeros_like(WIDE)), named(WIDE.float(), low))
    assert is_right(judge, WIDE.float(), low)
    assert not is_right(judge, WIDE.float(), low * kept)


@pytest.mark.parametrize(("error", "is_right"), [(0.05, True), (0.25, True), (0.5, False), (2.0, False)])
def test_the_default_is_accused_of_half_a_gradient_also_where_eager_is_off_by_a_hundredth(
    error: float, is_right: bool
) -> None:
    found = accused(Accuracy(AccuracyReference.FLOAT64, error, 0.02, 0.06, is_right=False))
    assert found is not None
    assert found.is_right is is_right


@pytest.mark.parametrize("is_random", [False, True])
def test_a_sum_that_cancels_is_not_wrong_for_how_its_rounding_came_out(is_random: bool) -> None:
    """A convolution's bias before a batch norm and a dropout: 0 in float64, 2e-7 in eager, 1.1e-5 under torch.compile,
    where the largest gradient is 2.
    """
    signs = torch.tensor([1.0, -1.0, 1.0, 1.0])
    largest = torch.full((4,), 2.0)

    def with_bias(size: float) -> Any:
        return named(largest, signs * size)

    spread = with_bias(-1.7e-7) if is_random else None
    wide = named(largest.double(), signs.double() * 1.5e-15)
    judge = Judge(AccuracyReference.FLOAT64, wide, with_bias(2e-7), spread, is_random)
    assert judge.judge(with_bias(1.1e-5)).is_right
    assert not judge.judge(with_bias(1e-3)).is_right


def drawn(*values: int) -> torch.Tensor:
    return torch.tensor(values)


def test_of_a_random_step_only_what_depends_on_the_seed_is_excused() -> None:
    runs = named(ONES, drawn(1, 2), drawn(7)), named(ONES, drawn(1, 2), drawn(7)), named(ONES, drawn(3, 4), drawn(7))
    judge = judge_of(runs, AccuracyReference.FLOAT64, named(ONES.double(), drawn(1, 2), drawn(7)))
    assert judge.is_random
    assert is_right(judge, ONES, drawn(5, 6), drawn(7))
    assert judge.drawn_anew(named(ONES, drawn(5, 6), drawn(7))) == ("output[1]",)
    assert judge.drawn_anew(named(ONES, drawn(1, 2), drawn(7))) == ()
    assert not is_right(judge, ONES, drawn(5, 6), drawn(8))
    assert not is_right(judge, ONES * 1.01, drawn(5, 6), drawn(7))
    assert not is_right(judge, torch.zeros(64), drawn(5, 6), drawn(7))
    assert not is_right(judge, ONES, drawn(5, 6, 7), drawn(7))
    assert not is_right(judge, ONES, drawn(5, 6).int(), drawn(7))


def test_more_seeds_show_what_chance_had_hidden() -> None:
    runs = (named(ONES, drawn(0)), named(ONES, drawn(0)), named(ONES * 2, drawn(0)))
    judge = judge_of(runs, AccuracyReference.EAGER, None)
    found = judge.judge(named(ONES, drawn(1)))
    assert not found.is_right
    assert judge.doubts(found)
    wiser = judge.seeded([named(ONES * 3, drawn(0)), named(ONES * 9, drawn(1)), named(ONES)])
    assert wiser.uncompared == {"output[1]"}
    assert is_right(judge.seeded([named(ONES * 9, drawn(1))]), ONES * 5, drawn(1))
    assert not is_right(judge.seeded([named(ONES * 3, drawn(0))]), ONES, drawn(1))
    assert wiser.judge(named(ONES * 5, drawn(4))).is_right


def test_shapes_that_the_seed_decides_are_left_out_and_what_runs_give_each_time_anew() -> None:
    once = named(ONES, drawn(1, 2), drawn(7), ONES)
    again = named(ONES, drawn(1, 2), drawn(8), ONES * (1 + 1e-6))
    judge = judge_of((once, again, named(ONES, drawn(1), drawn(7), ONES)), AccuracyReference.EAGER, None)
    assert judge.uncompared == {"output[1]", "output[2]"}
    assert not judge.is_random
    assert judge.judge((("output[0]", ONES), ("output[3]", ONES))).is_right
    assert is_right(judge, ONES, drawn(1, 2, 3), drawn(9), ONES * (1 + 2e-6))
    assert not is_right(judge, ONES, drawn(1, 2, 3), drawn(9), ONES * (1 + 1e-4))
    assert judge.repeat_errors == (0.0, pytest.approx(1e-6, rel=0.1))


def test_rounding_that_changes_from_run_to_run_makes_no_step_random_and_hides_no_dropout() -> None:
    """Atomic additions of a GPU: two equal runs differ in their last bits."""
    once, again = named(ONES, ONES), named(ONES, ONES * (1 + 1e-6))
    assert not judge_of((once, again, named(ONES, ONES * (1 - 1e-6))), AccuracyReference.EAGER, None).is_random
    keep = (torch.arange(64) % 2).float()
    judge = judge_of((once, again, named(ONES, ONES * keep)), AccuracyReference.EAGER, None)
    assert judge.is_random
    assert is_right(judge, ONES, ONES * keep.flip(0))


def test_nothing_left_to_compare_is_said() -> None:
    judge = judge_of((named(drawn(1)), named(drawn(2)), named(drawn(3))), AccuracyReference.EAGER, None)
    found = judge.judge(named(drawn(4)))
    assert (found.is_right, found.detail) == (True, "nothing that could be compared")


def test_one_whole_number_that_rounding_changes_may_be_any_and_one_that_it_does_not_must_be_equal() -> None:
    judge = Judge(AccuracyReference.EAGER, None, named(drawn(4), torch.tensor(4)))
    wiser = judge.shaken([named(drawn(5), torch.tensor(4))])
    assert is_right(wiser, drawn(6), torch.tensor(4))
    assert not is_right(wiser, drawn(4), torch.tensor(6))


def test_a_python_float_has_the_rounding_of_float32_and_is_no_measure_of_others() -> None:
    def beside(scale: float, gradient: float) -> Any:
        return ("grad:bias", torch.full((4,), gradient)), ("number scale", torch.tensor(scale, dtype=torch.float64))

    truth = (("grad:bias", torch.zeros(4).double()), ("number scale", torch.tensor(1e6, dtype=torch.float64)))
    judge = Judge(AccuracyReference.FLOAT64, truth, beside(1e6, 0.0))
    assert judge.judge(beside(1e6 * (1 + 2**-23), 0.0)).is_right
    assert not judge.judge(beside(1e6 * 1.001, 0.0)).is_right
    noisy = Judge(AccuracyReference.FLOAT64, truth, beside(1e6, 1e-3))
    assert not noisy.judge(beside(1e6, 10.0)).is_right


def test_a_number_that_stays_whatever_is_computed_is_wrong_for_sure_where_it_differs() -> None:
    def with_calls(calls: int) -> Any:
        return (("number calls", torch.tensor(calls)),)

    judge = Judge(AccuracyReference.EAGER, None, with_calls(1)).shaken([])
    assert judge.judge(with_calls(2)).detail is None
    assert judge.holding([]).judge(with_calls(2)).detail is None
    assert judge.holding([with_calls(1), with_calls(3)]).judge(with_calls(2)).detail is None
    assert judge.holding([with_calls(1)] * 2).judge(with_calls(2)).detail == "2 where the model itself leaves 1"
    assert judge.holding([with_calls(1)]).judge(with_calls(1)).is_right

"""What can be said of measuring a GPU without one: the precision settings, and the line through the chains."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import pytest
import torch

from collectors import device_launch
from collectors.device_cuda import float32_matmul_precision, tf32
from collectors.device_launch import Point, fit_line

MATMUL = torch.backends.cuda.matmul
ONEDNN = torch.backends.mkldnn.matmul

Settings = tuple[str | None, str, str]


def _settings() -> Settings:
    return float32_matmul_precision(), MATMUL.fp32_precision, ONEDNN.fp32_precision


def _high() -> None:
    torch.set_float32_matmul_precision("high")


def _medium() -> None:
    torch.set_float32_matmul_precision("medium")


def _highest() -> None:
    torch.set_float32_matmul_precision("highest")


def _newer_on() -> None:
    MATMUL.fp32_precision = "tf32"


def _newer_off_over_high() -> None:
    _high()
    MATMUL.fp32_precision = "ieee"


@pytest.fixture(autouse=True)
def untouched() -> Iterator[None]:
    before, cuda, onednn = _settings()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
        torch.set_float32_matmul_precision(before or "highest")
    ONEDNN.fp32_precision, MATMUL.fp32_precision = onednn, cuda


@pytest.mark.parametrize("is_allowed", [True, False])
@pytest.mark.parametrize("choose", [lambda: None, _high, _medium, _highest, _newer_on, _newer_off_over_high])
def test_tf32_is_switched_and_every_setting_put_back(choose: Callable[[], None], is_allowed: bool) -> None:
    choose()
    before = _settings()
    with tf32(is_allowed):
        # Reading the older setting raises where the two disagree.
        assert MATMUL.allow_tf32 == is_allowed
        assert (MATMUL.fp32_precision == "tf32") == is_allowed
    assert _settings() == before


def test_a_failure_inside_puts_them_back_too() -> None:
    before = _settings()
    with pytest.raises(ZeroDivisionError), tf32(True):
        raise ZeroDivisionError
    assert _settings() == before


def test_the_gap_is_the_slope_and_the_replay_the_intercept() -> None:
    points = [Point(kernels, 150_000 + 800 * kernels) for kernels in (64, 256, 512)]
    assert fit_line(points) == pytest.approx((800, 150_000))


def test_noise_on_one_chain_moves_the_line_little() -> None:
    points = [Point(64, 205_000), Point(256, 350_000), Point(512, 561_000)]
    gap_ns, replay_ns = fit_line(points) or (0, 0)
    assert 760 < gap_ns < 840
    assert 140_000 < replay_ns < 160_000


@pytest.mark.parametrize(
    "points",
    [
        [],
        [Point(64, 1_000)],
        [Point(64, 1_000), Point(64, 2_000)],
        [Point(64, 90_000), Point(512, 80_000)],
        [Point(64, 1_000), Point(512, 90_000)],
    ],
    ids=["none", "one", "equal lengths", "falling", "negative intercept"],
)
def test_what_gives_no_line_gives_no_cost(points: list[Point]) -> None:
    assert fit_line(points) is None


def test_a_profiler_that_cannot_see_kernels_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_called() -> None:
        raise AssertionError("nothing may run")

    monkeypatch.setattr(device_launch, "supported_activities", lambda: {torch.profiler.ProfilerActivity.CPU})
    assert device_launch.profile_calls(not_called) is None

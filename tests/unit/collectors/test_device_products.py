"""Dense products: the real operators on a CPU, under a clock of our own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from collectors import device_products
from collectors.device_products import PRODUCTS, Product, first_line, measure_products

SIDES = (32, 64)


class Clock:
    """Runs each call once, and says that it took what it is told, in turn."""

    def __init__(self, *taken_ns: float) -> None:
        self.taken_ns = taken_ns
        self.results: list[object] = []

    def __call__(self, call: Callable[[], object]) -> float:
        self.results.append(call())
        return self.taken_ns[(len(self.results) - 1) % len(self.taken_ns)]


def _only(monkeypatch: pytest.MonkeyPatch, *products: Product) -> None:
    monkeypatch.setattr(device_products, "PRODUCTS", products)


def _nothing(side: int, on: str) -> Callable[[], object]:
    return lambda: side


def test_every_dtype_is_multiplied_for_real() -> None:
    clock = Clock(1e3)
    found = measure_products("cpu", clock, SIDES)
    assert [peak.dtype for peak in found.peaks] == [product.label for product in PRODUCTS]
    assert found.notes == ()
    shapes = {tuple(result.shape) for result in clock.results if isinstance(result, torch.Tensor)}
    assert shapes == {(32, 32), (64, 64)}
    dtypes = [result.dtype for result in clock.results if isinstance(result, torch.Tensor)]
    assert dtypes[0] == torch.float32
    assert dtypes[-1] == torch.int32


def test_the_operands_are_what_the_label_says(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[torch.dtype, tuple[int, ...], tuple[int, ...]]] = []

    def record(left: torch.Tensor, right: torch.Tensor, *rest: object) -> None:
        seen.append((left.dtype, left.stride(), right.stride()))

    monkeypatch.setattr(device_products.torch_compat, "float8_product", record)
    monkeypatch.setattr(device_products.torch_compat, "int8_product", record)
    measure_products("cpu", Clock(1.0), (32,))
    # By rows and by columns, which is what tensor cores of 8-bit formats take.
    assert seen == [(torch.float8_e4m3fn, (32, 1), (1, 32)), (torch.int8, (32, 1), (1, 32))]


def test_an_int8_product_uses_the_whole_range_and_is_right() -> None:
    torch.manual_seed(0)
    left = torch.randint(-128, 128, (32, 32), dtype=torch.int8)
    right = torch.randint(-128, 128, (32, 32), dtype=torch.int8)
    found = device_products.torch_compat.int8_product(left, right.t())
    assert torch.equal(found.long(), left.long() @ right.long().t())


def test_a_rate_is_two_operations_a_term_and_the_better_side_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    _only(monkeypatch, Product("x", _nothing))
    (peak,) = measure_products("cpu", Clock(100.0, 200.0), SIDES).peaks
    assert peak.flops_per_s == pytest.approx(2 * 64**3 / 200e-9)
    (peak,) = measure_products("cpu", Clock(10.0, 200.0), SIDES).peaks
    assert peak.flops_per_s == pytest.approx(2 * 32**3 / 10e-9)


def test_a_product_that_would_take_long_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    _only(monkeypatch, Product("x", _nothing))
    clock = Clock(1e8)
    measure_products("cpu", clock, SIDES)
    assert clock.results == [32]


@pytest.mark.parametrize("error", [RuntimeError, ValueError, NotImplementedError])
def test_a_dtype_that_the_device_refuses_has_no_peak_and_a_note(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def refuse(side: int, on: str) -> Callable[[], object]:
        raise error("only on compute capability >= 8.9\nand so on")

    _only(monkeypatch, Product("float8", refuse), Product("x", _nothing))
    found = measure_products("cpu", Clock(1.0), SIDES)
    assert [peak.dtype for peak in found.peaks] == ["x"]
    assert found.notes == ("no float8 products: only on compute capability >= 8.9",)


def test_memory_that_holds_the_smaller_side_only_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(side: int, on: str) -> Callable[[], object]:
        if side > 32:
            raise torch.cuda.OutOfMemoryError("out of memory")
        return lambda: None

    _only(monkeypatch, Product("x", prepare))
    (peak,) = measure_products("cpu", Clock(1.0), SIDES).peaks
    assert peak.flops_per_s == pytest.approx(2 * 32**3 * 1e9)


def test_only_tf32_runs_with_tf32(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def prepare(side: int, on: str) -> Callable[[], object]:
        return lambda: seen.append(torch.backends.cuda.matmul.fp32_precision)

    _only(monkeypatch, Product("float32", prepare), Product("tf32", prepare, allows_tf32=True))
    before = torch.backends.cuda.matmul.fp32_precision
    measure_products("cpu", Clock(1.0), (32,))
    assert [setting == "tf32" for setting in seen] == [False, True]
    assert torch.backends.cuda.matmul.fp32_precision == before


def test_an_error_without_words_is_named_by_its_type() -> None:
    assert first_line(ValueError()) == "ValueError"
    assert first_line(RuntimeError("\n one \n two")) == "one"

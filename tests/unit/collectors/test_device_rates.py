"""What is moved and computed outside tensor cores: amounts and sizes, with kernels that keep account of themselves."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

import collectors
from collectors.device_rates import NO_TRITON, Chip, Work, best_rate, buffer_bytes, built, measure_rates, triton_kernels

MIB = 2**20
CHIP = Chip(on="cpu", multiprocessors=2, l2_bytes=256 * 1024, free_bytes=64 * MIB)


class Accounts:
    """Kernels that do nothing but keep account of what they were asked for."""

    BLOCK = 4096
    VALUES = 1024
    FAILURES = (RuntimeError,)

    def __init__(self) -> None:
        self.read: list[tuple[int, int, int]] = []
        self.copied: list[int] = []
        self.computed: list[tuple[int, int]] = []

    def read_rounds(self, source: torch.Tensor, sums: torch.Tensor, rounds: int) -> None:
        self.read.append((source.numel(), sums.numel(), rounds))

    def bytes_read(self, sums: torch.Tensor, rounds: int) -> int:
        return sums.numel() * rounds * self.BLOCK * 4

    def copy(self, source: torch.Tensor, target: torch.Tensor) -> None:
        assert source.shape == target.shape
        self.copied.append(source.nbytes)

    def multiply_add(self, target: torch.Tensor, rounds: int) -> None:
        assert target.numel() % self.VALUES == 0
        self.computed.append((target.numel(), rounds))

    def flops_done(self, target: torch.Tensor, rounds: int) -> int:
        return 2 * 32 * target.numel() * rounds


def _once(call: Callable[[], object]) -> float:
    call()
    return 1e6


def test_the_best_way_counts_and_none_gives_none() -> None:
    works = [Work(lambda: None, 3_000_000), Work(lambda: None, 5_000_000)]
    assert best_rate(works, lambda call: 1e6) == pytest.approx(5e9)
    assert best_rate([], lambda call: 1e6) is None


def test_every_rate_is_measured() -> None:
    kernels = Accounts()
    rates = measure_rates(CHIP, kernels, _once)
    assert rates.copy_bytes_per_s == pytest.approx(2 * 16 * MIB * 1e3)
    assert None not in (rates.read_bytes_per_s, rates.l2_bytes_per_s, rates.vector_flops_per_s)
    assert kernels.copied == [16 * MIB]


def test_memory_is_read_once_round_and_never_twice() -> None:
    kernels = Accounts()
    measure_rates(CHIP, kernels, _once)
    from_memory = [read for read in kernels.read if read[0] * 4 == 16 * MIB]
    assert {programs for _, programs, _ in from_memory} == {8, 16}
    for elements, programs, rounds in from_memory:
        assert programs * rounds * kernels.BLOCK <= elements
        assert (programs * (rounds + 1)) * kernels.BLOCK > elements


def test_the_l2_is_read_again_and_again_from_well_inside_it() -> None:
    kernels = Accounts()
    measure_rates(CHIP, kernels, _once)
    cached = [read for read in kernels.read if read[0] * 4 < 16 * MIB]
    assert len(cached) == 2
    for elements, programs, rounds in cached:
        assert elements * 4 == 64 * 1024
        assert programs * rounds * kernels.BLOCK * 4 == pytest.approx(8 * 2**30, rel=0.01)


def test_every_multiprocessor_is_filled_with_multiply_adds() -> None:
    kernels = Accounts()
    rates = measure_rates(CHIP, kernels, _once)
    ((elements, rounds),) = kernels.computed
    assert elements == 2 * 16 * kernels.VALUES
    assert rates.vector_flops_per_s == pytest.approx(2 * 32 * elements * rounds * 1e3)


def test_without_triton_memory_is_measured_by_torch_and_the_rest_is_unknown() -> None:
    rates = measure_rates(CHIP, None, _once)
    assert rates.copy_bytes_per_s is not None
    assert rates.read_bytes_per_s == pytest.approx(16 * MIB * 1e3)
    assert (rates.l2_bytes_per_s, rates.vector_flops_per_s) == (None, None)


def test_without_the_size_of_the_l2_its_bandwidth_is_unknown() -> None:
    rates = measure_rates(replace(CHIP, l2_bytes=None), Accounts(), _once)
    assert rates.l2_bytes_per_s is None
    assert rates.read_bytes_per_s is not None


def test_a_device_too_full_for_two_large_buffers_has_no_bandwidth() -> None:
    rates = measure_rates(replace(CHIP, free_bytes=4 * MIB), None, _once)
    assert (rates.copy_bytes_per_s, rates.read_bytes_per_s) == (None, None)


@pytest.mark.parametrize(
    ("l2_bytes", "free_bytes", "expected"),
    [
        (50 * MIB, 140 * 2**30, 2 * 2**30),
        (512 * MIB, 140 * 2**30, 4 * 2**30),
        (4 * MIB, 400 * MIB, 100 * MIB),
        (50 * MIB, 400 * MIB, None),
        (None, 100, None),
    ],
    ids=["H200", "large cache", "little memory", "too little", "nothing"],
)
def test_a_buffer_dwarfs_the_l2_or_is_none(l2_bytes: int | None, free_bytes: int, expected: int | None) -> None:
    assert buffer_bytes(Chip("cuda", 132, l2_bytes, free_bytes)) == expected


def test_kernels_are_built_before_they_are_timed() -> None:
    kernels = Accounts()
    assert built(kernels, "cpu") == (kernels, None)
    assert (len(kernels.read), len(kernels.copied), len(kernels.computed)) == (1, 1, 1)


def test_kernels_that_cannot_be_built_are_none_and_say_why() -> None:
    class Broken(Accounts):
        def copy(self, source: torch.Tensor, target: torch.Tensor) -> None:
            raise RuntimeError("Failed to find C compiler\nmore")

    kernels, note = built(Broken(), "cpu")
    assert kernels is None
    assert "Failed to find C compiler" in (note or "")
    assert "unknown" in (note or "")


def test_a_fault_of_our_own_is_not_taken_for_a_missing_compiler() -> None:
    class Wrong(Accounts):
        def copy(self, source: torch.Tensor, target: torch.Tensor) -> None:
            raise TypeError("wrong argument")

    with pytest.raises(TypeError):
        built(Wrong(), "cpu")


def test_without_triton_there_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Any = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "triton":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.delitem(sys.modules, "collectors.device_kernels", raising=False)
    monkeypatch.delattr(collectors, "device_kernels", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    assert triton_kernels("cpu") == (None, NO_TRITON)

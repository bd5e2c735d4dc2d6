"""Kernels of two processes, paired by item, name and order."""

from __future__ import annotations

import pytest

from benchmarks.verdicts.matching import base_name, match
from benchmarks.verdicts.recorded import KernelCounters


def counted(*kernels: tuple[str, str | None], run: str = "r") -> tuple[KernelCounters, ...]:
    return tuple(KernelCounters(run, i, name, item, False) for i, (name, item) in enumerate(kernels))


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        ("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "nvjet_tst_64x8_64x16_4x1_v_bz_TNT"),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::F<float>, A>(int, F)",
            "vectorized_elementwise_kernel",
        ),
        ("void at::native::(anonymous namespace)::softmax<float, (int)2>(float*)", "softmax"),
        ("void at::native::<unnamed>::softmax<float, 2>(float *)", "softmax"),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64>(T1::Params)", "Kernel2"),
        ("triton_red_fused_add_mean_0", "triton_red_fused_add_mean_0"),
    ],
)
def test_a_kernel_has_one_name_in_both_tools(kernel: str, name: str) -> None:
    assert base_name(kernel) == name


def test_launches_of_an_item_pair_in_order() -> None:
    kernels = {"a": ["k<1>(int)", "m", "k<2>(int)"], "b": ["k<1>(int)"]}
    pairs = match(kernels, counted(("k", "b"), ("k", "a"), ("m", "a"), ("k", "a")))
    assert {(p.item, p.traced, p.counted.order) for p in pairs} == {("b", 0, 0), ("a", 0, 1), ("a", 1, 2), ("a", 2, 3)}


def test_a_kernel_that_only_one_process_ran_pairs_with_nothing() -> None:
    pairs = match({"a": ["first", "second"]}, counted(("other", "a"), ("second", "a")))
    assert [(p.traced, p.counted.order) for p in pairs] == [(1, 1)]


def test_an_item_counted_in_two_runs_keeps_the_first() -> None:
    pairs = match({"a": ["k"]}, counted(("k", "a"), run="one") + counted(("k", "a"), run="two"))
    assert [p.counted.run for p in pairs] == ["one"]


def test_without_ranges_items_are_known_by_the_names_of_their_kernels() -> None:
    pairs = match({"a": ["x", "y"], "b": ["z"]}, counted(("z", None), ("x", None), ("y", None)))
    assert {(p.item, p.traced, p.counted.order) for p in pairs} == {("b", 0, 0), ("a", 0, 1), ("a", 1, 2)}


def test_without_ranges_items_that_look_alike_are_not_guessed() -> None:
    assert match({"a": ["x"], "b": ["x"]}, counted(("x", None), ("x", None))) == ()

"""What is said of the sets of inputs of a step."""

from __future__ import annotations

from dataclasses import replace

from analyzer.core.samples import Samples
from analyzer.core.timing import SetTiming
from analyzer.measured import Measured
from analyzer.set_notes import set_notes
from tests.unit.fake_driver import a_timing


def measured(*sets: SetTiming) -> Measured:
    return Measured(timing=replace(a_timing(), sets=sets))


def of(ns: int) -> Samples:
    return Samples((ns,) * 5)


def test_each_set_has_its_times_and_what_its_sizes_cost_beside() -> None:
    first = SetTiming(("float32[1]",), of(3_000_000), of(2_000_000), of(1_000_000), 2, 0, None, None)
    second = SetTiming(("float32[8]",), of(3_000_000), of(2_000_000), of(1_000_000), 1, 1, 2, 4 << 20)
    one, other = set_notes(measured(first, second))
    assert one.startswith("set 1 of 2 (float32[1]), called alone: eager 3.00 ms, default 2.00 ms, plan 1.00 ms")
    assert one.endswith("its first calls took 2 compilations of graphs")
    assert other.endswith("1 compilation of graphs, 1 frame compiled again and 2 CUDA graphs with 4.00 MiB")


def test_a_step_of_one_set_says_nothing() -> None:
    assert set_notes(measured()) == ()
    assert set_notes(Measured()) == ()

"""The float32 rate of this CPU outside matrix products, by the compiled function."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from collectors import device_cpu_vector
from collectors.device_cpu_vector import VectorLibrary, build, vector_rate

COMPILER = shutil.which("g++") or shutil.which("clang++") or ""
needs_compiler = pytest.mark.skipif(not COMPILER, reason="needs a C++ compiler")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> VectorLibrary:
    if not COMPILER:
        pytest.skip("needs a C++ compiler")
    found = build(COMPILER, tmp_path_factory.mktemp("vector"))
    assert found is not None
    return found


def test_a_round_is_one_multiply_add_of_every_lane(library: VectorLibrary) -> None:
    lanes = library.flops_per_round // 2
    assert lanes in (40, 80, 160)
    # Chain i starts at a tenth of i in every lane, so that one round more adds `shift` to each: 1 * value + shift.
    start = library.run(0)
    assert start == pytest.approx(sum(0.1 * chain for chain in range(10)) * lanes / 10, rel=1e-5)
    for rounds in (1, 7):
        assert library.run(rounds, scale=1.0, shift=0.25) == pytest.approx(start + 0.25 * rounds * lanes, rel=1e-5)


@needs_compiler
def test_the_rate_is_one_of_a_cpu() -> None:
    rate = vector_rate(COMPILER, 1)
    # One core of any 64-bit CPU does 0.1 GFLOP/s even when it is shared; none does 1 TFLOP/s.
    assert rate is not None
    assert 1e8 < rate < 1e12


def test_all_threads_count_and_the_fastest_turn_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        flops_per_round = 100

    turns = iter([1_000_000, 5_000, 4_000, 9_000, 8_000, 7_000])
    asked: list[tuple[int, int]] = []

    def together(library: object, threads: int, rounds: int) -> int:
        asked.append((threads, rounds))
        return next(turns)

    monkeypatch.setattr(device_cpu_vector, "_together_ns", together)
    rate = device_cpu_vector._best_rate(Library(), 3)  # type: ignore[arg-type]
    # A million rounds took a millisecond: 60 million fill the 60 ms of a turn.
    assert asked == [(3, 1_000_000)] + [(3, 60_000_000)] * 5
    assert rate == pytest.approx(100 * 60_000_000 * 3 / 4_000 * 1e9)


def test_every_thread_runs_and_the_clock_spans_them_all() -> None:
    ran: list[int] = []

    class Library:
        def run(self, rounds: int) -> None:
            ran.append(threading.get_ident())
            threading.Event().wait(0.02)

    taken_ns = device_cpu_vector._together_ns(Library(), 3, 1)  # type: ignore[arg-type]
    assert len(set(ran)) == 3
    assert taken_ns >= 20_000_000


@pytest.mark.parametrize("compiler", ["/bin/false", "/bin/true", "no-such-compiler", ""])
def test_a_compiler_that_builds_nothing_gives_none(compiler: str, tmp_path: Path) -> None:
    assert build(compiler, tmp_path) is None
    assert vector_rate(compiler, 1) is None

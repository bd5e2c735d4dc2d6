"""What a replay is foretold to take: the device's work, and what it waits for a host that is not ahead."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzer.core.budget import Budget, BudgetPart, HostKind, HostPart, Part
from analyzer.core.graphs import GapKey
from analyzer.core.samples import Samples
from analyzer.core.timing import RegionTiming, Timing
from analyzer.derive.predict import (
    REPLAY_HOST_SHARE,
    Replayed,
    host_lead_ns,
    predict_cpp_wrapper,
    predict_cpp_wrapper_on_cpu,
    predict_cuda_graphs,
    replay_host_ns,
)
from tests.unit.derive.runs import DEVICE, A, B
from tests.unit.derive.runs import timing as timed_step

US = 1_000
MS = 1_000_000
H200 = replace(DEVICE, kernel_gap_ns=800.0, replay_ns=0.15 * MS, replay_host_ns=0.1 * MS, memory_bytes_per_s=4e12)


def test_a_kernel_more_costs_one_gap_and_a_call_more_one_start() -> None:
    base = predict_cuda_graphs(Replayed(MS, 10), H200)
    assert base == MS + 8_000 + 100_000
    assert predict_cuda_graphs(Replayed(MS, 11), H200) == base + 800
    assert predict_cuda_graphs(Replayed(MS, 10, calls=2), H200) == base + 100_000


def test_a_host_that_is_ahead_hides_what_it_takes_and_no_more() -> None:
    alone = predict_cuda_graphs(Replayed(MS, 10), H200)
    assert alone is not None
    assert predict_cuda_graphs(Replayed(MS, 10, lead_ns=30 * US), H200) == alone - 30 * US
    for lead_ns in (100 * US, 5 * MS):
        assert predict_cuda_graphs(Replayed(MS, 10, lead_ns=lead_ns), H200) == MS + 8_000


def test_inputs_are_read_and_written_once_a_call() -> None:
    # 4096 x 16384 float32: 268 MB both ways at 4 TB/s.
    copied = 4096 * 16384 * 4
    plain, twice = (predict_cuda_graphs(Replayed(MS, 1, calls=2.0, copied_bytes=b), H200) for b in (0, copied))
    assert plain is not None
    assert twice is not None
    assert twice - plain == pytest.approx(2 * 134_217, abs=2)
    assert predict_cuda_graphs(Replayed(MS, 1, calls=2.0), H200) == plain
    assert predict_cuda_graphs(
        Replayed(MS, 1, calls=2.0, copied_bytes=copied), replace(H200, memory_bytes_per_s=None)
    ) == (plain)


def test_without_measured_constants_there_is_no_prediction() -> None:
    assert predict_cuda_graphs(Replayed(MS, 10), replace(H200, kernel_gap_ns=None)) is None
    unknown = replace(H200, replay_ns=None, replay_host_ns=None)
    assert predict_cuda_graphs(Replayed(MS, 10), unknown) is None
    assert replay_host_ns(unknown) is None


def test_a_device_measured_by_an_older_method_has_a_share_of_the_whole_replay() -> None:
    assert replay_host_ns(H200) == 100_000
    assert replay_host_ns(replace(H200, replay_host_ns=None)) == pytest.approx(REPLAY_HOST_SHARE * 150_000)


def _timed(region: object, elapsed_us: int, host_us: int, calls: float = 1.0) -> RegionTiming:
    return RegionTiming(region, calls, Samples((elapsed_us * US,)), Samples((host_us * US,)))  # type: ignore[arg-type]


def timing(*regions: RegionTiming) -> Timing:
    return timed_step(*regions, step_ns=MS)


START, BETWEEN, END = GapKey(None, A), GapKey(A, B), GapKey(B, None)


def test_the_lead_is_what_the_device_took_longer_than_the_host_so_far() -> None:
    clean = timing(
        _timed(START, 10, 10), _timed(A, 900, 200), _timed(BETWEEN, 5, 5), _timed(B, 50, 60), _timed(END, 5, 700)
    )
    assert host_lead_ns(clean, A) == 0
    assert host_lead_ns(clean, B) == 700 * US


def test_a_host_that_waits_has_lost_its_lead_and_owes_nothing() -> None:
    waits = timing(_timed(START, 10, 10), _timed(A, 900, 200), _timed(BETWEEN, 5, 900), _timed(B, 50, 50))
    assert host_lead_ns(waits, B) == 0
    late = timing(_timed(START, 10, 30), _timed(A, 100, 50), _timed(B, 50, 50))
    assert host_lead_ns(late, B) == 50 * US


def test_a_graph_called_several_times_meets_the_mean_of_the_steps_lead() -> None:
    clean = timing(_timed(START, 10, 10), _timed(A, 900, 300, calls=4.0), _timed(END, 5, 700))
    assert host_lead_ns(clean, A) == 300 * US
    assert host_lead_ns(clean, B) == 0


def a_budget(*host: HostPart) -> Budget:
    starved_ns = sum(part.ns for part in host)
    parts = (BudgetPart(Part.STARVED, starved_ns), BudgetPart(Part.COMPUTE, MS - starved_ns))
    return Budget(MS, parts, starved=host)


def test_a_cpp_wrapper_saves_most_of_what_pythons_wrapper_keeps_the_device_waiting() -> None:
    budget = a_budget(HostPart(HostKind.WRAPPER, 400 * US), HostPart(HostKind.OPERATORS, 200 * US))
    assert predict_cpp_wrapper(budget) == MS - 360 * US


def test_on_a_cpu_a_cpp_wrapper_saves_a_part_of_every_call_and_never_more_than_there_is() -> None:
    cpu = replace(DEVICE, kind="cpu", empty_op_ns=1_000.0)
    budget = a_budget(HostPart(HostKind.WRAPPER, 400 * US))
    assert predict_cpp_wrapper_on_cpu(budget, 100.0, cpu) == MS - 150 * US
    assert predict_cpp_wrapper_on_cpu(budget, 100.0, replace(cpu, empty_op_ns=2_000.0)) == MS - 300 * US
    assert predict_cpp_wrapper_on_cpu(budget, 10_000.0, cpu) == 0
    assert predict_cpp_wrapper_on_cpu(budget, None, cpu) is None
    assert predict_cpp_wrapper_on_cpu(budget, 100.0, replace(cpu, empty_op_ns=None)) is None


@pytest.mark.parametrize(
    ("default_us", "left_us", "calls", "empty_ns", "error"),
    [
        (686, 559, 70, 979, 0.04),
        (264, 209, 39, 962, 0.01),
        (986, 919, 37, 961, 0.02),
        (714, 661, 31, 965, 0.02),
        (1101, 1010, 144, 1002, 0.12),
    ],
)
def test_five_models_of_one_graph_on_two_cores_are_near_what_was_foretold(
    default_us: int, left_us: int, calls: int, empty_ns: float, error: float
) -> None:
    """GPTlite, Granite's one token, BERT, ViT and 48 layers: steps of the default and of the C++ wrapper, in turn."""
    budget = Budget(default_us * US, (BudgetPart(Part.UNKNOWN_KERNELS, default_us * US),))
    foretold = predict_cpp_wrapper_on_cpu(budget, calls, replace(DEVICE, kind="cpu", empty_op_ns=empty_ns))
    assert foretold == pytest.approx(left_us * US, abs=error * default_us * US)


def test_where_the_wrapper_keeps_nothing_waiting_a_cpp_wrapper_saves_nothing() -> None:
    assert predict_cpp_wrapper(a_budget(HostPart(HostKind.GUARDS, 300 * US))) == MS


def test_without_knowing_what_the_host_did_no_cpp_wrapper_is_foretold() -> None:
    assert predict_cpp_wrapper(Budget(MS, (BudgetPart(Part.STARVED, MS),))) is None


def test_three_trials_on_an_h200_are_within_an_eighth_of_the_graph() -> None:
    """mixed_graphs and Granite: their wrapper's part of the graph, and what the C++ wrapper left of it in turn."""
    for wrapper_share, left in ((0.40, 0.75), (0.30, 0.66), (0.30, 0.72)):
        foretold = predict_cpp_wrapper(a_budget(HostPart(HostKind.WRAPPER, round(wrapper_share * MS))))
        assert foretold == pytest.approx(left * MS, abs=0.125 * MS)

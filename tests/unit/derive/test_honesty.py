"""A trace says how far it can be believed, on real files too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analyzer.core.trace import EventKind, Trace
from analyzer.core.trace_facts import Damage, Vendor
from analyzer.derive.honesty import FEWEST_NESTED, honesty
from collectors.readers.kineto import read_trace
from tests.traces import Recording

TRACES = Path(__file__).parents[4] / "shared" / "traces"


def _recording(ops: int) -> Recording:
    run = Recording()
    with run.step():
        for _ in range(ops):
            with run.op("aten::relu", ((4, 4),), ("float",)), run.op("aten::clamp_min", ((4, 4),), ("float",)):
                run.launch("k", us=5.25)
    return run


def test_an_empty_trace_is_believed_and_asked_nothing() -> None:
    found = honesty(Recording().trace())
    assert found.sentences == ()
    assert (found.replays, found.steps, found.host, found.shapes, found.is_floored) == (None,) * 5
    assert found.launches_without_rows is None


def test_the_profilers_cost_is_rows_times_the_time_between_two_of_them() -> None:
    # The recording's clock moves 1 µs at each begin of a row, and nothing else happens between them.
    found = honesty(_recording(FEWEST_NESTED).trace()).host
    assert found is not None
    assert found.row_ns == 1000
    assert found.rows == 1 + FEWEST_NESTED * 3
    assert found.cost_ns == found.rows * 1000


def test_the_profilers_own_rows_count_once() -> None:
    run = _recording(FEWEST_NESTED)
    trace = run.trace()
    names = (*trace.names, "Activity Buffer Request")
    kind, name_id = trace.kind.copy(), trace.name_id.copy()
    row = int(trace.rows(EventKind.KERNEL)[0])
    kind[row], name_id[row] = EventKind.OTHER, len(names) - 1
    found = honesty(replace(trace, names=names, kind=kind, name_id=name_id)).host
    assert found is not None
    assert found.own_rows_ns == 5250


def test_with_too_few_nested_rows_the_cost_is_unknown() -> None:
    found = honesty(_recording(2).trace()).host
    assert found is not None
    assert (found.row_ns, found.cost_ns, found.share) == (None, None, None)


def test_whole_microseconds_are_said_to_be_floored() -> None:
    trace = _recording(FEWEST_NESTED).trace()
    assert honesty(trace).is_floored is False
    floored = replace(
        trace, start_ns=trace.start_ns // 1000 * 1000, duration_ns=trace.duration_ns // 1000 * 1000, base_ns=0
    )
    assert honesty(floored).is_floored is True
    assert any("whole microseconds" in s for s in honesty(floored).sentences)


def test_operators_without_shapes_are_counted() -> None:
    run = Recording()
    with run.op("aten::mm"):
        run.launch("k", us=1)
    found = honesty(run.trace())
    assert found.shapes is not None
    assert (found.shapes.ops, found.shapes.without) == (1, 1)
    assert any("record_shapes=True" in s for s in found.sentences)


def test_damage_is_said_first() -> None:
    trace = Recording().trace()
    facts = replace(trace.facts, damage=Damage(7, "cut: it stops at byte 7"))
    assert honesty(replace(trace, facts=facts)).sentences[0].startswith("only what comes before byte 7")


def test_shifting_a_trace_changes_nothing() -> None:
    trace = _recording(FEWEST_NESTED).trace()
    moved = replace(trace, base_ns=trace.base_ns + 1_000_000)
    assert honesty(moved) == honesty(trace)


@pytest.mark.parametrize(
    ("name", "vendor", "is_floored", "without_shapes"),
    [
        ("h100_qwen_train.json.gz", Vendor.CUDA, False, False),
        ("mi300_qwen3_graph_decode.json.gz", Vendor.ROCM, False, False),
        ("b300_qwen3_graph_decode.json.gz", Vendor.CUDA, False, False),
        ("v100_resnet_2021_array.json.gz", Vendor.CUDA, True, False),
        ("cpu_only_rank34.json.gz", Vendor.CPU, False, False),
        ("mtia_inference.json.gz", Vendor.MTIA, False, False),
        ("mi210_gpu_only.json.gz", Vendor.ROCM, False, None),
        ("vllm_piecewise_graphs.json.gz", Vendor.ROCM, False, False),
        ("dlrm_8ranks/worker3.json.gz", Vendor.CUDA, True, False),
    ],
)
def test_a_public_trace_is_known_for_what_it_is(
    name: str, vendor: Vendor, is_floored: bool, without_shapes: bool | None
) -> None:
    path = TRACES / name
    if not path.exists():
        pytest.skip("the collection of public traces is not here")
    trace = read_trace(path)
    found = honesty(trace)
    assert trace.facts.vendor is vendor
    assert trace.facts.damage is None
    assert found.is_floored is is_floored
    assert (found.shapes and found.shapes.without == found.shapes.ops) is without_shapes
    assert found.stray_times == 0


def test_every_replay_of_a_public_trace_has_its_kernels() -> None:
    path = TRACES / "b300_qwen3_graph_decode.json.gz"
    if not path.exists():
        pytest.skip("the collection of public traces is not here")
    replays = honesty(read_trace(path)).replays
    assert replays is not None
    assert (replays.launches, replays.without_rows) == (1, 0)


def test_device_rows_in_unknown_words_are_counted() -> None:
    path = TRACES / "mtia_inference.json.gz"
    if not path.exists():
        pytest.skip("the collection of public traces is not here")
    trace = read_trace(path)
    assert trace.facts.unread_device_rows == 1313
    assert np.isin(trace.kind, (EventKind.KERNEL, EventKind.COPY, EventKind.MEMSET)).sum() == 0
    assert any("1313 rows are device work" in s for s in honesty(trace).sentences)


def _without_kernels(run: Recording, lost: slice) -> Trace:
    trace = run.trace()
    is_lost = np.zeros(len(trace), dtype=np.bool_)
    is_lost[trace.rows(EventKind.KERNEL)[lost]] = True
    return replace(trace, kind=np.where(is_lost, np.int8(EventKind.OTHER), trace.kind))


def test_kernels_that_were_launched_and_have_no_row_are_said_to_be_lost() -> None:
    found = honesty(_without_kernels(_recording(50), slice(10, 30))).lost_kernels
    assert found is not None
    assert (found.launches, found.without_rows) == (50, 20)
    assert honesty(_recording(50).trace()).lost_kernels is None


def test_launches_at_the_end_of_a_recording_may_run_behind_it() -> None:
    assert honesty(_without_kernels(_recording(50), slice(30, None))).lost_kernels is None


def test_launches_into_a_graph_that_is_captured_run_nothing() -> None:
    run = _recording(5)
    run.runtime("cudaStreamBeginCapture", 5)
    for _ in range(20):
        run.launch("k", us=5.25)
    run.runtime("cudaStreamEndCapture_v10000", 5)
    run.launch("k", us=5.25)
    assert honesty(_without_kernels(run, slice(5, 25))).lost_kernels is None


def test_a_kernel_whose_correlation_id_is_lost_is_no_lost_kernel() -> None:
    trace = _recording(50).trace()
    has_id = trace.has_correlation.copy()
    has_id[trace.rows(EventKind.KERNEL)[10:30]] = False
    assert honesty(replace(trace, has_correlation=has_id)).lost_kernels is None


def test_a_cost_of_recording_that_clocks_of_microseconds_hide_is_not_told_as_none() -> None:
    trace = _recording(FEWEST_NESTED).trace()
    floored = replace(trace, start_ns=trace.start_ns // 10**6 * 10**6)
    found = honesty(floored)
    assert found.host is not None
    assert found.host.cost_ns == 0
    assert not any("recording took" in sentence for sentence in found.sentences)

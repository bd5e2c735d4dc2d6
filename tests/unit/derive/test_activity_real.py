"""The activity of real traces: our own recording on an H200, and public ones where they lie beside the repository."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from analyzer.core.activity import Activity, CopyDirection, EntryKind
from analyzer.core.samples import Samples
from analyzer.core.timing import Timing
from analyzer.derive.activity import NO_STEP, activity
from analyzer.derive.attribution import attribute
from analyzer.rules import host_sync, input_starved
from analyzer.rules.facts import Facts
from collectors.readers.kineto import read_trace
from tests.unit.derive.activity_runs import DEVICE

MS = 1_000_000
REPOSITORY = Path(__file__).parents[3]
GOLDEN = REPOSITORY / "tests" / "golden" / "granite_h200"
PUBLIC = REPOSITORY.parent / "shared" / "traces"

needs_public = pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public traces are not beside the repository")


@cache
def _of(path: Path, step_ns: int | None = None) -> Activity:
    clean = Timing(Samples((step_ns,)), Samples((step_ns,)), (), (), True) if step_ns is not None else None
    return activity(attribute(read_trace(path)), clean, DEVICE)


def test_a_compiled_step_on_an_h200_waits_for_nothing_but_its_guards() -> None:
    found = _of(GOLDEN / "before.trace.json.gz", 5 * MS)
    assert (found.steps, found.waits, found.allocations, found.chains, found.replays) == (3, (), (), (), None)
    assert [e.kind for e in found.entries] == [EntryKind.GUARDS, EntryKind.BYTECODE, EntryKind.PROLOGUE]
    guards = found.entries[0]
    assert guards.count == 1.0
    # 342, 354 and 330 µs in the trace, where a step is 13.8 ms long: without the profiler it is taken to have 5.
    assert guards.profiled_ns == pytest.approx(341_826, rel=0.001)
    assert 0.3 * guards.profiled_ns < guards.host_ns < 0.45 * guards.profiled_ns
    # The device is idle until the first launch, which comes after all of them.
    assert found.entry_cost_ns == pytest.approx(sum(e.host_ns for e in found.entries), abs=3)


def test_its_kernels_are_small_and_launched_alone_before_and_together_after() -> None:
    (before,) = _of(GOLDEN / "before.trace.json.gz").kernels
    (after,) = _of(GOLDEN / "after.trace.json.gz").kernels
    assert before.count == before.launches == 251
    # The plan makes products of one input one; what is launched beside its CUDA graph copies the tokens into it.
    assert after.count == 167
    assert after.launches == 2
    assert before.small_count is not None
    assert before.small_count >= 100


def test_a_replayed_step_launches_one_graph_and_records_none() -> None:
    replays = _of(GOLDEN / "after.trace.json.gz").replays
    assert replays is not None
    assert (replays.launches, replays.captures) == (1.0, 0.0)


@needs_public
def test_a_loader_in_the_main_process_starves_the_step_and_workers_do_not() -> None:
    alone = _of(PUBLIC / "v100_resnet_2021_array.json.gz")
    (waits,) = alone.inputs
    assert waits.loader == "_SingleProcessDataLoaderIter"
    assert waits.cost_ns > 0.2 * alone.step_ns
    assert [f.rule for f in input_starved.judge(Facts(activity=alone))] == ["input_starved"]
    helped = _of(PUBLIC / "v100_resnet_2021_memory.json.gz")
    assert helped.inputs[0].loader == "_MultiProcessingDataLoaderIter"
    assert input_starved.judge(Facts(activity=helped)) == ()


@needs_public
def test_pageable_input_copies_hold_the_host_and_the_wait_behind_them_is_the_same_wait() -> None:
    (wait,) = _of(PUBLIC / "v100_resnet_2021_memory.json.gz").waits
    assert wait.direction is CopyDirection.TO_DEVICE
    assert wait.count == 2.0
    assert wait.ops[-1] == "aten::copy_"
    (copy,) = _of(PUBLIC / "v100_resnet_2021_memory.json.gz").copies
    # A batch of 32 images of 3 × 224 × 224 float32, and its 32 labels.
    assert copy.bytes == 32 * 3 * 224 * 224 * 4 + 32 * 8
    assert copy.holds_host


@needs_public
@pytest.mark.parametrize("name", ["h100_qwen_train", "mi300_qwen_train"])
def test_reading_a_value_is_found_on_nvidia_and_amd_and_not_claimed_where_launches_are_missing(name: str) -> None:
    found = _of(PUBLIC / f"{name}.json.gz")
    (read,) = [wait for wait in found.waits if wait.ops]
    assert read.ops == ("aten::is_nonzero", "aten::item", "aten::_local_scalar_dense")
    assert not found.is_linked
    assert all(finding.ns_per_step is None for finding in host_sync.judge(Facts(activity=found)))


@needs_public
@pytest.mark.parametrize("name", ["b200_compiled_nccl", "mi210_gpu_only"])
def test_a_trace_without_steps_says_so(name: str) -> None:
    assert _of(PUBLIC / f"{name}.json.gz").missing == NO_STEP


@needs_public
def test_a_cpu_waits_for_no_device() -> None:
    found = _of(PUBLIC / "cpu_only_rank34.json.gz")
    assert found.is_host
    assert found.waits == found.copies == found.kernels == ()
    assert found.chains

"""Which regions a recorded trace has, whose steps, and how its window is cut."""

from __future__ import annotations

import pytest

from analyzer.core.budget import Part
from analyzer.core.device import Device, Source
from analyzer.core.graphs import Direction
from analyzer.core.step_marks import StepDialect
from analyzer.core.trace import EventKind
from analyzer.derive.attribution import attribute
from analyzer.derive.idle_reasons import LONGEST_QUEUED_NS
from analyzer.derive.regions_from_trace import RegionKind
from analyzer.derive.steps import find_steps, with_step_names
from analyzer.derive.trace_budget import EARLIER, NO_LAUNCH, TraceBudget, trace_budget
from tests.traces import Recording

NOBODYS = Device(kind="unknown", name="x", source=Source.DATA_SHEET)


def budget_of(run: Recording) -> TraceBudget:
    trace = run.trace()
    steps = find_steps(trace)
    found = trace_budget(attribute(with_step_names(trace, steps)), steps, NOBODYS)
    assert found is not None
    return found


def kinds(run: Recording) -> dict[str, RegionKind]:
    return {one.region.label: one.region.kind for one in budget_of(run).regions if one.rows.size}


def test_a_compiled_graph_is_found_inside_its_frame_and_named_by_its_compile_id() -> None:
    run = Recording()
    with run.step(), run.range("Torch-Compiled Region: 2/1"), run.range("## Call CompiledFxGraph fabc ##"):
        run.launch("triton_poi_fused_0", us=5)
    (one,) = [one for one in budget_of(run).regions if one.rows.size]
    assert (one.region.label, one.region.kind, one.region.compile_id) == ("graph 2/1", RegionKind.COMPILED, "2/1")


def test_forward_and_backward_of_a_compiled_function_are_two_regions() -> None:
    run = Recording()
    with run.step():
        with run.op("CompiledFunction"):
            run.launch("a", us=5)
        with run.op("CompiledFunctionBackward"):
            run.launch("b", us=5)
    directions = {one.region.key.direction for one in budget_of(run).regions if one.rows.size}
    assert directions == {Direction.FORWARD, Direction.BACKWARD}


def test_of_nested_frames_the_inner_one_has_the_kernel() -> None:
    run = Recording()
    with run.step(), run.range("Torch-Compiled Region: 0/0"):
        run.launch("a", us=5)
        with run.range("Torch-Compiled Region: 1/0"):
            run.launch("b", us=7)
    sizes = {one.region.label: one.budget.busy_ns for one in budget_of(run).regions}
    assert sizes == {"graph 0/0": 5_000, "graph 1/0": 7_000}


def test_replays_of_one_sequence_of_kernels_are_one_region_and_of_another_a_second() -> None:
    run = Recording()
    with run.step():
        for kernels in ([("a", 3.0), ("b", 4.0)], [("a", 3.0), ("b", 4.0)], [("c", 2.0)]):
            run.replay(kernels)
            run.synchronize()
    rows = sorted(one.rows.size for one in budget_of(run).regions if one.region.kind is RegionKind.REPLAY)
    assert rows == [1, 4]


def test_a_replay_inside_a_compiled_graph_belongs_to_the_graph() -> None:
    run = Recording()
    with run.step(), run.range("## Call CompiledFxGraph fabc ##"):
        run.replay([("a", 3.0)])
    assert set(kinds(run).values()) == {RegionKind.COMPILED}


def test_without_compile_modules_take_the_place_and_layers_of_one_class_stand_together() -> None:
    run = Recording()
    with run.step(), run._open("nn.Module: Model_0", EventKind.PYTHON, None):
        for layer in range(40):
            with run._open(f"nn.Module: Block_{layer}", EventKind.PYTHON, None):
                run.launch("k", us=5)
        with run._open("nn.Module: Head_0", EventKind.PYTHON, None):
            run.launch("k", us=5)
    assert kinds(run) == {"Block (40 of them)": RegionKind.MODULE, "Head_0": RegionKind.MODULE}


def test_with_neither_the_steps_are_the_region() -> None:
    run = Recording()
    with run.step():
        run.launch("k", us=5)
    assert kinds(run) == {"the steps": RegionKind.STEP}


def test_rows_launched_before_the_recording_are_told_from_rows_whose_launch_is_lost() -> None:
    run = Recording()
    run._correlation = 50
    run.orphan("early", us=5, correlation=7)
    with run.step():
        run.launch("k", us=5)
    run.orphan("lost", us=5, correlation=900)
    found = kinds(run)
    assert found[EARLIER] is RegionKind.UNLINKED
    assert found[NO_LAUNCH] is RegionKind.UNLINKED


@pytest.mark.parametrize(
    ("marker", "dialect"),
    [
        ("ProfilerStep#7", StepDialect.TORCH),
        ("step[DECODE bs=16]", StepDialect.SGLANG),
        ("execute_16_context_0(sq0sk0)_generation_16(sq16sk8193)", StepDialect.VLLM),
        ("execute_diffusion_2_1024x1024", StepDialect.DIFFUSERS),
    ],
)
def test_the_steps_of_every_writer_are_found(marker: str, dialect: StepDialect) -> None:
    run = Recording()
    for _ in range(3):
        with run.range(marker):
            run.launch("k", us=5)
    steps = find_steps(run.trace())
    assert (len(steps), steps.marked_by) == (3, dialect)


def test_a_gap_before_a_kernel_launched_in_time_is_latency_and_a_late_launch_starves() -> None:
    run = Recording()
    with run.step():
        run.launch("a", us=100)
        run.launch("b", us=100)
        run.host(300)
        run.launch("c", us=10)
    run.rows = [row if row.name != "b" else _later(row, 2_000) for row in run.rows]
    whole = budget_of(run).whole
    assert whole.ns(Part.LATENCY) == 2_000
    assert whole.ns(Part.STARVED) > 90_000
    assert sum(part.ns for part in whole.parts) == whole.elapsed_ns


def test_a_gap_too_long_for_a_device_is_not_explained() -> None:
    run = Recording()
    with run.step():
        run.launch("a", us=100)
        run.launch("b", us=100)
    run.rows = [row if row.name != "b" else _later(row, LONGEST_QUEUED_NS + 1) for row in run.rows]
    assert budget_of(run).whole.ns(Part.OTHER) == LONGEST_QUEUED_NS + 1


def test_a_launch_call_that_loads_code_is_no_starving_by_the_host() -> None:
    run = Recording()
    with run.step():
        run.launch("a", us=5)
        start = run.now_ns
        run.launch("b", us=5)
    shift = 400_000_000
    rows = []
    for row in run.rows:
        if row.kind is EventKind.LAUNCH and row.start_ns == start:
            row = _longer(row, shift)
        elif row.name == "b":
            row = _later(row, shift)
        elif row.kind is EventKind.RANGE:
            row = _longer(row, shift)
        rows.append(row)
    run.rows = rows
    assert budget_of(run).whole.ns(Part.OTHER) > 390_000_000


def _later(row, ns):  # type: ignore[no-untyped-def]
    from dataclasses import replace

    return replace(row, start_ns=row.start_ns + ns)


def _longer(row, ns):  # type: ignore[no-untyped-def]
    from dataclasses import replace

    return replace(row, duration_ns=row.duration_ns + ns)


def test_copies_beside_a_kernel_are_not_exposed_and_those_alone_are() -> None:
    run = Recording()
    with run.step():
        run.launch("k", us=50)
        run.copy("Memcpy HtoD", us=20, stream=9)
        run.synchronize()
        run.copy("Memcpy HtoD", us=30, stream=9)
    assert budget_of(run).whole.ns(Part.COPIES) == 30_000

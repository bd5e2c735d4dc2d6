"""The two passes join into parts that add up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzer.core.budget import Budget, HostKind, Part
from analyzer.core.graphs import Graph, Region
from analyzer.core.trace import EventKind
from analyzer.derive.attribution import attribute
from analyzer.derive.budget import (
    NO_TIMING,
    NO_WORK,
    NOT_CALLED,
    NOT_SEEN,
    Context,
    RegionBudget,
    region_budgets,
    step_budget,
)
from analyzer.derive.cpu_causes import GraphLoops
from tests.rule_facts import an_environment
from tests.traces import Recording
from tests.unit.derive.runs import DEVICE, END, MIDDLE, START, A, B, recording, region, timing

CONTEXT = Context(DEVICE)


def _budgets(run: Recording, clean: object, context: Context = CONTEXT) -> dict[Region, RegionBudget]:
    return {b.region: b for b in region_budgets(clean, attribute(run.trace()), context)}  # type: ignore[arg-type]


def _budget(found: RegionBudget) -> Budget:
    assert found.budget is not None
    return found.budget


def test_a_region_is_its_clean_time_split_by_what_the_profiled_pass_saw() -> None:
    clean = timing(region(A, 500_000), region(B, 100_000), step_ns=600_000)
    found = _budgets(recording(), clean)
    a = _budget(found[A])
    assert a.elapsed_ns == 500_000
    assert a.ns(Part.COMPUTE) == 200_000
    assert a.ns(Part.MEMORY) == 100_000
    assert a.ns(Part.STARVED) == 200_000
    assert (found[A].busy_ns, found[A].kernels_per_step) == (300_000, 2.0)
    b = _budget(found[B])
    assert b.ns(Part.MEMORY) == 12_000
    assert b.ns(Part.STARVED) == 88_000


def test_regions_and_edge_add_up_to_the_step_exactly() -> None:
    clean = timing(region(A, 500_003), region(MIDDLE, 7), region(B, 100_001), step_ns=640_013, probed_ns=650_000)
    run = recording()
    budgets = region_budgets(clean, attribute(run.trace()), CONTEXT)
    step = step_budget(clean, attribute(run.trace()), budgets)
    assert step.elapsed_ns == 640_013
    regions = sum(_budget(b).elapsed_ns for b in budgets if b.budget is not None)
    assert step.ns(Part.SYNC) + step.ns(Part.OTHER) == 640_013 - regions


def test_what_probing_cost_is_taken_from_idle_time_and_not_from_kernels() -> None:
    clean = timing(region(A, 500_000), region(B, 212_000), step_ns=512_000, probed_ns=712_000)
    found = _budgets(recording(), clean)
    a, b = _budget(found[A]), _budget(found[B])
    assert a.elapsed_ns + b.elapsed_ns == 512_000
    assert a.ns(Part.COMPUTE) + a.ns(Part.MEMORY) == 300_000
    # Idle were 200 µs in each; 200 of these 400 µs did not happen in the clean step.
    assert a.ns(Part.STARVED) == 100_000
    assert b.ns(Part.STARVED) == 100_000


def test_a_wait_longer_than_the_clean_step_does_not_take_the_regions_idle_time() -> None:
    """Of a case recorded on an H200 (36) 1.3 µs were said to pass before its first launch, as no host can do it."""
    regions = region(A, 500_000), region(B, 212_000)
    late = timing(*regions, step_ns=712_000, probed_ns=20_000_000)
    found = _budgets(recording(), late)
    # 400 µs are not busy in the clean step: as much as the wait may have had of it is the regions' own.
    assert _budget(found[A]).ns(Part.STARVED) == _budget(found[B]).ns(Part.STARVED) == 100_000


def test_busy_time_beyond_the_clean_time_is_clipped_and_said() -> None:
    found = _budgets(recording(), timing(region(A, 250_000), step_ns=250_000))[A]
    budget = _budget(found)
    assert budget.ns(Part.STARVED) == 0
    assert budget.ns(Part.COMPUTE) + budget.ns(Part.MEMORY) == 250_000
    assert found.busy_ns == 250_000
    assert "20% longer" in found.notes[0]


def test_a_step_shorter_than_its_kernels_shortens_the_regions() -> None:
    clean = timing(region(A, 300_000), region(B, 100_000), step_ns=200_000, probed_ns=400_000)
    found = _budgets(recording(), clean)
    assert _budget(found[A]).elapsed_ns + _budget(found[B]).elapsed_ns == 200_000


def test_overlapping_kernels_share_the_time_they_cover() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            with run.op("aten::mm", ((2048, 2048), (2048, 2048)), ("c10::BFloat16",) * 2):
                run.launch("gemm", us=199, stream=8)
            add_elements = 20_000_000
            with run.op("triton_poi_fused_add_0", ((add_elements,),), ("float",)):
                run.launch("add", us=100, stream=9)
        run.synchronize()
    found = _budgets(run, timing(region(A, 400_000), step_ns=400_000))[A]
    budget = _budget(found)
    assert found.busy_ns == 199_000
    assert budget.ns(Part.COMPUTE) == pytest.approx(199_000 * 199 / 299, abs=1)
    assert budget.ns(Part.MEMORY) == pytest.approx(199_000 * 100 / 299, abs=1)


def test_copies_are_counted_where_no_kernel_hides_them() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.launch("Memcpy HtoD", us=80, kind=EventKind.COPY, stream=9)
            run.launch("k", us=30)
        with run.graph(str(B)):
            run.launch("Memcpy DtoH", us=50, kind=EventKind.COPY)
        run.synchronize()
    found = _budgets(run, timing(region(A, 100_000), region(B, 60_000), step_ns=160_000))
    a, b = _budget(found[A]), _budget(found[B])
    assert (a.ns(Part.COPIES), a.ns(Part.UNKNOWN_KERNELS), a.ns(Part.STARVED)) == (50_000, 30_000, 20_000)
    assert (b.ns(Part.COPIES), b.ns(Part.STARVED)) == (50_000, 10_000)


def test_a_floor_is_what_the_other_resource_needs() -> None:
    found = _budgets(recording(), timing(region(A, 500_000), step_ns=500_000))[A]
    floors = {f.part: f.ns for f in found.floors}
    # 3 matrices of 2048 x 2048 in two bytes at 1 TB/s; an addition has no counted arithmetic.
    assert floors[Part.COMPUTE] == pytest.approx(3 * 2048**2 * 2 / 1e12 * 1e9, abs=1)
    assert floors[Part.MEMORY] == 0


def test_the_tail_of_a_step_is_waiting_as_far_as_waiting_was_seen() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.launch("k", us=50)
        run.synchronize()
        run.host(us=1)
        run.synchronize()
    attribution = attribute(run.trace())
    clean = timing(region(A, 60_000), step_ns=70_000, probed_ns=70_000)
    step = step_budget(clean, attribution, region_budgets(clean, attribution, CONTEXT))
    assert step.ns(Part.SYNC) == 1_000
    assert step.ns(Part.SYNC) + step.ns(Part.OTHER) == 10_000


def test_a_region_without_clean_time_has_no_budget() -> None:
    found = _budgets(recording(), timing(region(A, 500_000), step_ns=500_000))
    assert (found[B].budget, found[B].missing) == (None, NOT_CALLED)
    assert found[B].busy_ns == 12_000
    assert {r for r, b in found.items() if b.budget is None} == {START, MIDDLE, B, END}


def test_without_a_clean_pass_no_region_has_a_budget() -> None:
    assert all(b.budget is None and b.missing == NO_TIMING for b in _budgets(recording(), None).values())


def test_a_region_that_the_profiled_pass_did_not_reach_is_unexplained() -> None:
    run = Recording()
    with run.step(), run.graph(str(A)):
        run.launch("k", us=5)
    found = _budgets(run, timing(region(A, 10_000), region(B, 10_000), step_ns=20_000))
    assert found[B].missing == NOT_SEEN
    assert _budget(found[B]).ns(Part.OTHER) == 10_000
    assert found[B].busy_ns is None


def test_a_profiled_pass_without_device_rows_explains_nothing() -> None:
    run = recording()
    run.rows = [r for r in run.rows if r.kind is not EventKind.KERNEL]
    found = _budgets(run, timing(region(A, 10_000), step_ns=10_000))[A]
    assert found.missing == NO_WORK
    assert _budget(found).ns(Part.STARVED) == 0


def test_replayed_kernels_take_their_cost_from_the_run_that_shows_operators() -> None:
    fused = attribute(recording().trace())
    replayed = Recording()
    for _ in range(2):
        with replayed.step():
            with replayed.graph(str(A)):
                replayed.replay([("gemm", 200), ("triton_poi_fused_add_0", 100)])
            replayed.synchronize()
    clean = timing(region(A, 310_000), step_ns=310_000)
    alone = _budget(_budgets(replayed, clean)[A])
    assert alone.ns(Part.UNKNOWN_KERNELS) == 300_000
    helped = _budget(_budgets(replayed, clean, replace(CONTEXT, reference=fused))[A])
    assert helped.ns(Part.COMPUTE) == 200_000
    assert helped.ns(Part.MEMORY) == 100_000


def _cpu_run() -> Recording:
    run = Recording()
    with run.step(), run.graph(str(A)):
        run.host(us=38)
        with run.op("graph_0_cpp_fused_relu_0"):
            run.host(us=98)
        with run.op("aten::mm", ((256, 256), (256, 256)), ("float", "float")):
            run.host(us=48)
            with run.op("aten::resolve_conj"):
                run.host(us=1)
    return run


CPU = replace(DEVICE, kind="cpu", empty_op_ns=1_000.0)


def test_on_a_cpu_dispatch_is_starved_and_kernels_are_the_rest() -> None:
    # 100 + 51 µs of own time, less the dispatch of `aten::mm`; Inductor calls its kernels directly.
    found = _budgets(_cpu_run(), timing(region(A, 200_000), step_ns=200_000), Context(CPU))[A]
    assert found.is_host
    assert found.busy_ns == 149_000
    assert _budget(found).ns(Part.STARVED) == 51_000
    assert not any(p.is_scaled for p in _budget(found).parts)


def test_on_a_cpu_host_figures_are_scaled_to_the_clean_pass() -> None:
    attribution = attribute(_cpu_run().trace())
    profiled = attribution.regions[1].elapsed_ns[0]
    clean = timing(region(A, profiled // 2), step_ns=profiled // 2)
    found = _budgets(_cpu_run(), clean, Context(CPU))[A]
    assert found.busy_ns == pytest.approx(149_000 / 2, abs=1)
    assert all(p.is_scaled for p in _budget(found).parts)


def test_generated_kernels_without_arguments_are_judged_by_their_graphs_traffic() -> None:
    clean = timing(region(A, 200_000), step_ns=200_000)
    unknown = _budget(_budgets(_cpu_run(), clean, Context(CPU))[A])
    assert unknown.ns(Part.UNKNOWN_KERNELS) > 0
    moved = 3 * 256 * 256 * 4 + 80_000_000
    graph = Graph(key=A, compile_ids=(), source=(), op_count=2, ended_by=None, bytes=moved)
    known = _budget(_budgets(_cpu_run(), clean, Context(CPU, graphs=(graph,)))[A])
    assert known.ns(Part.MEMORY) == pytest.approx(unknown.ns(Part.UNKNOWN_KERNELS), abs=1)


def test_kernels_of_one_operator_share_its_cost() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)), run.op("aten::mm", ((2048, 2048),) * 2, ("c10::BFloat16",) * 2):
            run.launch("split k", us=150)
            run.launch("reduce", us=50)
        run.synchronize()
    found = _budgets(run, timing(region(A, 200_000), step_ns=200_000))[A]
    assert _budget(found).ns(Part.COMPUTE) == 200_000


def test_a_fused_attention_is_found_above_the_operator_that_launches() -> None:
    shape = (1, 16, 2048, 64)
    run = Recording()
    with run.step():
        with (
            run.graph(str(A)),
            run.op("aten::_scaled_dot_product_flash_attention", (shape,) * 3, ("c10::BFloat16",) * 3),
            run.op("aten::_flash_attention_forward"),
        ):
            run.launch("flash_fwd_kernel", us=200)
        run.synchronize()
    found = _budgets(run, timing(region(A, 200_000), step_ns=200_000))[A]
    assert _budget(found).ns(Part.COMPUTE) == 200_000


def _compiled(run: Recording, *, sync: bool) -> None:
    """Two compiled graphs in a step; between them the host waits for the first, or does not."""
    with run.step():
        for key in (A, B):
            with run.op("TorchDynamo Cache Lookup"):
                run.host(us=48)
            with run.graph(str(key)), run.op("aten::mm", ((2048, 2048),) * 2, ("c10::BFloat16",) * 2):
                run.launch("gemm", us=200)
            if key == A and sync:
                run.synchronize()
        run.synchronize()


def test_what_a_synchronisation_costs_is_apart_from_lateness() -> None:
    waiting, free = Recording(), Recording()
    _compiled(waiting, sync=True)
    _compiled(free, sync=False)
    clean = timing(
        region(START, 51_000), region(A, 203_000), region(MIDDLE, 51_000), region(B, 203_000), step_ns=508_000
    )
    budget = _budget(_budgets(waiting, clean)[MIDDLE])
    # The host looks up guards with an idle device; it had waited 198 µs for a busy one, so all of that is the wait's.
    assert budget.ns(Part.SYNC) == 51_000
    assert budget.ns(Part.STARVED) == 0
    assert all(part.is_scaled for part in budget.parts if part.part is Part.SYNC)
    assert _budget(_budgets(free, clean)[MIDDLE]).ns(Part.SYNC) == 0


def test_what_starved_is_split_by_what_the_host_did() -> None:
    run = Recording()
    _compiled(run, sync=False)
    clean = timing(region(START, 20_000), region(A, 203_000), step_ns=230_000)
    found = _budgets(run, clean)
    starved = _budget(found[START]).starved
    assert starved is not None
    by_kind = {part.kind: part.ns for part in starved}
    assert sum(by_kind.values()) == _budget(found[START]).ns(Part.STARVED)
    assert by_kind[HostKind.GUARDS] == pytest.approx(by_kind[HostKind.PYTHON] * 50, rel=0.1)


def test_a_trace_without_dynamos_rows_is_not_split() -> None:
    found = _budgets(recording(), timing(region(A, 500_000), step_ns=500_000))
    assert _budget(found[A]).starved is None


def test_the_steps_split_is_that_of_its_regions() -> None:
    run = Recording()
    _compiled(run, sync=False)
    clean = timing(
        region(START, 51_000), region(A, 220_000), region(MIDDLE, 1_000), region(B, 201_000), step_ns=480_000
    )
    attribution = attribute(run.trace())
    budgets = region_budgets(clean, attribution, CONTEXT)
    step = step_budget(clean, attribution, budgets)
    assert step.starved is not None
    assert sum(part.ns for part in step.starved) == step.ns(Part.STARVED)
    guards = [p.ns for b in budgets if b.budget for p in b.budget.starved or () if p.kind is HostKind.GUARDS]
    assert [p.ns for p in step.starved if p.kind is HostKind.GUARDS] == [pytest.approx(sum(guards), rel=0.05)]


def test_gaps_between_kernels_launched_in_time_are_latency() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.replay([("k", 4), ("k", 4)])
        run.synchronize()
    last = [r for r in run.rows if r.kind is EventKind.KERNEL][-1]
    run.rows = [replace(r, start_ns=r.start_ns + 800) if r is last else r for r in run.rows]
    found = _budgets(run, timing(region(A, 12_000), step_ns=12_000))[A]
    assert _budget(found).ns(Part.LATENCY) == 800
    assert found.queued_ns == 800
    assert _budget(found).ns(Part.STARVED) == 12_000 - 8_000 - 800


def test_kernels_on_two_devices_are_busy_when_any_works_and_said() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.launch("k", us=100, stream=7)
            run.launch("k", us=100, stream=8, device=1)
        run.synchronize()
    found = _budgets(run, timing(region(A, 150_000), step_ns=150_000))[A]
    assert found.busy_ns == 101_000
    assert any("2 devices" in note and "100 µs" in note for note in found.notes)


def test_on_a_cpu_threads_and_scalar_loops_are_told_apart() -> None:
    crowded = an_environment(threads=16, affinity_cpus=2)
    context = Context(CPU, environment=crowded, loops=(GraphLoops(A, 4, 3),))
    clean = timing(region(A, 200_000), step_ns=200_000)
    notes = _budgets(_cpu_run(), clean, context)[A].notes
    assert any("16 threads on 2" in note for note in notes)
    assert any(note.startswith("3 of 4") for note in notes)
    on_gpu = _budgets(recording(), timing(region(A, 500_000), step_ns=500_000), replace(context, device=DEVICE))[A]
    assert not any("threads" in note or "loops" in note for note in on_gpu.notes)

"""Laws of attribution, budgets and verdicts, over runs that hypothesis invents."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.core.budget import Part
from analyzer.core.graphs import GraphKey
from analyzer.core.intervals import subtract, union
from analyzer.core.samples import Samples
from analyzer.core.timing import RegionTiming, Timing
from analyzer.core.trace import DEVICE_KINDS, EventKind, Trace
from analyzer.core.verdict import Bound, Verdict
from analyzer.derive.attribution import Attribution, attribute
from analyzer.derive.budget import Context, RegionBudget, region_budgets, step_budget
from analyzer.derive.classify import verdict
from tests.traces import Recording, Row
from tests.unit.derive.runs import DEVICE, HALF

KEYS = ("aaaaaaaaaaaa.inference", "bbbbbbbbbbbb.forward", "bbbbbbbbbbbb.backward")
KINDS = (EventKind.KERNEL, EventKind.COPY, EventKind.MEMSET)

launch = st.tuples(st.integers(1, 300), st.sampled_from(KINDS), st.sampled_from((7, 8)), st.booleans())
call = st.tuples(st.sampled_from((None, *KEYS)), st.lists(launch, max_size=4), st.integers(0, 200))
# Machines that run tests for others miss deadlines; the laws are about values.
LAWS = settings(deadline=None, max_examples=20)

runs = st.lists(st.lists(call, max_size=5), max_size=3)


def _record(steps: list[list[tuple[str | None, list[tuple[int, EventKind, int, bool]], int]]]) -> Recording:
    """One call is some launches in a graph, or in the gap; the flag of a launch says whether its own row was lost."""
    run = Recording()
    for calls in steps:
        with run.step():
            for key, launches, host_us in calls:
                if key is None:
                    _launch(run, launches)
                else:
                    with run.graph(key):
                        _launch(run, launches)
                run.host(us=host_us)
            run.synchronize()
    return run


def _launch(run: Recording, launches: list[tuple[int, EventKind, int, bool]]) -> None:
    for us, kind, stream, is_lost in launches:
        if is_lost:
            run.orphan("lost", us=us, stream=stream)
        elif kind is EventKind.KERNEL:
            with run.op("aten::mm", ((512, 512), (512, 512)), (HALF, HALF)):
                run.launch("gemm", us=us, stream=stream)
        else:
            run.launch("copy", us=us, kind=kind, stream=stream)


def _timing(found: Attribution, factor: float = 0.8) -> Timing:
    """A clean pass somewhat faster than the profiled one."""
    regions = tuple(
        RegionTiming(r.region, 1.0, Samples((max(1, int(np.median(r.elapsed_ns or (1,)) * factor)),)), Samples((1,)))
        for r in found.regions
    )
    step = sum(r.elapsed_ns.median_ns for r in regions) + 1_000
    return Timing(Samples((step,)), Samples((step + 500,)), regions, (), True)


def _budgets(trace: Trace, clean: Timing | None = None) -> tuple[RegionBudget, ...]:
    found = attribute(trace)
    return region_budgets(clean or _timing(found), found, Context(DEVICE))


def _verdicts(budgets: tuple[RegionBudget, ...]) -> dict[str, Verdict]:
    return {str(b.region): verdict(b) for b in budgets}


@LAWS
@given(runs)
def test_every_device_row_is_counted_once(steps: list) -> None:  # type: ignore[type-arg]
    trace = _record(steps).trace()
    found = attribute(trace)
    total = found.attributed
    rows = trace.rows(*DEVICE_KINDS)
    if not found.is_host:
        assert np.array_equal(np.sort(found.work.row), rows)
        assert total.kernel_ns == int(trace.duration_ns[rows].sum())
    assert total.linked_ns + total.gap_ns + total.unlinked_ns == total.kernel_ns
    placed = sum(sum(r.kernels) + sum(r.copies) for r in found.regions)
    assert placed + total.unlinked_kernels == total.kernels


@LAWS
@given(runs)
def test_the_parts_of_every_budget_and_of_the_step_add_up(steps: list) -> None:  # type: ignore[type-arg]
    found = attribute(_record(steps).trace())
    clean = _timing(found)
    budgets = region_budgets(clean, found, Context(DEVICE))
    assert sum(p.ns for p in step_budget(clean, found, budgets).parts) == clean.step_ns.median_ns
    assert all(sum(p.ns for p in b.budget.parts) == b.budget.elapsed_ns for b in budgets if b.budget is not None)


@LAWS
@given(runs, st.integers(-(10**15), 10**15))
def test_shifting_all_times_changes_nothing(steps: list, shift: int) -> None:  # type: ignore[type-arg]
    trace = _record(steps).trace()
    moved = replace(trace, start_ns=trace.start_ns + shift)
    clean = _timing(attribute(trace))
    assert attribute(moved).regions == attribute(trace).regions
    assert attribute(moved).attributed == attribute(trace).attributed
    assert _budgets(moved, clean) == _budgets(trace, clean)


@LAWS
@given(runs, st.integers(2, 7))
def test_scaling_all_durations_scales_every_time(steps: list, factor: int) -> None:  # type: ignore[type-arg]
    run = _record(steps)
    scaled = _record(steps)
    scaled.rows = [replace(r, start_ns=r.start_ns * factor, duration_ns=r.duration_ns * factor) for r in scaled.rows]
    before, after = attribute(run.trace()), attribute(scaled.trace())
    for old, new in zip(before.regions, after.regions, strict=True):
        assert new.kernels == old.kernels
        assert new.busy_ns == tuple(ns * factor for ns in old.busy_ns)
        assert new.copy_only_ns == tuple(ns * factor for ns in old.copy_only_ns)
        assert new.idle_sync_ns == tuple(ns * factor for ns in old.idle_sync_ns)
    assert after.attributed.linked_share == before.attributed.linked_share


@LAWS
@given(runs, st.randoms(use_true_random=False))
def test_shuffling_rows_and_renaming_streams_changes_nothing(
    steps: list,  # type: ignore[type-arg]
    chance: random.Random,
) -> None:
    run = _record(steps)
    order = list(range(len(run.rows)))
    chance.shuffle(order)
    shuffled = run.trace(order=order)
    renamed = _record(steps)
    names = {7: 1007, 8: 3}
    renamed.rows = [replace(r, stream=names[r.stream]) if r.stream is not None else r for r in renamed.rows]
    for other in (shuffled, renamed.trace()):
        assert attribute(other).regions == attribute(run.trace()).regions
        assert attribute(other).attributed == attribute(run.trace()).attributed


@LAWS
@given(st.integers(1, 40), st.integers(1, 4))
def test_equal_launches_count_as_many_as_they_are(launches: int, steps: int) -> None:
    run = Recording()
    for _ in range(steps):
        with run.step(), run.graph(KEYS[0]):
            for _ in range(launches):
                run.launch("same", us=3)
    own = attribute(run.trace()).region(GraphKey.parse(KEYS[0]))
    assert own is not None
    assert own.kernels == (launches,) * steps
    assert own.busy_ns == (launches * 3_000,) * steps


@LAWS
@given(runs)
def test_an_idle_extra_stream_changes_no_verdict(steps: list) -> None:  # type: ignore[type-arg]
    run, more = _record(steps), _record(steps)
    end = max((r.start_ns + r.duration_ns for r in more.rows), default=0)
    more.rows.append(Row("idle", EventKind.DEVICE_RANGE, 0, end, stream=99))
    clean = _timing(attribute(run.trace()))
    assert _verdicts(_budgets(more.trace(), clean)) == _verdicts(_budgets(run.trace(), clean))


def test_an_empty_trace_finds_nothing_and_raises_nothing() -> None:
    found = attribute(Recording().trace())
    assert found.regions == ()
    assert found.steps == 0
    assert found.attributed.kernels == 0
    assert found.attributed.linked_share is None
    assert region_budgets(None, found, Context(DEVICE)) == ()
    clean = _timing(found)
    assert sum(p.ns for p in step_budget(clean, found, ()).parts) == clean.step_ns.median_ns


@LAWS
@given(runs)
def test_missing_data_is_never_a_verdict(steps: list) -> None:  # type: ignore[type-arg]
    run = _record(steps)
    without_timing = region_budgets(None, attribute(run.trace()), Context(DEVICE))
    run.rows = [r for r in run.rows if r.kind not in DEVICE_KINDS]
    launched = any(r.kind is EventKind.LAUNCH for r in run.rows)
    without_device = _budgets(run.trace()) if launched else ()
    for budget in (*without_timing, *without_device):
        found = verdict(budget)
        assert found.bound is Bound.UNDECIDED
        assert found.confidence is None
        assert found.missing


def _compiled(steps: list[list[tuple[str | None, list[tuple[int, EventKind, int, bool]], int]]]) -> Recording:
    """As `_record`, with the rows that Dynamo writes, and a wait after some gaps."""
    run = Recording()
    for calls in steps:
        with run.step():
            for key, launches, host_us in calls:
                with run.op("TorchDynamo Cache Lookup"):
                    run.host(us=host_us)
                if key is None:
                    _launch(run, launches)
                    if host_us % 2:
                        run.synchronize()
                else:
                    with run.graph(key):
                        _launch(run, launches)
            run.synchronize()
    return run


@LAWS
@given(runs)
def test_what_starved_is_split_exactly(steps: list) -> None:  # type: ignore[type-arg]
    found = attribute(_compiled(steps).trace())
    clean = _timing(found)
    budgets = region_budgets(clean, found, Context(DEVICE))
    for budget in (*(b.budget for b in budgets if b.budget is not None), step_budget(clean, found, budgets)):
        if budget.starved is not None:
            assert sum(p.ns for p in budget.starved) == budget.ns(Part.STARVED)


@LAWS
@given(runs)
def test_every_idle_moment_of_a_step_has_one_reason(steps: list) -> None:  # type: ignore[type-arg]
    trace = _compiled(steps).trace()
    found = attribute(trace)
    if found.is_host:
        return
    rows = trace.rows(*DEVICE_KINDS)
    markers = [r for r in trace.rows(EventKind.RANGE).tolist() if trace.name(r).startswith("ProfilerStep")]
    spans = union(trace.start_ns[markers], trace.end_ns[markers])
    idle = subtract(spans, union(trace.start_ns[rows], trace.end_ns[rows])).length_ns
    told = sum(found.closing_ns) if len(found.recorded_steps) == found.steps else 0
    for work in found.regions:
        told += sum(work.host.queued_ns) + sum(work.host.waited_ns) + sum(work.host.refill_ns)
        told += sum(map(sum, work.host.kind_ns))
    if len(found.recorded_steps) == found.steps:
        # What lies between a closing wait and its step's marker is neither the region's nor a wait: 2 µs of a marker.
        assert 0 <= idle - told <= 2_000 * found.steps


@LAWS
@given(runs, st.randoms(use_true_random=False))
def test_shuffling_and_renaming_streams_change_no_verdict(
    steps: list,  # type: ignore[type-arg]
    chance: random.Random,
) -> None:
    run, renamed = _compiled(steps), _compiled(steps)
    order = list(range(len(run.rows)))
    chance.shuffle(order)
    names = {7: 1007, 8: 3}
    renamed.rows = [replace(r, stream=names[r.stream]) if r.stream is not None else r for r in renamed.rows]
    clean = _timing(attribute(run.trace()))
    expected = _verdicts(_budgets(run.trace(), clean))
    assert _verdicts(_budgets(run.trace(order=order), clean)) == expected
    assert _verdicts(_budgets(renamed.trace(), clean)) == expected


@LAWS
@given(runs, st.integers(2, 7))
def test_scaling_both_passes_scales_every_part(steps: list, factor: int) -> None:  # type: ignore[type-arg]
    run, scaled = _compiled(steps), _compiled(steps)
    scaled.rows = [replace(r, start_ns=r.start_ns * factor, duration_ns=r.duration_ns * factor) for r in scaled.rows]
    before, after = attribute(run.trace()), attribute(scaled.trace())
    for old, new in zip(before.regions, after.regions, strict=True):
        assert new.host.queued_ns == tuple(ns * factor for ns in old.host.queued_ns)
        assert new.host.waited_ns == tuple(ns * factor for ns in old.host.waited_ns)
        assert new.host.refill_ns == tuple(ns * factor for ns in old.host.refill_ns)
        assert new.host.kind_ns == tuple(tuple(ns * factor for ns in column) for column in old.host.kind_ns)

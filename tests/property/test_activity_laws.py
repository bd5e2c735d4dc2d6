"""Laws of a step's activity. The builder is the witness: it can record the same program without its waits."""

from __future__ import annotations

import random
from bisect import bisect_right
from dataclasses import fields, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.core.activity import Activity, HostWait
from analyzer.core.trace import EventKind
from analyzer.derive.activity import activity
from analyzer.derive.activity_saving import Replay, Stretches, replay
from analyzer.derive.activity_scene import scene
from analyzer.derive.activity_waits import holds
from analyzer.derive.attribution import attribute
from tests.traces import HOST_CALL_US, Recording, Row
from tests.unit.derive.activity_runs import DEVICE, of, read_value, to_device
from tests.unit.derive.runs import timing

LAWS = settings(deadline=None, max_examples=15)

Deed = tuple[str, int, int]
deed = st.tuples(
    st.sampled_from(("host", "launch", "launch", "replay", "wait")), st.integers(1, 300), st.sampled_from((7, 8))
)
programs = st.lists(st.lists(deed, max_size=12), min_size=1, max_size=3)

act = st.tuples(
    st.sampled_from(("host", "launch", "read", "copy", "malloc", "free", "guards", "load", "chain", "wait")),
    st.integers(1, 300),
)
steps_of_acts = st.lists(st.lists(act, max_size=8), min_size=1, max_size=3)


def _play(program: list[list[Deed]], *, streams: int, waits: bool) -> Recording:
    """One closing wait a step; a wait that is left out keeps what the host does after it."""
    run = Recording()
    for step in program:
        with run.step():
            run.launch("first", us=1)
            for what, us, number in step:
                stream = number if streams > 1 else 7
                match what:
                    case "host":
                        run.host(us)
                    case "launch":
                        run.launch("kernel", us, stream=stream)
                    case "replay":
                        run.replay([("node", us), ("node", us)], stream=stream)
                    case _ if waits:
                        run.synchronize("cudaStreamSynchronize", stream=stream)
                    case _:
                        run.host(HOST_CALL_US)
            run.synchronize()
    return run


def _saved_ns(run: Recording) -> float:
    seen = scene(attribute(run.trace()), None)
    known = holds(seen)
    waits = [i for i, row in enumerate(known.row.tolist()) if row not in set(seen.closing.tolist())]
    return replay(seen, known).saved_ns(frozenset(waits))


@LAWS
@given(programs)
def test_on_one_stream_the_saving_is_that_of_the_program_without_its_waits(program: list[list[Deed]]) -> None:
    slow, fast = (_play(program, streams=1, waits=waits) for waits in (True, False))
    # A closing wait is taken to end as long after the device as it was recorded to; the builder's may end with it.
    spared_ns = len(program) * HOST_CALL_US * 1000
    assert slow.now_ns - fast.now_ns - spared_ns <= _saved_ns(slow) <= slow.now_ns - fast.now_ns


@LAWS
@given(programs)
def test_on_two_streams_no_more_is_claimed_than_the_program_without_its_waits_saves(program: list[list[Deed]]) -> None:
    slow, fast = (_play(program, streams=2, waits=waits) for waits in (True, False))
    assert 0 <= _saved_ns(slow) <= slow.now_ns - fast.now_ns


def _record(steps: list[list[tuple[str, int]]]) -> Recording:
    run = Recording()
    for acts in steps:
        with run.step():
            for what, us in acts:
                _do(run, what, us)
            run.synchronize()
    return run


def _do(run: Recording, what: str, us: int) -> None:
    match what:
        case "host":
            run.host(us)
        case "launch":
            run.launch("kernel", us)
        case "read":
            read_value(run)
        case "copy":
            to_device(run, us=us)
        case "malloc":
            run.runtime("cudaMalloc", us)
        case "free":
            run.runtime("cudaFree", us)
        case "guards":
            with run.op("TorchDynamo Cache Lookup"):
                run.host(us)
        case "load":
            with run.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
                run.host(us)
        case "chain":
            for name in ("mul", "add", "tanh"):
                with run.op(f"aten::{name}", ((us, 8),), ("float",)):
                    run.launch(name, us)
        case _:
            run.synchronize("cudaStreamSynchronize", stream=7)


@LAWS
@given(steps_of_acts)
def test_no_wait_costs_more_than_was_waited_and_all_of_them_less_than_the_step(
    steps: list[list[tuple[str, int]]],
) -> None:
    found = of(_record(steps))
    assert all(0 <= (w.cost_ns or 0) <= w.waited_ns for w in found.waits)
    assert sum(w.cost_ns or 0 for w in found.waits) <= found.step_ns + len(found.waits)


@LAWS
@given(steps_of_acts)
def test_the_costs_of_all_waits_add_up_to_what_being_rid_of_them_saves(steps: list[list[tuple[str, int]]]) -> None:
    run = _record([[a for a in acts if a[0] != "free"] for acts in steps])
    found = of(run)
    total = _saved_ns(run) / max(1, found.steps)
    assert abs(sum(w.cost_ns or 0 for w in found.waits) - total) <= 1 + len(found.waits)


@LAWS
@given(steps_of_acts, st.integers(2, 7))
def test_scaling_all_durations_scales_every_time_and_no_count(steps: list[list[tuple[str, int]]], factor: int) -> None:
    run, scaled = _record(steps), _record(steps)
    scaled.rows = [replace(r, start_ns=r.start_ns * factor, duration_ns=r.duration_ns * factor) for r in scaled.rows]
    step_ns = round(0.8 * run.now_ns / len(steps))
    device = replace(DEVICE, empty_kernel_ns=(DEVICE.empty_kernel_ns or 0) * factor)
    before = activity(attribute(run.trace()), timing(step_ns=step_ns), DEVICE)
    after = activity(attribute(scaled.trace()), timing(step_ns=step_ns * factor), device)
    for name in ("waits", "copies", "allocations", "kernels", "chains", "entries", "inputs"):
        old, new = (sorted(getattr(found, name), key=_identity) for found in (before, after))
        assert [_identity(item) for item in old] == [_identity(item) for item in new]
        for left, right in zip(old, new, strict=True):
            assert all(abs(b - a * factor) <= 2 * factor for a, b in zip(_times(left), _times(right), strict=True))


def _identity(item: Any) -> str:
    return repr([(f.name, getattr(item, f.name)) for f in fields(item) if not f.name.endswith("_ns")])


def _times(item: Any) -> list[int]:
    values = [getattr(item, f.name) for f in fields(item) if f.name.endswith("_ns")]
    return [value for value in values if value is not None]


@LAWS
@given(steps_of_acts, st.randoms(use_true_random=False), st.integers(-(10**15), 10**15))
def test_shuffling_rows_renaming_streams_and_shifting_times_changes_nothing(
    steps: list[list[tuple[str, int]]], chance: random.Random, shift: int
) -> None:
    run, renamed = _record(steps), _record(steps)
    order = list(range(len(run.rows)))
    chance.shuffle(order)
    renamed.rows = [replace(r, stream=99) if r.stream is not None else r for r in renamed.rows]
    trace = run.trace()
    moved = replace(trace, start_ns=trace.start_ns + shift)
    expected = activity(attribute(trace), None, DEVICE)
    for other in (run.trace(order=order), renamed.trace(), moved):
        assert activity(attribute(other), None, DEVICE) == expected


@LAWS
@given(steps_of_acts)
def test_an_idle_extra_stream_changes_nothing(steps: list[list[tuple[str, int]]]) -> None:
    run, more = _record(steps), _record(steps)
    end = max(r.start_ns + r.duration_ns for r in more.rows)
    more.rows.append(Row("idle", EventKind.DEVICE_RANGE, 0, end, stream=99))
    assert of(more) == of(run)


def test_an_empty_trace_finds_nothing_and_says_why() -> None:
    found = activity(attribute(Recording().trace()))
    assert found.missing is not None
    assert replace(found, missing=None) == Activity(0, 0, is_scaled=False, is_host=True)


@LAWS
@given(st.integers(1, 30), st.integers(1, 4))
def test_equal_waits_count_as_many_as_they_are(waits: int, steps: int) -> None:
    run = _record([[("launch", 5), ("read", 1)] * waits] * steps)
    (wait,) = of(run).waits
    assert isinstance(wait, HostWait)
    assert wait.count == waits


def _played_event_by_event(run: Replay, dropped: frozenset[int], work: Stretches) -> float:
    """The same replay, one event after another in order of time: the host's own first, its holds before its work."""
    events = [(hold.end_ns, 0, i) for i, hold in enumerate(run.holds)]
    events += [(end, 1, i) for i, end in enumerate(work.end_ns.tolist())]
    events += [(start, 2, i) for i, start in enumerate(run.blocks.start_ns.tolist())]
    ahead = device = 0.0
    ends: list[int] = []
    after: list[float] = [0.0]
    for at, kind, i in sorted(events):
        if kind == 2:
            known = after[bisect_right(ends, int(run.blocks.launched_ns[i]))]
            device = min(known, device + float(run.blocks.dry_ns[i]))
            continue
        if kind == 1:
            ahead += run.host_scale * int(work.end_ns[i] - work.start_ns[i])
        else:
            hold = run.holds[i]
            held = max(0.0, min(ahead + hold.for_device_ns, device + hold.late_ns))
            ahead = ahead + hold.whole_ns if i in dropped else held
        ends.append(at)
        after.append(ahead)
    return max(0.0, min(ahead + run.last.for_device_ns, device + run.last.late_ns))


@LAWS
@given(programs, st.integers(0, 2**30))
def test_a_replay_saves_what_playing_it_event_by_event_saves(program: list[list[Deed]], seed: int) -> None:
    found = scene(attribute(_play(program, streams=2, waits=True).trace()), None)
    all_holds = holds(found)
    run = replay(found, all_holds)
    chance = random.Random(seed)
    dropped = frozenset(i for i in range(len(run.holds)) if chance.random() < 0.5)
    rows = found.trace.rows(EventKind.LAUNCH)
    rows = rows[[chance.random() < 0.3 for _ in range(rows.size)]]
    work = Stretches(rows, found.trace.start_ns[rows], found.trace.end_ns[rows])
    assert run.saved_ns(dropped, work) == _played_event_by_event(run, dropped, work)

"""The lanes of a trace, and what is known of an event in them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from analyzer.core.trace import EventKind, Trace
from collectors.readers.kineto import read_trace
from dashboard.timeline.facts import EventFacts, event_facts, place_of
from dashboard.timeline.lane import LaneKind
from dashboard.timeline.recording import name_graphs, recording_of
from dashboard.timeline.shades import FIRST_GRAPH, Fixed
from dashboard.timeline.timeline import Timeline, timeline_of
from tests.reports import a_key
from tests.traces import Recording
from tests.unit.dashboard.runs import a_recording

GOLDENS: Final = Path(__file__).resolve().parents[2] / "golden"
SHARED: Final = Path(__file__).resolve().parents[4] / "shared" / "traces"


def _timeline(trace: Trace) -> Timeline:
    recording = recording_of(trace, None)
    return timeline_of(recording, name_graphs([recording], {}))


@pytest.fixture(scope="module")
def timeline() -> Timeline:
    return _timeline(a_recording().trace())


def _row(timeline: Timeline, name: str, number: int = 0) -> int:
    trace = timeline.recording.trace
    return [row for row in range(len(trace)) if trace.name(row) == name][number]


def _facts(timeline: Timeline, name: str, number: int = 0) -> EventFacts:
    return event_facts(timeline, *place_of(timeline, _row(timeline, name, number)), {a_key(1): "model.py:41"})


def _value(facts: EventFacts, label: str) -> str:
    return next(fact.value for fact in facts.facts if fact.label == label)


def test_there_is_a_lane_for_steps_graphs_threads_gaps_and_streams_in_this_order(timeline: Timeline) -> None:
    assert [(group.kind.value, group.label) for group in timeline.groups] == [
        ("steps", "steps"),
        ("graphs", "graphs"),
        ("host", "host thread 100"),
        ("host", "host thread 200"),
        ("gaps", "no kernel computes"),
        ("device graphs", "graphs on the device"),
        ("stream", "stream 7"),
        ("stream", "stream 9"),
        ("stream", "stream 20"),
    ]


def test_every_row_of_the_trace_is_in_one_lane_and_is_found_there(timeline: Timeline) -> None:
    trace = timeline.recording.trace
    drawn = [
        int(row)
        for group in timeline.groups
        if group.kind in (LaneKind.HOST, LaneKind.STREAM)
        for lane in timeline.lanes[group.first : group.first + group.count]
        for row in lane.row
    ]
    assert sorted(drawn) == list(range(len(trace)))
    for row in range(len(trace)):
        lane, at = place_of(timeline, row)
        assert int(timeline.lanes[lane].row[at]) == row


def test_gaps_are_the_window_without_its_computing_kernels_and_have_their_causes(timeline: Timeline) -> None:
    gaps, budget = timeline.gaps, timeline.recording.budget
    assert budget is not None
    assert (gaps.ns.sum(axis=1) == gaps.end_ns - gaps.start_ns).all()
    assert (gaps.start_ns[1:] >= gaps.end_ns[:-1]).all()
    trace = timeline.recording.trace
    busy = np.zeros(budget.window.end_ns - budget.window.start_ns, dtype=bool)
    for row in trace.rows(EventKind.KERNEL).tolist():
        if "nccl" not in trace.name(row):
            start = int(trace.start_ns[row]) - budget.window.start_ns
            busy[start : start + int(trace.duration_ns[row])] = True
    assert int(gaps.ns.sum()) == int((~busy).sum())
    causes = {Fixed(code) for code in gaps.cause.tolist()}
    assert {Fixed.GAP_STARVED, Fixed.GAP_COPY, Fixed.GAP_COMMUNICATION} <= causes


def test_what_lies_between_two_steps_is_a_gap_of_its_own_that_says_so() -> None:
    run = Recording()
    for _ in range(2):
        with run.step():
            run.host(20)
            run.launch("gemm", us=5)
            run.host(20)
        run.host(30)
    found = _timeline(run.trace())
    gaps, budget = found.gaps, found.recording.budget
    assert budget is not None
    assert gaps.cause.tolist() == [Fixed.GAP_STARVED, Fixed.GAP_OUTSIDE, Fixed.GAP_STARVED]
    assert int(gaps.ns.sum()) == budget.window.idle_ns
    lane = next(group.first for group in found.groups if group.kind is LaneKind.GAPS)
    told = event_facts(found, lane, 1, {})
    assert told.title == "gap: between steps, or outside of them"
    assert (_value(told, "duration"), _value(told, "step")) == ("30.0 µs", "none: between 1 and 2 of 2")
    assert _value(told, "between steps, or outside of them") == "30.0 µs"


def test_an_event_before_or_after_all_steps_says_that_it_is_in_none() -> None:
    run = Recording()
    run.launch("early", us=5)
    run.host(9)
    with run.step():
        run.launch("in it", us=5)
        run.synchronize()
    run.launch("late", us=5)
    found = _timeline(run.trace())
    places = {name: _value(_facts(found, name), "step").partition(":")[2].strip() for name in ("early", "late")}
    assert places == {"early": "before the first of 1", "late": "after the last of 1"}


def test_the_shades_that_are_used_are_those_of_its_lanes(timeline: Timeline) -> None:
    for used, columns in (
        (timeline.used.by_graph, [lane.by_graph for lane in timeline.lanes]),
        (timeline.used.by_bound, [lane.by_bound for lane in timeline.lanes]),
    ):
        assert list(used) == sorted({code for column in columns for code in column.tolist()})
    assert Fixed.GAP_STARVED in timeline.used.by_graph
    assert FIRST_GRAPH in timeline.used.by_graph
    # Kernels of a graph are then coloured by their bound; the graphs' own lanes keep their colours.
    assert set(timeline.used.by_bound) - set(timeline.used.by_graph)


def test_kernels_have_the_colour_of_their_graph_and_the_longest_graph_the_first(timeline: Timeline) -> None:
    shades = {}
    for row in range(len(timeline.recording.trace)):
        lane, at = place_of(timeline, row)
        shades[timeline.recording.trace.name(row)] = int(timeline.lanes[lane].by_graph[at])
    assert shades["gemm"] == FIRST_GRAPH
    assert shades["relu"] == shades["softmax"] == FIRST_GRAPH + 1
    assert shades["ncclDevKernel_AllReduce_Sum_f32"] == Fixed.NO_GRAPH
    assert shades["cudaDeviceSynchronize"] == Fixed.WAIT
    bound = {
        timeline.recording.trace.name(int(row)): int(code)
        for lane in timeline.lanes
        if lane.reach_at is None
        for row, code in zip(lane.row, lane.by_bound, strict=True)
        if code == Fixed.COMMUNICATION
    }
    assert set(bound) == {"ncclDevKernel_AllReduce_Sum_f32"}


def test_device_work_of_two_calls_of_a_graph_is_two_stretches() -> None:
    run = Recording()
    for _ in range(3):
        with run.step(), run.graph(str(a_key(1))):
            run.launch("gemm", us=5)
            run.launch("gemm", us=5)
    stretches = _timeline(run.trace()).stretches
    assert stretches.rows.tolist() == [2, 2, 2]


def test_a_kernel_says_where_it_comes_from_and_leads_there(timeline: Timeline) -> None:
    facts = _facts(timeline, "gemm", 1)
    assert (facts.kind, facts.end_ns - facts.start_ns) == ("kernel", 5_000)
    assert _value(facts, "source") == "model.py:41"
    assert _value(facts, "operator") == "aten::mm"
    assert _value(facts, "input shapes") == "64×64; 64×64"
    assert _value(facts, "flops of matrix products").startswith(
        "174,763"
    )  # 2 · 64³ shared by the three kernels of its operator
    assert "step" in {fact.label for fact in facts.facts}
    (launch, graph) = facts.follows
    assert timeline.recording.trace.name(int(timeline.lanes[launch.lane].row[launch.at])) == "cudaLaunchKernel"
    assert timeline.recording.trace.name(int(timeline.lanes[graph.lane].row[graph.at])) == f"graphbound::{a_key(1)}"
    back = event_facts(timeline, launch.lane, launch.at, {})
    assert (back.follows[0].lane, back.follows[0].at) == place_of(timeline, _row(timeline, "gemm", 1))


def test_the_queue_delay_is_from_the_end_of_the_launch_call() -> None:
    run = Recording()
    run.launch("first", us=50)
    run.launch("second", us=5)
    run.orphan("lost", us=5)
    timeline = _timeline(run.trace())
    # The second call ends at 2 µs, the first kernel at 51.
    assert _value(_facts(timeline, "second"), "queue delay").startswith("49.0 µs after")
    assert _value(_facts(timeline, "first"), "queue delay").startswith("0 ns after")
    assert _value(_facts(timeline, "lost"), "queue delay").startswith("unknown")


def test_a_kernel_says_what_memory_moves_for_it_alone_where_the_cache_is_known() -> None:
    run = Recording(device_name="NVIDIA H100 80GB HBM3")
    with run.op("aten::mul", ((4096, 4096), (4096, 4096)), ("float", "float")):
        run.launch("vectorized_elementwise_kernel<4, x>", us=50)
    facts = _facts(_timeline(run.trace()), "vectorized_elementwise_kernel<4, x>")
    assert _value(facts, "bytes, at least").startswith("192 MiB")
    # A third of what moves is written, and so are a third of the last 32 MiB, 2/3 of the cache: it still holds them.
    assert _value(facts, "memory traffic, alone").startswith("about 181 MiB")
    unknown = _timeline(a_recording().trace())
    assert "memory traffic, alone" not in {fact.label for fact in _facts(unknown, "gemm", 1).facts}


def test_unknown_costs_are_said_to_be_unknown(timeline: Timeline) -> None:
    assert _value(_facts(timeline, "relu"), "flops, bytes") == "unknown"


def test_a_replay_leads_to_what_it_started(timeline: Timeline) -> None:
    facts = _facts(timeline, "cudaGraphLaunch")
    assert _value(facts, "device rows it started") == "2"
    follow = facts.follows[0]
    assert (follow.lane, follow.at) == place_of(timeline, _row(timeline, "relu"))


def test_an_operator_leads_to_the_first_kernel_of_those_it_started(timeline: Timeline) -> None:
    facts = _facts(timeline, "aten::mm")
    assert _value(facts, "device rows it started") == "3"
    follow = facts.follows[0]
    assert (follow.lane, follow.at) == place_of(timeline, _row(timeline, "gemm"))


def test_a_kernel_says_which_call_launched_it_and_how_long_that_took(timeline: Timeline) -> None:
    assert _value(_facts(timeline, "gemm"), "launched by") == "cudaLaunchKernel of host thread 100, which took 1.00 µs"


def test_a_row_of_the_host_leads_to_the_graph_that_is_open_around_it_on_its_thread(timeline: Timeline) -> None:
    inside, outside = _facts(timeline, "aten::mm"), _facts(timeline, "aten::add")
    assert (_value(inside, "in"), _value(inside, "source"), inside.graph) == (
        f"graph {a_key(1)}",
        "model.py:41",
        a_key(1),
    )
    graph = next(follow for follow in inside.follows if follow.label == "its graph")
    opened = event_facts(timeline, graph.lane, graph.at, {a_key(1): "model.py:41"})
    assert (opened.graph, _value(opened, "source")) == (a_key(1), "model.py:41")
    assert "its graph" not in [follow.label for follow in opened.follows]
    assert (outside.graph, [follow.label for follow in outside.follows]) == (None, ["what it started"])


def test_a_row_of_another_thread_is_in_no_graph_of_this_one() -> None:
    run = Recording()
    with run.step(), run.graph(str(a_key(1))):
        with run.on_thread(7), run.op("aten::pin_memory"):
            run.host(3)
        run.launch("gemm", us=4)
    assert _facts(_timeline(run.trace()), "aten::pin_memory").graph is None


def test_a_gap_says_its_causes_and_leads_to_what_ended_it(timeline: Timeline) -> None:
    group = next(group for group in timeline.groups if group.kind is LaneKind.GAPS)
    told = [event_facts(timeline, group.first, at, {}) for at in range(len(timeline.lanes[group.first]))]
    assert Counter(one.kind for one in told) == {"gap": len(told)}
    idle = [one for one in told if one.title.startswith("gap: starved")]
    assert idle
    for one in idle:
        (follow,) = one.follows
        assert int(timeline.lanes[follow.lane].start_ns[follow.at]) == one.end_ns


@pytest.mark.parametrize(("lane", "at"), [(-1, 0), (0, -1), (999, 0), (0, 10**9)])
def test_there_is_no_event_outside_of_the_lanes(timeline: Timeline, lane: int, at: int) -> None:
    with pytest.raises(IndexError):
        event_facts(timeline, lane, at, {})


def test_a_trace_without_steps_or_device_work_still_has_its_rows() -> None:
    run = Recording()
    run.host(1)
    with run.op("aten::mm"):
        run.call("cudaGetDevice", us=1)
    timeline = _timeline(run.trace())
    assert timeline.recording.budget is None
    assert [group.kind for group in timeline.groups] == [LaneKind.HOST]
    assert _facts(timeline, "aten::mm").title == "aten::mm"


@pytest.mark.parametrize("shift_ns", [1, 10**15])
def test_shifting_all_times_changes_no_lane(shift_ns: int) -> None:
    early, late = Recording(), Recording(now_ns=shift_ns)
    for run in (early, late):
        with run.step(), run.graph(str(a_key(1))):
            run.launch("gemm", us=5)
    for mine, other in zip(_timeline(early.trace()).lanes, _timeline(late.trace()).lanes, strict=True):
        assert mine.start_ns.tolist() == other.start_ns.tolist()
        assert mine.by_graph.tolist() == other.by_graph.tolist()


def test_of_a_recorded_run_every_kernel_stands_on_a_stream() -> None:
    """What the recorder does between steps is in the file and in no lane: no row may be taken for its neighbour."""
    trace = read_trace(GOLDENS / "granite_h200" / "before.trace.json.gz")
    timeline = _timeline(trace)
    own = timeline.recording.trace
    kernels = own.rows(EventKind.KERNEL)
    kinds = {timeline.group_of(int(lane)).kind for lane in timeline.lane_of_row[kernels]}
    assert kinds == {LaneKind.STREAM}
    # 251 kernels a step, three steps.
    assert kernels.size == 753
    assert {own.name(int(row)) for row in kernels} <= {trace.name(int(row)) for row in trace.rows(EventKind.KERNEL)}


@pytest.mark.parametrize("name", ["mi210_gpu_only", "cpu_only_rank34", "b300_qwen3_graph_decode", "h100_qwen_train"])
def test_of_traces_by_others_every_row_is_drawn_and_every_sum_is_that_of_its_events(name: str) -> None:
    path = SHARED / f"{name}.json.gz"
    if not path.exists():
        pytest.skip("no shared/traces beside the checkout")
    timeline = _timeline(read_trace(path))
    assert (timeline.lane_of_row >= 0).all()
    for group in timeline.groups:
        for number in range(group.first, group.first + group.count):
            assert event_facts(timeline, number, len(timeline.lanes[number]) - 1, {}).title
    gaps, budget = timeline.gaps, timeline.recording.budget
    assert budget is not None
    assert int(gaps.ns[:, 0].sum()) == sum(part.ns for part in budget.whole.parts if part.part.value == "starved")


def test_a_thread_that_is_empty_in_every_step_says_so_and_the_profilers_rows_are_no_thread() -> None:
    run = Recording()
    with run.on_thread(0):
        run.call("Activity Buffer Request", us=9)
    with run.on_thread(5):
        run.call("cudaMalloc", us=3)
    with run.step(), run.op("aten::mm"):
        run.launch("gemm", us=4)
    labels = [group.label for group in _timeline(run.trace()).groups if group.kind is LaneKind.HOST]
    assert labels == [
        "host thread 100",
        "the profiler's own work, none of it in a step",
        "host thread 5, none of it in a step",
    ]


def test_a_thread_at_work_across_a_whole_step_is_not_called_empty() -> None:
    run = Recording()
    with run.on_thread(5), run.op("aten::sort"), run.on_thread(100), run.step():
        run.launch("gemm", us=4)
    labels = [group.label for group in _timeline(run.trace()).groups if group.kind is LaneKind.HOST]
    assert sorted(labels) == ["host thread 100", "host thread 5"]

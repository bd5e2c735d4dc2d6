"""Interventions: a recording of our golden run, judged by the product's own diagnosis."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.core.budget import Part
from analyzer.core.device import Device, Source
from analyzer.core.graphs import Direction, GapKey, GraphKey
from analyzer.core.samples import Samples
from analyzer.core.timing import RegionTiming, Timing
from analyzer.core.verdict import Bound
from analyzer.reporting.json import read_report
from benchmarks.verdicts.evaluate_interventions import evaluate_interventions
from benchmarks.verdicts.evaluate_pairs import FollowedPair, foretold, reason
from benchmarks.verdicts.evaluate_replays import MOST_COST, ReplayedGraph, replayed_graphs
from benchmarks.verdicts.judged_kernels import KERNEL_PARTS
from benchmarks.verdicts.record_interventions import _is_ready, _Started
from benchmarks.verdicts.recorded import (
    Ahead,
    InterventionRecording,
    KernelCounters,
    Machine,
    ModelRun,
    Replay,
    Scaled,
    recorded_timing,
    region_of,
    timing_of,
)
from benchmarks.verdicts.store import read, write


def samples(ns: int) -> Samples:
    return Samples((ns, ns, ns))


@pytest.fixture(scope="module")
def recording(root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[InterventionRecording, Path]:
    """The golden Granite run: its own regions and times, and a replay that took away nine tenths of the step."""
    golden = root / "tests" / "golden" / "granite_h200"
    report = read_report(golden)
    timed = [*report.graphs, *report.eager_gaps]
    regions = tuple(
        RegionTiming(r.key, 1.0, samples(r.budget.elapsed_ns), samples(r.budget.elapsed_ns))
        for r in timed
        if r.budget is not None
    )
    assert report.step_ns is not None
    step_ns = report.step_ns.median_ns
    timing = Timing(samples(step_ns), samples(step_ns), regions, (1,), True)
    (graph,) = report.graphs
    replay = Replay(str(graph.key), "measured", None, samples(step_ns // 10), samples(step_ns), step_ns // 10, step_ns)
    out = tmp_path_factory.mktemp("interventions")
    with zipfile.ZipFile(out / "traces.zip", "w") as archive:
        archive.write(golden / "before.trace.json.gz", "traces/granite.trace.json.gz")
    run = ModelRun("granite", "traces/granite.trace.json.gz", report.capture, recorded_timing(timing), None, (replay,))
    failed = ModelRun("other", error="ValueError: no")
    machine = Machine(report.device, report.versions, "2026-01-01")
    write(InterventionRecording(machine, (run, failed), None), out / "interventions.json.gz")
    return read(out / "interventions.json.gz", InterventionRecording), out / "traces.zip"


@pytest.fixture(scope="module")
def graph(recording: tuple[InterventionRecording, Path], tmp_path_factory: pytest.TempPathFactory) -> ReplayedGraph:
    made, traces = recording
    with zipfile.ZipFile(traces) as archive:
        (found,), _ = replayed_graphs(made.models[0], archive, tmp_path_factory.mktemp("x"), made.machine.device)
    return found


def test_the_starved_part_is_held_against_what_went_away(
    recording: tuple[InterventionRecording, Path], graph: ReplayedGraph
) -> None:
    section = evaluate_interventions(*recording)
    row = dict(zip(section.tables[1].columns, section.tables[1].rows[0], strict=True))
    assert row["model"] == "granite"
    assert row["verdict"] == Bound.CPU.value
    assert row["held"] == "right"
    went, own = float(row["went away"]), float(row["graph, in turn"])
    assert went == pytest.approx(0.9 * own, rel=0.01)
    error = next(c for c in section.checks if "away of the graph: median" in c.what)
    left = float(row["starved"]) - float(row["a replay's cost"]) - went
    assert error.found == pytest.approx(abs(left) / graph.step_ns * 1e3, abs=0.002)


def test_the_graph_is_taken_at_the_minute_of_its_replay(graph: ReplayedGraph) -> None:
    """Device time stays, what the host takes does not: all of a drift is starved time, and never less than none."""
    slower = replace(graph, own_ns=graph.budget.elapsed_ns + 1_000_000)
    assert slower.starved_ns == graph.budget.ns(Part.STARVED) + 1_000_000
    assert replace(graph, own_ns=1).starved_ns == 0


def test_a_replays_own_cost_is_no_error_of_the_starved_time(graph: ReplayedGraph) -> None:
    assert graph.predicted_ns is not None
    exact = replace(graph, replayed_ns=graph.predicted_ns)
    assert exact.net_error == pytest.approx(0.0, abs=1e-9)
    assert exact.cost_ns is not None
    assert exact.error == pytest.approx(exact.cost_ns / exact.step_ns)


def test_what_went_away_with_the_host_ahead_needs_no_cost(graph: ReplayedGraph) -> None:
    kernels = graph.budget.elapsed_ns - graph.budget.ns(Part.STARVED)
    ahead = replace(graph, ahead=Ahead(graph.key, graph.budget.elapsed_ns + 5_000, kernels))
    assert graph.ahead_error is None
    assert ahead.ahead_error == pytest.approx(0.0, abs=1e-9)
    longer = replace(graph, ahead=Ahead(graph.key, graph.budget.elapsed_ns, kernels + 50_000))
    assert longer.ahead_error == pytest.approx(50_000 / graph.step_ns)


def test_the_host_ahead_is_a_figure_where_it_was_recorded_and_not_measured_where_not(
    recording: tuple[InterventionRecording, Path],
) -> None:
    made, traces = recording
    run = made.models[0]
    ahead = Ahead(str(run.replays[0].key), 5_000_000, 1_800_000)
    for one, count in ((run, 0), (replace(run, ahead=(ahead,)), 1)):
        section = evaluate_interventions(replace(made, models=(one,)), traces)
        check = next(c for c in section.checks if "host ahead" in c.what)
        assert check.of == count
        assert (check.found is None) is (count == 0)


def test_a_model_that_failed_is_said(recording: tuple[InterventionRecording, Path]) -> None:
    assert "other: ValueError: no" in evaluate_interventions(*recording).notes


def test_a_refused_replay_is_no_measurement(recording: tuple[InterventionRecording, Path]) -> None:
    made, traces = recording
    run = made.models[0]
    refused = replace(run.replays[0], outcome="refused", reason="skipping cudagraphs", step_ns=None, against_ns=None)
    section = evaluate_interventions(replace(made, models=(replace(run, replays=(refused,)),)), traces)
    assert section.checks[0].found == 0.0
    assert any("skipping cudagraphs" in note for note in section.notes)


def test_timing_and_regions_survive_being_recorded() -> None:
    key = GraphKey("0123456789ab", Direction.FORWARD)
    for region in (key, GapKey(None, key), GapKey(key, None), GapKey(key, key), GapKey(None, None)):
        assert region_of(str(region)) == region
    timing = Timing(samples(9), samples(10), (RegionTiming(key, 2.0, samples(3), samples(4)),), (5, 6), False)
    assert timing_of(recorded_timing(timing)) == timing
    with pytest.raises(ValueError, match="not a region"):
        region_of("gap:start")


def judged(graph: ReplayedGraph, bound: Bound, removed_ns: int) -> bool | None:
    verdict = replace(graph.verdict, bound=bound)
    return replace(graph, verdict=verdict, replayed_ns=graph.own_ns - removed_ns).is_right


def test_a_verdict_is_right_when_the_replay_removes_more_than_the_kernels_or_less(graph: ReplayedGraph) -> None:
    kernels, cost = max(graph.budget.ns(part) for part in KERNEL_PARTS), graph.cost_ns
    assert kernels
    assert cost
    assert judged(graph, Bound.CPU, kernels) is True
    assert judged(graph, Bound.LATENCY, kernels) is False
    # So much less that no cost of a replay makes up for it.
    least = kernels - round(MOST_COST * cost) - 1
    assert judged(graph, Bound.CPU, least) is False
    assert judged(graph, Bound.MEMORY, least) is True
    assert judged(graph, Bound.UNDECIDED, 0) is None


def test_what_a_replays_own_cost_may_turn_was_not_tested(graph: ReplayedGraph) -> None:
    kernels = max(graph.budget.ns(part) for part in KERNEL_PARTS)
    for bound in (Bound.CPU, Bound.MEMORY):
        assert judged(graph, bound, kernels - 1) is None


def test_the_host_ahead_tests_what_a_replay_cannot(graph: ReplayedGraph) -> None:
    kernels = max(graph.budget.ns(part) for part in KERNEL_PARTS)
    for gone, is_right in ((kernels + 9_000, True), (kernels - 9_000, False), (kernels, None)):
        ahead = replace(graph, ahead=Ahead(graph.key, gone + 1_000, 1_000))
        assert judged(ahead, Bound.CPU, 0) is is_right


@pytest.mark.parametrize(
    ("part", "measured", "follows"),
    [
        (Part.COMPUTE, 0.5, True),
        (Part.COMPUTE, 0.7, False),
        (Part.MEMORY, 1.0, True),
        (Part.LATENCY, 0.95, True),
        (Part.LATENCY, 0.5, False),
        (Part.UNKNOWN_KERNELS, 0.5, None),
    ],
)
def test_time_follows_the_verdict_or_does_not(part: Part, measured: float, follows: bool | None) -> None:
    pair = Scaled("half the operations", 0.5, 1.0, 0, 0)
    assert FollowedPair(pair, part, 1.0, measured, foretold(pair, part)).follows is follows


def test_a_pair_that_does_not_follow_says_what_the_counters_saw() -> None:
    pair = Scaled("gelu_fp32_to_bf16", 1.0, 0.5, 0, 0)
    seen = KernelCounters("r", 0, "gelu", "gelu_bf16_1", True, sm_percent=71.0, memory_percent=59.0)
    text = reason(FollowedPair(pair, Part.MEMORY, 1.0, 0.69, 0.5, seen))
    assert "72%" in text
    assert "SM 71 %, memory 59 %" in text
    assert "its arithmetic did not halve" in text
    idle = replace(seen, sm_percent=20.0)
    assert "arithmetic" not in reason(FollowedPair(pair, Part.MEMORY, 1.0, 0.69, 0.5, idle))
    assert "wrong" in reason(FollowedPair(pair, Part.LATENCY, 1.0, 0.69, 1.0, seen))
    assert reason(FollowedPair(pair, Part.MEMORY, 1.0, 0.5, 0.5, seen)) == ""


@pytest.mark.parametrize(
    ("code", "is_ready"),
    [
        ("print('noise'); print('ready', flush=True); input()", True),
        ("raise SystemExit(1)", False),
        ("import time; time.sleep(300)", False),
    ],
)
def test_a_model_is_ready_when_it_says_so(code: str, is_ready: bool) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with process:
        try:
            limit_s = 0.5 if "sleep" in code else 120.0
            assert _is_ready(_Started("x", process), time.monotonic() + limit_s) is is_ready
        finally:
            process.kill()


def test_the_recording_is_plain_json(recording: tuple[InterventionRecording, Path]) -> None:
    import gzip

    text = gzip.decompress((recording[1].parent / "interventions.json.gz").read_bytes())
    assert json.loads(text)["models"][0]["timing"]["step_ns"]["ns"]


def test_a_model_that_was_not_measured_is_said_without_a_traceback(tmp_path: Path) -> None:
    cut = 'not measured in time: le "/folder/of/a/machine.py", line 63, in measure\n    wait()\nKeyboardInterrupt'
    with zipfile.ZipFile(tmp_path / "traces.zip", "w") as archive:
        device = Device("cuda", "Test Device", Source.MEASURED)
        found, notes = replayed_graphs(ModelRun("late", error=cut), archive, tmp_path, device)
    assert found == []
    assert notes == ["late: not measured in time: KeyboardInterrupt"]

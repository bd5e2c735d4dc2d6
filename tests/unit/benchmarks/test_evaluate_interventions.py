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
from analyzer.core.graphs import Direction, GapKey, GraphKey
from analyzer.core.samples import Samples
from analyzer.core.timing import RegionTiming, Timing
from analyzer.core.verdict import Bound
from analyzer.reporting.json import read_report
from benchmarks.verdicts import evaluate_interventions as interventions
from benchmarks.verdicts.evaluate_interventions import FollowedPair, ReplayedGraph, evaluate_interventions
from benchmarks.verdicts.record_interventions import _is_ready, _Started
from benchmarks.verdicts.recorded import (
    InterventionRecording,
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


def test_the_starved_part_is_held_against_what_went_away(recording: tuple[InterventionRecording, Path]) -> None:
    section = evaluate_interventions(*recording)
    row = section.tables[1].rows[0]
    assert row[0] == "granite"
    assert row[8] == Bound.CPU.value
    assert row[10] == "right"
    starved, removed, step = (float(row[i]) for i in (4, 5, 2))
    assert removed == pytest.approx(0.9 * step, rel=0.01)
    error = next(c for c in section.checks if "median error of the step" in c.what)
    assert error.found == pytest.approx(abs(starved - removed) / step, abs=0.005)


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


def replayed(graph: ReplayedGraph, bound: Bound, removed_ns: int) -> bool | None:
    return replace(graph, verdict=replace(graph.verdict, bound=bound), removed_ns=removed_ns).is_right


def test_a_verdict_is_right_when_the_replay_removes_more_than_the_kernels_or_less(
    recording: tuple[InterventionRecording, Path], tmp_path: Path
) -> None:
    made, traces = recording
    with zipfile.ZipFile(traces) as archive:
        (graph,), _ = interventions._graphs(made.models[0], archive, tmp_path, made.machine.device)
    kernels = max(graph.budget.ns(part) for part in interventions.KERNEL_PARTS)
    assert kernels
    assert replayed(graph, Bound.CPU, kernels + 1) is True
    assert replayed(graph, Bound.CPU, kernels - 1) is False
    assert replayed(graph, Bound.MEMORY, kernels - 1) is True
    assert replayed(graph, Bound.LATENCY, kernels + 1) is False
    assert replayed(graph, Bound.UNDECIDED, 0) is None


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
    assert FollowedPair(pair, part, 1.0, measured, interventions._foretold(pair, part)).follows is follows


@pytest.mark.parametrize(
    ("code", "is_ready"),
    [
        ("print('noise'); print('ready', flush=True); input()", True),
        ("raise SystemExit(1)", False),
        ("import time; time.sleep(9)", False),
    ],
)
def test_a_model_is_ready_when_it_says_so(code: str, is_ready: bool) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with process:
        try:
            limit_s = 0.5 if "sleep" in code else 20.0
            assert _is_ready(_Started("x", process), time.monotonic() + limit_s) is is_ready
        finally:
            process.kill()


def test_the_recording_is_plain_json(recording: tuple[InterventionRecording, Path]) -> None:
    import gzip

    text = gzip.decompress((recording[1].parent / "interventions.json.gz").read_bytes())
    assert json.loads(text)["models"][0]["timing"]["step_ns"]["ns"]

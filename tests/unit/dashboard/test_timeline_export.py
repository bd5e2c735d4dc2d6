"""The file for Perfetto: what was recorded is in it as it was, and our tracks add up to the budget."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from analyzer.core.budget import Part
from analyzer.core.trace import ADDED_CATEGORY, DEVICE_KINDS, Collective, EventKind, OpDetail, Trace
from analyzer.derive.steps import find_steps
from collectors.readers.kineto import read_trace
from dashboard.run_folder import RunData, Side
from dashboard.timeline.chrome import TEXT_LIMIT
from dashboard.timeline.export import SIDE_PIDS, Exported, first_origin_ns, gzipped, json_chunks
from dashboard.timeline.export_rows import COUNTED_WORD, PART_WORD
from dashboard.timeline.export_tracks import CAUSE_WORD
from dashboard.timeline.page import ShownTimeline
from dashboard.timeline.recording import recording_of
from dashboard.timeline.shades import Fixed, fixed_label
from dashboard.timelines import timeline_page
from tests.reports import a_finding, a_report
from tests.traces import Recording
from tests.unit.dashboard.runs import FIRST, HOSTILE, a_recording

GOLDENS: Final = Path(__file__).resolve().parents[2] / "golden"
SHARED: Final = Path(__file__).resolve().parents[4] / "shared" / "traces"
GRANITE: Final = GOLDENS / "granite_h200" / "before.trace.json.gz"


def shown_of(*traces: Trace, report: Any = None) -> tuple[ShownTimeline, ...]:
    names = ("before", "after")
    sides = tuple(Side(names[i], recording_of(trace, None), None) for i, trace in enumerate(traces))
    return timeline_page(RunData("runs/x", report, None, sides)).shown


def exported(*shown: ShownTimeline) -> bytes:
    return b"".join(json_chunks([Exported(one, first_origin_ns(one)) for one in shown]))


def events_of(text: bytes) -> list[dict[str, Any]]:
    return list(json.loads(text)["traceEvents"])


def rows_of(trace: Trace) -> Counter[tuple[object, ...]]:
    """What must be the same in both, whatever the numbers of names and details."""
    first = int(trace.start_ns[0]) if len(trace) else 0
    return Counter(
        (
            trace.name(row),
            int(trace.kind[row]),
            int(trace.start_ns[row]) - first,
            int(trace.duration_ns[row]),
            int(trace.device[row]) if trace.kind[row] in DEVICE_KINDS else None,
            int(trace.stream[row]) if trace.has_stream[row] else None,
            int(trace.correlation[row]) if trace.has_correlation[row] else None,
            trace.detail(row),
        )
        for row in range(len(trace))
    )


def read_back(text: bytes, folder: Path) -> Trace:
    path = folder / "back.json"
    path.write_bytes(text)
    return read_trace(path)


def _trace(name: str) -> Trace:
    path = SHARED / f"{name}.json.gz"
    if not path.exists():
        pytest.skip("no shared/traces beside the checkout")
    return read_trace(path)


def test_our_own_reader_reads_the_same_rows_back(tmp_path: Path) -> None:
    (shown,) = shown_of(a_recording().trace())
    assert rows_of(read_back(exported(shown), tmp_path)) == rows_of(shown.timeline.recording.trace)


def test_of_a_recorded_run_rows_steps_device_and_budget_are_the_same(tmp_path: Path) -> None:
    (shown,) = shown_of(read_trace(GRANITE))
    trace = shown.timeline.recording.trace
    back = read_back(exported(shown), tmp_path)
    assert rows_of(back) == rows_of(trace)
    assert back.device_name == trace.device_name
    assert back.facts.devices == trace.facts.devices
    assert back.base_ns == trace.base_ns + int(trace.start_ns[0])
    assert len(find_steps(back)) == len(shown.timeline.recording.steps)
    before, after = shown.timeline.recording.budget, recording_of(back, None).budget
    assert before is not None
    assert after is not None
    assert after.whole == before.whole
    assert "bars over the whole recording" in " ".join(back.notes)


@pytest.mark.parametrize("name", ["b300_qwen3_graph_decode", "mi210_gpu_only", "mi300_sglang_decode"])
def test_of_traces_by_others_the_device_rows_are_the_same(name: str, tmp_path: Path) -> None:
    (shown,) = shown_of(_trace(name))
    mine, back = shown.timeline.recording.trace, read_back(exported(shown), tmp_path)
    assert rows_of(back) == rows_of(mine)
    assert back.facts.vendor is mine.facts.vendor


def test_all_that_a_row_says_of_itself_is_read_back(tmp_path: Path) -> None:
    detail = OpDetail(
        shapes=((2, 3), (), ()),
        strides=((3, 1), (), ()),
        dtypes=("float", "Scalar", "TensorList"),
        values=("", "1.5", "[…]"),
        lists=((), (), ((4, 5), (6,))),
        kernel_file="/tmp/c2.py",
        kernel_hash="c2",
        collective=Collective("allreduce", "Float", 4, 4, "0", 2, (), 0),
    )
    kernel = OpDetail(grid=(1, 2, 3), block=(32, 1, 1), bytes=4096, graph=3, graph_node=2**33)
    run = Recording()
    run.launch("gemm", us=5)
    run.rows[-1] = replace(run.rows[-1], detail=kernel)
    run._add("aten::cat", EventKind.CPU_OP, 0, 9, detail=detail)
    run.launch("says nothing", us=5)
    run.rows[-1] = replace(run.rows[-1], detail=OpDetail())
    (shown,) = shown_of(run.trace())
    back = read_back(exported(shown), tmp_path)
    assert set(back.details) == {detail, kernel}


def _parts(events: list[dict[str, Any]]) -> dict[str, int]:
    """What a reader of the file alone adds up: rows of work as they are counted, gaps by their causes."""
    of_cause = {
        Fixed.GAP_STARVED: Part.STARVED,
        Fixed.GAP_SYNC: Part.SYNC,
        Fixed.GAP_QUEUED: Part.LATENCY,
        Fixed.GAP_OUTSIDE: Part.OTHER,
        Fixed.GAP_UNEXPLAINED: Part.OTHER,
    }
    sums: Counter[str] = Counter()
    for event in events:
        args = event.get("args", {})
        if PART_WORD in args:
            sums[args[PART_WORD]] += args[COUNTED_WORD]
        for cause, part in of_cause.items():
            sums[part.value] += args.get(f"{CAUSE_WORD} {fixed_label(cause)}", 0)
    return {part: ns for part, ns in sums.items() if ns}


@pytest.mark.parametrize("name", ["", "granite", "b300_qwen3_graph_decode", "cpu_only_rank34"])
def test_rows_and_gaps_add_up_to_the_budget(name: str) -> None:
    trace = {"": a_recording().trace, "granite": lambda: read_trace(GRANITE)}.get(name, lambda: _trace(name))()
    (shown,) = shown_of(trace)
    budget = shown.timeline.recording.budget
    assert budget is not None
    assert _parts(events_of(exported(shown))) == {part.part.value: part.ns for part in budget.whole.parts}


def test_the_window_says_the_budget_and_the_headline() -> None:
    report = a_report()
    (shown,) = shown_of(a_recording().trace(), report=report)
    budget = shown.timeline.recording.budget
    assert budget is not None
    (window,) = [e for e in events_of(exported(shown)) if e.get("name") == report.headline]
    assert window["dur"] * 1000 == pytest.approx(budget.window.elapsed_ns)
    told = {name.removeprefix(f"{CAUSE_WORD} "): ns for name, ns in window["args"].items() if CAUSE_WORD in name}
    assert told == {part.part.value: part.ns for part in budget.whole.parts}


def _overlapping() -> Trace:
    """Kernels of one stream, each begun before the one before it ended."""
    run = Recording()
    with run.step():
        for _ in range(5):
            run.launch("gemm", us=9, stream=7)
            run._free_ns[7] -= 4_000
        run.synchronize()
    return run.trace()


@pytest.mark.parametrize("name", ["", "b300_qwen3_graph_decode", "mi300_sglang_decode"])
def test_on_no_track_of_a_device_a_row_overlaps_another_without_lying_in_it(name: str) -> None:
    """Perfetto would leave it out."""
    (shown,) = shown_of(_trace(name) if name else _overlapping())
    tracks: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in events_of(exported(shown)):
        if event["ph"] == "X" and (event["cat"] == ADDED_CATEGORY or event["cat"] in ("kernel", "gpu_memcpy")):
            start = round(event["ts"] * 1000)
            tracks.setdefault((event["pid"], event["tid"]), []).append((start, start + round(event["dur"] * 1000)))
    assert tracks
    for spans in tracks.values():
        opened: list[int] = []
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while opened and opened[-1] <= start:
                opened.pop()
            assert not opened or end <= opened[-1]
            opened.append(end)


def test_both_sides_stand_at_one_time_with_processes_of_their_own() -> None:
    shown = shown_of(a_recording().trace(), a_recording(kernels=1, host_us=1).trace())
    origins = [int(one.timeline.recording.steps.start_ns[1]) for one in shown]
    sides = [Exported(one, origin) for one, origin in zip(shown, origins, strict=True)]
    events = events_of(b"".join(json_chunks(sides)))
    steps = [e for e in events if e.get("name") == "ProfilerStep#1"]
    assert len(steps) == 2
    assert steps[0]["ts"] == steps[1]["ts"]
    assert {e["pid"] // SIDE_PIDS for e in steps} == {1, 2}
    assert min(e["ts"] for e in events) >= 0
    assert "baseTimeNanoseconds" not in json.loads(b"".join(json_chunks(sides)))
    named = [e["args"]["name"] for e in events if e.get("name") == "process_name"]
    assert {"before: Graphbound", "before: host", "before: device 0", "after: Graphbound"} <= set(named)


def test_an_arrow_leads_from_a_launch_to_the_first_row_it_started() -> None:
    (shown,) = shown_of(a_recording().trace())
    events = events_of(exported(shown))
    begun = {e["id"]: e for e in events if e["ph"] == "s"}
    ended = {e["id"]: e for e in events if e["ph"] == "f"}
    assert begun.keys() == ended.keys()
    work = shown.timeline.recording.attribution.work
    assert len(begun) == len(set(work.launch[work.has_launch].tolist()))
    rows = {(e["pid"], e["tid"], e["ts"]): e for e in events if e["ph"] == "X"}
    for number, start in begun.items():
        launch = rows[start["pid"], start["tid"], start["ts"]]
        end = ended[number]
        assert launch["args"]["correlation"] == rows[end["pid"], end["tid"], end["ts"]]["args"]["correlation"]


def test_graphs_say_their_verdict_and_what_is_not_judged_says_so() -> None:
    report = a_report(findings=(a_finding(),))
    (shown,) = shown_of(a_recording().trace(), report=report)
    ours = [e for e in events_of(exported(shown)) if e.get("cat") == ADDED_CATEGORY]
    graph = next(e for e in ours if e["args"].get("graph") == FIRST)
    verdict = report.graphs[0].verdict
    assert graph["args"]["bound"] == verdict.bound.value
    assert graph["args"]["confidence"] == pytest.approx(verdict.confidence, abs=1e-3)
    assert "confidence" in graph["name"]
    assert [e for e in ours if e["name"].startswith(a_finding().rule)]
    (alone,) = shown_of(a_recording().trace())
    names = [e["name"] for e in events_of(exported(alone)) if e.get("args", {}).get("graph") == FIRST]
    assert names
    assert all(name.endswith(": not judged") for name in names)


def test_the_side_after_has_the_verdicts_of_after_and_no_findings() -> None:
    report = a_report(findings=(a_finding(),))
    _, after = shown_of(a_recording().trace(), a_recording(kernels=1).trace(), report=report)
    assert after.judged.findings == ()
    expected = {graph.key: graph.verdict_after for graph in report.graphs if graph.verdict_after is not None}
    assert after.judged.verdicts == expected


def test_hostile_names_are_json_and_a_megabyte_is_cut() -> None:
    run = a_recording()
    with run.step():
        run.launch("x" * 2**20, us=5)
        run.launch("half a pair \ud800, a bell \x07, \u202eturned", us=5)
    (shown,) = shown_of(run.trace())
    text = exported(shown)
    text.decode("ascii")
    names = {e.get("name", "") for e in events_of(text)}
    assert HOSTILE in names
    assert max(map(len, names)) == TEXT_LIMIT
    assert "half a pair ?, a bell \x07, \u202eturned" in names


def test_without_device_work_there_is_still_a_file(tmp_path: Path) -> None:
    run = Recording()
    with run.op("aten::mm"):
        run.call("cudaGetDevice", us=1)
    (shown,) = shown_of(run.trace())
    assert rows_of(read_back(exported(shown), tmp_path)) == rows_of(run.trace())


def test_it_is_made_in_pieces_and_packs_the_same_each_time() -> None:
    rows = Recording()
    for number in range(30_000):
        rows.orphan(f"kernel_{number % 50}", us=0.4)
    (shown,) = shown_of(rows.trace())
    pieces = list(json_chunks([Exported(shown, 0)]))
    assert max(map(len, pieces)) < 3_000_000
    assert len(pieces) > 8
    packed = b"".join(gzipped(iter(pieces)))
    assert gzip.decompress(packed) == b"".join(pieces)
    assert packed == b"".join(gzipped(json_chunks([Exported(shown, 0)])))

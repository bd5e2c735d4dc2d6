"""Kernels under the roofs: exact numbers of a small recording, and of what the product recorded on an H200."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from plotly.utils import PlotlyJSONEncoder

from analyzer.core.budget import Part
from analyzer.core.device import VECTOR, Device, Peak, Source
from analyzer.core.graphs import Graph
from analyzer.derive.roofline import Anomaly
from dashboard.panels import roofline as panel
from dashboard.roofline import Roofline, RoofSide, roofline
from dashboard.roofline_figure import MOST_MARKS, MOST_TICKS, arrows, extent_of, place, roofline_figure, shown_marks
from dashboard.roofline_words import bound_words, mark_lines, peaks_words, side_words
from dashboard.run_folder import RunData, Side, read_run
from dashboard.timeline.recording import Recording as Traced
from dashboard.timeline.recording import recording_of
from tests.reports import a_key
from tests.traces import Recording
from tests.unit.dashboard.runs import HOSTILE

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
DEVICE = Device(
    kind="cuda",
    name="Test Device",
    source=Source.MEASURED,
    peaks=(Peak("float32", 5e13), Peak("bfloat16", 8e14), Peak(VECTOR, 6e13)),
    memory_bytes_per_s=4e12,
    l2_bytes=50_000_000,
    l2_bytes_per_s=8e12,
)
SIZE = 64
FLOPS, BYTES = 2 * SIZE**3, 3 * SIZE * SIZE * 2


def a_recording(*, us: float = 5, steps: int = 2, name: str = "gemm", more: int = 0) -> Traced:
    """In each step one product in bfloat16 that moves and computes what BYTES and FLOPS say, and a kernel of unknown
    cost.
    """
    run = Recording()
    for _ in range(steps):
        with run.step():
            with run.graph(str(a_key(1))):
                with run.op("aten::mm", shapes=((SIZE, SIZE), (SIZE, SIZE)), dtypes=("c10::BFloat16", "c10::BFloat16")):
                    run.launch(name, us=us)
                for number in range(more):
                    with run.op("aten::mm", shapes=((SIZE, SIZE),) * 2, dtypes=("c10::BFloat16",) * 2):
                        run.launch(f"gemm_{number}", us=1)
            run.launch(HOSTILE, us=3)
            run.copy("Memcpy HtoD", us=8, size=4096)
            run.launch("ncclDevKernel_AllReduce_Sum_f32", us=30, stream=20)
            run.synchronize()
    return recording_of(run.trace(), DEVICE)


def _found(*recordings: Traced, device: Device = DEVICE) -> Roofline:
    names = ("before", "after") if len(recordings) == 2 else ("recorded",)
    return roofline(tuple(zip(names, recordings, strict=True)), device)


def _run(*recordings: Traced, **changes: Any) -> RunData:
    sides = tuple(Side(name, one, None) for name, one in zip(("before", "after"), recordings, strict=False))
    return replace(RunData("runs/x", None, "no report", sides), **changes)


def _text(components: Any) -> str:
    return json.dumps(components, cls=PlotlyJSONEncoder, ensure_ascii=False)


def test_a_mark_has_the_numbers_of_an_average_step() -> None:
    (side,) = _found(a_recording()).sides
    (mark,) = side.marks
    assert (mark.name, mark.calls, mark.ns, mark.flops, mark.bytes) == ("gemm", 1.0, 5_000.0, FLOPS, BYTES)
    assert mark.intensity == pytest.approx(FLOPS / BYTES)
    assert mark.flops_per_s == pytest.approx(FLOPS / 5e-6)
    assert mark.unit == "bfloat16"
    assert mark.memory_share == pytest.approx(BYTES / 5e-6 / 4e12)
    assert mark.compute_share == pytest.approx(FLOPS / 5e-6 / 8e14)
    assert mark.part is Part.LATENCY
    assert mark.series == 0
    assert mark.anomaly is None


def test_a_product_that_keeps_shared_memory_busier_than_the_matrix_units_is_said_to_be_bound_by_it() -> None:
    """Two matrices of 8192² as an H200 multiplied them; a budget counts the time to compute."""
    peaks = (Peak("bfloat16", 787e12), Peak(VECTOR, 65.7e12))
    h200 = replace(DEVICE, name="NVIDIA H200", peaks=peaks, memory_bytes_per_s=4.3e12)
    run = Recording()
    with run.step(), run.graph(str(a_key(1))):
        with run.op("aten::mm", ((8192, 8192),) * 2, ("c10::BFloat16",) * 2):
            run.launch("nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT", us=1_399)
        run.synchronize()
    recording = recording_of(run.trace(), h200)
    for told in ((), (Graph(a_key(1), (), (), 1, None),)):
        (side,) = roofline((("recorded", recording),), h200, told).sides
        (mark,) = side.marks
        assert (mark.part, mark.is_on_chip) == (Part.MEMORY, True)
        assert "bound by shared memory or the first cache" in list(mark_lines(mark, side))
        assert bound_words(replace(mark, is_on_chip=False)) == "memory"
    assert recording.budget is not None
    assert recording.budget.whole.ns(Part.COMPUTE) == 1_399_000


def test_what_is_not_placed_is_counted_beside_the_marks() -> None:
    (side,) = _found(a_recording()).sides
    assert side.kernel_ns == 8_000
    assert (side.unknown_ns, side.unknown_calls) == (3_000, 1)
    assert [one.name for one in side.unknown] == [HOSTILE]
    assert (side.copy_ns, side.collective_ns, side.outside_ns) == (8_000, 30_000, 0)
    words = " ".join(side_words(side, 1))
    assert "3.00 µs, 38 % of the time" in words
    assert "copies 8.00 µs, collectives 30.0 µs" in words


def test_without_marked_steps_the_recording_is_the_whole() -> None:
    run = Recording()
    for _ in range(4):
        with run.op("aten::mm", shapes=((SIZE, SIZE),) * 2, dtypes=("c10::BFloat16",) * 2):
            run.launch("gemm", us=5)
    run.synchronize()
    (side,) = _found(recording_of(run.trace(), DEVICE)).sides
    assert side.steps == 0
    assert (side.marks[0].calls, side.marks[0].ns) == (4, 20_000)
    assert "in the recording" in " ".join(side_words(side, 1))


def test_over_105_per_cent_of_a_roof_is_an_anomaly_and_is_drawn_as_one() -> None:
    """The product would take 12.3 ns at the bandwidth of this device, and 11 µs at that of a slow one."""
    slow = replace(DEVICE, memory_bytes_per_s=2e9, l2_bytes=1, l2_bytes_per_s=None)
    found = _found(a_recording(), device=slow)
    assert found.sides[0].marks[0].anomaly is Anomaly.BANDWIDTH
    assert "over 105 % of a roof: an anomaly" in [trace.name for trace in roofline_figure(found).data]
    assert "an anomaly of the count or of the peak" in _text(list(panel._anomalies(found)))
    assert "over 105 %" not in _text(list(panel._anomalies(_found(a_recording()))))


def test_a_kernel_of_both_recordings_has_an_arrow_where_it_moved() -> None:
    found = _found(a_recording(), a_recording(us=2))
    extent = extent_of(found)
    (arrow,) = arrows(found, extent)
    assert not arrow.is_graph
    assert arrow.end[0] == arrow.start[0]
    assert arrow.end[1] == pytest.approx(arrow.start[1] * 2.5)
    assert arrows(_found(a_recording(), a_recording()), extent) == ()
    assert arrows(_found(a_recording()), extent) == ()


def test_a_graph_whose_kernels_were_all_replaced_has_one_arrow() -> None:
    found = _found(a_recording(), a_recording(us=2, name="gemm_fused"))
    (arrow,) = arrows(found, extent_of(found))
    assert arrow.is_graph
    assert arrow.end[1] == pytest.approx(arrow.start[1] * 2.5)


def test_more_kernels_than_are_drawn_are_cut_with_what_they_take() -> None:
    found = _found(a_recording(more=MOST_MARKS + 20))
    (side,) = found.sides
    assert len(side.marks) == MOST_MARKS + 21
    assert len(shown_marks(side)) == MOST_MARKS
    drawn = [trace for trace in roofline_figure(found).data if trace.mode == "markers"]
    assert sum(len(trace.x) for trace in drawn) == MOST_MARKS
    assert "the other 21 take" in " ".join(side_words(side, MOST_MARKS))


def test_a_kernel_without_counted_arithmetic_stands_at_the_edge_as_far_under_the_memory_roof_as_it_is() -> None:
    run = Recording()
    with run.step():
        with run.op("aten::copy_", shapes=((1024, 1024), (1024, 1024)), dtypes=("float", "float")):
            run.launch("void at::native::elementwise_kernel<copy>", us=10)
        run.synchronize()
    found = _found(recording_of(run.trace(), DEVICE))
    (mark,) = found.sides[0].marks
    extent = extent_of(found)
    if mark.flops is None:
        x, y = place(mark, extent)
        assert x == extent.edge
        assert y / (4e12 * x) == pytest.approx(mark.memory_share)
    assert mark.memory_share == pytest.approx(2 * 4 * 1024 * 1024 / 10e-6 / 4e12)


def test_the_roofs_are_those_of_the_device() -> None:
    figure = roofline_figure(_found(a_recording()))
    said = " ".join(str(trace.hovertext) for trace in figure.data if trace.mode == "lines")
    for text in (
        "memory 4.00 TB/s",
        "L2 cache 8.00 TB/s",
        "bfloat16 800 TFLOP/s",
        "float32 vector 60.0 TFLOP/s",
    ):
        assert text in said
    assert figure.layout.xaxis.title.text == "arithmetic intensity (flop per byte)"
    assert figure.layout.yaxis.title.text == "arithmetic rate (flop/s)"


def test_on_many_decades_labels_stay_apart_and_short() -> None:
    many = replace(DEVICE, peaks=tuple(Peak(f"float8_e{n}m3fnuz", (2.5 + n / 100) * 1e15) for n in range(4)))
    found = _found(a_recording(us=5e6), device=many)
    extent = extent_of(found)
    assert extent.right / extent.edge > 1e4
    figure = roofline_figure(found)
    axis = figure.layout.xaxis
    named = [text for text in axis.ticktext if text]
    assert len(axis.tickvals) > MOST_TICKS >= len(named) - 1
    assert axis.ticktext[list(axis.tickvals).index(extent.edge)] == "none"
    labels = [text for trace in figure.data if trace.mode == "text" for text in trace.text]
    assert [text for text in labels if "float8" in text] == ["float8_e3m3fnuz 2.53 PFLOP/s +3 near"]


def test_no_two_graphs_differ_by_colour_alone() -> None:
    run = Recording()
    with run.step():
        for number in range(1, 6):
            with run.graph(str(a_key(number))), run.op("aten::mm", ((SIZE, SIZE),) * 2, ("c10::BFloat16",) * 2):
                run.launch("gemm", us=number)
        run.synchronize()
    marks = [t for t in roofline_figure(_found(recording_of(run.trace(), DEVICE))).data if t.mode == "markers"]
    assert len({trace.marker.symbol for trace in marks}) == len({trace.marker.color for trace in marks}) == 5


def test_peaks_say_where_they_come_from_and_what_is_missing() -> None:
    assert "Peaks measured on this Test Device" in peaks_words(DEVICE)
    sheet = replace(DEVICE, source=Source.DATA_SHEET, notes=("dense figures of: a sheet",), l2_bytes_per_s=None)
    assert "not measured: dense figures of: a sheet. Not known: L2 bandwidth." in peaks_words(sheet)
    nothing = Device(kind="unknown", name="X1", source=Source.DATA_SHEET, notes=("no data sheet of X1 is known here",))
    assert "No roof is known of X1" in peaks_words(nothing)


def test_without_peaks_the_marks_stand_without_roofs() -> None:
    bare = Device(kind="unknown", name="X1", source=Source.DATA_SHEET)
    found = _found(a_recording(), device=bare)
    assert found.sides[0].marks[0].memory_share is None
    assert [trace.mode for trace in roofline_figure(found).data].count("lines") == 0


def test_a_name_that_is_markup_stays_text() -> None:
    (marks,) = [trace for trace in roofline_figure(_found(a_recording(name=HOSTILE))).data if trace.mode == "markers"]
    assert marks.hovertext[0].startswith("&lt;img src=x onerror=alert(1)&gt;")
    assert "<img" not in _text([marks.hovertext, marks.name])
    assert marks.customdata[0][:3] == ["0.0", HOSTILE, str(a_key(1))]  # the script shows it as text


def test_a_megabyte_of_a_name_is_cut() -> None:
    built = _text(panel.build(_run(a_recording(name="x" * 1_000_000))))
    assert len(built) < 100_000


def test_every_empty_state_says_what_to_do() -> None:
    assert "analyze model.py" in _text(panel.build(_run()))
    idle = Recording()
    with idle.step():
        idle.host(5)
    assert "torch.profiler.profile()" in _text(panel.build(_run(recording_of(idle.trace(), None))))
    blind = Recording()
    with blind.step():
        blind.launch("mystery", us=3)
        blind.synchronize()
    text = _text(panel.build(_run(recording_of(blind.trace(), None))))
    assert "record_shapes=True" in text
    assert "mystery 3.00 µs" in text


@pytest.mark.parametrize("name", ["granite_h200", "mixed_graphs_h200"])
def test_on_a_golden_marks_and_unknown_add_up_and_none_passes_a_roof(name: str) -> None:
    run = read_run(GOLDEN / name)
    found = roofline([(s.name, s.recording) for s in run.sides if s.recording], *_known(run))
    assert [side.name for side in found.sides] == ["before", "after"]
    for side in found.sides:
        assert side.kernel_ns == pytest.approx(sum(mark.ns for mark in side.marks) + side.unknown_ns)
        assert side.unknown_ns < 0.05 * side.kernel_ns
        assert [mark.name for mark in side.marks if mark.anomaly is not None] == []
        _is_busiest_first(side)


def _known(run: RunData) -> tuple[Any, ...]:
    assert run.report is not None
    return (run.report.device, *panel._told(run.report))


def _is_busiest_first(side: RoofSide) -> None:
    times = [mark.ns for mark in side.marks]
    assert times == sorted(times, reverse=True)

"""From a recorded trace to the report: every public trace, sums that are exact, and doubt where it is due."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from analyzer.core.budget import Part
from analyzer.core.device import Source
from analyzer.core.trace import DEVICE_KINDS, EventKind, OpDetail, Trace
from analyzer.core.trace_facts import Vendor
from analyzer.core.verdict import Bound
from analyzer.derive.activity import NOT_READ
from analyzer.derive.trace_verdict import CPU_TRACE, NEED_CLEAN, NO_PEAKS, WITH_STACKS
from analyzer.reporting.json import decode_report, encode_report
from analyzer.reporting.renderer import Page
from analyzer.reporting.terminal import render
from analyzer.trace_analysis import NO_DEVICE_ROWS, REPLAYED, UNLINKED, Analyzed, analyze_trace
from tests.public_traces import FOLDER, public_trace
from tests.traces import Recording

NAMES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.json.gz")) or ["absent"]


@cache
def public(name: str) -> tuple[Trace, Analyzed]:
    trace = public_trace(name)
    return trace, analyze_trace(trace, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_public_trace_gives_a_report_whose_budgets_add_up_to_its_window(name: str) -> None:
    trace, analyzed = public(name)
    report = analyzed.report
    assert decode_report(encode_report(report), name) == report
    assert render(report, Page())
    assert report.honesty
    rows = trace.rows(*DEVICE_KINDS)
    assert report.attributed is not None
    if rows.size:
        assert report.attributed.kernels == rows.size
        assert report.step_budget is not None
        start, end = trace.start_ns[rows], trace.end_ns[rows]
        assert report.step_budget.elapsed_ns == int(end.max() - start.min())
    for part in Part:
        whole = report.step_budget.ns(part) if report.step_budget else 0
        assert whole == sum(g.budget.ns(part) for g in report.graphs if g.budget)
    for graph in report.graphs:
        assert graph.verdict.bound is not Bound.UNDECIDED or graph.verdict.missing


def test_what_a_trace_cannot_be_believed_in_is_said_before_what_is_concluded_from_it() -> None:
    _, analyzed = public("h100_qwen_train.json.gz")
    page = render(analyzed.report, Page())
    assert 0 < page.index("What this trace cannot show") < page.index(analyzed.report.headline[:30])


def test_a_virtual_function_that_is_a_whole_mi300x_has_the_figures_of_one() -> None:
    _, analyzed = public("mi300_qwen_train.json.gz")
    assert analyzed.report.device.name == "AMD Instinct MI300X VF"
    assert analyzed.report.device.memory_bytes_per_s == 5300e9


def test_kernels_without_a_launch_are_in_the_window_of_the_h100() -> None:
    """Tools that drop them report 34.89 ms with 2.99 ms idle."""
    _, analyzed = public("h100_qwen_train.json.gz")
    assert analyzed.budget is not None
    assert analyzed.budget.window.elapsed_ns == 49_652_832
    assert analyzed.budget.window.idle_ns == 4_005_532
    assert analyzed.report.attributed is not None
    assert analyzed.report.attributed.unlinked_kernels == 509
    assert analyzed.report.device.source is Source.DATA_SHEET


@pytest.mark.parametrize("name", ["b300_qwen3_graph_decode.json.gz", "mi300_qwen3_graph_decode.json.gz"])
def test_the_idle_time_of_a_graph_replay_is_a_brute_force_sum_to_the_nanosecond(name: str) -> None:
    trace, analyzed = public(name)
    rows = sorted((int(trace.start_ns[row]), int(trace.end_ns[row])) for row in trace.rows(*DEVICE_KINDS).tolist())
    idle, reach = 0, rows[0][0]
    for start, end in rows:
        idle += max(0, start - reach)
        reach = max(reach, end)
    assert analyzed.budget is not None
    assert analyzed.budget.window.idle_ns == idle


def test_replayed_kernels_are_a_region_of_their_own_and_no_roof_is_named_for_them() -> None:
    _, analyzed = public("b300_qwen3_graph_decode.json.gz")
    replay = analyzed.report.graphs[0]
    assert replay.kind == "graph replay"
    assert replay.kernels_per_step == 676
    assert (replay.verdict.bound, replay.verdict.missing) == (Bound.UNDECIDED, REPLAYED)


def test_gaps_of_replays_that_were_recorded_in_part_are_not_called_latency() -> None:
    _, analyzed = public("a100_compiled_graphs_nccl_rank0of16.json.gz")
    assert analyzed.report.step_budget is not None
    assert analyzed.report.step_budget.share(Part.OTHER) > 0.6
    assert analyzed.report.headline.startswith("Undecided")
    assert any("nothing recorded explains" in text for text in analyzed.report.honesty)


BF16 = ("c10::BFloat16", "c10::BFloat16")
PRODUCT_US = 160
"""4096³ in bfloat16 on an H100: 139 µs by its data sheet."""


def a_run(*, host_us: float, kernel_us: float, device: str | None = "NVIDIA H100 80GB HBM3") -> Recording:
    run = Recording(device_name=device)
    for _ in range(3):
        with run.step():
            for _ in range(20):
                run.host(host_us)
                with run.op("aten::mm", shapes=((4096, 4096), (4096, 4096)), dtypes=BF16):
                    run.launch("gemm", us=kernel_us)
            run.synchronize()
    return run


def analyzed(run: Recording) -> Analyzed:
    return analyze_trace(run.trace(), "run.json")


def test_a_device_that_waits_for_a_slow_host_most_of_the_time_is_cpu_bound() -> None:
    report = analyzed(a_run(host_us=400, kernel_us=10)).report
    assert report.headline.startswith("CPU-bound")


def test_a_host_that_may_be_slow_by_the_profiler_alone_decides_nothing() -> None:
    (graph, *_) = analyzed(a_run(host_us=360, kernel_us=PRODUCT_US)).report.graphs
    assert (graph.verdict.bound, graph.verdict.missing) == (Bound.UNDECIDED, NEED_CLEAN)


def test_recorded_stacks_make_the_host_more_doubtful() -> None:
    run = a_run(host_us=1000, kernel_us=PRODUCT_US)
    plain = analyzed(run).report.graphs[0].verdict
    rows = run.trace()
    stacked = replace(rows, kind=np.where(rows.kind == EventKind.CPU_OP, EventKind.PYTHON, rows.kind))
    found = analyze_trace(stacked, "run.json").report
    assert any(f"{WITH_STACKS:g} times" in text for text in found.honesty)
    assert plain.bound is Bound.CPU
    assert (found.graphs[0].verdict.confidence or 0.0) < (plain.confidence or 0.0)


def test_an_unknown_device_is_undecided_where_peaks_are_needed_and_says_so() -> None:
    (graph, *_) = analyzed(a_run(host_us=0, kernel_us=3000, device="Ada's Accelerator")).report.graphs
    assert (graph.verdict.bound, graph.verdict.missing) == (Bound.UNDECIDED, NO_PEAKS)


def test_a_known_device_is_judged_by_its_data_sheet() -> None:
    report = analyzed(a_run(host_us=0, kernel_us=PRODUCT_US)).report
    assert report.device.source is Source.DATA_SHEET
    assert report.graphs[0].verdict.bound is Bound.COMPUTE


def test_without_device_rows_the_call_that_records_them_is_named() -> None:
    run = Recording()
    report = analyzed(run).report
    assert (report.headline, report.step_budget) == (f"Undecided: {NO_DEVICE_ROWS}", None)
    assert "torch.profiler.profile(" in report.headline


def test_a_cpu_trace_adds_up_and_decides_nothing() -> None:
    run = Recording()
    for _ in range(2):
        with run.step(), run.op("aten::mm", shapes=((8, 8), (8, 8)), dtypes=("float", "float")):
            run.host(50)
    report = analyzed(run).report
    assert report.step_budget is not None
    assert report.step_budget.elapsed_ns == sum(g.budget.elapsed_ns for g in report.graphs if g.budget)
    assert CPU_TRACE in report.headline


def test_an_empty_trace_finds_nothing_and_raises_nothing() -> None:
    report = analyzed(Recording()).report
    assert (report.graphs, report.findings) == ((), ())


def test_equal_traces_give_equal_reports_whatever_the_order_of_their_rows() -> None:
    run = a_run(host_us=100, kernel_us=30)
    order = list(range(len(run.rows)))[::-1]
    assert encode_report(analyzed(run).report) == encode_report(
        analyze_trace(run.trace(order=order), "run.json").report
    )


OTHERS = re.compile(r"cuda(?!graph_)|cupti|\bgpu", re.IGNORECASE)
"""Words of one maker's devices; the ids of rules aside."""


@pytest.mark.parametrize("vendor", [Vendor.XPU, Vendor.MTIA])
@pytest.mark.parametrize("host_us", [0, 360])
def test_the_trace_of_another_makers_device_is_told_nothing_of_cuda(vendor: Vendor, host_us: float) -> None:
    recorded = a_run(host_us=host_us, kernel_us=160, device="Ada's Accelerator").trace()
    names = tuple(
        name.replace("cudaDeviceSynchronize", "urQueueFinish").replace("cuda", "ur") for name in recorded.names
    )
    trace = replace(recorded, names=names, facts=replace(recorded.facts, vendor=vendor))
    for each in (trace, replace(trace, details=(OpDetail(),) * len(trace.details))):
        report = analyze_trace(each, "run.json").report
        assert report.workload.device == vendor.name.lower()
        assert not OTHERS.search(render(report, Page()))


def test_rows_in_words_that_are_not_known_are_not_called_missing() -> None:
    trace, analyzed = public("mtia_inference.json.gz")
    assert trace.facts.unread_device_rows
    page = render(analyzed.report, Page())
    assert analyzed.report.headline == f"Undecided: {NOT_READ}"
    assert "launches and no device row" not in page
    assert not OTHERS.search(page)


def test_kernels_without_any_launch_call_are_not_said_to_be_launched_before_the_recording() -> None:
    run = Recording()
    for _ in range(5):
        run.orphan("k", us=50)
    assert UNLINKED in analyze_trace(run.trace(), "t.json").report.headline


def test_without_operators_nothing_is_said_of_their_shapes_or_of_python() -> None:
    run = Recording(device_name="NVIDIA H100 80GB HBM3")
    for _ in range(50):
        run.host(5)
        run.launch("gemm", us=50)
    report = analyze_trace(run.trace(), "t.json").report
    page = " ".join(render(report, Page()).split())
    assert "in kernels of which no operator was recorded" in page
    assert "Python between" not in page
    assert report.step_budget is not None
    assert report.step_budget.starved is None

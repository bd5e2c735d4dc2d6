"""Two recordings beside each other: matched strictly first, and adding up exactly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.comparing import NO_KERNELS, compare_analyzed, compare_paths
from analyzer.core.compared import Compared, Fate, Matched
from analyzer.core.errors import UnreadableFileError, UsageError
from analyzer.core.graphs import SourceLine
from analyzer.core.report import GraphReport
from analyzer.derive.kernel_families import family
from analyzer.derive.matching import IDLE, IN_STEPS, OUTSIDE_STEPS
from analyzer.reporting.compared_text import MOST_ROWS, compared_json, compared_text, totals_text
from analyzer.reporting.json import REPORT_FILE, write_report
from analyzer.trace_analysis import analyze_trace
from collectors.readers.settings import ReadSettings
from tests.reports import a_graph, a_report
from tests.traces import Recording

TRACES = Path(__file__).parents[3] / "shared" / "traces"
GOLDEN = Path(__file__).parents[1] / "golden"
READING = ReadSettings()


def compared(before: Recording, after: Recording) -> Compared:
    return compare_analyzed(analyze_trace(before.trace(), "a.json"), analyze_trace(after.trace(), "b.json"))


def a_run(kernels: tuple[tuple[str, str, float], ...], *, graph: str | None = None) -> Recording:
    """Kernels as (operator, kernel, µs) in two steps, in a compiled graph where one is named."""
    run = Recording()
    for _ in range(2):
        with run.step(), run.range(f"Torch-Compiled Region: {graph}" if graph else "region"):
            for op, kernel, us in kernels:
                with run.op(op):
                    run.launch(kernel, us=us)
            run.synchronize()
    return run


def row(found: Compared, name: str):  # type: ignore[no-untyped-def]
    return next(one for one in found.rows if one.name == name)


def test_a_recording_beside_itself_is_the_same_in_every_row() -> None:
    run = a_run((("aten::mm", "gemm", 50), ("aten::add", "vectorized_elementwise", 5)))
    found = compared(run, run)
    assert {one.fate for one in found.rows} == {Fate.SAME}
    assert all(one.difference_ns == 0 for one in found.rows)


def test_one_step_and_one_smaller_row_are_told_as_one() -> None:
    run = Recording()
    with run.step(), run.range("region"):
        for number in range(MOST_ROWS):  # the idle time is a row too
            with run.op(f"aten::op{number}"):
                run.launch(f"kernel{number}", us=5)
        run.synchronize()
    said = compared_text(compared(run, run))
    assert said.count(", 1 step, idle") == 2
    assert "\n1 smaller one  " in said
    assert analyze_trace(run.trace(), "a.json").report.workload.mode == "recorded, 1 step marked by torch.profiler"


def test_a_folder_that_is_no_run_folder_is_refused_with_what_to_give_instead(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no run folder") as caught:
        compare_paths(str(tmp_path / "empty"), str(tmp_path / "empty"), READING)
    assert "two runs of analyze model.py" in str(caught.value.hint)


def test_of_a_folder_of_ranks_one_trace_has_to_be_named(tmp_path: Path) -> None:
    for rank in range(2):
        (tmp_path / f"rank{rank}.json").write_text('{"traceEvents": []}')
    with pytest.raises(UsageError, match="and 2 traces") as caught:
        compare_paths(str(tmp_path), str(tmp_path), READING)
    assert f"analyze compare {tmp_path / 'rank0.json'} OTHER" in str(caught.value.hint)


def test_the_only_trace_of_a_folder_is_taken(tmp_path: Path) -> None:
    run = a_run((("aten::mm", "gemm", 50),))
    run.save(tmp_path / "only.json")
    found = compare_paths(str(tmp_path), str(tmp_path / "only.json"), READING)
    assert {one.fate for one in found.rows} == {Fate.SAME}


def test_idle_time_between_steps_is_a_row_of_its_own_and_the_rows_add_up() -> None:
    def apart(us: float) -> Recording:
        run = Recording()
        for _ in range(2):
            with run.step(), run.op("aten::mm"):
                run.host(20)
                run.launch("gemm", us=5)
                run.host(9)
            run.host(us)
        return run

    found = compared(apart(0), apart(40))
    between = row(found, OUTSIDE_STEPS)
    assert (between.before_ns, between.after_ns, between.matched) == (0, 20_000, Matched.IDLE)
    assert row(found, IN_STEPS).difference_ns == 0
    assert found.after.idle_ns - found.before.idle_ns == 20_000
    assert {one.name for one in compared(apart(0), apart(0)).rows} == {IDLE, "aten::mm"}


def _a_run_of(folder: Path, graph: GraphReport, us: float) -> str:
    folder.mkdir()
    run = Recording()
    for _ in range(2):
        with run.step(), run.graph(str(graph.key)), run.op("aten::mm"):
            run.launch("gemm", us=us)
    run.save(folder / "before.trace.json.gz")
    run.save(folder / "after.trace.json.gz")
    write_report(a_report(graphs=(graph,)), folder / REPORT_FILE)
    return str(folder)


def test_a_graph_of_two_runs_is_called_by_its_line_and_function_and_by_what_it_was(tmp_path: Path) -> None:
    graph = a_graph(where=SourceLine("/home/me/net.py", 41, "forward"))
    moved = replace(graph, where=SourceLine("/home/me/net.py", 43, "forward"))
    before, after = _a_run_of(tmp_path / "a", graph, 50), _a_run_of(tmp_path / "b", moved, 20)
    (one,) = [row for row in compare_paths(before, after, READING).rows if row.matched is Matched.GRAPH]
    assert (one.name, one.was) == ("net.py:43 in forward", "net.py:41 in forward")
    assert "net.py:43 in forward " in compared_text(compare_paths(before, after, READING))
    sides = compare_paths(before, after, READING)
    assert {(one.device, one.bound) for one in (sides.before, sides.after)} == {("NVIDIA H200", a_report().headline)}
    (same,) = [row for row in compare_paths(before, None, READING).rows if row.matched is Matched.GRAPH]
    assert (same.name, same.was) == ("net.py:41 in forward", None)
    (tmp_path / "b" / REPORT_FILE).unlink()
    (half,) = [row for row in compare_paths(before, after, READING).rows if row.matched is Matched.GRAPH]
    assert (half.name, half.was) == ("net.py:41 in forward", None)


def test_windows_without_steps_are_given_no_speed() -> None:
    run = Recording()
    run.launch("k", us=50)
    again = Recording()
    again.launch("k", us=50)
    again.launch("k", us=50)
    assert totals_text(compared(again, run)).endswith(" in all")


@pytest.mark.parametrize("device_name", [None, "Test Device"])
def test_that_one_side_has_no_rows_of_kernels_is_said_in_one_note(device_name: str | None) -> None:
    host = Recording(device_name=device_name)
    with host.step(), host.op("aten::mm"):
        host.host(80)
    kernels = a_run((("aten::mm", "gemm", 50),))
    assert compared(host, kernels).notes == (NO_KERNELS.format("before"),)
    assert compared(kernels, host).notes == (NO_KERNELS.format("after"),)
    assert f"\n! {NO_KERNELS.format('after')}\n" in compared_text(compared(kernels, host))
    assert compared(host, host).notes == compared(kernels, kernels).notes == ()


def test_swapping_the_sides_turns_every_difference_round() -> None:
    left = a_run((("aten::mm", "gemm", 50), ("aten::add", "vectorized_elementwise", 5)))
    right = a_run((("aten::mm", "gemm", 80), ("aten::sum", "reduce_kernel", 9)))
    there, back = compared(left, right), compared(right, left)
    assert {(r.name, r.difference_ns) for r in there.rows} == {(r.name, -r.difference_ns) for r in back.rows}


def test_an_operator_is_found_again_whatever_its_kernel_is_called() -> None:
    found = compared(a_run((("aten::mm", "ampere_sgemm", 50),)), a_run((("aten::mm", "Cijk_Ailk_Bljk", 80),)))
    one = row(found, "region: aten::mm")
    assert (one.matched, one.fate) == (Matched.OPERATOR, Fate.SLOWER)


def test_less_time_in_fewer_kernels_is_not_called_faster() -> None:
    many = a_run(tuple(("aten::mm", "gemm", 20) for _ in range(4)))
    few = a_run((("aten::mm", "gemm", 30),))
    text = compared_text(compared(many, few))
    assert "less time, 4 → 1 kernels, by operator" in text
    assert "more time, 1 → 4 kernels, by operator" in compared_text(compared(few, many))


def test_an_operator_that_became_another_is_matched_by_the_family_of_its_kernels() -> None:
    found = compared(a_run((("aten::mm", "ampere_sgemm", 50),)), a_run((("aten::addmm", "nvjet_tst_128", 40),)))
    one = row(found, "matrix products")
    assert (one.matched, one.fate, one.before_ns, one.after_ns) == (Matched.FAMILY, Fate.FASTER, 50_000, 40_000)


def test_what_has_no_counterpart_appeared_or_vanished() -> None:
    found = compared(a_run((("aten::mm", "gemm", 50),)), a_run((("aten::conv2d", "implicit_convolve", 40),)))
    assert row(found, "matrix products").fate is Fate.VANISHED
    assert row(found, "convolutions").fate is Fate.APPEARED


def test_a_compiled_graph_is_matched_before_its_operators() -> None:
    kernels = (("triton_poi", "triton_poi_fused_0", 50.0),)
    found = compared(a_run(kernels, graph="0/0"), a_run((("triton_poi", "triton_poi_fused_1", 30.0),), graph="0/0"))
    assert row(found, "graph 0/0").matched is Matched.GRAPH


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("diff_control_a100.json.gz", "diff_test_v100.json.gz"),
        ("h100_qwen_train.json.gz", "mi300_qwen_train.json.gz"),
        ("b300_qwen3_graph_decode.json.gz", "mi300_qwen3_graph_decode.json.gz"),
    ],
)
def test_public_pairs_add_up_exactly_across_vendors(before: str, after: str) -> None:
    if not TRACES.is_dir():
        pytest.skip("the collection of public traces is not here")
    found = compare_paths(str(TRACES / before), str(TRACES / after), READING)
    assert sum(one.difference_ns for one in found.rows) == found.after.whole_ns - found.before.whole_ns
    assert sum(one.before_ns or 0 for one in found.rows) == found.before.whole_ns
    assert sum(one.after_ns or 0 for one in found.rows) == found.after.whole_ns
    text = compared_text(found)
    assert "all  " in text
    assert compared_json(found).startswith("{")
    # Something of both is the same thing: matching everything by nothing would add up as well.
    assert any(
        one.matched in (Matched.OPERATOR, Matched.FAMILY) and one.before_ns and one.after_ns for one in found.rows
    )


def test_a_run_folder_is_compared_before_and_after_its_plan_by_its_graphs() -> None:
    found = compare_paths(str(GOLDEN / "granite_h200"), None, READING)
    (graph,) = [one for one in found.rows if one.matched is Matched.GRAPH]
    # The plan has fewer products, 251 and 167 kernels and 16 memsets a step: they take 955 and 679 µs.
    assert graph.fate is Fate.FASTER
    assert (graph.count_before, graph.count_after) == (267, 183)
    assert (graph.before_ns, graph.after_ns) == (pytest.approx(955_467, abs=2), pytest.approx(678_902, abs=2))
    # And the device no longer waits.
    assert row(found, IN_STEPS).fate is Fate.FASTER


def test_one_trace_alone_is_refused_with_the_way_to_call_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run folder"):
        compare_paths(str(tmp_path), None, READING)


def test_a_trace_without_device_work_cannot_be_compared() -> None:
    with pytest.raises(UnreadableFileError, match="nothing to compare"):
        compared(Recording(), a_run((("aten::mm", "gemm", 50),)))


@pytest.mark.parametrize(
    ("kernel", "what"),
    [
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x128x64", "matrix products"),
        ("nvjet_sm103_tst_384x16_64x4_4x1_v_bz_TNT", "matrix products"),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_nn_align4>", "matrix products"),
        ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits>", "attention"),
        ("paged_attention_ll4mi_QKV_mfma16_kernel", "attention"),
        ("void at::native::batch_norm_backward_kernel", "normalisations"),
        ("void at::native::vectorized_elementwise_kernel<4>", "pointwise"),
        ("void at::native::reduce_kernel<512, 1>", "reductions"),
        ("triton_per_fused_add_0", "reductions"),
        ("triton_poi_fused_0", "pointwise"),
        ("_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x", "mixture of experts"),
        ("cudnn::detail::dgrad_engine<float>", "convolutions"),
        ("void cudnn::ops::nchwToNhwcKernel", "other kernels"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "collectives"),
        ("Memcpy DtoD (Device -> Device)", "copies"),
    ],
)
def test_a_kernel_of_any_vendor_is_of_the_family_of_its_work(kernel: str, what: str) -> None:
    assert family(kernel) == what


def test_that_one_long_step_makes_the_average_is_said() -> None:
    """A plan of 70 µs was told to be 0.01 times as fast as in another run, for a hiccup in one step of three."""

    def steps(*microseconds: float) -> Recording:
        run = Recording()
        for us in microseconds:
            with run.step(), run.op("aten::mm"):
                run.launch("gemm", us=us)
                run.synchronize()
        return run

    even = steps(500, 510, 900)
    assert compared(even, even).notes == ()
    (note,) = compared(even, steps(500, 50_000, 510)).notes
    assert note.startswith("the steps recorded after took")
    (note,) = compared(steps(500, 50_000), even).notes
    assert note.startswith("the steps recorded before took")


def test_a_run_folder_without_its_traces_is_said_to_be_one(tmp_path: Path) -> None:
    write_report(a_report(), tmp_path / REPORT_FILE)
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(UsageError, match="a run folder without its traces"):
        compare_paths(str(tmp_path), str(tmp_path))

"""What makes two recordings another thing than before and after is said, first, and only where both show it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.comparing import compare_analyzed, compare_paths
from analyzer.core.compared import Compared
from analyzer.core.report import WorkloadFacts
from analyzer.core.trace import OpDetail
from analyzer.reporting.compared_text import NOT_ONE_THING, compared_json, compared_text
from analyzer.reporting.json import REPORT_FILE, write_report
from analyzer.trace_analysis import analyze_trace
from analyzer.unlike import unlike_facts
from collectors.readers.settings import ReadSettings
from dashboard.runs_compared import MOST_OF_A_WARNING
from tests.reports import a_report
from tests.traces import Recording

READING = ReadSettings()
FACTS = WorkloadFacts("net", "net.py", "get_model", "inference", "cuda", ("float32[8, 4]",), 12, (), None, "abc")


def a_run(
    *, op: str = "aten::mm", kernel: str = "gemm", batch: int = 8, dtype: str = "float", backward: bool = False,
    device: str = "Test Device",
) -> Recording:  # fmt: skip
    run = Recording(device_name=device)
    shapes, dtypes = ((batch, 64), (64, 64)), (dtype, dtype)
    for _ in range(2):
        with run.step():
            with run.op(op, shapes, dtypes):
                run.launch(kernel, us=50)
            if backward:
                with run.op("autograd::engine::evaluate_function: MmBackward0"), run.op(op, shapes, dtypes):
                    run.launch(kernel, us=50)
            run.synchronize()
    return run


def compared(before: Recording, after: Recording) -> Compared:
    return compare_analyzed(analyze_trace(before.trace(), "a.json"), analyze_trace(after.trace(), "b.json"))


def test_of_one_program_twice_nothing_is_said() -> None:
    assert compared(a_run(), a_run()).unlike == ()
    assert NOT_ONE_THING not in compared_text(compared(a_run(), a_run()))


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (a_run(device="Other Device"), "another device: Test Device before, Other Device after"),
        (a_run(batch=32), "another batch or size"),
        (a_run(dtype="c10::BFloat16"), "most of the time works on float32 before, on bfloat16 after"),
        (a_run(backward=True), "only the recording after shows a backward pass"),
        (a_run(op="aten::conv2d", kernel="implicit_convolve"), "another model, it seems: 100 % of the work before"),
    ],
    ids=["device", "batch", "dtype", "mode", "model"],
)
def test_another_thing_is_named(after: Recording, said: str) -> None:
    assert any(said in text for text in compared(a_run(), after).unlike)


def test_it_comes_before_every_figure() -> None:
    found = compared(a_run(), a_run(batch=32))
    lines = compared_text(found).splitlines()
    assert lines[0] == f"! {NOT_ONE_THING}:"
    assert "another batch" in lines[1]
    assert json.loads(compared_json(found))["unlike"] == list(found.unlike)


def test_a_hostile_name_breaks_no_line() -> None:
    found = replace(compared(a_run(), a_run()), unlike=("another model: a\x1b[2J\nb before, c after",))
    assert "\x1b" not in compared_text(found)
    assert compared_text(found).splitlines()[1].startswith("!   another model")


def test_a_recording_that_does_not_say_is_not_accused() -> None:
    """Neither shapes nor operators: a replay shows none."""
    run = Recording()
    for _ in range(2):
        with run.step():
            run.replay([("gemm", 50)])
            run.synchronize()
    said = " ".join(compared(a_run(backward=True), run).unlike)
    assert not any(word in said for word in ("backward", "batch", "format"))


def test_reports_tell_of_another_model_mode_inputs_and_parameters() -> None:
    assert unlike_facts(FACTS, FACTS) == ()
    for field, value, said in (
        ("name", "other", "another model: net before, other after"),
        ("mode", "training", "another mode: inference before, training after"),
        ("inputs", ("float32[9, 4]",), "another set of inputs: float32[8, 4] before; float32[9, 4] after"),
        ("parameters", 13, "another number of parameters: 12 before, 13 after"),
        ("parameters_digest", "abd", "other parameters: as many, of other shapes or types"),
    ):
        assert unlike_facts(FACTS, replace(FACTS, **{field: value})) == (said,)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (("a", "b"), ("c",) * 20, " (2 before, 20 after): a, b before; 20 × c after"),
        (("a",) * 9 + ("b",), ("a",) * 9 + ("c",), " (1 of 10): b before; c after"),
        (("a",), ("a", "b"), " (1 before, 2 after): b only after"),
        (("a", "b"), ("b", "a"), ": the same 2 in another order"),
        (("a",), tuple("bcdef"), " (1 before, 5 after): a before; b, c, d and 2 more after"),
    ],
)
def test_inputs_are_told_by_what_only_one_side_has(before: tuple[str, ...], after: tuple[str, ...], said: str) -> None:
    facts = replace(FACTS, inputs=before), replace(FACTS, inputs=after)
    assert unlike_facts(*facts) == (f"another set of inputs{said}",)


def test_thousands_of_long_inputs_are_one_clause_that_nothing_cuts() -> None:
    many = tuple(f"int64[{number}, {'8, ' * 400}]" for number in range(5_000))
    (said,) = unlike_facts(replace(FACTS, inputs=many), replace(FACTS, inputs=tuple(f"b{one}" for one in many)))
    assert said.endswith("and 4,997 more after")
    found = replace(compared(a_run(), a_run()), unlike=(said,))
    assert said in compared_text(found)
    assert len(said) < MOST_OF_A_WARNING


def test_a_report_without_a_digest_says_nothing_of_it() -> None:
    assert unlike_facts(FACTS, replace(FACTS, parameters_digest=None)) == ()


def test_two_run_folders_are_told_apart_by_their_reports(tmp_path: Path) -> None:
    for name, mode in (("a", "inference"), ("b", "training")):
        (tmp_path / name).mkdir()
        a_run().save(tmp_path / name / "before.trace.json.gz")
        report = a_report()
        write_report(replace(report, workload=replace(report.workload, mode=mode)), tmp_path / name / REPORT_FILE)
    found = compare_paths(str(tmp_path / "a"), str(tmp_path / "b"), READING)
    assert found.unlike == ("another mode: inference before, training after",)
    assert compare_paths(str(tmp_path / "a"), str(tmp_path / "a"), READING).unlike == ()


def test_a_report_that_cannot_be_read_leaves_what_the_traces_say(tmp_path: Path) -> None:
    for name, batch in (("a", 8), ("b", 32)):
        (tmp_path / name).mkdir()
        a_run(batch=batch).save(tmp_path / name / "before.trace.json.gz")
        (tmp_path / name / REPORT_FILE).write_text("{")
    assert any("batch" in text for text in compare_paths(str(tmp_path / "a"), str(tmp_path / "b"), READING).unlike)


def test_a_plan_beside_its_own_default_is_one_program(tmp_path: Path) -> None:
    a_run().save(tmp_path / "before.trace.json.gz")
    a_run(op="triton_fused", kernel="triton_poi_fused").save(tmp_path / "after.trace.json.gz")
    assert compare_paths(str(tmp_path), None, READING).unlike == ()


def test_details_without_types_have_no_format() -> None:
    assert OpDetail(shapes=((1,),)).dtypes == ()
    assert compared(a_run(dtype=""), a_run()).unlike == ()

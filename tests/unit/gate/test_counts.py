"""Exact gates: a changed number fails and names its line; what is unknown fails too; what is old stays quiet."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from analyzer.core.baseline import Baseline, ModelBaseline
from analyzer.core.finding import RuleFailure
from analyzer.core.gate import GateLevel, GateStatus
from analyzer.core.graphs import CudaGraphSkip, SourceLine
from analyzer.core.report import Report
from analyzer.gate.baseline_file import decode_baseline, encode_baseline
from analyzer.gate.judge import baseline_of, judge
from analyzer.gate.silence import read_silences
from tests.gates import Lines, a_break, a_case, a_model_report, a_policy, of
from tests.reports import MS, a_finding, a_key, at


def test_nothing_changed_passes_in_every_gate() -> None:
    report = a_model_report(breaks=2)
    judged = judge(a_case(report, report))
    assert judged.has_passed
    assert not judged.warnings
    assert of("graph_breaks", judged).status is GateStatus.PASSED


def test_a_new_break_fails_and_names_its_line_its_cost_and_its_remedy() -> None:
    judged = judge(a_case(a_model_report(breaks=2), a_model_report(breaks=1)))
    check = of("graph_breaks", judged)
    assert check.status is GateStatus.FAILED
    assert check.where == at("/home/ada/gptlite.py:58")
    assert check.places == (check.where,)
    assert check.ns_per_step == round(0.8 * MS)
    assert "2 graph breaks, 1 in graphbound.baseline.json" in check.message
    assert "gptlite.py:58" in check.message
    assert "line 57" not in check.message
    assert check.remedy
    # The graph that it left behind is explained by the same line.
    assert of("graphs", judged).where == check.where


def test_code_that_moved_is_no_new_break() -> None:
    before = a_case(a_model_report(findings=(a_break(57),)), sources=Lines({57: "x.item()"}))
    moved = a_case(
        a_model_report(findings=(a_break(157),)), baseline_of(before), sources=Lines({157: "x.item()"})
    )  # fmt: skip
    judged = judge(moved)
    assert judged.has_passed
    assert not judged.warnings


def test_code_that_moved_to_another_function_or_file_is_no_new_break() -> None:
    before = a_case(a_model_report(findings=(a_break(57),)), sources=Lines({57: "x.item()"}))
    there = replace(a_break(9), where=SourceLine("/home/ada/helpers.py", 9, "count"))
    moved = a_model_report(findings=(there,))
    assert not judge(a_case(moved, baseline_of(before), sources=Lines({9: "x.item()"}))).warnings
    # One that is new in the place that it left is named, and not the one that moved.
    both = a_model_report(findings=(there, a_break(57)))
    judged = judge(a_case(both, baseline_of(before), sources=Lines({9: "x.item()", 57: "print(x)"})))
    assert of("graph_breaks", judged).places == (at("/home/ada/gptlite.py:57"),)


def test_a_line_that_cannot_be_read_is_not_taken_for_one_that_moved() -> None:
    before = a_case(a_model_report(findings=(a_break(57),)), sources=Lines({57: ""}))
    there = replace(a_break(9), where=SourceLine("/home/ada/helpers.py", 9, "count"))
    assert judge(a_case(a_model_report(findings=(there,)), baseline_of(before), sources=Lines({9: ""}))).warnings


def test_an_edited_line_that_still_breaks_is_the_same_break() -> None:
    before = a_case(a_model_report(findings=(a_break(57),)), sources=Lines({57: "x.item()"}))
    after = a_case(a_model_report(findings=(a_break(57),)), baseline_of(before), sources=Lines({57: "int(x.item())"}))
    assert not judge(after).warnings


def refusing(*keys: int) -> Report:
    found = a_finding("cudagraph_skip", where=at("/home/ada/gptlite.py:41")) if keys else None
    report = a_model_report(findings=(found,) if found else ())
    assert report.capture is not None
    skips = tuple(CudaGraphSkip(a_key(key), None, "skipping cudagraphs due to cpu device") for key in keys)
    return replace(report, capture=replace(report.capture, skips=skips))


def counted_by_an_older_graphbound(stored: ModelBaseline) -> ModelBaseline:
    return decode_baseline(
        re.sub(r',\s*"revision": \d+', "", encode_baseline(Baseline((stored,)))).encode(), "old"
    ).models[0]


@pytest.mark.parametrize(("then", "now"), [((), (1,)), ((1, 2), (1,))])
def test_what_was_counted_otherwise_is_neither_lost_nor_won_and_the_way_on_is_named(
    then: tuple[int, ...], now: tuple[int, ...]
) -> None:
    old = counted_by_an_older_graphbound(baseline_of(a_case(refusing(*then))))
    old = replace(old, places=())
    judged = judge(a_case(refusing(*now), old))
    check = of("cudagraph_refusals", judged)
    assert check.status is GateStatus.NOT_COMPARED
    assert check.message == (
        f"1 refused CUDA graph; not compared: graphbound.baseline.json has {len(then)}, by another Graphbound that "
        "counted it otherwise: --init stores it anew"
    )
    assert judged.has_passed
    assert not judged.warnings, "nor is what the rule finds news"
    renewed = baseline_of(a_case(refusing(*now)), old)
    assert of("cudagraph_refusals", judge(a_case(refusing(*now), renewed))).status is GateStatus.PASSED
    assert of("cudagraph_refusals", judge(a_case(refusing(1, 2, 3), renewed))).status is GateStatus.FAILED


def test_a_value_that_is_the_same_still_holds_however_it_was_counted() -> None:
    old = counted_by_an_older_graphbound(baseline_of(a_case(refusing(1))))
    assert of("cudagraph_refusals", judge(a_case(refusing(1), old))).status is GateStatus.PASSED
    limited = a_policy(cudagraph_refusals=["error", {"max": 0}])
    assert of("cudagraph_refusals", judge(a_case(refusing(1), old, policy=limited))).status is GateStatus.FAILED
    zero = counted_by_an_older_graphbound(baseline_of(a_case(refusing())))
    limited_alike = of("cudagraph_refusals", judge(a_case(refusing(1), zero, policy=limited)))
    assert limited_alike.status is GateStatus.FAILED, "a written limit is no stored value"


def test_one_break_for_another_is_a_new_finding_though_the_number_is_the_same() -> None:
    elsewhere = replace(a_break(99), where=SourceLine("/home/ada/gptlite.py", 99, "attend"))
    judged = judge(a_case(a_model_report(findings=(elsewhere,)), a_model_report(findings=(a_break(57),))))
    assert of("graph_breaks", judged).status is GateStatus.PASSED
    found = of("new_findings", judged)
    assert found.status is GateStatus.WARNED
    assert found.where == elsewhere.where


def test_what_a_count_has_named_is_not_told_again_as_a_new_finding() -> None:
    judged = judge(a_case(a_model_report(breaks=1), a_model_report()))
    assert of("new_findings", judged).status is GateStatus.PASSED


def test_fewer_breaks_are_an_improvement_that_passes() -> None:
    judged = judge(a_case(a_model_report(), a_model_report(breaks=1)))
    assert of("graph_breaks", judged).status is GateStatus.IMPROVED
    assert judged.has_passed


def test_less_code_of_a_model_that_stops_more_often_is_no_improvement() -> None:
    before, after = a_model_report(breaks=1), a_model_report(findings=(a_break(57), a_break(58)))
    for report, stored, gain in ((after, before, False), (a_model_report(), before, True)):
        judged = judge(a_case(report, stored))
        for gate in ("graphs", "generated_code"):
            check = of(gate, judged)
            assert check.status is (GateStatus.IMPROVED if gain else GateStatus.PASSED), (gate, gain)
            assert check.message.endswith("; no gain where capture stops more often") is not gain


def test_without_a_baseline_it_says_so_and_passes() -> None:
    judged = judge(a_case(a_model_report(breaks=3)))
    check = of("graph_breaks", judged)
    assert check.status is GateStatus.NOT_COMPARED
    assert "nothing is stored" in check.message
    assert judged.has_passed


def test_a_model_that_the_base_does_not_have_is_said_to_be_missing_there() -> None:
    judged = judge(replace(a_case(a_model_report(breaks=3)), against="main"))
    for gate in ("graph_breaks", "new_findings"):
        assert of(gate, judged).message.endswith("not compared: main has no value of it")


def test_a_written_limit_needs_no_baseline_and_blames_every_break() -> None:
    judged = judge(a_case(a_model_report(breaks=2), policy=a_policy(graph_breaks=["error", {"max": 1}])))
    check = of("graph_breaks", judged)
    assert check.status is GateStatus.FAILED
    assert len(check.places) == 2


def test_a_written_limit_stands_for_the_stored_value() -> None:
    policy = a_policy(graph_breaks=["error", {"max": 3}], graphs=["error", {"max": 9}])
    assert (
        of("graph_breaks", judge(a_case(a_model_report(3), a_model_report(), policy=policy))).status
        is GateStatus.PASSED
    )
    assert of("graph_breaks", judge(a_case(a_model_report(4), a_model_report(), policy=policy))).is_failure


def test_a_gate_that_warns_fails_nothing_and_one_that_is_off_is_not_there() -> None:
    policy = a_policy(graph_breaks="warn", graphs="off")
    judged = judge(a_case(a_model_report(breaks=1), a_model_report(), policy=policy))
    assert of("graph_breaks", judged).status is GateStatus.WARNED
    assert all(check.gate != "graphs" for check in judged.checks)
    assert "graph_breaks" not in [check.gate for check in judged.failures]


def test_what_cannot_be_judged_fails_with_its_reason() -> None:
    report = a_model_report(rule_failures=(RuleFailure("graph_break", "no log"),))
    check = of("graph_breaks", judge(a_case(report, a_model_report())))
    assert check.status is GateStatus.BROKEN
    assert check.is_failure
    assert "no log" in check.message


def test_without_a_capture_every_gate_of_graphs_fails() -> None:
    judged = judge(a_case(a_model_report(capture=None), a_model_report()))
    for gate in ("graphs", "graph_breaks", "recompiles"):
        assert of(gate, judged).status is GateStatus.BROKEN, gate
    assert not judged.has_passed


def test_what_there_cannot_be_is_said_and_fails_only_where_it_was_asked_for() -> None:
    quiet = judge(a_case(a_model_report()))
    assert of("plan_coverage", quiet).status is GateStatus.NOT_COMPARED
    assert "no plan" in of("plan_coverage", quiet).message
    asked = judge(a_case(a_model_report(), policy=a_policy(plan_coverage=["error", {"min": 0.9}])))
    assert of("plan_coverage", asked).is_failure


def test_the_comment_on_its_line_takes_a_break_out() -> None:
    silences = read_silences(
        "/home/ada/gptlite.py", "\n" * 56 + "x.item()  # graphbound: ignore[graph_break]\n", ["graph_break"]
    )
    judged = judge(a_case(a_model_report(breaks=1), a_model_report(), silences=silences))
    assert of("graph_breaks", judged).status is GateStatus.SILENCED
    assert of("graphs", judged).status is GateStatus.SILENCED
    assert judged.has_passed
    assert [str(one.where) for one in judged.silenced] == ["/home/ada/gptlite.py:57"]


def test_a_comment_takes_only_its_own_line_out() -> None:
    silences = read_silences(
        "/home/ada/gptlite.py", "\n" * 56 + "x.item()  # graphbound: ignore[graph_break]\n", ["graph_break"]
    )
    judged = judge(a_case(a_model_report(breaks=2), a_model_report(), silences=silences))
    check = of("graph_breaks", judged)
    assert check.is_failure
    assert check.places == (at("/home/ada/gptlite.py:58"),)


def test_a_number_from_another_torch_warns_and_names_both() -> None:
    before = baseline_of(a_case(a_model_report()))
    judged = judge(a_case(a_model_report(breaks=1), replace(before, torch="2.11.0")))
    check = of("graph_breaks", judged)
    assert check.status is GateStatus.WARNED
    assert check.level is GateLevel.WARN
    assert "2.11.0" in check.message
    assert "2.13.0" in check.message
    # A build of one release is that release.
    assert of("graph_breaks", judge(a_case(a_model_report(1), replace(before, torch="2.13.1+cpu")))).is_failure


def test_a_pass_says_that_gates_stored_with_another_torch_only_warn() -> None:
    before = baseline_of(a_case(a_model_report()))
    (note,) = judge(a_case(a_model_report(), replace(before, torch="2.11.0"))).notes
    assert note.startswith("graphbound.baseline.json was stored with torch 2.11.0, and this is 2.13.0: ")
    assert "--init" in note
    assert judge(a_case(a_model_report(), replace(before, torch="2.13.1+cpu"))).notes == ()


@pytest.mark.parametrize(
    ("size", "status"), [(10_900, GateStatus.PASSED), (11_200, GateStatus.WARNED), (8_000, GateStatus.IMPROVED)]
)
def test_generated_code_may_differ_by_its_margin(size: int, status: GateStatus) -> None:
    before = a_model_report()
    assert before.capture is not None
    graphs = tuple(replace(graph, code_bytes=size) for graph in before.capture.graphs)
    after = replace(before, capture=replace(before.capture, graphs=graphs))
    check = of("generated_code", judge(a_case(after, before)))
    assert check.status is status
    if status is GateStatus.WARNED:
        assert check.where == at("/home/ada/gptlite.py:41")


def test_more_kernels_name_the_graph_that_has_them() -> None:
    before = a_model_report()
    after = replace(before, graphs=(replace(before.graphs[0], kernels_per_step=300.0),))
    check = of("kernels", judge(a_case(after, before)))
    assert check.is_failure
    assert check.where == at("/home/ada/gptlite.py:41")
    assert "the graph that begins at gptlite.py:41" in check.message


def test_another_graph_without_another_break_is_named_by_where_it_begins() -> None:
    """As a break that moved into a called function makes one: it divides the caller too."""
    before, after = a_model_report(), a_model_report(breaks=1, findings=())
    check = of("graphs", judge(a_case(after, before)))
    assert check.is_failure
    assert check.message.endswith("the graph that begins at gptlite.py:42")
    assert check.where == at("/home/ada/gptlite.py:42")
    assert check.remedy is None
    unmeasured = replace(
        before, capture=replace(before.capture, graphs=(replace(before.capture.graphs[0], code_bytes=None),))
    )
    assert of("graphs", judge(a_case(after, unmeasured))).where is None


def test_a_break_that_moved_into_a_called_function_is_said_to_divide_its_callers() -> None:
    there = a_break(57)
    moved = replace(there, where=replace(at("/home/ada/gptlite.py:58"), function="tail"))
    text = Lines({57: "print(x)", 58: "print(x)"})
    before = a_model_report(findings=(there,))
    judged = judge(a_case(a_model_report(breaks=1, findings=(moved,)), before, sources=text))
    assert of("graph_breaks", judged).status is GateStatus.PASSED
    check = of("graphs", judged)
    assert check.is_failure
    assert str(check.remedy).startswith("the break at gptlite.py:58 was elsewhere before")
    stayed = a_case(a_model_report(breaks=1, findings=(there,)), before, sources=text)
    assert of("graphs", judge(stayed)).remedy is None


def test_a_rule_that_could_not_judge_then_finds_nothing_new_now() -> None:
    before = a_model_report(rule_failures=(RuleFailure("missing_no_grad", "not recorded"),))
    from tests.reports import a_finding

    after = a_model_report(findings=(a_finding("missing_no_grad"),))
    assert of("new_findings", judge(a_case(after, before))).status is GateStatus.PASSED
    assert of("new_findings", judge(a_case(after, a_model_report()))).status is GateStatus.WARNED


def test_a_graph_that_grew_says_what_is_new_in_it() -> None:
    before = a_model_report()
    graphs = before.capture.graphs if before.capture is not None else ()
    grown = replace(graphs[0], code_bytes=20_000, source=(at("/home/ada/gptlite.py:41"), at("/home/ada/gptlite.py:44")))
    new = a_finding("unused_gradients", where=at("/home/ada/gptlite.py:44"), message="gradients of a parameter")
    head = replace(before, capture=replace(before.capture, graphs=(grown,)), findings=(new,))
    judged = judge(a_case(head, before))
    code, told = of("generated_code", judged), of("new_findings", judged)
    assert (code.where, code.rule, code.cause) == (new.where, "unused_gradients", new.message)
    # The finding itself is the better headline than the bytes that it moved.
    assert told.status is GateStatus.WARNED
    assert judged.checks.index(told) < judged.checks.index(code)


def test_a_new_finding_elsewhere_explains_no_graph_that_grew() -> None:
    before = a_model_report()
    graphs = before.capture.graphs if before.capture is not None else ()
    grown = replace(graphs[0], code_bytes=20_000)
    new = a_finding("host_constant", where=at("/home/ada/other.py:3"))
    head = replace(before, capture=replace(before.capture, graphs=(grown,)), findings=(new,))
    code = of("generated_code", judge(a_case(head, before)))
    assert (code.rule, code.cause) == (None, None)
    assert code.where == grown.where


def test_a_count_past_its_limit_says_why_and_how_sure_that_is() -> None:
    check = of("graph_breaks", judge(a_case(a_model_report(breaks=1), a_model_report())))
    finding = a_model_report(breaks=1).findings[0]
    assert (check.cause, check.confidence) == (finding.message, finding.confidence)

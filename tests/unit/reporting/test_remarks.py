"""Remarks stand where the user can act, the worst first, and are the same ones after lines were added above."""

from __future__ import annotations

from dataclasses import replace

from analyzer.core.finding import Confidence
from analyzer.core.gate import GateStatus, ModelGate, SilencedFinding
from analyzer.reporting.remarks import DID_NOT_RUN, PARTIAL, Level, Place, gate_remarks, report_remarks, told
from analyzer.reporting.repository import LineText, Repository
from tests.gate_results import a_check, a_failed_check, a_gate, a_model_gate, a_quiet_gate
from tests.reports import MS, a_finding, a_report, an_empty_report, at

HOME = Repository(("/home/ada",), "/home/ada")


def _prints(report_findings: tuple, repository: Repository = HOME) -> list[str]:  # type: ignore[type-arg]
    return [r.fingerprint for r in report_remarks(a_report(findings=report_findings), repository)]


def test_the_dearest_comes_first_and_an_unknown_cost_last() -> None:
    findings = tuple(a_finding(f"r{i}", ns_per_step=ns) for i, ns in enumerate((None, MS, 3 * MS)))
    assert [r.id for r in report_remarks(a_report(findings=findings), HOME)] == ["r2", "r1", "r0"]


def test_a_finding_outside_of_the_repository_stands_at_the_models_file_without_a_line() -> None:
    away = a_finding(where=at("/usr/lib/net.py:7"))
    (remark,) = report_remarks(a_report(findings=(away,)), HOME)
    assert remark.place == Place("gptlite.py", None)
    assert remark.where == away.where
    assert "(net.py:7)" in told(remark)


def test_a_trace_is_no_source_to_stand_at() -> None:
    report = a_report(findings=(a_finding(where=None),))
    report = replace(report, workload=replace(report.workload, source="/home/ada/trace.json.gz"))
    assert [r.place for r in report_remarks(report, HOME)] == [Place(None, None)]


def test_line_nought_is_no_line_of_a_file() -> None:
    (remark,) = report_remarks(a_report(findings=(a_finding(where=at("/home/ada/gptlite.py:0")),)), HOME)
    assert remark.place == Place("gptlite.py", 1)


def test_a_fingerprint_survives_lines_added_above_and_another_measurement() -> None:
    first = a_finding(where=at("/home/ada/gptlite.py:57"), message="0.8 ms lost", ns_per_step=MS)
    moved = a_finding(where=at("/home/ada/gptlite.py:63"), message="0.9 ms lost", ns_per_step=None)
    assert _prints((first,)) == _prints((moved,))


def test_a_fingerprint_is_the_same_in_another_checkout() -> None:
    there = Repository(("/builds/7",), "/builds/7")
    assert _prints((a_finding(),)) == _prints((a_finding(where=at("/builds/7/gptlite.py:57")),), there)


def test_a_new_line_before_another_one_keeps_the_others_fingerprint() -> None:
    first, second = at("/home/ada/gptlite.py:57"), at("/home/ada/gptlite.py:60")
    texts = Repository(HOME.roots, HOME.folder, (LineText(first, "print(x)"), LineText(second, "x.item()")))
    before = Repository(HOME.roots, HOME.folder, (LineText(first, "x.item()"),))
    assert _prints((a_finding(where=first),), before)[0] in _prints(
        (a_finding(where=first, ns_per_step=9 * MS), a_finding(where=second)), texts
    )


def test_findings_that_only_their_line_tells_apart_differ_and_do_not_depend_on_their_cost() -> None:
    here, there = a_finding(where=at("/home/ada/a.py:1")), a_finding(where=at("/home/ada/a.py:2"))
    cheap_first = _prints((here, replace(there, ns_per_step=9 * MS)))
    dear_first = _prints((replace(here, ns_per_step=9 * MS), there))
    assert len(set(cheap_first)) == 2
    assert cheap_first == list(reversed(dear_first))


def test_a_check_is_said_at_the_line_of_its_finding_once() -> None:
    remarks = gate_remarks(a_gate(), HOME)
    assert [(r.id, r.level, r.is_gated) for r in remarks] == [("graph_break", Level.ERROR, True)]
    assert remarks[0].place == Place("gptlite.py", 57)
    assert remarks[0].fingerprint == report_remarks(a_report(), HOME)[0].fingerprint


def test_other_findings_come_after_what_failed_and_are_not_gated() -> None:
    other = a_finding("host_sync", where=at("/home/ada/gptlite.py:90"), ns_per_step=99 * MS)
    model = a_model_gate(report=a_report(findings=(other, a_finding())))
    assert [(r.id, r.is_gated) for r in gate_remarks(a_gate(model), HOME)] == [
        ("graph_break", True),
        ("host_sync", False),
    ]


def test_nothing_is_gated_where_every_gate_passed() -> None:
    assert [r.is_gated for r in gate_remarks(a_quiet_gate(), HOME)] == [False]


def test_a_gate_that_could_not_run_is_an_error_with_its_reason() -> None:
    check = a_check("memory_peak", GateStatus.BROKEN, message="no peak", reason="the run had no GPU")
    (remark,) = [r for r in gate_remarks(a_gate(a_model_gate(checks=(check,))), HOME) if r.is_gated]
    assert (remark.id, remark.level) == ("gate_memory_peak", Level.ERROR)
    assert remark.message == "no peak: the run had no GPU"


def test_a_warned_check_is_a_warning_after_the_errors_of_all_models() -> None:
    warned = a_model_gate("first", checks=(a_check("step_time", GateStatus.WARNED),))
    failed = a_model_gate("second", checks=(a_failed_check(),))
    said = [(r.model, r.level) for r in gate_remarks(a_gate(warned, failed), HOME) if r.is_gated]
    assert said == [("second", Level.ERROR), ("first", Level.WARNING)]


def test_a_model_that_did_not_run_is_an_error() -> None:
    lost = ModelGate("lost", None, (), error="it raised ValueError")
    (remark,) = gate_remarks(a_gate(lost), HOME)
    assert (remark.id, remark.level, remark.is_gated) == (DID_NOT_RUN, Level.ERROR, True)
    assert remark.place == Place(None, None)
    (remark,) = gate_remarks(a_gate(replace(lost, error_at=at("/home/ada/net.py:12"))), HOME)
    assert remark.place == Place("net.py", 12)


def test_a_report_that_ended_early_says_so_at_the_line_that_ended_it() -> None:
    partial = report_remarks(a_report(partial="it raised", partial_at=at("/home/ada/net.py:12"), findings=()), HOME)
    assert [(remark.id, remark.place) for remark in partial] == [(PARTIAL, Place("net.py", 12))]


def test_every_line_that_a_failed_check_is_about_is_said_at_its_own_line() -> None:
    wheres = tuple(at(f"/home/ada/gptlite.py:{line}") for line in (57, 58, 90))
    found = tuple(a_finding("graph_break", where=where, message=f"at {where.line}") for where in wheres)
    check = a_failed_check(places=wheres[:2], message="2 graph breaks")
    model = a_model_gate(report=a_report(findings=found, partial=None), checks=(check,))
    gated = [remark for remark in gate_remarks(a_gate(model), HOME) if remark.is_gated]
    assert [(each.place.line, each.level) for each in gated] == [(57, Level.ERROR), (58, Level.ERROR)]
    assert gated[1].message == "at 58", "with its own cause"
    warned = replace(model, checks=(replace(check, status=GateStatus.WARNED),))
    assert [each.level for each in gate_remarks(a_gate(warned), HOME)][:2] == [Level.WARNING] * 2
    silenced = replace(model, silenced=(SilencedFinding("graph_break", wheres[1]),))
    assert [each.place.line for each in gate_remarks(a_gate(silenced), HOME) if each.is_gated] == [57]


def test_a_silenced_finding_is_marked() -> None:
    where = at("/home/ada/gptlite.py:57")
    quiet = a_model_gate(checks=(), silenced=(SilencedFinding("graph_break", where),))
    assert [r.is_silenced for r in gate_remarks(a_gate(quiet), HOME)] == [True]


def test_that_a_report_is_partial_is_said_first() -> None:
    remarks = report_remarks(an_empty_report(), HOME)
    assert [(r.id, r.level) for r in remarks] == [(PARTIAL, Level.WARNING)]


def test_what_is_likely_is_not_told_as_sure() -> None:
    likely, sure = (
        report_remarks(a_report(findings=(a_finding(confidence=c),)), HOME)[0]
        for c in (Confidence.LIKELY, Confidence.CERTAIN)
    )
    assert "Likely, not certain" in told(likely)
    assert "certain" not in told(sure)


def test_numbers_that_one_line_moved_are_one_remark_with_its_cause() -> None:
    where = at("/home/ada/gptlite.py:57")
    checks = tuple(
        a_check(
            gate, rule="graph_break", where=where, message=message, cause="capture stops here: print", status=status
        )
        for gate, message, status in (
            ("graph_breaks", "1 graph break", GateStatus.FAILED),
            ("graphs", "2 graphs", GateStatus.FAILED),
            ("generated_code", "33 KiB", GateStatus.WARNED),
        )
    )
    other = a_check("kernels", rule=None, where=where, message="9 kernels")
    remarks = [r for r in gate_remarks(a_gate(a_model_gate(checks=(*checks, other))), HOME) if r.is_gated]
    assert [(r.id, r.level, r.message) for r in remarks] == [
        ("graph_break", Level.ERROR, "1 graph break. Capture stops here: print. Also: 2 graphs; 33 KiB"),
        ("gate_kernels", Level.ERROR, "9 kernels"),
    ]


def test_a_cause_that_is_likely_alone_is_said_to_be() -> None:
    check = a_failed_check(cause="a tensor is made", confidence=Confidence.LIKELY)
    (remark,) = [r for r in gate_remarks(a_gate(a_model_gate(checks=(check,))), HOME) if r.is_gated]
    assert "Likely, not certain" in told(remark)


def test_a_fingerprint_of_a_gate_holds_no_line_and_no_number() -> None:
    first = a_failed_check(message="1 graph break, 0 in main")
    moved = replace(first, where=at("/home/ada/gptlite.py:91"), message="2 graph breaks, 1 in main", measured=2.0)
    prints = [
        [r.fingerprint for r in gate_remarks(a_gate(a_model_gate(checks=(check,), report=a_report(findings=()))), HOME)]
        for check in (first, moved)
    ]
    assert prints[0] == prints[1]

"""Several models on one page: a line each, and the first blocks of each report below."""

from __future__ import annotations

import re
from dataclasses import replace

from analyzer.core.gate import GateStatus
from analyzer.core.model_runs import ModelRun, ModelRuns
from analyzer.reporting import html_models
from analyzer.reporting.html_document import MOST_BYTES
from analyzer.reporting.html_models import render_gate, render_runs
from analyzer.reporting.renderer import Page
from tests.contract.test_renderers_of_runs import some_runs
from tests.gate_results import a_check, a_gate, a_model_gate
from tests.reports import a_finding, a_report


def test_what_did_not_run_and_what_ended_early_is_loud_and_has_its_exit_code() -> None:
    page = render_runs(some_runs(), Page())
    assert '<p class="loud">it did not run: Net.forward raised</p><p class="quiet">exit code 3</p>' in page
    assert "it ended early: the process was lost" in page
    assert page.count("<summary>") == 2, "a report for each that has one"
    assert "analyze a.py b.py c.py" in page


def test_a_gate_that_failed_says_what_to_do_and_how_to_accept_it() -> None:
    check = a_check(status=GateStatus.FAILED, remedy="take the print away")
    gate = a_gate(a_model_gate(checks=(check,)), accept="text", accept_file="graphbound.baseline.json")
    page = render_gate(gate, Page())
    assert "<h1>FAILED: " in page
    assert "take the print away" in page
    assert f"{gate.command} --init" in page
    lost = render_gate(a_gate(a_model_gate(checks=(), report=None, error="it raised")), Page())
    assert "it could not be judged: it raised" in lost
    assert "<details" not in lost


def test_no_id_is_there_twice_and_nothing_is_loaded() -> None:
    for page in (render_runs(some_runs(), Page()), render_gate(a_gate(), Page())):
        ids = re.findall(r' id="([^"]*)"', page)
        assert len(ids) == len(set(ids))
        assert "<script" not in page
        assert "default-src 'none'" in page.replace("&#x27;", "'")
        assert re.findall(r'(?:src|href)="(?!#)', page) == []


def test_many_models_keep_within_what_a_page_may_have_and_none_loses_its_line() -> None:
    report = a_report(findings=(a_finding(message="long " * 100),) * 5)
    runs = tuple(ModelRun(f"m{number}.py", report, f"runs/{number}") for number in range(300))
    page = render_runs(ModelRuns("300 models", runs, "analyze"), Page())
    assert len(page.encode()) <= MOST_BYTES
    assert all(f"<code>{run.name}</code>" in page for run in runs)
    left = 300 - page.count("<summary>")
    assert left > 0
    assert f"{left} reports were left out for want of room" in page


def test_more_than_a_page_lists_is_counted() -> None:
    run = ModelRun("m.py", None, None, 3, "no")
    most = html_models.MOST_MODELS
    page = render_runs(ModelRuns("many", (run,) * (most + 7), "analyze"), Page())
    assert "and 7 more models" in page
    checks = (a_check(),) * (html_models.MOST_CHECKS + 2)
    assert "and 2 more gates" in render_gate(a_gate(a_model_gate(checks=checks)), Page())


def test_findings_that_the_page_does_not_hold_are_in_the_report() -> None:
    report = replace(a_report(), findings=tuple(a_finding(rule=f"rule_{n}") for n in range(5)))
    page = render_runs(ModelRuns("1", (ModelRun("m.py", report, None),), "analyze"), Page())
    assert "2 more are in report.json." in page


def test_models_and_folders_that_differ_in_white_space_are_told_apart() -> None:
    runs = (ModelRun("my net.py", a_report(), "runs/a b"), ModelRun("my  net.py", a_report(), "runs/a  b"))
    page = render_runs(ModelRuns("2 models", runs, "analyze"), Page())
    for text in ("<code>my␣net.py</code>", "<code>my␣␣net.py</code>", ">runs/a␣b</td>", ">runs/a␣␣b</td>"):
        assert text in page
    assert "<summary>my␣␣net.py: the report</summary>" in page
    gate = a_gate(a_model_gate(name="a b"), a_model_gate(name="a\tb"), a_model_gate(name="c d"))
    found = render_gate(gate, Page())
    for title in ("a␣b", "a\\x09b", "c d"):
        assert f"<h2>{title}</h2>" in found

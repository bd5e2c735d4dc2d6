"""What code scanning makes of the log: a result at a line of the repository, the same one next time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analyzer.core.gate import SilencedFinding
from analyzer.reporting import sarif
from analyzer.reporting.renderer import Page
from analyzer.reporting.repository import Repository
from analyzer.reporting.word import Word
from analyzer.rules import RULES
from analyzer.rules.explain import explain
from tests.gate_results import a_check, a_gate, a_model_gate
from tests.reports import a_finding, a_report, an_empty_report, at

HOME = Repository(("/home/ada",), "/home/ada")
PAGE = Page(repository=HOME, rules=tuple(Word(rule.id, rule.doc) for rule in RULES))


def _run(text: str) -> dict[str, Any]:
    (run,) = json.loads(text)["runs"]
    return dict(run)


def _notices(run: dict[str, Any], level: str) -> list[str]:
    said = run["invocations"][0]["toolExecutionNotifications"]
    return [notice["message"]["text"] for notice in said if notice["level"] == level]


def test_a_result_stands_at_its_line_below_the_root() -> None:
    (result,) = _run(sarif.render(a_report(), PAGE))["results"]
    assert result["level"] == "warning"
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "gptlite.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 57},
    }


def test_every_rule_is_described_by_the_text_of_explain() -> None:
    rules = _run(sarif.render(a_report(findings=()), PAGE))["tool"]["driver"]["rules"]
    described = {rule["id"]: rule for rule in rules}
    for rule in RULES:
        shown = described[rule.id]
        assert shown["shortDescription"]["text"] == rule.title
        body = explain(rule.id).partition("\n")[2].split()
        assert shown["help"]["text"].split() == body
        assert shown["help"]["markdown"].replace("**", "").split() == body
        assert shown["help"]["markdown"].startswith("**What it finds**\n")
        assert len(shown["fullDescription"]["text"]) <= 1_024
        assert not shown["fullDescription"]["text"].startswith("What it finds")


def test_a_path_is_an_uri() -> None:
    assert sarif.uri("a b/ü:%.py") == "a%20b/%C3%BC%3A%25.py"
    assert sarif.uri("bytes\udcff.py") == "bytes%FF.py"
    assert sarif.uri("half\ud800.py") == "half%5Cud800.py"


def test_a_result_without_a_file_of_the_repository_becomes_a_notification() -> None:
    report = a_report(findings=(a_finding(where=at("/opt/net.py:7")),))
    run = _run(sarif.render(report, Page()))
    assert run["results"] == []
    assert _notices(run, "warning") == [
        "graph_break at net.py:7, outside of the repository: Tensor.item() needs the value on the host"
    ]


def test_what_no_rule_could_judge_and_that_a_run_ended_early_are_said() -> None:
    assert "recompile could not judge: no recompile log in this torch" in _notices(
        _run(sarif.render(a_report(), PAGE)), "note"
    )
    run = _run(sarif.render(an_empty_report(), PAGE))
    assert run["invocations"][0]["executionSuccessful"] is False
    assert [result["ruleId"] for result in run["results"]] == ["partial_report"]


def test_a_failed_gate_is_an_error_of_its_rule_or_of_its_own() -> None:
    gate = a_gate(a_model_gate(checks=(*a_model_gate().checks, a_check("compile_seconds"))))
    results = _run(sarif.render_gate(gate, PAGE))["results"]
    assert [(result["ruleId"], result["level"]) for result in results] == [
        ("graph_break", "error"),
        ("gate_compile_seconds", "error"),
    ]


def test_a_silenced_finding_is_suppressed_in_source() -> None:
    silenced = (SilencedFinding("graph_break", at("/home/ada/gptlite.py:57")),)
    (result,) = _run(sarif.render_gate(a_gate(a_model_gate(checks=(), silenced=silenced)), PAGE))["results"]
    assert result["suppressions"][0]["kind"] == "inSource"


def test_text_of_a_message_is_no_link() -> None:
    (result,) = _run(sarif.render(a_report(findings=(a_finding(message="see [here](1)"),)), PAGE))["results"]
    assert result["message"]["text"].startswith("See [here] (1)")


def test_more_results_than_are_shown_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_RESULTS", 2)
    findings = tuple(a_finding(f"r{i}", ns_per_step=9 - i) for i in range(5))
    run = _run(sarif.render(a_report(findings=findings), PAGE))
    assert [result["ruleId"] for result in run["results"]] == ["r0", "r1"]
    assert _notices(run, "warning") == ["3 lesser results were left out"]

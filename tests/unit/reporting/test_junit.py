"""What did not run has not passed."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from analyzer.core.gate import GateLevel, GateStatus, ModelGate
from analyzer.reporting import junit
from analyzer.reporting.renderer import Page
from analyzer.reporting.repository import Repository
from analyzer.reporting.word import Word
from analyzer.version import VERSION
from tests.gate_results import a_check, a_gate, a_model_gate
from tests.reports import a_report, an_empty_report, at

PAGE = Page(rules=(Word("graph_break", "A"), Word("host_sync", "B")))


def _outcomes(text: str) -> dict[str, str]:
    """Of each test the element that says how it ended; `` for one that passed."""
    cases = ElementTree.fromstring(text).iter("testcase")
    return {case.attrib["name"]: "".join(child.tag for child in case) for case in cases}


def test_a_rule_that_found_something_failed_and_one_that_could_not_judge_is_skipped() -> None:
    report = a_report()
    report = replace(report, versions=replace(report.versions, graphbound=VERSION))
    assert _outcomes(junit.render(report, PAGE)) == {"graph_break": "failure", "host_sync": "", "recompile": "skipped"}


def test_a_rule_that_the_reports_version_may_not_have_had_has_not_passed() -> None:
    report = a_report()
    older = replace(report, versions=replace(report.versions, graphbound="0.0.1"))
    assert _outcomes(junit.render(older, PAGE))["host_sync"] == "skipped"


def test_a_run_that_ended_early_is_an_error_and_passes_nothing() -> None:
    outcomes = _outcomes(junit.render(an_empty_report(), PAGE))
    assert outcomes == {"partial_report": "error", "graph_break": "skipped", "host_sync": "skipped"}


@pytest.mark.parametrize(
    ("status", "level", "element"),
    [
        (GateStatus.PASSED, GateLevel.ERROR, ""),
        (GateStatus.IMPROVED, GateLevel.ERROR, ""),
        (GateStatus.FAILED, GateLevel.ERROR, "failure"),
        (GateStatus.WARNED, GateLevel.WARN, "skipped"),
        (GateStatus.BROKEN, GateLevel.ERROR, "error"),
        (GateStatus.BROKEN, GateLevel.WARN, "skipped"),
        (GateStatus.SILENCED, GateLevel.ERROR, "skipped"),
        (GateStatus.NOT_COMPARED, GateLevel.ERROR, "skipped"),
    ],
)
def test_a_check_ends_as_its_gate_did(status: GateStatus, level: GateLevel, element: str) -> None:
    gate = a_gate(a_model_gate(checks=(a_check(status=status, level=level, reason="why"),)))
    assert _outcomes(junit.render_gate(gate, Page())) == {"graph_breaks": element}


def test_a_skipped_check_says_why() -> None:
    check = a_check(status=GateStatus.NOT_COMPARED, reason="another machine")
    skipped = ElementTree.fromstring(junit.render_gate(a_gate(a_model_gate(checks=(check,))), Page())).find(
        ".//skipped"
    )
    assert skipped is not None
    assert skipped.attrib["message"] == f"{check.message}: another machine"
    assert (skipped.text or "").count("another machine") == 1


def test_a_line_is_named_by_its_path_in_the_repository() -> None:
    check = a_check(status=GateStatus.FAILED, where=at("/repo/nets/net.py:3"), places=(at("/repo/nets/net.py:3"),))
    page = Page(repository=Repository(roots=("/repo",)))
    lost = ModelGate("two", None, (), error="it raised", error_at=at("/repo/other/net.py:5"))
    root = ElementTree.fromstring(junit.render_gate(a_gate(a_model_gate(checks=(check,)), lost), page))
    assert "at nets/net.py:3" in (root.findtext(".//failure") or "").splitlines()
    assert "at other/net.py:5" in (root.findtext(".//error") or "").splitlines()


def test_each_model_is_a_suite_and_one_that_did_not_run_an_error() -> None:
    root = ElementTree.fromstring(
        junit.render_gate(
            a_gate(a_model_gate("one"), ModelGate("two", None, (), error="it raised", error_at=at("n.py:3"))), Page()
        )
    )
    assert "at n.py:3" in (root.findtext(".//error") or "")
    assert [(suite.attrib["name"], suite.attrib["errors"]) for suite in root] == [("one", "0"), ("two", "1")]
    assert (root.attrib["failures"], root.attrib["errors"]) == ("1", "1")

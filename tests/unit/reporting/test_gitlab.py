"""GitLab compares by fingerprint: what it is given must be there, relative and unique."""

from __future__ import annotations

import json

from analyzer.core.gate import SilencedFinding
from analyzer.reporting import gitlab
from analyzer.reporting.renderer import Page
from analyzer.reporting.repository import Repository
from tests.gate_results import a_gate, a_model_gate
from tests.reports import a_finding, a_report, at

PAGE = Page(repository=Repository(("/home/ada",), "/home/ada"))


def test_an_issue_has_what_gitlab_asks_for() -> None:
    (issue,) = json.loads(gitlab.render(a_report(), PAGE))
    assert issue["location"] == {"path": "gptlite.py", "lines": {"begin": 57}}
    assert issue["check_name"] == "graph_break"
    assert issue["severity"] == "minor"
    assert "0.80 ms a step" in issue["description"]


def test_what_failed_a_gate_is_major() -> None:
    assert [i["severity"] for i in json.loads(gitlab.render_gate(a_gate(), PAGE))] == ["major"]


def test_an_issue_without_a_line_is_kept_and_says_where_it_was() -> None:
    (issue,) = json.loads(gitlab.render(a_report(findings=(a_finding(where=at("/opt/net.py:7")),)), PAGE))
    assert issue["location"] == {"path": "gptlite.py", "lines": {"begin": 1}}
    assert "(net.py:7)" in issue["description"]
    (issue,) = json.loads(gitlab.render(a_report(findings=(a_finding(where=at("/opt/net.py:7")),)), Page()))
    assert issue["location"]["path"] == "net.py"


def test_no_finding_is_an_empty_list_and_a_silenced_one_is_none() -> None:
    assert json.loads(gitlab.render(a_report(findings=()), PAGE)) == []
    silenced = (SilencedFinding("graph_break", at("/home/ada/gptlite.py:57")),)
    assert json.loads(gitlab.render_gate(a_gate(a_model_gate(checks=(), silenced=silenced)), PAGE)) == []

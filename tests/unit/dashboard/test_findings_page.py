"""The findings page: order, places, links, excerpts, silence, what could not be judged."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from plotly.utils import PlotlyJSONEncoder

from analyzer.core.finding import Confidence, Excerpt, Finding, RuleFailure
from analyzer.core.graphs import GraphBreak, SourceLine
from analyzer.rules import RULES
from dashboard.panels import findings
from dashboard.panels.findings import MOST_CARDS, cards_of
from dashboard.panels.findings_card import NOT_KEPT, address, card
from dashboard.panels.findings_places import finding_ids, graphs_of, is_silenced, section_of
from dashboard.run_folder import RunData, read_run
from tests.reports import MS, a_finding, a_graph, a_key, a_report, an_empty_report, at
from tests.unit.dashboard.runs import HOSTILE

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "mixed_graphs_h200"


def _run(**changes: Any) -> RunData:
    return RunData("runs/x", a_report(**changes), None, ())


def _text(components: Any) -> str:
    return json.dumps(components, cls=PlotlyJSONEncoder, ensure_ascii=False)


def _card(finding: Finding, **changes: Any) -> str:
    (one,) = cards_of(a_report(findings=(finding,), **changes), has_timeline=True)
    return _text(card(one))


def test_the_dearest_comes_first_and_what_is_not_known_last() -> None:
    costs = (3 * MS, None, 9 * MS, None, 1)
    report = a_report(findings=tuple(a_finding(message=str(n), ns_per_step=ns) for n, ns in enumerate(costs)))
    assert [one.finding.message for one in cards_of(report, has_timeline=False)] == ["2", "0", "4", "1", "3"]


def test_a_card_has_the_rule_its_place_its_cost_and_what_to_do() -> None:
    text = _card(a_finding(confidence=Confidence.CERTAIN, count=3))
    for wanted in (
        "graph_break",
        "Capture stops in the middle of the step.",
        "gptlite.py:57",
        "/home/ada/gptlite.py:57",
        "0.80 ms a step",
        "3 % of a step of 31.8 ms",
        "certain",
        "3 times",
        "Tensor.item() needs the value on the host",
        "capture_scalar_outputs",
        "Breaks come from torch's graph_breaks log.",
        "When it is wrong",
    ):
        assert wanted in text, wanted


def test_an_unknown_cost_is_said_and_has_no_bar() -> None:
    text = _card(a_finding(ns_per_step=None))
    assert "cost unknown" in text
    assert "gb-finding-share" not in text


def test_the_excerpt_marks_its_line_beside_its_colour() -> None:
    text = _card(a_finding(excerpt=Excerpt(56, ("before", "itself()", "behind"))))
    assert "▶    57 " in text
    assert text.count("▶") == 1
    assert text.index("before") < text.index("itself()") < text.index("behind")
    assert NOT_KEPT in _card(a_finding())


def test_ids_are_fit_for_an_address_stable_and_differ() -> None:
    same = a_finding()
    ids = finding_ids((same, same, a_finding(where=None), a_finding(rule="<b> x/", where=at("/a/ü b.py:3"))))
    assert ids == ("graph_break-gptlite.py-57", "graph_break-gptlite.py-57.2", "graph_break", "_b_x_-_b.py-3")
    assert address("a&b") == "#page=findings&finding=a%26b"


def test_a_card_leads_to_the_graphs_of_its_line() -> None:
    stop = GraphBreak(where=at("/home/ada/gptlite.py:57"), reason="r", hint=None, compile_id="0/0")
    report = a_report(graphs=(a_graph(ended_by=stop), a_graph("/home/ada/gptlite.py:88", number=2)))
    assert graphs_of(report, at("/home/ada/gptlite.py:57")) == (a_key(1),)
    assert graphs_of(report, SourceLine("/home/ada/gptlite.py", 88)) == (a_key(2),)
    assert graphs_of(report, at("/elsewhere/gptlite.py:57")) == ()
    assert graphs_of(report, None) == ()
    text = _card(a_finding(), graphs=report.graphs)
    assert f"#page=graphs&graph={a_key(1)}" in text
    assert f"#page=timeline&align=graph:{a_key(1)}" in text


def test_the_same_elsewhere_is_linked() -> None:
    report = a_report(findings=(a_finding(), a_finding(where=at("/home/ada/gptlite.py:99"), ns_per_step=1)))
    first, second = cards_of(report, has_timeline=False)
    assert first.elsewhere == ((second.id, "gptlite.py:99"),)
    assert address(second.id) in _text(card(first))


@pytest.mark.parametrize(
    ("line", "is_silent"),
    [
        ("x.item()  # graphbound: ignore[graph_break]", True),
        ("    if x:  # graphbound: ignore[graph_break, host_sync]", True),
        ("x.item()  # graphbound: ignore[host_sync]", False),
        ("x.item()", False),
        ("text = '# graphbound: ignore[graph_break]'", False),
    ],
)
def test_a_comment_that_silences_is_said(line: str, is_silent: bool) -> None:
    finding = a_finding(excerpt=Excerpt(56, ("a", line)))
    assert is_silenced(finding) is is_silent
    assert ("silenced in " in _card(finding)) is is_silent


def test_rules_that_could_not_judge_are_listed_with_their_reason() -> None:
    failures = (RuleFailure("host_sync", "no profiled pass"), RuleFailure("tf32_off", "the rule failed: ValueError: x"))
    text = _text(findings.build(_run(rule_failures=failures)))
    assert "2 rules could not judge" in text
    assert "no profiled pass" in text
    assert "ValueError: x" in _text(findings.build(_run(findings=(), rule_failures=failures)))


def test_a_thousand_findings_are_cut_and_counted() -> None:
    many = tuple(a_finding(where=at(f"m.py:{n}"), message=str(n)) for n in range(1, 1_001))
    text = _text(findings.build(_run(findings=many)))
    assert f"and {1_000 - MOST_CARDS} that cost less in report.json" in text
    assert len(text) < 2_000_000


def test_a_choice_of_one_is_not_offered() -> None:
    assert "findings: file" not in _text(findings.build(_run()))
    two = (a_finding(), a_finding("host_sync", where=at("b.py:2")))
    text = _text(findings.build(_run(findings=two)))
    for name in ("findings: file", "findings: rule", "findings: sort"):
        assert name in text


def test_empty_states_tell_none_found_from_none_judged() -> None:
    assert "No rule found its pattern" in _text(findings.build(_run(findings=())))
    nothing = RunData("runs/x", an_empty_report(), None, ())
    assert "No rule has judged this run" in _text(findings.build(nothing))
    assert "analyze model.py" in _text(findings.build(replace(nothing, report=None)))


def test_hostile_and_endless_names_are_cut_text() -> None:
    endless = a_finding(
        rule=HOSTILE * 9_000,
        message=HOSTILE + "x" * 1_000_000,
        remedy="\x1b[31m" + "y" * 1_000_000,
        where=SourceLine("z" * 1_000_000 + HOSTILE, 3, HOSTILE * 9_000),
    )
    text = _text(findings.build(_run(findings=(endless,))))
    assert len(text) < 20_000
    assert "\\\\x1b" in text


def test_every_rule_tells_how_it_measures() -> None:
    assert all(section_of(rule, "How it is measured") for rule in RULES)


def test_a_golden_shows_its_three_breaks() -> None:
    run = read_run(GOLDEN)
    assert run.report is not None
    cards = cards_of(run.report, has_timeline=True)
    assert [one.id for one in cards] == [f"graph_break-mixed_graphs.py-{line}" for line in (128, 132, 130)]
    assert all(len(one.elsewhere) == 2 for one in cards)
    assert [one.finding.ns_per_step for one in cards] == [61656, 61033, 1277]

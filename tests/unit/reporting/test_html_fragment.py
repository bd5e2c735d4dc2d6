"""The report in a notebook cell."""

from __future__ import annotations

from html import escape
from html.parser import HTMLParser

from analyzer.core.trial import Change
from analyzer.reporting.html_fragment import render
from analyzer.reporting.renderer import Page
from tests.reports import a_comparison, a_graph, a_plan_trial, a_report, an_accuracy, an_empty_report


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _tags(html: str) -> list[str]:
    parser = _Tags()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser.seen


def test_it_is_one_element_without_script_or_network() -> None:
    for report in (a_report(), an_empty_report()):
        html = render(report, Page())
        tags = _tags(html)
        assert tags[0] == "div"
        assert not {"script", "style", "link", "img", "iframe"} & set(tags)


def test_a_name_cannot_become_an_element() -> None:
    html = render(a_report(headline="<img src=x onerror=alert(1)>", graphs=(a_graph('"><script>.py:3'),)), Page())
    assert "img" not in _tags(html)
    assert "script" not in _tags(html)


def test_it_shows_the_verdicts_and_the_next_command() -> None:
    html = render(a_report(), Page())
    assert "CPU 92 %" in html
    assert "31.0 → 10.9 ms" in html
    assert ">analyze dashboard runs/gptlite-20260101-120000</code>" in html


def test_a_command_keeps_its_spaces_and_is_never_cut() -> None:
    command = "analyze dashboard 'my  runs/" + "x" * 500 + "'"
    assert f">{escape(command)}</code>" in render(a_report(next_command=command), Page())


def test_what_makes_a_report_doubtful_is_shown() -> None:
    assert "Partial report: interrupted" in render(an_empty_report(), Page())
    assert "NO GRAPH WAS CAPTURED" in render(a_report(graphs=()), Page())
    recorded = render(a_report(honesty=("12 replays have no row",) * 30), Page())
    assert recorded.index("12 replays have no row") < recorded.index("CPU-bound")
    assert "and 10 more in report.json" in recorded
    wrong = a_comparison(Change.WRONG_RESULT, accuracy=an_accuracy(is_right=False))
    assert "WRONG RESULT: what is compared" in render(a_report(comparison=wrong), Page())


def test_what_the_plan_did_is_said_and_a_model_that_is_left_alone_is_not_called_faster() -> None:
    assert "FASTER: results are right" in render(a_report(), Page())
    alone = a_report(plans=(a_plan_trial("eager", 11.5, is_chosen=True),))
    assert "LEFT ALONE" in render(alone, Page())
    assert "FASTER" not in render(alone, Page())


def test_a_thousand_rows_are_cut_and_counted() -> None:
    graphs = tuple(a_graph(f"m.py:{n}", n) for n in range(1, 1_001))
    assert "and 900 more in report.json" in render(a_report(graphs=graphs, eager_gaps=()), Page())

"""What holds for every format: it renders any report, hostile names included, the same way each time."""

from __future__ import annotations

import json
import sys
import unicodedata
from dataclasses import replace
from typing import Any

import pytest

from analyzer.commands.command import FORMATS
from analyzer.core.finding import Finding, RuleFailure
from analyzer.core.graphs import SourceLine
from analyzer.core.report import Report
from analyzer.reporting.renderer import Page, Renderer
from analyzer.reporting.renderers import RENDERERS, renderer
from tests.reports import (
    a_candidate,
    a_finding,
    a_graph,
    a_plan_trial,
    a_refusal,
    a_report,
    a_verdict,
    an_accuracy,
    an_empty_report,
)

HOSTILE = {
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)>&lt;",
    "attribute": "\" onmouseover='alert(1)' x=\"",
    "escapes": "\x1b[31mred\x1b[0m\x1b]0;title\x07\x9b2J\x1b[2K\r",
    "newlines": "one\ntwo\r\nthree\u2028four\x0bfive\x85six",
    "long": "void at::native::" + "elementwise<" * 166,
    "emoji": "👩‍🔬🚀模型テスト" * 6,
    "bidi": "\u202egnp.exe\u2066\u200b",
    "markup": "[bold red]not bold[/] :boom: {{template}} %(name)s",
    "surrogate": "mod\udc80el",
    "combining": "a" + "\u0301" * 50,
    "empty": "",
    "blank": " \t ",
}

PAGES = {
    "pipe": Page(),
    "terminal": Page(width=100, has_colour=True),
    "ascii": Page(is_ascii=True),
}

every_renderer = pytest.mark.parametrize("each", RENDERERS, ids=lambda r: r.id)
every_page = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES.keys())


def _named(name: str) -> Report:
    """A report in which every text that comes from the user's program is `name`."""
    where = SourceLine(file=f"/home/{name}/{name}.py", line=3, function=name)
    graph = replace(
        a_graph(),
        where=where,
        chosen=name,
        compile_ids=(name,),
        verdict=a_verdict(evidence=(name,), missing=name),
        candidates=(a_candidate(name, accuracy=an_accuracy(worst=name, detail=name)), a_refusal(name, name)),
    )
    report = a_report(graphs=(graph, replace(graph, where=None)))
    return replace(
        report,
        headline=name,
        workload=replace(report.workload, name=name, source=name, notes=(name,), inputs=(name,)),
        device=replace(report.device, name=name),
        findings=(a_finding(name, where=where, message=name, remedy=name), _unplaced(name)),
        rule_failures=(RuleFailure(name, name),),
        plans=(a_plan_trial(name, 3.0), a_plan_trial("default", None, reason=name)),
        notes=(name,),
        partial=name,
        next_command=f"analyze show {name}",
    )


def _unplaced(name: str) -> Finding:
    return a_finding(name, where=None, ns_per_step=None)


@every_renderer
def test_the_id_is_the_name_of_the_file(each: Renderer) -> None:
    module = sys.modules[each.render.__module__]  # type: ignore[attr-defined]
    assert module.__name__ == f"analyzer.reporting.{each.id}"
    assert module.RENDERER is each
    assert renderer(each.id) is each


def test_ids_differ_and_the_command_offers_only_what_there_is() -> None:
    ids = [r.id for r in RENDERERS]
    assert len(set(ids)) == len(ids)
    assert set(FORMATS) <= set(ids)
    with pytest.raises(KeyError):
        renderer("pdf")


@every_page
@every_renderer
@pytest.mark.parametrize("report", [a_report(), an_empty_report(), a_report(graphs=())], ids=["full", "empty", "eager"])
def test_any_report_renders_the_same_each_time(each: Renderer, page: Page, report: Report) -> None:
    text = each.render(report, page)
    assert text == each.render(report, page)
    assert text.endswith("\n")
    assert report.headline.split(" ")[0] in text


@every_page
@every_renderer
@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_name_is_harmless(each: Renderer, page: Page, name: str) -> None:
    text = each.render(_named(name), page)
    text.encode()
    without_colours = _without_our_colours(text) if page.has_colour and each.id == "terminal" else text
    hidden = {c for c in without_colours if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert hidden <= {"\n"}
    _CHECKS[each.id](text, page)


def _without_our_colours(text: str) -> str:
    from rich.text import Text

    plain = Text.from_ansi(text).plain
    # Only colours and weights: a sequence that moves the cursor or clears a line would be somebody else's.
    import re

    assert re.sub(r"\x1b\[[0-9;]*m", "", text).count("\x1b") == 0
    return plain


def _check_terminal(text: str, page: Page) -> None:
    from rich.cells import cell_len

    lines = _without_our_colours(text).splitlines() if page.has_colour else text.splitlines()
    assert lines[-1].startswith("analyze show")
    assert [line for line in lines[:-1] if cell_len(line) > page.width] == []
    assert "[bold red]not bold" in text or "bold red" not in text, "markup is text"


def _check_json(text: str, page: Page) -> None:
    decoded: Any = json.loads(text)
    assert decoded["next_command"].startswith("analyze show")


def _check_html(text: str, page: Page) -> None:
    from html.parser import HTMLParser

    class Elements(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag not in ("script", "img", "iframe", "style")
            assert not [name for name, _ in attrs if name.startswith("on")]

    Elements().feed(text)


_CHECKS = {"terminal": _check_terminal, "json": _check_json, "html_fragment": _check_html}


@every_renderer
def test_every_format_has_a_check_of_its_own(each: Renderer) -> None:
    assert each.id in _CHECKS

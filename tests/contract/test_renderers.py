"""What holds for every format: it renders any report, hostile names included, the same way each time."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import xmlschema
from markdown_it import MarkdownIt

from analyzer.commands.command import FORMATS
from analyzer.core.finding import Finding, RuleFailure
from analyzer.core.graphs import SourceLine
from analyzer.core.report import Report
from analyzer.reporting.renderer import Page, Renderer
from analyzer.reporting.renderers import RENDERERS, renderer
from analyzer.reporting.repository import Repository
from analyzer.reporting.shown_step import ShownLane
from analyzer.reporting.word import Word
from analyzer.rules import RULES
from tests.conftest import ROOT
from tests.gate_results import a_gate, a_hostile_gate, a_quiet_gate
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
from tests.shown_steps import SHADES, a_mark, a_step

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
    "workflow command": "::error::boom\n::stop-commands::word",
    "old workflow command": "##[add-mask]word ##[error]boom",
    "percent": "%0A::warning::boom%25",
    "cdata": "]]> <![CDATA[ --> <!-- ?>",
    "links": "[a](https://a.example/) ![i](https://a.example/i.png) www.a.example https://a.example/ <https://a.example>",
    "mentions": "@everyone #12 GH-12 ada/net#3 a@b.example",
    "table": "a|b\\|c `|` \\",
    "fences": "``` ~~~ ` <details></summary></details>",
    "list": "- 1. > # ===",
    "noncharacter": "a\ufffe\uffffb",
    "empty": "",
    "blank": " \t ",
}

PAGES = {
    "pipe": Page(),
    "terminal": Page(width=100, has_colour=True),
    "ascii": Page(is_ascii=True),
    "checkout": Page(repository=Repository(("/home",), "/home"), rules=tuple(Word(r.id, r.doc) for r in RULES)),
}

every_renderer = pytest.mark.parametrize("each", RENDERERS, ids=lambda r: r.id)
every_gate_renderer = pytest.mark.parametrize(
    "each", [r for r in RENDERERS if r.render_gate is not None], ids=lambda r: r.id
)
WIDTHS = ("terminal", "html_fragment")
"""The formats that are laid out for a page; to the others its width and colours are nothing."""
PAGED = [
    pytest.param(each, page, id=f"{each.id}-{name}")
    for each in RENDERERS
    for name, page in PAGES.items()
    if each.id in WIDTHS or name == ("pipe" if each.id == "json" else "checkout")
]

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
        honesty=(name,),
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
    if each.id != "gitlab":  # a list of issues, which has no place for it
        assert report.headline.split(" ")[0] in text


@pytest.mark.parametrize(("each", "page"), PAGED)
@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_name_is_harmless(each: Renderer, page: Page, name: str) -> None:
    text = each.render(_named(name), page)
    _assert_nothing_hidden(_without_our_colours(text) if page.has_colour and each.id == "terminal" else text)
    _CHECKS[each.id](text, page)


@every_gate_renderer
@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_name_is_harmless_in_what_a_gate_says(each: Renderer, name: str) -> None:
    assert each.render_gate is not None
    page = PAGES["checkout"]
    text = each.render_gate(a_hostile_gate(name), page)
    _assert_nothing_hidden(text)
    if each.id != "json":
        _CHECKS[each.id](text, page)
    else:
        assert [model["passed"] for model in json.loads(text)["models"]] == [False, False]


@every_gate_renderer
def test_any_gate_renders_the_same_each_time(each: Renderer) -> None:
    assert each.render_gate is not None
    for gate in (a_gate(), a_quiet_gate()):
        text = each.render_gate(gate, Page())
        assert text == each.render_gate(gate, Page())
        assert text.endswith("\n")
        if each.id != "gitlab":
            assert gate.headline in text


def _assert_nothing_hidden(text: str) -> None:
    text.encode()
    hidden = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert hidden <= {"\n"}


def _without_our_colours(text: str) -> str:
    from rich.text import Text

    plain = Text.from_ansi(text).plain
    # Only colours and weights: a sequence that moves the cursor or clears a line would be somebody else's.
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
    class Elements(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag not in ("script", "img", "iframe", "style")
            assert not [name for name, _ in attrs if name.startswith("on")]

    Elements().feed(text)


PAGE_ELEMENTS = {"html", "head", "meta", "title", "style", "body", "header", "main", "section", "article", "footer"} | {
    "h1", "h2", "h3", "p", "ul", "li", "dl", "dt", "dd", "pre", "code", "strong", "span", "div", "details", "summary",
    "table", "thead", "tbody", "tr", "th", "td", "fieldset", "legend", "label", "input",
    "svg", "defs", "pattern", "path", "g", "rect", "line", "circle", "text",
}  # fmt: skip
PAGE_ATTRIBUTES = {"class", "id", "lang", "charset", "http-equiv", "content", "name", "scope", "title", "type"} | {
    "aria-label", "aria-hidden", "role", "checked",
    "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "d", "width", "height", "fill", "fill-opacity", "stroke",
    "stroke-width", "stroke-opacity", "text-anchor", "patternunits",
}  # fmt: skip
"""None of them loads, links or runs anything, or carries a style."""


class _PageReader(HTMLParser):
    """Every element is ours, closed where it was opened, and none refers to anything but a pattern of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.style = ""
        self.metas: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in PAGE_ELEMENTS, tag
        assert {name for name, _ in attrs} <= PAGE_ATTRIBUTES, attrs
        assert len({name for name, _ in attrs}) == len(attrs)
        for name, value in attrs:
            if name in ("fill", "stroke"):
                assert re.fullmatch(r"#[0-9A-Fa-f]{3,6}|none|url\(#gb-[0-9a-z-]+\)", value or ""), value
            if name in ("id", "class"):
                assert re.fullmatch(r"[a-zA-Z0-9 _-]+", value or ""), value
        if tag == "meta":
            self.metas.append(dict(attrs))
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.style += data if self.open[-1:] == ["style"] else ""

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(data)


def _check_page(text: str, page: Page) -> None:
    read = _PageReader()
    read.feed(text)
    read.close()
    assert read.open == []
    assert len(text.encode()) <= 1_000_000
    (policy,) = [meta["content"] or "" for meta in read.metas if meta.get("http-equiv") == "Content-Security-Policy"]
    digest = base64.b64encode(hashlib.sha256(read.style.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:;")
    assert "script" not in policy
    assert "url(" not in read.style
    assert "@import" not in read.style
    assert "analyze show" in text or "analyze check" in text


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_name_is_harmless_in_a_step_that_is_drawn(name: str) -> None:
    lanes = (ShownLane(name, (a_mark(0.0, 0.5, name), a_mark(0.5, 0.51, name)), 2),)
    shades = (SHADES[0], replace(SHADES[1], label=name))
    steps = (a_step(name, lanes=lanes, shades=shades, note=name), a_step(name, lanes=(), note=name))
    page = Page(steps=steps, rules=(Word(name, name),))
    text = renderer("html").render(_named(name), page)
    _assert_nothing_hidden(text)
    _check_page(text, page)


COMMAND = re.compile(r"::(?P<name>error|warning) (?P<properties>[^:\n]*)::(?P<data>.+)")


def _check_github(text: str, page: Page) -> None:
    """As the runner reads a line: ActionCommand.TryParseV2, then TryParse."""
    first, *commands = text.splitlines()
    assert first.startswith("Graphbound: ")
    assert "##[" not in first
    assert commands
    for line in commands:
        found = COMMAND.fullmatch(line)
        assert found, line
        properties = [part.partition("=")[0] for part in found["properties"].split(",")]
        assert set(properties) <= {"file", "line", "title"}
        assert len(set(properties)) == len(properties)
        assert not re.search(r"%(?!25|0A|0D|3A|2C)", line)


OURS = {"h3", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "pre", "ul", "li", "strong", "em", "br"} | {
    "details",
    "summary",
}


class _Markdown(HTMLParser):
    """What a host makes of a comment: elements, running text outside of code, and comments."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.comments: list[str] = []
        self._code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._code += tag in ("code", "pre")
        assert not {name for name, _ in attrs} - {"class"}

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in ("code", "pre")

    def handle_data(self, data: str) -> None:
        self.text += "" if self._code else data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(data)


def _check_markdown(text: str, page: Page) -> None:
    assert len(text.encode()) <= 65_536
    assert text.startswith("### ")
    html = MarkdownIt("commonmark").enable("table").render(text)
    read = _Markdown()
    read.feed(html)
    assert set(read.tags) <= OURS
    assert read.comments == [" graphbound "]
    assert read.tags.count("h3") == 1
    assert read.tags.count("details") == text.count("\n<details>") == text.count("\n</details>")
    assert not re.search(r"[@#]\w|\bGH-\d|https?://|www\.", read.text, re.IGNORECASE)
    for table in re.findall(r"<table>.*?</table>", html, re.DOTALL):
        rows = [len(re.findall("<t[hd]>", row)) for row in table.split("<tr>")[1:]]
        assert len(set(rows)) == 1, "a name ends no cell"


@cache
def _sarif_schema() -> jsonschema.Draft202012Validator:
    schema = json.loads((ROOT / "tests/data/sarif-2.1.0.json").read_text())
    return jsonschema.Draft202012Validator(schema)


def _check_sarif(text: str, page: Page) -> None:
    log = json.loads(text)
    _sarif_schema().validate(log)
    (run,) = log["runs"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(ids)
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert re.fullmatch(r"[A-Za-z0-9_.~/%-]+", place["artifactLocation"]["uri"])
        assert not place["artifactLocation"]["uri"].startswith("/")
        assert place["region"]["startLine"] >= 1
    prints = [tuple(result["partialFingerprints"].values()) for result in run["results"]]
    assert len(set(prints)) == len(prints)


def _check_gitlab(text: str, page: Page) -> None:
    issues = json.loads(text)
    assert issues
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["description"]
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["location"]["path"]
        assert not issue["location"]["path"].startswith(("/", "./"))
        assert issue["location"]["lines"]["begin"] >= 1
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


@cache
def _junit_schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(ROOT / "tests/data/junit-10.xsd")


def _check_junit(text: str, page: Page) -> None:
    _junit_schema().validate(text)
    root = ElementTree.fromstring(text)
    for suite in root:
        cases = suite.findall("testcase")
        assert int(suite.attrib["tests"]) == len(cases)
        assert int(suite.attrib["failures"]) == sum(case.find("failure") is not None for case in cases)
        assert int(suite.attrib["errors"]) == sum(case.find("error") is not None for case in cases)
        assert int(suite.attrib["skipped"]) == sum(case.find("skipped") is not None for case in cases)
    assert int(root.attrib["errors"]) >= 1, "a partial report, and a model that did not run, have not passed"


_CHECKS: dict[str, Callable[[str, Page], None]] = {
    "terminal": _check_terminal,
    "json": _check_json,
    "html": _check_page,
    "html_fragment": _check_html,
    "github": _check_github,
    "markdown": _check_markdown,
    "sarif": _check_sarif,
    "gitlab": _check_gitlab,
    "junit": _check_junit,
}


@every_renderer
def test_every_format_has_a_check_of_its_own(each: Renderer) -> None:
    assert each.id in _CHECKS

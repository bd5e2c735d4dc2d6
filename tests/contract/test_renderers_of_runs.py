"""What holds for every format of several reports: all are in it, hostile names included, and what did not run."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import jsonschema
import pytest
import xmlschema
from markdown_it import MarkdownIt

from analyzer.commands.command import FORMATS
from analyzer.core.model_runs import ModelRun, ModelRuns
from analyzer.reporting.renderer import Page, Renderer
from analyzer.reporting.renderers import RENDERERS, renderer
from analyzer.reporting.repository import Repository
from analyzer.reporting.word import Word
from analyzer.rules import RULES
from tests.conftest import ROOT
from tests.reports import a_finding, a_report, an_empty_report, at

PAGE = Page(repository=Repository(("/home",), "/home"), rules=tuple(Word(r.id, r.doc) for r in RULES))
HOSTILE = (
    "\x1b[31mred\x1b[0m\x9b2J",
    "one\ntwo\r\n::error::boom",
    "<script>alert(1)</script>]]>",
    "\u202egnp.exe",
    "mod\udc80el",
    "a|b`c`",
    "",
    "long" * 400,
)

of_runs = pytest.mark.parametrize("each", [r for r in RENDERERS if r.render_runs is not None], ids=lambda r: r.id)


def some_runs(name: str = "nets/a.py", lost: str = "Net.forward raised") -> ModelRuns:
    found = a_report(findings=(a_finding(where=at("/home/ada/gptlite.py:57")),))
    partial = replace(an_empty_report(), partial="the process was lost")
    runs = (
        ModelRun(name, found, "runs/a"),
        ModelRun("b.py", None, None, 3, lost),
        ModelRun("c.py", partial, "runs/c", 3),
    )
    return ModelRuns("3 models: 1 faster with its plan, 1 ended early, 1 did not run", runs, "analyze a.py b.py c.py")


def rendered(each: Renderer, runs: ModelRuns, page: Page = PAGE) -> str:
    assert each.render_runs is not None
    return each.render_runs(runs, page)


def test_every_format_that_can_be_asked_for_holds_several() -> None:
    assert [format_id for format_id in FORMATS if renderer(format_id).render_runs is None] == []


@of_runs
def test_it_is_text_that_ends_in_a_newline_and_the_same_each_time(each: Renderer) -> None:
    text = rendered(each, some_runs())
    assert text.endswith("\n")
    assert text == rendered(each, some_runs())


@of_runs
def test_no_model_is_dropped_and_none_that_did_not_run_passes_for_one_that_did(each: Renderer) -> None:
    text = rendered(each, some_runs())
    assert "Net.forward raised" in text
    assert "the process was lost" in text
    if each.id not in ("terminal",):
        assert "graph_break" in text, "what was found in the first"
    if each.id not in ("gitlab", "sarif"):
        assert "nets/a.py" in text


@of_runs
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_harmless(each: Renderer, name: str) -> None:
    text = rendered(each, some_runs(name, lost=name))
    text.encode()
    for bad in ("\x1b", "\x9b", "\u202e", "\udc80"):
        assert bad not in text
    if each.id == "github":
        assert sum(line.startswith("::") for line in text.splitlines()) == 3
    if each.id == "html":
        assert "<script" not in text
    if each.id == "markdown":
        assert "<script>" not in MarkdownIt("commonmark", {"html": True}).render(text)


def test_the_documents_pass_their_schemas() -> None:
    data = ROOT / "tests" / "data"
    for name in HOSTILE:
        sarif = json.loads(rendered(renderer("sarif"), some_runs(name, name)))
        jsonschema.validate(sarif, json.loads((data / "sarif-2.1.0.json").read_text()))
        assert not sarif["runs"][0]["invocations"][0]["executionSuccessful"]
        xmlschema.validate(rendered(renderer("junit"), some_runs(name, name)), str(data / "junit-10.xsd"))
        json.loads(rendered(renderer("gitlab"), some_runs(name, name)))


def test_junit_has_a_suite_a_model_and_an_error_for_what_did_not_run() -> None:
    root = ElementTree.fromstring(rendered(renderer("junit"), some_runs()).partition("\n")[2])
    assert [suite.get("name") for suite in root] == ["nets/a.py", "b.py", "c.py"]
    assert root[1].get("errors") == "1"


def test_a_run_folder_is_never_cut_and_ascii_is_ascii() -> None:
    folder = "runs/" + "deep/" * 60 + "end"
    runs = ModelRuns("1 models", (ModelRun("a.py", a_report(), folder),), "analyze a.py")
    assert folder in rendered(renderer("terminal"), runs)
    assert rendered(renderer("terminal"), runs, Page(is_ascii=True)).isascii()


def test_markdown_keeps_within_what_a_host_takes() -> None:
    many = tuple(ModelRun(f"m{n}.py", a_report(), f"runs/{n}") for n in range(200))
    text = rendered(renderer("markdown"), ModelRuns("200 models", many, "analyze"), replace(PAGE, most_bytes=20_000))
    assert len(text.encode()) <= 20_000
    assert "and 170 more models" in text
    assert "Left out" in text

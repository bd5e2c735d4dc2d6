"""`report.html` in a real browser, opened as a file and cut off from any network: no error, five blocks, dark, 400 px.

Needs Playwright and a Chromium of the system; is skipped without either.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from analyzer.cli import main
from analyzer.core.model_runs import ModelRun, ModelRuns
from analyzer.reporting.html import MOST_BYTES
from analyzer.reporting.html_models import render_gate, render_runs
from analyzer.reporting.renderer import Page
from dashboard.inline import show
from tests.gate_results import a_check, a_gate, a_hostile_gate, a_model_gate
from tests.goldens import FOLDER, RUNS
from tests.rank_files import a_rank
from tests.reports import a_report, at
from tests.unit.dashboard.runs import a_run_folder

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM: Final = next((path for name in ("chromium", "google-chrome", "chrome") if (path := shutil.which(name))), None)
pytestmark = [pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the path"), pytest.mark.slow]
TIMEOUT_MS: Final = 120_000
A4_PX: Final = 718
"""A4 held upright, within the margins that a browser prints with."""
BLOCKS: Final = ("step", "findings", "measured", "next", "timeline")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One page of each kind: recorded runs, a run with hostile names, a run without traces, ranks."""
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name in RUNS:
        found[name] = folder / f"{name}.html"
        assert main(["show", str(FOLDER / name), "--format", f"html:{found[name]}"]) == 0
    hostile = a_run_folder(tmp_path_factory.mktemp("run"))
    found["hostile"] = folder / "hostile.html"
    assert main(["show", str(hostile), "--format", f"html:{found['hostile']}"]) == 0
    found["demo"] = folder / "demo.html"
    assert main(["demo", "--format", f"html:{found['demo']}"]) == 0
    ranks = tmp_path_factory.mktemp("ranks")
    for rank, own_us in enumerate((50, 20, 90)):
        a_rank(own_us, 90 - own_us).save(ranks / f"rank{rank}.json.gz")
    assert main([str(ranks), "-q", "--no-cache", "--out", str(folder / "ranks")]) == 0
    found["ranks"] = folder / "ranks" / "report.html"
    return found


def _open(browser: Any, page_file: Path, wrong: list[str], **look: Any) -> Any:
    page = browser.new_context(offline=True, **look).new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.on("request", lambda asked: wrong.append(asked.url) if asked.url != page_file.as_uri() else None)
    page.goto(page_file.as_uri())
    return page


@pytest.mark.parametrize("name", [*RUNS, "hostile", "demo", "ranks"])
def test_it_opens_offline_with_its_five_blocks_and_without_a_word_in_the_console(
    browser: Any, pages: dict[str, Path], name: str
) -> None:
    wrong: list[str] = []
    assert pages[name].stat().st_size < MOST_BYTES
    page = _open(browser, pages[name], wrong, viewport={"width": 1200, "height": 900})
    tops = [page.locator(f"section#{block}").bounding_box()["y"] for block in BLOCKS]
    assert tops == sorted(tops)
    assert page.locator("h1").inner_text()
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200
    assert page.locator("script, img, iframe, link, a, form").count() == 0
    page.context.close()
    assert wrong == []


@pytest.mark.parametrize("name", [RUNS[0], "ranks"])
def test_it_can_be_read_on_a_telephone_in_the_dark(browser: Any, pages: dict[str, Path], name: str) -> None:
    wrong: list[str] = []
    page = _open(browser, pages[name], wrong, viewport={"width": 400, "height": 800}, color_scheme="dark")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    spread = page.locator("#measured th", has_text="spread").bounding_box()
    assert spread["x"] + spread["width"] <= 400
    colours = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    assert colours == ["rgb(21, 24, 28)", "rgb(236, 236, 236)"]
    page.context.close()
    assert wrong == []


def test_the_dashboard_offers_it_as_a_download(browser: Any, tmp_path: Path) -> None:
    one = show(a_run_folder(tmp_path))
    page = browser.new_context().new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(one.url)
    with page.expect_download() as download:
        page.click("header >> text=report.html")
    saved = tmp_path / "saved.html"
    download.value.save_as(saved)
    page.context.close()
    one.close()
    assert download.value.suggested_filename.endswith("-report.html")
    assert saved.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_timeline_is_magnified_by_mouse_and_by_keyboard(browser: Any, pages: dict[str, Path]) -> None:
    wrong: list[str] = []
    page = _open(browser, pages[RUNS[0]], wrong, viewport={"width": 1200, "height": 900})
    width = "document.querySelector('.lanes').getBoundingClientRect().width"
    before = page.evaluate(width)
    page.locator(".timeline").first.locator(".by-4").check()
    assert page.evaluate(width) == pytest.approx(4 * before, rel=0.01)
    page.keyboard.press("ArrowRight")
    assert page.evaluate(width) == pytest.approx(16 * before, rel=0.01)
    page.context.close()
    assert wrong == []


def test_the_bar_has_the_width_of_its_parts(browser: Any, pages: dict[str, Path]) -> None:
    wrong: list[str] = []
    page = _open(browser, pages[RUNS[0]], wrong, viewport={"width": 1200, "height": 900})
    bar = "document.querySelector('.step-bar .bar')"
    widths = page.evaluate(
        f"[...{bar}.querySelectorAll('rect')].filter((one) => one.getAttribute('fill')[0] === '#')"
        ".map((one) => one.getBoundingClientRect().width)"
    )
    assert sum(widths) == pytest.approx(page.evaluate(f"{bar}.getBoundingClientRect().width"), abs=1)
    page.context.close()
    assert wrong == []


@pytest.mark.parametrize("name", [*RUNS, "ranks"])
def test_on_paper_it_is_light_as_narrow_as_the_paper_and_its_folds_are_open(
    browser: Any, pages: dict[str, Path], name: str
) -> None:
    wrong: list[str] = []
    page = _open(browser, pages[name], wrong, viewport={"width": A4_PX, "height": 1000}, color_scheme="dark")
    page.locator(".timeline").first.locator(".by-16").check()
    page.emulate_media(media="print")
    assert page.locator("#how dl").first.bounding_box()["height"] > 20
    # Letters differ from machine to machine, and a browser shrinks what is a little wider.
    assert page.evaluate("document.documentElement.scrollWidth") <= 1.1 * A4_PX
    assert page.evaluate("document.querySelector('.lanes').getBoundingClientRect().right <= innerWidth")
    colours = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    assert colours == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
    # This browser opens the folds, so that nothing has to be said of them.
    assert page.locator(".on-paper").is_hidden()
    page.context.close()
    assert wrong == []


_BEYOND_ITS_CELL: Final = """() => Array.from(document.querySelectorAll("th, td, p, h1, li, summary")).filter((box) => {
  const range = document.createRange();
  range.selectNodeContents(box);
  const edge = box.getBoundingClientRect().right + 2;
  return !box.closest(".lanes") && Array.from(range.getClientRects()).some((part) => part.right > edge);
}).length"""


@pytest.mark.parametrize("width", [360, 1000])
def test_of_a_check_and_of_several_models_no_name_lies_over_another_however_long(
    browser: Any, tmp_path: Path, width: int
) -> None:
    wrong: list[str] = []
    for number, name in enumerate(("W" * 1_000_000, "<b>\u202e\0\udc80" * 40, "\u05d0\u05d1 \u0627" * 90)):
        runs = ModelRuns(
            name, (ModelRun(name, a_report(headline=name), name), ModelRun(name, None, None, 3, name)), name
        )
        for kind, text in (("gate", render_gate(a_hostile_gate(name), Page())), ("runs", render_runs(runs, Page()))):
            file = tmp_path / f"{kind}{number}.html"
            file.write_text(text, encoding="utf-8")
            page = _open(browser, file, wrong, viewport={"width": width, "height": 900})
            page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(_BEYOND_ITS_CELL) == 0, file.name
            assert page.locator("script, img, main b").count() == 0
            page.context.close()
    assert wrong == []


@pytest.mark.parametrize("width", [400, 1000])
def test_every_column_of_a_check_and_of_several_models_is_in_view(browser: Any, tmp_path: Path, width: int) -> None:
    wrong: list[str] = []
    long = a_check(
        "cudagraph_refusals", where=at("modeling_granite.py:391"), message="one more refusal than before " * 4
    )
    runs = ModelRuns("2 models", (ModelRun("nets/large.py", a_report(), "runs/large-2026-11-30"),), "analyze")
    for kind, text in (
        ("gate", render_gate(a_gate(a_model_gate(checks=(long,))), Page())),
        ("runs", render_runs(runs, Page())),
    ):
        file = tmp_path / f"{kind}.html"
        file.write_text(text, encoding="utf-8")
        page = _open(browser, file, wrong, viewport={"width": width, "height": 900})
        table = page.locator("main .wide.sentences")
        assert table.evaluate("(box) => box.scrollWidth <= box.clientWidth"), kind
        assert table.get_by_role("row").count() == 2, kind
        last = table.get_by_role("cell").last
        assert last.inner_text() == {"gate": "modeling_granite.py:391", "runs": "runs/large-2026-11-30"}[kind]
        assert last.bounding_box()["x"] + last.bounding_box()["width"] <= width
        page.context.close()
    assert wrong == []

"""Generated code, the keyboard and a run that goes away, in a real browser."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from analyzer.code_files import write_code
from analyzer.core.generated_code import GeneratedCode
from analyzer.reporting.json import read_report, write_report
from tests.reports import a_key
from tests.unit.dashboard.runs import HOSTILE, a_run_folder

TEXT: Final = f"# {HOSTILE}\ntriton_poi_fused_add_0 = async_compile.triton('triton_poi_fused_add_0', '''...''')\n"
FOLD: Final = ".gb-generated summary"
FOCUSED: Final = "document.activeElement.textContent.trim()"


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = a_run_folder(tmp_path_factory.mktemp("run"))
    code = [
        write_code(folder, GeneratedCode(a_key(number), f"# graph {number}\n{TEXT}", len(TEXT.encode()) + 10), "fused")
        for number in (1, 2)
    ]
    write_report(replace(read_report(folder), generated_code=tuple(code)), folder / "report.json")
    return folder


@pytest.mark.slow
def test_code_is_fetched_when_its_fold_is_opened_and_is_text(open_at: Callable[..., Any], run_folder: Path) -> None:
    asked: list[str] = []
    page = open_at(run_folder, f"page=graphs&graph={a_key(1)}", wait=FOLD)
    page.on("request", lambda request: asked.append(request.url) if "/code?" in request.url else None)
    assert page.locator(".gb-generated pre").count() == 0
    page.focus(FOLD)
    page.keyboard.press("Enter")
    page.wait_for_selector(".gb-generated pre")
    assert len(asked) == 1
    assert page.inner_text(".gb-generated pre").startswith(f"# graph 1\n# {HOSTILE}")
    assert page.locator(".gb-generated img, .gb-generated script").count() == 0
    kernel = page.locator(".gb-generated pre a").first
    assert kernel.get_attribute("href") == "#page=timeline&q=triton_poi_fused_add_0"
    # Another graph's card is drawn in the place of this one: its fold is closed, and holds its own code.
    page.evaluate(f"location.hash = '#page=graphs&graph={a_key(2)}'")
    page.wait_for_selector(".gb-generated pre", state="detached")
    page.click(FOLD)
    page.wait_for_selector(".gb-generated pre")
    assert page.inner_text(".gb-generated pre").startswith("# graph 2")


@pytest.mark.slow
def test_a_table_is_one_stop_of_the_keyboard_and_the_content_is_reached_at_once(
    open_at: Callable[..., Any], run_folder: Path
) -> None:
    page = open_at(run_folder, "page=graphs", wait=".ag-row")
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED) == "skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "MAIN"
    page.focus(".ag-header-cell")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.classList.contains('ag-cell')")
    page.keyboard.press("Tab")
    assert not page.evaluate("Boolean(document.activeElement.closest('.ag-root'))")


@pytest.mark.slow
def test_a_run_that_is_deleted_while_it_is_shown_says_so(
    browser: Any, serving: Callable[[Path], str], run_folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(run_folder, tmp_path / "a")
    shutil.copytree(run_folder, tmp_path / "b")
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{serving(tmp_path)}run/b/#page=graphs&graph={a_key(1)}")
    page.wait_for_selector(".gb-card")
    shutil.rmtree(tmp_path / "b")
    page.evaluate("graphbound.since.ask()")
    page.wait_for_selector("#gb-since")
    assert "no longer" in page.inner_text("#gb-since")
    # What the server still keeps of it is shown on; what it has forgotten is said.
    card = page.inner_text(".gb-card")
    page.evaluate(f"location.hash = '#page=graphs&graph={a_key(2)}'")
    page.wait_for_function("(card) => document.querySelector('.gb-card').innerText !== card", arg=card)
    for key, status, text, said in ((1, 410, "load it anew.", "load it anew"), (2, 404, "gone", "in its folder")):
        page.route("**/_dash-update-component**", partial(_answer, status, text))
        page.evaluate(f"location.hash = '#page=graphs&graph={a_key(key)}'")
        page.wait_for_function(f"document.querySelector('#gb-gone')?.textContent.includes('{said}')")
    context.close()


def _answer(status: int, text: str, route: Any) -> None:
    route.fulfill(status=status, content_type="text/plain", body=text)

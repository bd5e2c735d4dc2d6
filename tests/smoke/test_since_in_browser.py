"""An open page in a real browser while its run is written again, goes on, or goes: it says so and stays what it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from analyzer.reporting.json import write_report
from tests.reports import a_report
from tests.unit.dashboard.runs import a_recording, a_run_folder
from tests.unit.dashboard.several_runs import save_run

pytestmark = pytest.mark.slow
PAINTED: Final = '#timelines .gb-stage[data-state="painted"]'
LINE: Final = "#gb-since"
HEADLINE: Final = "#headline:not([hidden])"
POLL_MS: Final = 20_000
"""Of the page's clock, in which it asks several times."""

Open = Callable[..., Any]


def asks(page: Any) -> None:
    """What the page does every few seconds, now."""
    page.evaluate("graphbound.since.ask()")


def written_again(folder: Path, headline: str, *, kernels: int | None = None) -> None:
    if kernels is not None:
        a_recording(kernels=kernels).save(folder / "before.trace.json.gz")
    write_report(a_report(headline=headline), folder / "report.json")


def selected(page: Any) -> str:
    page.wait_for_selector(".gb-details h3")
    return str(page.inner_text(".gb-details h3"))


def test_a_run_that_is_written_again_is_loaded_at_the_same_place_when_one_presses_the_button(
    open_at: Open, tmp_path: Path
) -> None:
    folder = a_run_folder(tmp_path)
    page = open_at(folder, "page=timeline&q=gemm", wait=PAINTED)
    page.press("input[type=search]", "Enter")
    title = selected(page)
    page.focus(".gb-stage canvas")
    page.keyboard.press("w")
    page.wait_for_function("location.hash.includes('w=')")
    page.wait_for_selector(PAINTED)
    view = page.evaluate("graphbound.timeline.view()")
    assert page.locator(LINE).count() == 0
    written_again(folder, "what it holds now", kernels=4)
    asks(page)
    page.wait_for_selector(LINE)
    assert "written anew" in page.inner_text(LINE)
    # Nothing of the page has changed, and it still answers from what it was made of.
    assert page.evaluate("graphbound.timeline.view()") == view
    page.fill("input[type=search]", "gemm ")
    page.fill("input[type=search]", "gemm")
    page.wait_for_function("document.querySelector('.gb-bar [role=status]').textContent.includes('before: 6 events')")
    page.click(f"{LINE} >> text=load it")
    page.wait_for_function("document.querySelector('.gb-bar [role=status]')?.textContent.includes('before: 8 events')")
    page.wait_for_selector(PAINTED)
    assert page.evaluate("graphbound.timeline.view()") == view
    assert selected(page) == title
    page.click("[data-page-link=overview]")
    page.wait_for_selector(HEADLINE)
    assert "what it holds now" in page.inner_text("#headline")
    asks(page)
    assert page.locator(LINE).count() == 0


def test_a_selected_event_that_is_not_in_the_new_run_is_not_taken_for_another(open_at: Open, tmp_path: Path) -> None:
    save_run(tmp_path, "other", a_report(), 1)
    folder = save_run(tmp_path, "mine", a_report(), 2, kernels=2)
    page = open_at(tmp_path, "page=timeline&q=gemm", wait=PAINTED)
    page.press("input[type=search]", "Enter")
    assert selected(page).startswith("gemm")
    written_again(folder, "without it", kernels=0)
    asks(page)
    page.click(f"{LINE} >> text=load it")
    page.wait_for_function("document.querySelector('.gb-details')?.textContent.includes('What was selected is not in')")
    page.wait_for_function("!location.hash.includes('sel=')")
    assert page.locator(".gb-details h3").count() == 0


def test_a_selected_event_stays_the_one_of_its_name_when_another_run_is_opened(open_at: Open, tmp_path: Path) -> None:
    save_run(tmp_path, "fewer", a_report(), 1, kernels=0)
    save_run(tmp_path, "more", a_report(), 2, kernels=4)
    page = open_at(tmp_path, "page=timeline&q=relu", wait=PAINTED)
    page.press("input[type=search]", "Enter")
    title = selected(page)
    assert title.startswith("relu")
    page.wait_for_function("location.hash.includes('sel=')")
    page.select_option("select[data-gb-runs]", label="fewer")
    page.wait_for_url("**/run/fewer/**")
    assert selected(page) == title


def test_a_line_that_is_put_away_comes_back_only_with_news(open_at: Open, tmp_path: Path) -> None:
    folder = save_run(tmp_path, "mine", a_report(headline="the first"), 1)
    page = open_at(folder, "", wait=HEADLINE)
    written_again(folder, "the second")
    asks(page)
    page.wait_for_selector(LINE)
    page.locator(f"{LINE} >> text=not now").focus()
    page.keyboard.press("Enter")
    assert page.locator(LINE).count() == 0
    asks(page)
    assert page.locator(LINE).count() == 0
    assert "the first" in page.inner_text("#headline")
    written_again(folder, "the third, which is longer")
    asks(page)
    page.wait_for_selector(LINE)


def test_what_cannot_be_read_takes_nothing_away(open_at: Open, tmp_path: Path) -> None:
    folder = save_run(tmp_path, "mine", a_report(headline="the first"), 1)
    page = open_at(folder, "", wait=HEADLINE)
    (folder / "report.json").write_text("{}")
    asks(page)
    page.click(f"{LINE} >> text=load it")
    page.wait_for_function(f"document.querySelector('{LINE}').textContent.includes('cannot be read')")
    assert "the first" in page.inner_text("#headline")
    assert page.locator(f"{LINE} button:disabled").count() == 0


def test_a_run_that_goes_on_or_is_gone_is_said_and_cannot_be_loaded(open_at: Open, tmp_path: Path) -> None:
    folder = save_run(tmp_path, "mine", a_report(partial="the run was ended during the search"), 1)
    (folder / ".running").write_text(str(os.getpid()))
    page = open_at(folder, "", wait=HEADLINE, width=360, color_scheme="dark")
    asks(page)
    page.wait_for_selector(LINE)
    assert "goes on" in page.inner_text(LINE)
    assert page.locator(f"{LINE} >> text=load it").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    shutil.rmtree(folder)
    asks(page)
    page.wait_for_function(f"document.querySelector('{LINE}').textContent.includes('no longer')")
    assert page.locator(f"{LINE} >> text=load it").count() == 0


def test_a_page_that_nobody_sees_asks_nothing_and_asks_at_once_when_it_is_seen(open_at: Open, tmp_path: Path) -> None:
    folder = save_run(tmp_path, "mine", a_report(), 1)
    page = open_at(folder, "", wait=HEADLINE)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/_since") else None)
    page.clock.install()
    with page.expect_response("**/_since"):
        asks(page)  # and from here on by the clock of the page
    page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
    before = len(asked)
    page.clock.run_for(POLL_MS)
    assert len(asked) <= before + 1  # the one that was on its way
    before = len(asked)
    page.clock.run_for(POLL_MS)
    assert len(asked) == before
    page.evaluate("Object.defineProperty(document, 'hidden', { value: false, configurable: true })")
    with page.expect_response("**/_since"):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_a_server_that_answers_again_takes_its_alarm_back(browser: Any, serving: Any, tmp_path: Path) -> None:
    folder = save_run(tmp_path, "mine", a_report(), 1)
    context = browser.new_context()
    page = context.new_page()
    page.goto(serving(folder))
    page.wait_for_selector(HEADLINE)
    page.route("**/_since", lambda route: route.abort())
    asks(page)
    asks(page)
    page.wait_for_function("document.querySelector('#gb-gone')?.textContent.includes('does not answer')")
    page.unroute("**/_since")
    asks(page)
    page.wait_for_function("document.querySelector('#gb-gone') === null")
    context.close()


def test_names_that_differ_in_white_space_are_told_apart_in_the_choice_of_runs(open_at: Open, tmp_path: Path) -> None:
    for day, name in enumerate(("my run", "my  run", "other")):
        save_run(tmp_path, name, a_report(headline=f"day {day}"), day)
    page = open_at(tmp_path, "", wait=HEADLINE)
    texts = page.locator("select[data-gb-runs] option").all_inner_texts()
    assert sorted(texts) == ["my␣run", "my␣␣run", "other"]
    page.select_option("select[data-gb-runs]", label="my␣␣run")
    page.wait_for_url("**/run/my%20%20run/**")
    page.wait_for_selector(HEADLINE)
    assert "day 1" in page.inner_text("#headline")

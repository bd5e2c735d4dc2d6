"""The pages Ranks, Compare and History in a real browser: choosing runs, links, hostile names, dark mode, 400 px."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.rank_files import a_rank
from tests.reports import a_report
from tests.unit.dashboard.several_runs import HOSTILE, a_timed_report, began, save_run

pytestmark = pytest.mark.slow
NAMED: Final = HOSTILE.replace("/", "")

HISTORY: Final = "#gb-history-times .main-svg"
COMPARED: Final = "#gb-compare-rows .ag-row"
HEAT: Final = "#gb-ranks-heat .main-svg"

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    save_run(folder, "first", a_timed_report(30.0, 20.0, origin=began(1, "ab")), 1, kernels=3)
    save_run(folder, NAMED, a_timed_report(30.0, 15.0, origin=began(2, "cd", is_dirty=True)), 2, kernels=2)
    save_run(folder, "third", a_timed_report(30.0, 10.0, origin=began(3, "ef")), 3, kernels=1)
    return folder


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    for rank, own_us in enumerate((50, 20, 90)):
        a_rank(own_us, 90 - own_us).save(folder / f"rank{rank}.json.gz")
    (folder / "rank3.json.gz").write_bytes(b"\x1f\x8bnothing")
    return folder


def fragment(page: Any) -> str:
    return str(page.evaluate("location.hash"))


def is_in_view(page: Any) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def test_a_folder_of_runs_opens_its_newest_run_and_offers_the_others(open_at: Open, runs: Path) -> None:
    page = open_at(runs, "page=history", wait=HISTORY)
    assert "/run/third/" in page.url
    assert page.locator("#history").is_visible()
    assert page.input_value("select[data-gb-runs]") == "../third/"
    page.select_option("select[data-gb-runs]", label=NAMED)
    page.wait_for_url(lambda url: "third" not in url)
    # The page that was shown is shown again, of the other run.
    page.wait_for_selector(HISTORY)
    assert page.input_value("select[data-gb-runs]") != "../third/"


def test_two_runs_are_chosen_and_a_link_reopens_them(open_at: Open, runs: Path) -> None:
    page = open_at(runs, "page=compare", wait=COMPARED)
    assert page.input_value("#gb-compare-a") == NAMED
    assert page.input_value("#gb-compare-b") == "third"
    page.select_option("#gb-compare-a", "first")
    page.wait_for_function("document.querySelector('#gb-compare-result').innerText.includes('20.0 → 10.0 ms')")
    page.wait_for_function("location.hash.includes('a=first') && location.hash.includes('b=third')")
    again = open_at(runs, fragment(page)[1:], wait=COMPARED)
    assert again.input_value("#gb-compare-a") == "first"
    assert "20.0 → 10.0 ms" in again.inner_text("#gb-compare-result")
    again.click("text=swap")
    again.wait_for_function("document.querySelector('#gb-compare-result').innerText.includes('10.0 → 20.0 ms')")
    again.wait_for_function("location.hash.includes('a=third')")


def test_a_name_that_is_gone_is_said_and_a_hostile_one_is_text(open_at: Open, runs: Path) -> None:
    page = open_at(runs, "page=compare&a=gone&b=third", wait="#gb-compare-result .gb-empty")
    assert "There is no run gone" in page.inner_text("#gb-compare-result")
    page.select_option("#gb-compare-a", NAMED)
    page.wait_for_selector(COMPARED)
    assert "<img src=x onerror=alert(1)>" in page.inner_text("#gb-compare-result")
    assert page.locator("#compare img").count() == 0


def test_a_row_of_the_history_opens_its_run(open_at: Open, runs: Path) -> None:
    page = open_at(runs, "page=history", wait=HISTORY)
    row = page.locator('#gb-history-runs [row-id="first"]').first
    row.wait_for()
    assert "abababa" in page.inner_text("#gb-history-runs")
    assert "cdcdcdc+" in page.inner_text("#gb-history-runs")
    row.click()
    page.wait_for_url("**/run/first/**")
    page.wait_for_selector("#headline:not([hidden])")


def test_one_run_beside_others_lays_them_beside_itself(open_at: Open, runs: Path) -> None:
    page = open_at(runs / "third", "page=history", wait=HISTORY)
    assert page.locator("select[data-gb-runs]").count() == 0
    page.locator('#gb-history-runs [row-id="first"]').first.click()
    page.wait_for_selector(COMPARED)
    page.wait_for_function("location.hash.includes('a=first') && location.hash.includes('b=third')")
    assert page.input_value("#gb-compare-a") == "first"


def test_with_one_run_only_the_page_says_what_to_do(open_at: Open, tmp_path: Path) -> None:
    save_run(tmp_path, "only", a_report(), 1)
    page = open_at(tmp_path / "only", "page=compare", wait="#compare:not([hidden])")
    assert "There is one run in" in page.inner_text("#compare")


def test_ranks_open_with_their_steps_and_a_link_reopens_the_measure(open_at: Open, ranks: Path) -> None:
    page = open_at(ranks, "page=ranks", wait=HEAT)
    text = page.inner_text("main")
    assert "rank 2 is late" in text
    assert "rank3.json.gz" in text
    page.select_option("select[data-gb-state=measure]", "waited")
    page.wait_for_function("document.querySelector('#gb-ranks-steps').innerText.includes('A rank waits')")
    page.wait_for_function("location.hash.includes('measure=waited')")
    page.reload()
    page.wait_for_function("document.querySelector('#gb-ranks-steps')?.innerText.includes('A rank waits')")
    assert page.input_value("select[data-gb-state=measure]") == "waited"


def test_at_400_px_and_in_the_dark_nothing_runs_off_the_page(open_at: Open, runs: Path, ranks: Path) -> None:
    for target, page_name, wait in ((runs, "history", HISTORY), (runs, "compare", COMPARED), (ranks, "ranks", HEAT)):
        page = open_at(target, f"page={page_name}", wait=wait, width=400, color_scheme="dark")
        assert is_in_view(page), page_name
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 28)"

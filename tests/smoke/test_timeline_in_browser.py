"""The timeline in a real browser: what is taken along, Perfetto handed the recording, ranks, hostile names, links.

Perfetto's page is a stand-in that speaks its protocol at its own address: nothing leaves this machine.
"""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.rank_files import a_rank
from tests.unit.dashboard.runs import FIRST, a_recording, a_run_folder

pytestmark = pytest.mark.slow
PAINTED: Final = '#timelines .gb-stage[data-state="painted"]'
PERFETTO: Final = "https://ui.perfetto.dev/"
TIMEOUT_MS: Final = 120_000

IS_MOVED_AND_IN_THE_LINK: Final = """(before) => {
  const now = graphbound.timeline.view();
  const told = new URLSearchParams(location.hash.slice(1)).get("w");
  return (now.from !== before.from || now.to !== before.to) && told === `${now.from},${now.to}`;
}"""

STAND_IN: Final = """<!doctype html><title>stand-in</title><script>
  let pings = 0;
  window.got = [];
  window.addEventListener("message", (event) => {
    if (event.data === "PING") {
      pings += 1;
      if (pings >= 3) event.source.postMessage("PONG", "*");  // as one that is still loading
      return;
    }
    const { buffer, ...rest } = event.data.perfetto;
    const bytes = buffer && new Uint8Array(buffer);
    let text = "";
    if (bytes) for (const byte of bytes) text += String.fromCharCode(byte);
    window.got.push({ ...rest, from: event.origin, packed: bytes ? btoa(text) : null });
  });
</script>"""
"""As ui.perfetto.dev behaves: it answers PING once it listens, then takes a recording and a window."""


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_run_folder(tmp_path_factory.mktemp("run"))


@pytest.fixture
def alone(browser: Any, serving: Callable[[Path], str]) -> Iterator[Callable[..., Any]]:
    """Opens a timeline in a context where Perfetto's address is the stand-in, or cannot be reached. `page.outside` are
    the addresses that were asked beside our own.
    """
    contexts = []

    def opened(target: Path, *, has_perfetto: bool) -> Any:
        context = browser.new_context(viewport={"width": 1200, "height": 900}, accept_downloads=True)
        contexts.append(context)
        answer = {"content_type": "text/html", "body": STAND_IN}
        context.route(PERFETTO + "**", lambda r: r.fulfill(**answer) if has_perfetto else r.abort())
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.outside = []
        page.on("request", lambda asked: page.outside.append(asked.url) if PERFETTO in asked.url else None)
        page.goto(f"{serving(target)}#page=timeline")
        page.wait_for_selector(PAINTED)
        return page

    yield opened
    for context in contexts:
        context.close()


def _take_along(page: Any) -> None:
    page.click("text=Take it along")
    page.wait_for_selector(".gb-saving[open] .gb-bar")


def _downloaded(page: Any, button: str) -> bytes:
    with page.expect_download() as waiting:
        page.click(f"button:has-text('{button}')")
    return Path(waiting.value.path()).read_bytes()


def _selected(page: Any, query: str) -> None:
    page.fill("input[type=search]", query)
    page.press("input[type=search]", "Enter")
    page.wait_for_selector(".gb-details h3")


def test_picture_table_and_recording_are_downloaded_and_nothing_is_asked_outside_before(
    alone: Callable[..., Any], run_folder: Path
) -> None:
    page = alone(run_folder, has_perfetto=False)
    _selected(page, "nccl")
    assert page.outside == []
    _take_along(page)
    assert _downloaded(page, "picture").startswith(b"\x89PNG\r\n")
    rows = list(csv.DictReader(io.StringIO(_downloaded(page, "lane (CSV)").decode())))
    assert {row["event"] for row in rows} == {"ncclDevKernel_AllReduce_Sum_f32"}
    told = json.loads(gzip.decompress(_downloaded(page, "recording (Perfetto)")))
    steps = [event["ts"] for event in told["traceEvents"] if event.get("name") == "ProfilerStep#0"]
    assert len(steps) == 2
    page.wait_for_function(
        "document.querySelector('.gb-saving [role=status]').textContent.includes('cannot be reached')"
    )
    assert page.locator("button:has-text('open in Perfetto')").is_disabled()
    assert set(page.outside) == {PERFETTO}


def test_perfetto_is_given_the_recording_and_the_same_window(alone: Callable[..., Any], run_folder: Path) -> None:
    page = alone(run_folder, has_perfetto=True)
    page.focus(".gb-stage canvas")
    page.keyboard.press("w")
    page.wait_for_selector(PAINTED)
    _take_along(page)
    page.wait_for_selector("button:has-text('open in Perfetto'):not([disabled])")
    with page.context.expect_page() as waiting:
        page.click("button:has-text('open in Perfetto')")
    perfetto = waiting.value
    perfetto.wait_for_function("window.got && window.got.length === 2", timeout=TIMEOUT_MS)
    recording, window = perfetto.evaluate("window.got")
    assert recording["keepApiOpen"] is True
    assert recording["localOnly"] is True
    assert recording["title"] == "Graphbound: before, after"
    assert recording["from"] == page.url.partition("/#")[0]
    told = json.loads(gzip.decompress(base64.b64decode(recording["packed"])))
    view = page.evaluate("graphbound.timeline.view()")
    steps = [e for e in told["traceEvents"] if e.get("name") == "ProfilerStep#0"]
    facts = page.evaluate("fetch('_timeline/facts').then((answer) => answer.json())")
    shown = facts["sides"][0]["step"]
    zero_us = sorted(e["ts"] for e in told["traceEvents"] if e.get("name") == f"ProfilerStep#{shown}")[0]
    assert steps
    assert window["timeStart"] * 1e6 == pytest.approx(max(zero_us + view["from"] / 1e3, 0), abs=1e-3)
    assert window["timeEnd"] * 1e6 == pytest.approx(zero_us + view["to"] / 1e3, abs=1e-3)
    page.wait_for_function(
        "document.querySelector('.gb-saving [role=status]').textContent.includes('has the recording')"
    )


def test_two_ranks_stand_one_above_the_other_aligned_by_their_steps(
    open_at: Callable[..., Any], tmp_path: Path
) -> None:
    for rank, own_us in enumerate((50, 20)):
        a_rank(own_us, 50 - own_us).save(tmp_path / f"rank{rank}.json.gz")
    page = open_at(tmp_path, "page=timeline&align=graph:none&shift=1", wait=PAINTED)
    facts = page.evaluate("fetch('_timeline/facts').then((answer) => answer.json())")
    assert [side["name"].split(",")[0] for side in facts["sides"]] == ["rank 0", "rank 1"]
    words = page.evaluate("JSON.parse(graphbound.painted.key)")
    for number, side in enumerate(facts["sides"]):
        assert int(words[f"origin{number}"]) in [start for start, _ in side["steps"]]
    heads = "[...document.querySelectorAll('.gb-gap-sums th')].map((one) => one.scrollWidth - one.clientWidth)"
    assert max(page.evaluate(heads)) <= 0, "the name of a side runs into the next"
    _selected(page, "nccl")
    assert ", rank 0, which" in page.inner_text(".gb-details h3")
    assert page.locator(".gb-details a").count() == 0


def test_a_kernel_leads_to_the_card_of_its_graph_and_back_to_the_same_view(
    open_at: Callable[..., Any], run_folder: Path
) -> None:
    page = open_at(run_folder, "page=timeline", wait=PAINTED)
    _selected(page, "gemm")
    page.focus(".gb-stage canvas")
    before = page.evaluate("graphbound.timeline.view()")
    page.keyboard.press("w")
    page.wait_for_function(IS_MOVED_AND_IN_THE_LINK, arg=before)
    page.wait_for_function("location.hash.includes('sel=')")
    view = page.evaluate("graphbound.timeline.view()")
    title = page.inner_text(".gb-details h3")
    page.click("text=the card of its graph")
    page.wait_for_function("location.hash.includes('page=graphs')")
    assert f"graph={FIRST}" in page.url
    assert page.locator("#timelines").is_hidden()
    page.go_back()
    page.wait_for_selector(PAINTED)
    page.wait_for_selector(".gb-details h3")
    assert page.evaluate("graphbound.timeline.view()") == view
    assert page.inner_text(".gb-details h3") == title


def test_the_search_says_which_match_it_is_at_and_goes_back_with_shift(
    open_at: Callable[..., Any], run_folder: Path
) -> None:
    page = open_at(run_folder, "page=timeline", wait=PAINTED)
    _selected(page, "gemm")
    first = page.evaluate("graphbound.timeline.selected().told.start")
    page.press("input[type=search]", "Enter")
    page.wait_for_function(f"graphbound.timeline.selected().told.start > {first}")
    assert "before: 2 of 6 events" in page.inner_text(".gb-bar [role=status]")
    page.press("input[type=search]", "Shift+Enter")
    page.wait_for_function(f"graphbound.timeline.selected().told.start === {first}")


def test_threads_open_by_key_and_the_table_and_the_scroll_are_in_the_link(
    open_at: Callable[..., Any], run_folder: Path
) -> None:
    page = open_at(run_folder, "page=timeline", wait=PAINTED)
    _selected(page, "aten::mm")
    page.focus(".gb-stage canvas")
    page.keyboard.press("e")
    page.wait_for_function("location.hash.includes('fold=')")
    page.click("text=The lane of the selected event as a table")
    page.wait_for_selector("#gb-timeline .gb-table tbody tr")
    page.evaluate("document.querySelector('.gb-stage').scrollTop = 60")
    page.wait_for_function("location.hash.includes('y=60') && location.hash.includes('table=1')")
    again = open_at(run_folder, page.url.partition("#")[2], wait=PAINTED)
    again.wait_for_selector("#gb-timeline .gb-table tbody tr")
    assert again.evaluate("document.querySelector('.gb-stage').scrollTop") == 60
    assert "fold=" in again.url


def test_controls_bidi_marks_and_a_megabyte_of_name_are_shown_as_short_text(
    open_at: Callable[..., Any], tmp_path: Path
) -> None:
    run = a_recording()
    with run.step():
        run.launch("evil\u202etxt.exe\x1b[31m\x07", us=5)
        run.launch("long" + "x" * 2**20, us=5)
    path = run.save(tmp_path / "hostile.json.gz")
    page = open_at(path, "page=timeline&q=evil&table=1", wait=PAINTED)
    page.press("input[type=search]", "Enter")
    page.wait_for_selector(".gb-details h3")
    assert "evil\\u202etxt.exe\\x1b[31m\\x07" in page.inner_text(".gb-details h3")
    _selected(page, "longxx")
    page.wait_for_function("document.querySelector('.gb-details h3').textContent.startsWith('long')")
    assert len(page.inner_text(".gb-details h3")) < 700
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")

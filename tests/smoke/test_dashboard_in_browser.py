"""The dashboard in a real browser: each page without an error, zoom, search, click, links, keys, dark mode, 400 px.

Needs Playwright and a Chromium of the system; is skipped without either.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from analyzer.reporting.json import write_report
from dashboard.app import Server, make_app, make_server
from tests.rank_files import a_rank
from tests.reports import a_report, an_empty_report
from tests.traces import Recording
from tests.unit.dashboard.runs import a_run_folder

pytestmark = pytest.mark.slow
GOLDEN: Final = Path(__file__).resolve().parents[1] / "golden" / "granite_h200"
TIMEOUT_MS: Final = 120_000
A4_PX: Final = 718
"""A4 held upright, within the margins that a browser prints with."""
PAINTED: Final = '#timelines .gb-stage[data-state="painted"]'

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_run_folder(tmp_path_factory.mktemp("run"))


@pytest.fixture
def open_page(open_at: Open) -> Open:
    """Opens the timeline, or another page, in a browser of its own."""

    def opened(target: Path, fragment: str = "page=timeline", *, wait: str = PAINTED, **look: Any) -> Any:
        return open_at(target, fragment, wait=wait, **look)

    return opened


def _view(page: Any) -> tuple[int, int]:
    page.wait_for_selector(PAINTED)
    view = page.evaluate("graphbound.timeline.view()")
    return view["from"], view["to"]


_IS_MOVED: Final = "([from, to]) => { const v = graphbound.timeline.view(); return v.from !== from || v.to !== to }"


def _moved(page: Any, before: tuple[int, int]) -> tuple[int, int]:
    page.wait_for_function(_IS_MOVED, arg=list(before))
    return _view(page)


@pytest.mark.parametrize("fragment", ["", "page=overview", "page=nowhere"])
def test_the_overview_opens_first_and_for_what_is_no_page(open_page: Open, run_folder: Path, fragment: str) -> None:
    page = open_page(run_folder, fragment, wait="#headline:not([hidden])")
    assert "FASTER" in page.inner_text("#headline")
    assert page.locator("#timelines").is_hidden()
    page.click("text=Timeline")
    page.wait_for_selector(PAINTED)
    assert page.locator("#headline").is_hidden()


def test_a_recorded_run_and_ranks_open(open_page: Open, tmp_path: Path) -> None:
    assert "FASTER" in open_page(GOLDEN, "", wait="#headline:not([hidden])").inner_text("#headline")
    page = open_page(GOLDEN)
    assert page.evaluate("graphbound.painted.marks") > 500
    for rank, own_us in enumerate((50, 20, 90)):
        a_rank(own_us, 90 - own_us).save(tmp_path / f"rank{rank}.json.gz")
    assert open_page(tmp_path).evaluate("graphbound.painted.marks") > 10


def test_an_empty_folder_and_a_partial_report_say_what_to_do(open_page: Open, tmp_path: Path) -> None:
    empty, partial = tmp_path / "empty", tmp_path / "partial"
    empty.mkdir()
    partial.mkdir()
    assert "analyze model.py" in open_page(empty, wait="#timelines:not([hidden])").inner_text("#timelines")
    write_report(a_report(partial="stopped by Ctrl-C"), partial / "report.json")
    assert "stopped by Ctrl-C" in open_page(partial, "", wait="#headline:not([hidden])").inner_text("#headline")
    write_report(an_empty_report(), empty / "report.json")


def test_the_wheel_and_the_keys_zoom_and_move(open_page: Open, run_folder: Path) -> None:
    page = open_page(run_folder)
    first = _view(page)
    page.hover(".gb-stage canvas", position={"x": 300, "y": 100})
    page.mouse.wheel(0, -300)
    zoomed = _moved(page, first)
    assert zoomed[1] - zoomed[0] < first[1] - first[0]
    page.focus(".gb-stage canvas")
    page.keyboard.press("s")
    out = _moved(page, zoomed)
    assert out[1] - out[0] > zoomed[1] - zoomed[0]
    page.keyboard.press("d")
    right = _moved(page, out)
    assert right[0] > out[0]
    page.keyboard.press("a")
    assert _moved(page, right)[0] < right[0]
    page.keyboard.press("0")
    page.wait_for_function(f"graphbound.timeline.view().from === {first[0]}")


def test_a_drag_moves_and_with_shift_zooms_into_what_it_spans(open_page: Open, run_folder: Path) -> None:
    page = open_page(run_folder)
    first = _view(page)
    box = page.locator(".gb-stage canvas").bounding_box()
    for held, does in (("", "moves"), ("Shift", "zooms")):
        before = _view(page)
        if held:
            page.keyboard.down(held)
        page.mouse.move(box["x"] + 400, box["y"] + 200)
        page.mouse.down()
        page.mouse.move(box["x"] + 500, box["y"] + 200, steps=4)
        page.mouse.up()
        if held:
            page.keyboard.up(held)
        after = _moved(page, before)
        same = after[1] - after[0] == before[1] - before[0]
        assert same is (does == "moves")
    assert _view(page)[1] - _view(page)[0] < (first[1] - first[0]) / 4


def test_a_search_counts_selects_and_goes_on(open_page: Open, run_folder: Path) -> None:
    page = open_page(run_folder)
    page.fill("input[type=search]", "gemm")
    page.wait_for_function("document.querySelector('.gb-bar [role=status]').textContent.includes('before: 6 events')")
    assert "after: 2 events" in page.inner_text(".gb-bar [role=status]")
    page.press("input[type=search]", "Enter")
    page.wait_for_selector(".gb-details h3")
    first = page.evaluate("graphbound.timeline.selected().told.start")
    assert page.inner_text(".gb-details h3").startswith("gemm (kernel, before)")
    page.press("input[type=search]", "Enter")
    page.wait_for_function(f"graphbound.timeline.selected().told.start > {first}")


def test_a_click_tells_and_leads_to_the_launch_and_the_graph(open_page: Open, run_folder: Path) -> None:
    page = open_page(run_folder, "page=timeline&q=gemm")
    page.press("input[type=search]", "Enter")
    page.wait_for_selector(".gb-details h3")
    text = page.inner_text(".gb-details")
    for label in ("duration", "queue delay", "input shapes", "flops", "bytes", "source"):
        assert label in text
    page.click("text=go to its launch")
    page.wait_for_function("document.querySelector('.gb-details h3').textContent.startsWith('cudaLaunchKernel')")
    page.click("text=go to what it started")
    page.wait_for_function("document.querySelector('.gb-details h3').textContent.startsWith('gemm')")
    page.click("text=go to its graph")
    page.wait_for_function("document.querySelector('.gb-details h3').textContent.startsWith('graphbound::')")


def test_everything_is_reached_by_keyboard_and_announced(open_page: Open, run_folder: Path) -> None:
    page = open_page(run_folder)
    page.focus(".gb-stage canvas")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('[aria-live]').textContent.includes('ProfilerStep#0')")
    for _ in range(3):
        before = page.inner_text("[aria-live]")
        page.keyboard.press("ArrowDown")
        page.wait_for_function("(text) => document.querySelector('[aria-live]').textContent !== text", arg=before)
    label = page.get_attribute(".gb-stage canvas", "aria-label")
    assert "Selected:" in label
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.click("text=The lane of the selected event as a table")
    page.wait_for_selector("#gb-timeline .gb-table tbody tr")
    assert "events in the window" in page.inner_text("#gb-timeline .gb-table caption")


def test_a_link_reopens_the_same_view(open_page: Open, run_folder: Path) -> None:
    page = open_page(run_folder, "page=timeline&q=gemm")
    page.press("input[type=search]", "Enter")
    page.wait_for_selector(".gb-details h3")
    page.focus(".gb-stage canvas")
    before = _view(page)
    page.keyboard.press("w")
    wanted = _moved(page, before)
    page.select_option("select[aria-label='colour kernels by']", "bound")
    page.wait_for_function("location.hash.includes('by=bound')")
    address, title = page.url, page.inner_text(".gb-details h3")
    again = open_page(run_folder, address.partition("#")[2])
    again.wait_for_selector(".gb-details h3")
    assert _view(again) == wanted
    assert again.inner_text(".gb-details h3") == title
    assert again.input_value("select[aria-label='colour kernels by']") == "bound"
    assert again.input_value("input[type=search]") == "gemm"


@pytest.mark.parametrize(
    "fragment", ["w=1", "w=9,1", "w=1e3,x", "align=graph:x", "shift=99", "fold=;,+x", "w=-999999999,99999999999"]
)
def test_an_address_that_says_nonsense_still_opens(open_page: Open, run_folder: Path, fragment: str) -> None:
    page = open_page(run_folder, f"page=timeline&{fragment}")
    view = _view(page)
    assert view[1] > view[0]


def test_both_sides_are_aligned_by_step_and_by_graph(open_page: Open, run_folder: Path) -> None:
    page = open_page(run_folder)
    options = page.locator("select[aria-label='align the timelines by'] option").all_inner_texts()
    assert "align by step" in options
    graph = next(text for text in options if "gptlite.py:88" in text)
    page.select_option("select[aria-label='align the timelines by']", label=graph)
    page.wait_for_selector(PAINTED)
    page.wait_for_function("location.hash.includes('align=graph')")
    # Both graphs now begin at 0 of the axis: the words of the request say from where each side counts.
    words = page.evaluate("JSON.parse(graphbound.painted.key)")
    facts = page.evaluate("fetch('_timeline/facts').then((answer) => answer.json())")
    for number, side in enumerate(facts["sides"]):
        starts = next(one["starts"] for one in side["graphs"] if one["label"] == "gptlite.py:88")
        assert int(words[f"origin{number}"]) in starts


def test_dark_and_light_follow_the_system_and_the_choice(open_page: Open, run_folder: Path) -> None:
    page = open_page(run_folder, color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    corner = "Array.from(document.querySelector('.gb-stage canvas').getContext('2d').getImageData(2, 40, 1, 1).data)"
    assert sum(page.evaluate(corner)[:3]) < 150
    page.select_option("select[aria-label='light or dark']", "light")
    assert page.evaluate(background) != dark
    page.wait_for_function(f"({corner}).slice(0, 3).reduce((a, b) => a + b) > 600")


def test_the_look_is_chosen_on_every_page_also_where_nothing_was_recorded(open_page: Open, tmp_path: Path) -> None:
    write_report(a_report(), tmp_path / "report.json")
    page = open_page(tmp_path, "look=dark", wait="#headline:not([hidden])", color_scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    dark, chooser = "rgb(21, 24, 28)", "select[aria-label='light or dark']"
    assert (page.evaluate(background), page.input_value(chooser)) == (dark, "dark")
    page.select_option(chooser, "system")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    page.click("[data-page-link=findings]")
    page.select_option(chooser, "dark")
    assert page.evaluate(background) == dark
    page.wait_for_function("location.hash.includes('look=dark') && location.hash.includes('page=findings')")


def test_the_legend_lists_what_is_drawn_and_the_sums_of_the_gaps(open_page: Open, run_folder: Path) -> None:
    page = open_page(run_folder)
    device = page.locator("#gb-timeline .gb-legend").nth(1)
    facts = page.evaluate("fetch('_timeline/facts').then((answer) => answer.json())")
    listed = []
    for by in ("graph", "bound"):
        page.select_option("select[aria-label='colour kernels by']", by)
        used = {code for side in facts["sides"] for code in side["used"][by]}
        listed.append([one["label"] for one in facts["shades"] if one["group"] == "device" and one["code"] in used])
        assert device.locator("li").all_inner_texts() == ["kernels and graphs", *listed[-1]]
    page.wait_for_function("location.hash.includes('by=bound')")
    page.evaluate("location.hash = '#page=timeline'")
    page.wait_for_function("document.querySelector(\"select[aria-label='colour kernels by']\").value === 'graph'")
    assert device.locator("li").all_inner_texts() == ["kernels and graphs", *listed[0]]
    assert "gptlite.py:88" in listed[0]
    assert [label for label in listed[0] if "bound" in label] == []
    assert listed[0] != listed[1]
    rows = page.locator("#gb-timeline .gb-gap-sums tbody tr").all_inner_texts()
    assert rows[-1].split("\t") == ["together", *(side["idle"] for side in facts["sides"])]
    starved = next(row for row in rows if row.startswith("starved"))
    assert starved.split("\t")[1:] == [side["gaps"][0]["text"] for side in facts["sides"]]


def test_both_sides_are_in_view_where_the_calls_of_the_host_would_push_the_second_out(open_page: Open) -> None:
    page = open_page(GOLDEN)
    kinds = page.evaluate("graphbound.shown.laneRows().map((row) => [row.side, row.group.kind])")
    assert kinds.count([0, "host"]) == 3  # two levels of the thread, and the profiler's own row
    beyond = page.evaluate(
        "(() => { const row = graphbound.shown.laneRows().find((one) => one.side === 1 && one.group.kind === 'stream');"
        " return row.y + row.height + graphbound.draw.AXIS - graphbound.shown.parts.stage.clientHeight })()"
    )
    assert beyond <= 0


def test_at_400_px_nothing_runs_off_the_page(open_page: Open, run_folder: Path) -> None:
    for fragment, wait in (("page=timeline", PAINTED), ("page=overview", "#headline:not([hidden])")):
        page = open_page(run_folder, fragment, wait=wait, width=400)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_a_long_kernel_name_is_folded_at_400_px_and_opens_by_keyboard(open_page: Open, tmp_path: Path) -> None:
    long, trace = f"void at::native::elementwise_kernel<{'at::native::Functor<float>, ' * 60}>", tmp_path / "t.json"
    run = Recording()
    with run.step():
        for _ in range(3):
            run.launch(long, us=500)
        run.synchronize()
    run.save(trace)
    page = open_page(trace, "", wait="#critical_path .gb-long", width=400)
    fold = page.locator("#critical_path .gb-long").first
    assert fold.bounding_box()["height"] < 250
    assert fold.locator("summary").get_attribute("title") == long.rstrip()
    fold.locator("summary").focus()
    page.keyboard.press("Enter")
    assert fold.locator(".gb-whole").inner_text() == long
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_on_paper_a_page_is_light_as_narrow_as_the_paper_and_comes_back_as_it_was(open_page: Open) -> None:
    page = open_page(GOLDEN, "page=overview", wait="#step_budget .main-svg", color_scheme="dark")
    for name, wait in (("graphs", "#graphs-card .ag-row"), ("overview", "#step_budget .main-svg")):
        page.click(f"[data-page-link={name}]")
        page.wait_for_selector(wait)
        page.emulate_media(media="print", color_scheme="dark")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.set_viewport_size({"width": A4_PX, "height": 1000})
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        # Letters differ from machine to machine, and a browser shrinks what is a little wider.
        assert page.evaluate("document.documentElement.scrollWidth") <= 1.1 * A4_PX, name
        assert (
            page.locator("main button:visible, nav a:not([aria-current]):visible, [data-gb-look]:visible").count() == 0
        )
        if name == "graphs":
            # Every column, also those that lie beyond the edge of the screen.
            assert "compile" in page.inner_text("#graphs-card table.gb-printed thead")
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        page.emulate_media(media="screen", color_scheme="dark")
        page.set_viewport_size({"width": 1200, "height": 900})
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 28)"
        assert page.locator("table.gb-printed").count() == 0
        assert page.evaluate("document.documentElement.dataset.look") is None


def test_two_browsers_do_not_disturb_each_other(open_page: Open, run_folder: Path) -> None:
    one, two = open_page(run_folder), open_page(run_folder, "page=timeline&q=relu")
    before = _view(two)
    one.focus(".gb-stage canvas")
    for key in "wwda":
        one.keyboard.press(key)
        _view(one)
    assert _view(two) == before
    assert two.input_value("input[type=search]") == "relu"
    assert one.input_value("input[type=search]") == ""


def test_hostile_names_are_shown_as_text(open_page: Open, run_folder: Path) -> None:
    page = open_page(run_folder, "page=timeline&q=onerror")
    page.press("input[type=search]", "Enter")
    page.wait_for_selector(".gb-details h3")
    assert "<img src=x onerror=alert(1)>" in page.inner_text(".gb-details h3")
    page.click("text=The lane of the selected event as a table")
    page.wait_for_selector("#gb-timeline .gb-table tbody tr")
    assert page.locator(".gb-details img, #gb-timeline .gb-table img, .gb-details script").count() == 0
    assert re.search(r"onerror", page.inner_text("#gb-timeline .gb-table"))


def test_the_timeline_is_painted_before_the_scripts_of_dash_come(browser: Any, serving: Any, run_folder: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.route("**/_dash-component-suites/**", lambda route: route.abort())
    page.goto(f"{serving(run_folder)}#page=timeline")
    page.wait_for_selector('.gb-early .gb-stage[data-state="painted"]')
    context.close()


def test_a_lost_server_is_said(browser: Any, run_folder: Path) -> None:
    server = make_server(make_app(run_folder), None)
    threading.Thread(target=_run_quietly, args=(server,), daemon=True).start()
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(f"{server.url}#page=timeline")
    page.wait_for_selector(PAINTED)
    page.route("**/_timeline/**", lambda route: route.abort())
    page.focus(".gb-stage canvas")
    page.keyboard.press("w")
    page.wait_for_function("document.querySelector('[role=alert]').textContent.includes('does not answer')")
    context.close()
    server.close()


def _run_quietly(server: Server) -> None:
    with contextlib.suppress(OSError):  # its sockets are closed under it
        server.run()

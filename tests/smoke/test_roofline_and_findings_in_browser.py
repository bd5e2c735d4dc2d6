"""The pages Roofline and Findings in a real browser: looks, downloads, links, filters, hostile names, 400 px."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from analyzer.core.finding import Confidence, Excerpt
from analyzer.reporting.json import write_report
from tests.reports import MS, a_finding, a_report, at
from tests.unit.dashboard.runs import HOSTILE, a_run_folder

pytestmark = pytest.mark.slow
GOLDEN: Final = Path(__file__).resolve().parents[1] / "golden" / "mixed_graphs_h200"
ROOFLINE: Final = "page=roofline"
FINDINGS: Final = "page=findings"
DRAWN: Final = "#gb-roofline .scatterlayer .point"
LISTED: Final = "#gb-findings article"
PAPER: Final = "document.querySelector('#gb-roofline .main-svg').style.background"
PLOT: Final = "document.querySelector('#gb-roofline .js-plotly-plot')"
RANGE: Final = f"{PLOT}.layout.xaxis.range"
BODY: Final = "getComputedStyle(document.body).backgroundColor"

IS_QUIET: Final = """() => {
  const now = { drawn: window.drawn, at: Date.now() };
  if (window.since?.drawn !== now.drawn) window.since = now;
  return now.at - window.since.at > 1500;
}"""
"""Whether nothing was drawn for a second and a half."""

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = a_run_folder(tmp_path_factory.mktemp("run"))
    kept = Excerpt(56, ("def forward(self, x):", f"    x = {HOSTILE!r}", "    return x"))
    findings = (
        a_finding(ns_per_step=1 * MS, where=at("/home/ada/b.py:57"), excerpt=kept, confidence=Confidence.CERTAIN),
        a_finding("host_sync", message=HOSTILE * 100, where=at("/home/ada/gptlite.py:41"), ns_per_step=9 * MS),
        a_finding("graph_break", where=at(f"/home/ada/{HOSTILE}.py:3"), ns_per_step=None),
    )
    write_report(a_report(findings=findings), folder / "report.json")
    return folder


def _listed(page: Any) -> list[str]:
    shown = "(all) => all.filter((one) => !one.hidden).map((one) => one.dataset.finding)"
    return list(page.eval_on_selector_all(LISTED, shown))


def test_the_roofline_draws_both_sides_and_tells_of_a_mark(open_at: Open) -> None:
    page = open_at(GOLDEN, ROOFLINE, wait=DRAWN)
    assert page.locator(DRAWN).count() >= 54
    legend = page.text_content("#gb-roofline .legend")
    assert "mixed_graphs.py:86" in legend
    box = page.evaluate(
        "(() => { const marks = [...document.querySelectorAll('#gb-roofline .scatterlayer .point')]"
        ".map((one) => one.getBoundingClientRect()).sort((a, b) => b.width - a.width);"
        "return [marks[0].x + marks[0].width / 2, marks[0].y + marks[0].height / 2]; })()"
    )
    page.mouse.move(*box)
    page.wait_for_selector("#gb-roofline .hoverlayer .hovertext")
    told = page.text_content("#gb-roofline .hoverlayer")
    for wanted in ("sm90_xmma_gemm", "calls", "flops a call", "bytes a call", "of tf32", "bound by compute"):
        assert wanted in told, wanted
    page.mouse.down()
    page.mouse.up()
    page.wait_for_selector("#gb-roofline-details h3")
    assert "sm90_xmma_gemm" in page.inner_text("#gb-roofline-details h3")
    page.evaluate(
        "Plotly.relayout(document.querySelector('#gb-roofline .js-plotly-plot'),"
        " {'xaxis.range[0]': 1, 'xaxis.range[1]': 3, 'yaxis.range[0]': 12, 'yaxis.range[1]': 15})"
    )
    page.wait_for_function("location.hash.includes('mark=') && location.hash.includes('roof=')")
    assert "1.000,3.000,12.000,15.000" in page.evaluate("decodeURIComponent(location.hash)")


def test_a_link_reopens_the_mark_and_the_window(open_at: Open) -> None:
    page = open_at(GOLDEN, f"{ROOFLINE}&mark=1.0&roof=1.000,3.000,12.000,15.000", wait=DRAWN)
    page.wait_for_selector("#gb-roofline-details h3")
    assert "sm90_xmma_gemm" in page.inner_text("#gb-roofline-details h3")
    page.wait_for_function(f"JSON.stringify({RANGE}) === '[1,3]'")
    page.evaluate(f"window.drawn = 0; {PLOT}.on('plotly_relayout', () => {{ window.drawn += 1; }})")
    page.wait_for_function(IS_QUIET)  # what is drawn over and over never is
    page.click("#gb-roofline-details >> text=card of its graph")
    page.wait_for_function("location.hash.includes('page=graphs')")


def test_the_figure_has_the_colours_of_the_look_and_follows_a_change(open_at: Open) -> None:
    page = open_at(GOLDEN, ROOFLINE, wait=DRAWN, color_scheme="dark")
    page.wait_for_function(f"{PAPER} === {BODY}")
    dark = page.evaluate(PAPER)
    page.emulate_media(color_scheme="light")
    page.wait_for_function(f"{PAPER} === {BODY}")
    assert page.evaluate(PAPER) != dark
    page.evaluate("document.documentElement.dataset.look = 'dark'")
    page.wait_for_function(f"{PAPER} === '{dark}'")
    ink = "getComputedStyle(document.body).color"
    line = "getComputedStyle(document.querySelector('#gb-roofline .js-line')).stroke"
    page.wait_for_function(f"{ink} === {line}")


def test_a_figure_is_downloaded(open_at: Open, run_folder: Path) -> None:
    page = open_at(run_folder, ROOFLINE, wait=DRAWN)
    for kind, start in (("svg", b"<svg"), ("png", b"\x89PNG")):
        with page.expect_download() as waiting:
            page.click(f"#roofline button[data-format={kind}]")
        assert waiting.value.suggested_filename == f"gb-roofline.{kind}"
        data = Path(waiting.value.path()).read_bytes()
        assert data.startswith(start)
        if kind == "svg":
            assert b"flop per byte" in data
            assert b"<img" not in data


def test_plotly_is_loaded_for_a_page_that_has_a_figure_and_for_no_other(open_at: Open, run_folder: Path) -> None:
    page = open_at(run_folder, FINDINGS, wait=LISTED)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("typeof window.Plotly") == "undefined"
    page.click("text=Roofline")
    page.wait_for_selector(DRAWN)
    assert page.evaluate("typeof window.Plotly") != "undefined"


def test_names_are_text_in_the_figure_and_its_table(open_at: Open, run_folder: Path) -> None:
    page = open_at(run_folder, ROOFLINE, wait=DRAWN)
    page.click("#roofline summary")
    page.wait_for_selector("#gb-roofline-table .ag-row, #gb-roofline-table td")
    assert "gemm" in page.inner_text("#gb-roofline-table")
    page.click("#gb-roofline-table [row-id='0.0'] .ag-cell >> nth=0")
    page.wait_for_selector("#gb-roofline-details h3")
    page.wait_for_function("location.hash.includes('mark=0.0')")
    assert HOSTILE[:30] in page.inner_text("#roofline")  # among those of unknown bytes
    assert page.locator("#roofline img, #roofline script").count() == 0


@pytest.mark.parametrize(("fragment", "wait"), [(ROOFLINE, DRAWN), (FINDINGS, LISTED)])
def test_at_400_px_nothing_runs_off_the_page(open_at: Open, run_folder: Path, fragment: str, wait: str) -> None:
    page = open_at(run_folder, fragment, wait=wait, width=400)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_findings_are_sorted_and_filtered_and_a_link_reopens_that(open_at: Open, run_folder: Path) -> None:
    page = open_at(run_folder, FINDINGS, wait=LISTED)
    first = _listed(page)
    assert [one.partition("-")[0] for one in first] == ["host_sync", "graph_break", "graph_break"]
    assert page.inner_text("#gb-findings-count") == "3 findings"
    page.select_option("select[data-findings=sort]", "rule")
    assert _listed(page) == [first[1], first[2], first[0]]
    page.select_option("select[data-findings=rule]", "graph_break")
    assert page.inner_text("#gb-findings-count") == "2 of 3 findings, 1 are filtered out"
    page.click(f"[data-finding-link='{first[1]}'] >> nth=0")
    page.wait_for_function("location.hash.includes('finding=') && location.hash.includes('sort=rule')")
    again = open_at(run_folder, page.url.partition("#")[2], wait=f"{LISTED}[aria-current]")
    assert _listed(again) == [first[1], first[2]]
    assert again.get_attribute(f"{LISTED}[aria-current]", "data-finding") == first[1]
    assert again.input_value("select[data-findings=rule]") == "graph_break"


def test_a_finding_shows_its_source_and_leads_to_its_graph_and_the_timeline(open_at: Open, run_folder: Path) -> None:
    page = open_at(run_folder, "page=findings&finding=graph_break-b.py-57", wait=f"{LISTED}[aria-current]")
    own = page.inner_text(f"{LISTED}[aria-current]")
    assert "▶    57     x = '<img src=x onerror=alert(1)>" in own
    assert "certain" in own
    assert page.locator("#findings img, #findings script").count() == 0
    page.click(f"{LISTED}[data-rule=host_sync] >> text=in the timeline")
    page.wait_for_selector('.gb-stage[data-state="painted"]')
    assert "align=graph" in page.url
    page.go_back()
    page.wait_for_selector(LISTED)
    page.click(f"{LISTED}[data-rule=host_sync] >> text=graph gptlite.py:41")
    page.wait_for_function("location.hash.includes('page=graphs&graph=')")


def test_an_address_that_says_nonsense_shows_every_finding(open_at: Open, run_folder: Path) -> None:
    nonsense = "sort=%3Cb%3E&rule=nothing&file=x&in=y&finding=%00"
    assert len(_listed(open_at(run_folder, f"{FINDINGS}&{nonsense}", wait=LISTED))) == 3


def test_an_empty_folder_says_what_to_do_on_both_pages(open_at: Open, tmp_path: Path) -> None:
    for page_name in ("roofline", "findings"):
        page = open_at(tmp_path, f"page={page_name}", wait=f"#{page_name}:not([hidden])")
        assert "analyze model.py" in page.inner_text(f"#{page_name}")

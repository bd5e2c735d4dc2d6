"""The pictures of the dashboard that the README shows, of the recorded H200 run in the tests.

    python -m benchmarks.screenshots [--browser PATH] [--out FOLDER]

Needs Playwright and a Chromium (`--browser`, or the one on the path). Run it again when a page looks different.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dashboard.app import make_app, make_server

ROOT: Final = Path(__file__).resolve().parent.parent
RUN: Final = ROOT / "tests" / "golden" / "granite_h200"
FOLDER: Final = ROOT / "docs"
WIDTH_PX: Final = 1_200
SETTLED_MS: Final = 1_500
"""Plotly's texts fade in after its drawing is there."""
MOST_BYTES: Final = 130_000
"""Of a picture: a README that shows three is still quick over a phone."""


@dataclass(frozen=True, slots=True)
class Picture:
    """`ready` is there once the page is drawn; what is below `height_px` is cut off."""

    name: str
    fragment: str
    ready: str
    height_px: int


PICTURES: Final = (
    Picture("overview", "page=overview", "#step_budget .main-svg", 1_075),
    Picture("timeline", "page=timeline", '#timelines .gb-stage[data-state="painted"]', 905),
    Picture("graphs", "page=graphs", "#graphs .ag-row", 716),
)


def main(browser: str, folder: Path) -> int:
    """Takes every picture; 1 where one is larger than it may be."""
    from playwright.sync_api import sync_playwright  # optional: only pictures need it

    folder.mkdir(parents=True, exist_ok=True)
    server = make_server(make_app(RUN), None)
    threading.Thread(target=server.run, daemon=True).start()
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        sizes = [_take(opened, server.url, picture, folder) for picture in PICTURES]
        opened.close()
    server.close()
    return 1 if max(sizes) > MOST_BYTES else 0


def _take(browser: Any, url: str, picture: Picture, folder: Path) -> int:
    context = browser.new_context(viewport={"width": WIDTH_PX, "height": picture.height_px}, color_scheme="light")
    page = context.new_page()
    page.goto(f"{url}#{picture.fragment}")
    page.wait_for_selector(picture.ready)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(SETTLED_MS)
    path = folder / f"{picture.name}.png"
    page.screenshot(path=str(path))
    context.close()
    size = path.stat().st_size
    print(f"{path}: {size:,} bytes")
    return size


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found = next((path for name in ("chromium", "google-chrome", "chrome") if (path := shutil.which(name))), None)
    parser.add_argument("--browser", default=found, required=found is None)
    parser.add_argument("--out", type=Path, default=FOLDER)
    return parser.parse_args()


if __name__ == "__main__":
    asked = _arguments()
    sys.exit(main(asked.browser, asked.out))

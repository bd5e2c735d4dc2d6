"""A real browser and real servers for the tests of the dashboard; skipped without Playwright or a system's Chromium."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from dashboard.app import Server, make_app, make_server

CHROMIUM: Final = next((path for name in ("chromium", "google-chrome", "chrome") if (path := shutil.which(name))), None)
TIMEOUT_MS: Final = 120_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium on the path")
    with sync_api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def serving() -> Iterator[Callable[[Path], str]]:
    """The address of a server of this folder or trace, which ends with the module."""
    servers: dict[Path, Server] = {}

    def url_of(target: Path) -> str:
        if target not in servers:
            servers[target] = made = make_server(make_app(target), None)
            threading.Thread(target=_run_quietly, args=(made,), daemon=True).start()
        return servers[target].url

    yield url_of
    for server in servers.values():
        server.close()


@pytest.fixture
def open_at(browser: Any, serving: Callable[[Path], str]) -> Iterator[Callable[..., Any]]:
    """Opens a page in a browser of its own. At the end none may have complained, shown a dialog or asked elsewhere."""
    contexts, wrong = [], []

    def opened(target: Path, fragment: str, *, wait: str, width: int = 1200, **look: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **look)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("request", lambda asked: None if _is_own(asked.url) else wrong.append(asked.url))
        page.goto(f"{serving(target)}#{fragment}")
        page.wait_for_selector(wait)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def _is_own(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "data:", "blob:http://127.0.0.1:"))


def _run_quietly(server: Server) -> None:
    with contextlib.suppress(OSError):
        server.run()

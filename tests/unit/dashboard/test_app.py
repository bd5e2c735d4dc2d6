"""The page and its server: on this machine only, and without the network."""

from __future__ import annotations

import json
import re
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from analyzer.core.errors import ExitCode, MissingExtraError, UnreadableFileError, UsageError
from analyzer.reporting.json import write_report
from dashboard import app as app_module
from dashboard.app import ASSETS, LOOPBACK, ServedPages, Server, listen, make_app, make_server, serve
from dashboard.first_paint import LATER_ID
from dashboard.panels.panel import Page
from dashboard.panels.panel_list import PANELS
from dashboard.run_folder import read_target
from tests.reports import a_key, a_report
from tests.traces import Recording


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    run = Recording()
    with run.step():
        with run.graph(str(a_key(1))):
            run.launch("gemm", us=5)
        run.synchronize()
    run.save(folder / "before.trace.json.gz")
    write_report(a_report(), folder / "report.json")
    return folder


@pytest.fixture(params=["waitress", "werkzeug"])
def server(request: pytest.FixtureRequest, run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A real server that runs in a thread, once with waitress and once without."""
    real = app_module.importlib.util.find_spec
    if request.param == "waitress":
        pytest.importorskip("waitress")
    monkeypatch.setattr(
        app_module.importlib.util,
        "find_spec",
        lambda name: None if name == "waitress" and request.param == "werkzeug" else real(name),
    )
    made = make_server(make_app(run_folder), None)
    # A daemon: waitress leaves its loop only when its sockets are closed under it.
    thread = threading.Thread(target=_run_quietly, args=(made,), daemon=True)
    thread.start()
    yield made
    made.close()
    thread.join(timeout=5)


def _run_quietly(server: Server) -> None:
    try:
        server.run()
    except OSError:
        return


def _get(url: str, **headers: str) -> str:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=120) as answer:
        return str(answer.read().decode())


def test_a_real_server_gives_the_page_and_its_layout(server: Server, run_folder: Path) -> None:
    assert server.url.startswith(f"http://{LOOPBACK}:")
    page = _get(server.url)
    assert "_dash-layout" in page or "_dash-config" in page
    layout = _get(f"{server.url}_dash-layout")
    assert "gptlite.py:41" in layout
    run = read_target(run_folder)
    mine = [panel for panel in PANELS if panel.applies(run)]
    assert {panel.page for panel in mine} == set(Page) - {Page.RANKS}
    assert all(f'"id":"{panel.id}"' in layout.replace(" ", "") for panel in mine)


def test_requests_that_wait_for_a_thread_are_answered_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("waitress")
    let_go, busy = threading.Event(), threading.Semaphore(0)

    def slow(environ: dict[str, object], start: Callable[..., object]) -> list[bytes]:
        busy.release()
        let_go.wait(60)
        start("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    server = make_server(ServedPages(slow, lambda name: None), None)
    threading.Thread(target=_run_quietly, args=(server,), daemon=True).start()
    answers: list[str] = []
    asking = [threading.Thread(target=lambda: answers.append(_get(server.url)), daemon=True) for _ in range(12)]
    with caplog.at_level("WARNING"):
        for one in asking:
            one.start()
        for _ in range(app_module._THREADS):
            assert busy.acquire(timeout=60)
        let_go.wait(0.5)  # the others come to wait
        let_go.set()
        for one in asking:
            one.join(60)
    server.close()
    assert answers == ["ok"] * 12
    assert [record.getMessage() for record in caplog.records] == []


def test_the_page_loads_nothing_from_elsewhere(run_folder: Path) -> None:
    client = make_app(run_folder).server.test_client()
    page = client.get("/").text
    sources = re.findall(r'<(?:script|link)[^>]*(?:src|href)="([^"]*)"', page)
    assert len(sources) > 3
    assert [source for source in sources if not source.startswith(("/_", "/assets/"))] == []
    config = json.loads(re.findall(r'id="_dash-config"[^>]*>(.*?)</script>', page)[0])
    assert config["disable_version_check"] is True
    assert config["ui"] is False
    for source in sources:
        with client.get(source) as answer:
            assert answer.status_code == 200


def test_the_scripts_of_dash_are_let_in_by_ours_which_come_in_their_order(run_folder: Path) -> None:
    page = make_app(run_folder).server.test_client().get("/").text
    waiting, _, ours = page.partition(f'<template id="{LATER_ID}">')[2].partition("</template>")
    assert "dash_ag_grid" in waiting
    assert "new DashRenderer()" in waiting
    names = re.findall(r'src="/assets/([^"?]+)', ours)
    assert names == sorted(path.name for path in ASSETS.glob("*.js"))
    assert names[-1] == "gb_timeline_8_dash.js"
    assert "/assets/gb_1_state.js" not in waiting


def test_a_page_of_another_site_is_refused(run_folder: Path) -> None:
    client = make_app(run_folder).server.test_client()
    for path in ("/", "/_dash-layout"):
        assert client.get(path, headers={"Host": "evil.example:8050"}).status_code == 403
        assert client.get(path, headers={"Host": "localhost:8050"}).status_code == 200
        assert client.get(path, headers={"Host": "127.0.0.1"}).status_code == 200


def test_a_hostile_folder_name_is_text_in_the_title(tmp_path: Path) -> None:
    folder = tmp_path / "<script>alert(1)<x>"
    folder.mkdir()
    page = make_app(folder).server.test_client().get("/").text
    assert "<script>alert(1)" not in page


def test_a_folder_that_is_missing_or_empty_still_gives_a_page(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        layout = make_app(folder).server.test_client().get("/_dash-layout").text
        assert "analyze model.py" in layout


def test_the_server_listens_on_the_loopback_address_only(run_folder: Path) -> None:
    server = make_server(make_app(run_folder), None)
    port = int(server.url.rstrip("/").rpartition(":")[2])
    with pytest.raises(ConnectionRefusedError), socket.create_connection((_other_address(), port), timeout=120):
        pass
    server.close()


def _other_address() -> str:
    """An address of this machine that is not 127.0.0.1: all of 127/8 is local on Linux."""
    return "127.0.0.2"


def test_a_port_in_use_is_a_usage_error(run_folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"cannot listen on port {port}") as caught:
            make_server(make_app(run_folder), port)
    assert "--port" in str(caught.value.hint)


def test_a_port_in_use_is_said_before_anything_is_read(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "_single", lambda *_, **__: pytest.fail("it was read"))
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"cannot listen on port {port}"):
            serve(run_folder, port, False)


def test_what_cannot_be_read_leaves_no_port_taken(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind((LOOPBACK, 0))
        port = free.getsockname()[1]
    with pytest.raises(UnreadableFileError):
        serve(tmp_path, port, False)
    with socket.socket() as again:
        again.bind((LOOPBACK, port))


@pytest.mark.parametrize("host", ["203.0.113.7", "nosuchhost.invalid", "a..b", "x" * 300])
def test_an_address_of_another_machine_is_an_error_of_the_address_and_not_of_the_port(host: str) -> None:
    with pytest.raises(UsageError, match="cannot listen on") as caught:
        listen(None, host)
    assert "--host" in str(caught.value.hint)
    assert "port" not in caught.value.message


def test_serving_says_where_opens_the_browser_and_lets_go_of_the_port(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []
    asked = threading.Event()

    def interrupt() -> None:
        asked.wait(60)
        raise KeyboardInterrupt

    def browser(url: str) -> None:
        seen.append(url)
        asked.set()

    fake = Server(url="http://127.0.0.1:1/", run=interrupt, close=lambda: seen.append("closed"))
    monkeypatch.setattr(app_module, "listen", lambda *_: None)
    monkeypatch.setattr(app_module, "make_server", lambda *_: fake)
    monkeypatch.setattr(app_module.webbrowser, "open", browser)
    with pytest.raises(KeyboardInterrupt):
        serve(run_folder, None, True)
    assert seen == ["http://127.0.0.1:1/", "closed"]
    assert "http://127.0.0.1:1/" in capsys.readouterr().err
    with pytest.raises(KeyboardInterrupt):
        serve(run_folder, None, False)
    assert seen[2:] == ["closed"]


def test_serving_to_others_makes_a_token_and_serving_to_oneself_none(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(app_module, "listen", lambda *_: None)
    monkeypatch.setattr(
        app_module, "make_server", lambda app, *given: asked.append(given) or Server("", _nothing, _nothing)
    )
    serve(run_folder, 8080, False, "192.0.2.1")
    serve(run_folder, None, False)
    (port, host, token, _), (*without, _) = asked
    assert (port, host, without) == (8080, "192.0.2.1", [None, None, None])
    assert len(str(token)) >= 32


def test_serving_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="no such run folder"):
        serve(tmp_path / "nowhere", None, False)


@pytest.mark.parametrize("report", [None, "{}", "", "[]", '{"schema": 999}', "\x00"])
def test_a_folder_with_nothing_to_show_is_one_error_and_no_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: str | None
) -> None:
    monkeypatch.setattr(app_module, "make_server", lambda *_: pytest.fail("it was started"))
    if report is not None:
        (tmp_path / "report.json").write_text(report)
    with pytest.raises(UnreadableFileError) as raised:
        serve(tmp_path, None, False)
    assert str(tmp_path) in raised.value.message
    assert raised.value.hint
    assert raised.value.exit_code == ExitCode.USAGE


def test_a_damaged_report_beside_a_timeline_is_served(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "before.trace.json.gz").write_bytes((run_folder / "before.trace.json.gz").read_bytes())
    (tmp_path / "report.json").write_text("{}")
    served: list[object] = []
    monkeypatch.setattr(app_module, "listen", lambda *_: None)
    monkeypatch.setattr(
        app_module, "make_server", lambda *given: served.append(given) or Server("", _nothing, _nothing)
    )
    serve(tmp_path, None, False)
    assert served


def _nothing() -> None:
    pass


def test_a_missing_dash_is_named_with_its_install_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="dash") as caught:
        make_app(tmp_path)
    assert "pip install dash" in str(caught.value.hint)

"""Several runs behind one server: each under its own address, read when asked for, and not all of them in memory."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.errors import ExitCode, UnreadableFileError
from analyzer.run_listing import list_runs
from dashboard import runs_app
from dashboard.app import ServedRuns, make_app
from dashboard.entry import COOKIE
from dashboard.run_folder import RunData, newest_readable
from dashboard.runs import address_of
from dashboard.runs_app import OpenRuns
from dashboard.waiting import READY
from tests.reports import a_report
from tests.unit.dashboard.several_runs import HOSTILE, a_timed_report, began, save_run

NAMED = HOSTILE.replace("/", "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("runs")
    save_run(made, "old", a_timed_report(30.0, 20.0, origin=began(1, "ab")), 1, kernels=2)
    save_run(made, NAMED, a_timed_report(30.0, 15.0, origin=began(2, "cd")), 2, kernels=1)
    (save_run(made, "broken", a_report(), 3) / "report.json").write_text("{}")
    return made


@pytest.fixture(scope="module")
def client(folder: Path) -> Any:
    app = make_app(folder)
    assert isinstance(app, ServedRuns)
    return app.server.test_client()


def test_the_root_leads_to_the_newest_run_that_can_be_read(client: Any) -> None:
    answer = client.get("/")
    assert answer.status_code == 302
    page = client.get(answer.headers["Location"])
    assert page.status_code == 200
    assert "_dash-config" in page.text


def test_a_run_can_be_asked_for_by_its_name(client: Any) -> None:
    answer = client.get("/", query_string={"run": "old"})
    assert answer.headers["Location"].endswith("/run/old/")
    for query in ("nope", "../old", "old/../old"):
        found = client.get("/", query_string={"run": query}, follow_redirects=True)
        assert found.status_code == 404, query
        assert "There is no such run" in found.text


def test_each_run_has_its_own_page_layout_assets_and_timeline(client: Any) -> None:
    layouts = {}
    for name in ("old", NAMED):
        root = client.get("/", query_string={"run": name}).headers["Location"]
        page = client.get(root).text
        assert "<img src=x" not in page
        layouts[name] = client.get(f"{root}_dash-layout").text
        assert "gptlite.py:41" in layouts[name]
        assert client.get(f"{root}_timeline/facts").status_code == 200
        with client.get(f"{root}assets/gb.css") as asset:
            assert asset.status_code == 200
        config = json.loads(re.findall(r'id="_dash-config"[^>]*>(.*?)</script>', page)[0])
        assert config["requests_pathname_prefix"] == root
    assert layouts["old"] != layouts[NAMED]


def test_without_a_run_in_its_address_nothing_of_a_run_is_answered(client: Any) -> None:
    for path in (
        "/_dash-layout",
        "/_timeline/facts",
        "/assets/gb.css",
        "/run/",
        "/run/nope/",
        "/run/nope/_dash-layout",
    ):
        assert client.get(path).status_code == 404, path


def test_a_page_of_another_site_is_refused(client: Any) -> None:
    for path in ("/", "/run/old/", "/run/old/_dash-layout"):
        assert client.get(path, headers={"Host": "evil.example:8050"}).status_code == 403


def test_with_a_token_only_who_brings_it_is_let_in_to_every_run(folder: Path) -> None:
    client = make_app(folder, "secret").server.test_client(use_cookies=False)
    for path in ("/", "/run/old/", "/run/old/_dash-layout"):
        assert client.get(path).status_code == 403
    answer = client.get("/?token=secret")
    assert answer.status_code == 302
    assert answer.headers["Location"] == "/"
    # Whoever has the token may reach it under another name.
    named = {"Host": "server.example", "Cookie": f"{COOKIE}=secret"}
    assert client.get("/run/old/_dash-layout", headers=named).status_code == 200


def answer_of(client: Any, page: str, asked: object) -> str:
    body = {
        "output": f"gb-{page}-result.children",
        "outputs": {"id": f"gb-{page}-result", "property": "children"},
        "inputs": [{"id": f"gb-asked-{page}", "property": "data", "value": asked}],
        "changedPropIds": [f"gb-asked-{page}.data"],
    }
    answer = client.post("/run/old/_dash-update-component", json=body)
    assert answer.status_code == 200
    return str(answer.text)


def test_the_history_is_read_when_it_is_asked_for(client: Any) -> None:
    assert "gb-history-times" not in client.get("/run/old/_dash-layout").text
    text = answer_of(client, "history", {})
    assert "gb-history-times" in text
    assert "broken: its report.json is no report" in text


@pytest.mark.parametrize("asked", [None, [], "x", 3, {"a": 1, "b": {}}, {"a": "old"}, {"line": ["x"]}])
def test_whatever_a_browser_sends_is_answered(client: Any, asked: object) -> None:
    assert "There is no run" in answer_of(client, "compare", asked)
    assert "gb-history-times" in answer_of(client, "history", asked)


def test_two_runs_are_compared_over_the_wire(client: Any) -> None:
    assert "add up to" in answer_of(client, "compare", {"a": "old", "b": NAMED})


def test_a_run_that_is_written_while_it_serves_is_offered(client: Any, folder: Path) -> None:
    assert "latecomer" not in client.get("/run/old/_dash-layout").text
    path = save_run(folder, "latecomer", a_report(), 9)
    try:
        assert "latecomer" in client.get("/run/old/_dash-layout").text
        assert client.get("/").headers["Location"].endswith("/run/latecomer/")
    finally:
        (path / "report.json").unlink()
        path.rmdir()


class Opened:
    """Counts how often a run is read."""

    def __init__(self, folder: Path) -> None:
        self.made: list[str] = []
        self.runs = OpenRuns(folder, self._make)

    def _make(self, data: RunData, prefix: str) -> str:
        self.made.append(Path(data.folder).name)
        return prefix


def test_only_the_runs_asked_for_last_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs_app, "MOST_OPEN", 2)
    for day, name in enumerate("abc"):
        save_run(tmp_path, name, a_report(), day)
    opened = Opened(tmp_path)
    for name in "abacab":
        assert opened.runs.application(name) == f"/run/{name}/"
    assert opened.made == ["a", "b", "c", "b"]


def test_runs_with_many_events_make_room_for_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs_app, "MOST_EVENTS", 10)
    for day, name in enumerate("ab"):
        save_run(tmp_path, name, a_report(), day, kernels=2)
    opened = Opened(tmp_path)
    for name in "aabab":
        opened.runs.application(name)
    assert opened.made == ["a", "b", "a", "b"]


def test_a_run_that_is_written_anew_is_read_anew_and_one_that_is_gone_is_none(tmp_path: Path) -> None:
    save_run(tmp_path, "a", a_report(), 1)
    opened = Opened(tmp_path)
    opened.runs.application("a")
    assert opened.runs.holds(list_runs(tmp_path).runs[0])
    (tmp_path / "a" / "report.json").write_text("{}")
    assert not opened.runs.holds(list_runs(tmp_path).runs[0])
    opened.runs.application("a")
    assert opened.made == ["a", "a"]
    (tmp_path / "a" / "report.json").unlink()
    assert opened.runs.application("a") is None
    assert opened.runs.application("nope") is None


def test_a_run_that_goes_while_it_is_read_is_none_and_is_read_again_when_it_is_back(tmp_path: Path) -> None:
    save_run(tmp_path, "a", a_report(), 1)
    held: list[Path] = []

    def made(data: RunData, prefix: str) -> str:
        if not held:
            held.append((tmp_path / "a").rename(tmp_path.parent / f"{tmp_path.name}-away"))
        return f"{prefix} {data.report is not None}"

    runs = OpenRuns(tmp_path, made)
    assert runs.application("a") is None
    held[0].rename(tmp_path / "a")
    assert runs.application("a") == "/run/a/ True"


def test_the_newest_readable_run_is_found_and_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="there is no run") as none:
        newest_readable(tmp_path)
    assert "analyze model.py" in str(none.value.hint)
    (save_run(tmp_path, "broken", a_report(), 5) / "report.json").write_text("{")
    with pytest.raises(UnreadableFileError) as raised:
        newest_readable(tmp_path)
    assert raised.value.exit_code == ExitCode.USAGE
    save_run(tmp_path, "good", a_report(), 1)
    assert newest_readable(tmp_path) == "good"
    assert [run.name for run in list_runs(tmp_path).runs] == ["broken", "good"]


def test_who_looks_at_a_run_that_is_not_read_yet_is_told_so_and_gets_its_page_then(tmp_path: Path) -> None:
    save_run(tmp_path, NAMED, a_report(), 1)
    client = make_app(tmp_path).server.test_client()
    address, looking = address_of(NAMED), {"Sec-Fetch-Dest": "document"}
    waiting = client.get(address, headers=looking)
    assert waiting.status_code == 200
    assert "Reading &lt;img" in waiting.text
    assert "<img" not in waiting.text
    assert f'fetch("{READY}"' in waiting.text
    assert client.get(f"{address}{READY}").status_code == 204
    page = client.get(address, headers=looking)
    assert "_dash-config" in page.text
    assert client.get(address_of("nope"), headers=looking).status_code == 404
    assert client.get(f"{address_of('nope')}{READY}").status_code == 404


def test_the_newest_run_is_read_while_the_browser_opens(tmp_path: Path) -> None:
    save_run(tmp_path, "a", a_report(), 1)
    served = make_app(tmp_path)
    assert isinstance(served, ServedRuns)
    served.prepare("a")
    page = served.server.test_client().get("/run/a/", headers={"Sec-Fetch-Dest": "document"})
    assert "_dash-config" in page.text

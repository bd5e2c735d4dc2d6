"""Several runs behind one server: each under its own address, read when asked for, and not all of them in memory."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.errors import ExitCode, UnreadableFileError
from analyzer.core.report import Report
from analyzer.reporting.json import write_report
from analyzer.run_listing import list_runs
from dashboard.app import ServedPages, make_app
from dashboard.entry import COOKIE
from dashboard.page_answers import STAMP_HEADER
from dashboard.run_folder import newest_readable
from dashboard.runs import address_of
from dashboard.waiting import READY
from tests.reports import a_report
from tests.unit.dashboard.several_runs import DAY_S, FIRST_S, HOSTILE, a_timed_report, began, save_run

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
    assert isinstance(app, ServedPages)
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


def body_of(page: str, asked: object) -> dict[str, object]:
    return {
        "output": f"gb-{page}-result.children",
        "outputs": {"id": f"gb-{page}-result", "property": "children"},
        "inputs": [{"id": f"gb-asked-{page}", "property": "data", "value": asked}],
        "changedPropIds": [f"gb-asked-{page}.data"],
    }


def answer_of(client: Any, page: str, asked: object) -> str:
    answer = client.post("/run/old/_dash-update-component", json=body_of(page, asked))
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
    assert isinstance(served, ServedPages)
    served.prepare("a")
    page = served.server.test_client().get("/run/a/", headers={"Sec-Fetch-Dest": "document"})
    assert "_dash-config" in page.text


def written_again(folder: Path, report: Report) -> None:
    """With a time of its own, however coarse the clock of the file system is."""
    write_report(report, folder / "report.json")
    seconds = FIRST_S + 400 * DAY_S
    os.utime(folder / "report.json", (seconds, seconds))


def stamp_on(page: str) -> str:
    found = re.search(r'name="graphbound-read" content="([^"]+)"', page)
    assert found is not None
    return found[1]


def test_an_open_page_is_told_what_became_of_its_run_and_answered_from_what_it_was_made_of(tmp_path: Path) -> None:
    folder = save_run(tmp_path, "a", a_report(headline="the first"), 1)
    save_run(tmp_path, "b", a_report(), 2)
    client = make_app(tmp_path).server.test_client()
    first = {STAMP_HEADER: stamp_on(client.get("/run/a/").text)}
    assert client.get("/run/a/_since", headers=first).json["state"] == "same"
    written_again(folder, a_report(headline="the second"))
    told = client.get("/run/a/_since", headers=first)
    assert told.json["state"] == "changed"
    assert told.headers["Cache-Control"] == "no-store"
    # Nothing is read before somebody asks for it, and the open page stays what it is.
    assert "the first" in client.get("/run/a/_dash-layout", headers=first).text
    assert client.get("/run/a/_load", headers=first).json == {"problem": None}
    second = {STAMP_HEADER: stamp_on(client.get("/run/a/", headers={"Sec-Fetch-Dest": "document"}).text)}
    assert client.get("/run/a/_since", headers=second).json["state"] == "same"
    for stamp, headline in ((first, "the first"), (second, "the second")):
        assert headline in client.get("/run/a/_dash-layout", headers=stamp).text
        assert headline in client.get("/run/a/report.html", query_string={"read": stamp[STAMP_HEADER]}).text


def test_an_open_page_of_a_run_that_is_gone_is_told_so_and_still_answered(tmp_path: Path) -> None:
    folder = save_run(tmp_path, "a", a_report(headline="the first"), 1)
    save_run(tmp_path, "b", a_report(), 2)
    client = make_app(tmp_path).server.test_client()
    first = {STAMP_HEADER: stamp_on(client.get("/run/a/").text)}
    (folder / "report.json").unlink()
    assert client.get("/run/a/_since", headers=first).json["state"] == "gone"
    assert "no longer" in client.get("/run/a/_load", headers=first).json["problem"]
    assert "the first" in client.get("/run/a/_dash-layout", headers=first).text
    with client.get("/run/a/assets/gb.css") as script:
        assert script.status_code == 200
    assert client.get("/run/a/").status_code == 404
    assert client.get("/run/a/_dash-layout", headers={STAMP_HEADER: "other"}).status_code == 404


def test_a_version_that_is_no_longer_kept_is_said_and_never_answered_from_another(tmp_path: Path) -> None:
    save_run(tmp_path, "a", a_report(), 1)
    client = make_app(tmp_path).server.test_client()
    found = client.get("/run/a/_timeline/facts", headers={STAMP_HEADER: "forgotten"})
    assert found.status_code == 410
    assert found.mimetype == "text/plain"
    assert "load it anew" in found.text


def test_a_new_version_that_cannot_be_read_is_named_before_it_takes_the_place_of_the_old(tmp_path: Path) -> None:
    folder = save_run(tmp_path, "a", a_report(), 1)
    client = make_app(tmp_path).server.test_client()
    first = {STAMP_HEADER: stamp_on(client.get("/run/a/").text)}
    (folder / "report.json").write_text("{}")
    problem = client.get("/run/a/_load", headers=first).json["problem"]
    assert "cannot be read" in problem
    assert "report.json" in problem


def test_runs_whose_names_differ_in_white_space_are_told_apart_wherever_they_stand(tmp_path: Path) -> None:
    for day, name in enumerate(("my run", "my  run", "other")):
        save_run(tmp_path, name, a_timed_report(30.0, 20.0, origin=began(day, "ab")), day)
    client = make_app(tmp_path).server.test_client()
    layout = json.dumps(client.get("/run/other/_dash-layout").json, ensure_ascii=False)
    history = client.post("/run/other/_dash-update-component", json=body_of("history", {})).json
    for name in ("my␣run", "my␣␣run"):
        assert layout.count(f'"{name}') == 3, name  # the choice of runs, before and after
        assert name in json.dumps(history, ensure_ascii=False)
    assert "my run" not in layout.replace("../my", "").replace("my%20", "").replace('"value": "my', "")

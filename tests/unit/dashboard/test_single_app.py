"""One run folder or trace behind a server: its page can be loaded anew, and outlives what it was read from."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.errors import UnreadableFileError
from analyzer.reporting.json import write_report
from dashboard.app import make_app
from dashboard.page_answers import STAMP_HEADER
from dashboard.single_app import RUN, TRACE, TRACES, Target
from tests.rank_files import a_rank
from tests.reports import a_report
from tests.traces import Recording
from tests.unit.dashboard.several_runs import DAY_S, FIRST_S, save_run

LOOKING = {"Sec-Fetch-Dest": "document"}


def read_by(client: Any) -> dict[str, str]:
    """What a page that is opened now sends with all that it asks."""
    found = re.search(r'name="graphbound-read" content="([^"]*)"', client.get("/").text)
    assert found is not None
    return {STAMP_HEADER: found[1]}


def a_trace(path: Path, name: str, day: int) -> None:
    run = Recording()
    with run.step():
        run.launch(name, us=5)
        run.synchronize()
    run.save(path)
    seconds = FIRST_S + day * DAY_S
    os.utime(path, (seconds, seconds))


def facts_of(client: Any, read: dict[str, str]) -> str:
    return str(client.get("/_timeline/find", query_string={"q": "second"}, headers=read).text)


def test_a_run_that_is_written_again_is_loaded_when_that_is_asked_for(tmp_path: Path) -> None:
    folder = save_run(tmp_path, "mine", a_report(headline="the first"), 1)
    client = make_app(folder).server.test_client()
    first = read_by(client)
    assert client.get("/_since", headers=first).json == {"state": "same", "text": "", "now": first[STAMP_HEADER]}
    write_report(a_report(headline="the second"), folder / "report.json")
    assert client.get("/_since", headers=first).json["state"] == "changed"
    assert "the first" in client.get("/_dash-layout", headers=first).text
    # Whoever comes anew, or reloads, is shown what is there now, and meanwhile that it is being read.
    assert "Reading mine" in client.get("/", headers=LOOKING).text
    assert client.get("/_load").json == {"problem": None}
    assert "_dash-config" in client.get("/", headers=LOOKING).text
    second = read_by(client)
    assert "the second" in client.get("/_dash-layout", headers=second).text
    assert "the first" in client.get("/_dash-layout", headers=first).text
    assert client.get("/_since", headers=second).json["state"] == "same"


def test_a_run_that_is_gone_is_still_shown_and_said_to_be_gone(tmp_path: Path) -> None:
    folder = save_run(tmp_path, "mine", a_report(headline="the first"), 1)
    (folder / "plan.json").write_text("{}")
    client = make_app(folder).server.test_client()
    first = read_by(client)
    (folder / "report.json").unlink()
    assert client.get("/_since", headers=first).json["state"] == "gone"
    shutil.rmtree(folder)
    assert client.get("/_since", headers=first).json["state"] == "gone"
    assert "can no longer be found" in client.get("/_load").json["problem"]
    page = client.get("/", headers=LOOKING)
    assert page.status_code == 200
    assert "_dash-config" in page.text
    assert "the first" in client.get("/_dash-layout", headers=first).text


def test_a_partial_run_that_goes_on_says_so_and_its_end_can_be_loaded(tmp_path: Path) -> None:
    folder = save_run(tmp_path, "mine", a_report(partial="the run was ended during the search"), 1)
    lock = folder / ".running"
    lock.write_text(str(os.getpid()))
    client = make_app(folder).server.test_client()
    first = read_by(client)
    assert client.get("/_since", headers=first).json["state"] == "goes on"
    write_report(a_report(), folder / "report.json")
    lock.unlink()
    assert client.get("/_since", headers=first).json["state"] == "changed"
    client.get("/_load")
    assert client.get("/_since", headers=read_by(client)).json["state"] == "same"


def test_a_run_that_is_being_made_anew_is_another_thing_than_one_that_is_gone(tmp_path: Path) -> None:
    folder = save_run(tmp_path, "mine", a_report(), 1)
    client = make_app(folder).server.test_client()
    first = read_by(client)
    (folder / "report.json").unlink()
    (folder / ".running").write_text(str(os.getpid()))
    told = client.get("/_since", headers=first).json
    assert told["state"] == "goes on"
    assert "made anew" in told["text"]


def test_a_trace_that_is_recorded_again_is_loaded_and_one_that_is_cut_takes_nothing_away(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    a_trace(path, "first_kernel", 1)
    client = make_app(path).server.test_client()
    first = read_by(client)
    path.write_text("no trace")
    told = client.get("/_since", headers=first).json
    assert told["state"] == "changed"
    assert told["text"].startswith(TRACE)
    assert "cannot be read" in client.get("/_load").json["problem"]
    assert "_dash-config" in client.get("/", headers=LOOKING).text
    assert client.get("/_timeline/facts", headers=first).status_code == 200
    a_trace(path, "second_kernel", 2)
    assert client.get("/_load").json == {"problem": None}
    second = read_by(client)
    assert '"events":0' in facts_of(client, first).replace(" ", "")
    assert '"events":1' in facts_of(client, second).replace(" ", "")


def test_code_is_not_taken_from_the_folder_of_a_run_that_was_written_again(tmp_path: Path) -> None:
    folder = save_run(tmp_path, "mine", a_report(), 1)
    client = make_app(folder).server.test_client()
    first = read_by(client)
    assert "written again" not in client.get("/code?graph=x&candidate=y", headers=first).text
    os.utime(folder / "report.json", (FIRST_S, FIRST_S))
    found = client.get("/code?graph=x&candidate=y", headers=first)
    assert found.status_code == 404
    assert "written again" in found.text
    body = {
        "output": "graphs-code.children",
        "outputs": {"id": "graphs-code", "property": "children"},
        "inputs": [{"id": "graphs-code-button", "property": "n_clicks", "value": 1}],
        "changedPropIds": ["graphs-code-button.n_clicks"],
    }
    assert "written again" in client.post("/_dash-update-component", json=body, headers=first).text


def test_what_is_shown_stays_the_same_kind_of_thing(tmp_path: Path) -> None:
    folder = save_run(tmp_path, "mine", a_report(), 1)
    assert Target.at(folder).subject == RUN
    assert Target.at(folder / "report.json").folder == folder
    assert Target.at(tmp_path / "nowhere").subject == RUN
    ranks = tmp_path / "ranks"
    ranks.mkdir()
    a_rank(20, 20).save(ranks / "rank0.json.gz")
    assert Target.at(ranks).subject == TRACES
    assert Target.at(ranks / "rank0.json.gz").subject == TRACE


def test_a_folder_in_which_a_run_writes_later_offers_it(tmp_path: Path) -> None:
    client = make_app(tmp_path).server.test_client()
    first = read_by(client)
    assert client.get("/_since", headers=first).json["state"] == "same"
    write_report(a_report(headline="here it is"), tmp_path / "report.json")
    assert client.get("/_since", headers=first).json["state"] == "changed"
    client.get("/_load")
    assert "here it is" in client.get("/_dash-layout", headers=read_by(client)).text
    assert "here it is" not in client.get("/_dash-layout", headers=first).text


def test_where_nothing_can_be_shown_a_strict_server_does_not_begin(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError):
        make_app(tmp_path, is_strict=True)


def test_the_routes_of_what_can_be_loaded_are_guarded_like_the_page(tmp_path: Path) -> None:
    folder = save_run(tmp_path, "mine", a_report(), 1)
    client = make_app(folder).server.test_client()
    for path in ("/", "/_since", "/_load", "/_ready"):
        assert client.get(path, headers={"Host": "evil.example"}).status_code == 403
    closed = make_app(folder, "secret").server.test_client(use_cookies=False)
    for path in ("/", "/_since", "/_load", "/_ready"):
        assert closed.get(path).status_code == 403
    named = {"Host": "server.example", "Cookie": "graphbound_token=secret"}
    assert closed.get("/_dash-layout", headers=named).status_code == 200


def test_a_link_into_a_server_of_several_runs_leads_to_the_run_that_it_names_or_nowhere(tmp_path: Path) -> None:
    folder = save_run(tmp_path, "my run", a_report(), 1)
    client = make_app(folder).server.test_client()
    assert client.get("/run/my%20run/").headers["Location"] == "/"
    other = client.get("/run/other/", headers=LOOKING)
    assert other.status_code == 404
    assert other.mimetype == "text/plain"

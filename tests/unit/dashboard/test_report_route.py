"""`/report.html`: what the page gives to be kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.reporting.json import write_report
from dashboard.app import make_app
from dashboard.report_route import ROUTE, file_name
from dashboard.runs import address_of
from tests.reports import a_report
from tests.unit.dashboard.runs import a_run_folder


def test_it_is_a_download_with_both_timelines_and_the_link_leads_to_it(tmp_path: Path) -> None:
    client = make_app(a_run_folder(tmp_path)).server.test_client()
    answer = client.get(ROUTE)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{file_name(str(tmp_path))}"'
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.text.startswith("<!doctype html>")
    assert "before: step 1 of 2" in answer.text
    assert "after: step" in answer.text
    assert "What `analyze explain graph_break` says" in answer.text
    assert '"href":"report.html"' in client.get("/_dash-layout").text.replace(" ", "")


def test_without_a_report_there_is_a_sentence_and_no_link(tmp_path: Path) -> None:
    client = make_app(tmp_path).server.test_client()
    answer = client.get(ROUTE)
    assert answer.status_code == 404
    assert "analyze model.py" in answer.text
    assert "report.html" not in client.get("/_dash-layout").text


def test_each_of_several_runs_has_its_own(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        a_run_folder(tmp_path / name)
    write_report(a_report(headline="the other one"), tmp_path / "first" / "report.json")
    client = make_app(tmp_path).server.test_client()
    for name, headline in (("first", "the other one"), ("second", "CPU-bound: the host")):
        answer = client.get(f"{address_of(name)}report.html")
        assert f"<h1>{headline}" in answer.text
        assert f'filename="{name}-report.html"' in answer.headers["Content-Disposition"]


def test_another_site_does_not_get_it(tmp_path: Path) -> None:
    client = make_app(a_run_folder(tmp_path)).server.test_client()
    assert client.get(ROUTE, headers={"Host": "evil.example:8050"}).status_code == 403


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("runs/net-20260101-120000", "net-20260101-120000-report.html"),
        ('a"; filename="b.exe', "a-filename-b.exe-report.html"),
        ("/", "graphbound-report.html"),
        ("m\r\nSet-Cookie: x", "m-Set-Cookie-x-report.html"),
    ],
)
def test_a_name_is_one_that_any_system_takes(folder: str, name: str) -> None:
    assert file_name(folder) == name

"""Who is let in: this machine alone, or whoever brings the token."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analyzer.core.errors import UsageError
from dashboard.app import make_app, make_server
from dashboard.entry import COOKIE, new_token

PATHS = ("/", "/_dash-layout", "/_timeline/facts", "/assets/gb.css")


@pytest.fixture
def client(tmp_path: Path) -> Any:
    return make_app(tmp_path, "right").server.test_client()


@pytest.mark.parametrize("path", PATHS)
def test_without_the_token_nothing_is_answered(client: Any, path: str) -> None:
    for address in (path, f"{path}?token=wrong", f"{path}?token=", f"{path}?token=righ"):
        assert client.get(address, headers={"Host": "192.0.2.1:8050"}).status_code == 403
    client.set_cookie(COOKIE, "wrong")
    assert client.get(path).status_code == 403


def test_the_token_is_taken_once_and_leaves_the_address(client: Any) -> None:
    there = {"base_url": "http://192.0.2.1:8050"}
    first = client.get("/?token=right", **there)
    assert first.status_code == 302
    assert first.headers["Location"] == "/"
    cookie = first.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    for path in PATHS:
        with client.get(path, **there) as answer:
            assert answer.status_code == 200


def test_tokens_differ_and_are_long() -> None:
    assert len({new_token() for _ in range(20)}) == 20
    assert len(new_token()) >= 32


def test_a_server_for_others_prints_the_token_in_its_address(tmp_path: Path) -> None:
    server = make_server(make_app(tmp_path, "right"), None, "127.0.0.1", "right")
    assert server.url.endswith("/?token=right")
    server.close()


def test_an_address_that_is_not_this_machines_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"192\.0\.2\.1"):
        make_server(make_app(tmp_path, "x"), None, "192.0.2.1", "x")

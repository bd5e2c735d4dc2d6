"""Pages in memory: read when asked for, kept beside a newer version of the same run, and not all of them."""

from __future__ import annotations

import pytest

from analyzer.core.errors import UnreadableFileError
from dashboard import open_pages
from dashboard.open_pages import OpenPage, OpenPages


class Runs:
    """Runs that are no files: `stamps` says what is there, `made` what was read."""

    def __init__(self, *, events: int = 1, is_kept_when_gone: bool = False, **stamps: str) -> None:
        self.stamps: dict[str, str] = dict(stamps)
        self.made: list[str] = []
        self.unreadable: set[str] = set()
        self.events = events
        self.pages = OpenPages(self.stamps.get, self._read, is_kept_when_gone=is_kept_when_gone)

    def _read(self, name: str, stamp: str | None) -> OpenPage:
        assert stamp is not None
        self.made.append(f"{name}{stamp}")
        if stamp in self.unreadable:
            raise UnreadableFileError("cut short", hint="record it again")
        return OpenPage(f"page {name}{stamp}", self.events)

    def newest(self, name: str) -> object:
        page = self.pages.newest(name)
        return page if page is None else page.application


def test_only_the_pages_asked_for_last_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_pages, "MOST_OPEN", 2)
    runs = Runs(a="1", b="1", c="1")
    assert [runs.newest(name) for name in "abacab"] == [f"page {name}1" for name in "abacab"]
    assert runs.made == ["a1", "b1", "c1", "b1"]


def test_pages_with_many_events_make_room_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_pages, "MOST_EVENTS", 10)
    runs = Runs(events=8, a="1", b="1")
    for name in "aabab":
        runs.newest(name)
    assert runs.made == ["a1", "b1", "a1", "b1"]


def test_a_page_goes_on_answering_from_what_it_was_made_of_when_the_run_is_written_again() -> None:
    runs = Runs(a="1")
    runs.newest("a")
    assert not runs.pages.must_read("a")
    runs.stamps["a"] = "2"
    assert runs.pages.must_read("a")
    old = runs.pages.as_read("a", "1")
    assert old is not None
    assert old.application == "page a1"
    assert runs.made == ["a1"]
    assert runs.newest("a") == "page a2"
    for stamp in "12":
        found = runs.pages.as_read("a", stamp)
        assert found is not None
        assert found.application == f"page a{stamp}"
    assert runs.made == ["a1", "a2"]


def test_a_version_that_is_no_longer_kept_is_none_and_never_another_one() -> None:
    runs = Runs(a="2")
    assert runs.pages.as_read("a", "1") is None
    assert runs.made == []
    found = runs.pages.as_read("a", "2")
    assert found is not None
    assert found.application == "page a2"


def test_what_is_the_same_in_every_version_reads_none_anew() -> None:
    runs = Runs(a="1")
    runs.newest("a")
    runs.stamps["a"] = "2"
    found = runs.pages.any_of("a")
    assert found is not None
    assert found.application == "page a1"
    del runs.stamps["a"]
    assert runs.pages.any_of("a") == found
    assert runs.pages.any_of("nope") is None


def test_a_run_that_is_gone_is_none_and_its_open_page_still_answers() -> None:
    runs = Runs(a="1")
    runs.newest("a")
    del runs.stamps["a"]
    assert runs.newest("a") is None
    assert runs.pages.is_gone("a")
    assert runs.pages.as_read("a", "1") is not None
    assert runs.newest("nope") is None
    assert not runs.pages.must_read("nope")


def test_a_run_that_goes_while_it_is_read_is_none_and_is_read_again_when_it_is_back() -> None:
    runs = Runs(a="1")

    def read(name: str, stamp: str | None) -> OpenPage:
        del runs.stamps["a"]
        return OpenPage("half of it", 1)

    pages = OpenPages(runs.stamps.get, read)
    assert pages.newest("a") is None
    runs.stamps["a"] = "1"
    assert pages.must_read("a")


def test_the_only_page_of_a_server_outlives_its_files() -> None:
    runs = Runs(is_kept_when_gone=True, a="1")
    runs.newest("a")
    del runs.stamps["a"]
    assert runs.newest("a") == "page a1"
    assert not runs.pages.must_read("a")


def test_what_cannot_be_read_leaves_the_page_before_it_and_says_why_once() -> None:
    runs = Runs(is_kept_when_gone=True, a="1")
    runs.newest("a")
    runs.stamps["a"] = "2"
    runs.unreadable.add("2")
    for _ in range(2):
        page = runs.pages.newest("a")
        assert page is not None
        assert (page.application, page.problem) == ("page a1", "cut short. record it again")
    # Whoever looks at it is not sent round and round to wait for it.
    assert not runs.pages.must_read("a")
    assert runs.made == ["a1", "a2"]
    runs.stamps["a"] = "3"
    page = runs.pages.newest("a")
    assert page is not None
    assert (page.application, page.problem) == ("page a3", None)


def test_what_never_could_be_read_is_an_error() -> None:
    runs = Runs(a="1")
    runs.unreadable.add("1")
    with pytest.raises(UnreadableFileError, match="cut short"):
        runs.pages.newest("a")

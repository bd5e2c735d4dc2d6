"""What is said of a run after its page was read."""

from __future__ import annotations

import pytest

from dashboard.since import Since, State, since


def said(read: str | None, now: str | None, *, goes_on: bool = False) -> Since:
    return since("This run", read, now, goes_on=goes_on)


def test_of_what_is_as_it_was_nothing_is_said() -> None:
    assert said("1", "1") == Since(State.SAME, "", "1")
    assert said(None, None) == Since(State.SAME, "", None)
    # Nothing is there: a word left behind by a run that was killed tells of nothing that goes on.
    assert said(None, None, goes_on=True) == Since(State.SAME, "", None)


@pytest.mark.parametrize("read", ["1", None])
def test_what_was_written_since_can_be_loaded_also_while_a_run_goes_on(read: str | None) -> None:
    for goes_on in (False, True):
        found = said(read, "2", goes_on=goes_on)
        assert (found.state, found.now) == (State.CHANGED, "2")
        assert found.text.startswith("This run was written anew")


def test_what_is_gone_is_said_and_a_run_that_begins_anew_is_another_thing() -> None:
    assert said("1", None).state is State.GONE
    assert "no longer" in said("1", None).text
    anew = said("1", None, goes_on=True)
    assert anew.state is State.GOES_ON
    assert "being made anew" in anew.text


def test_a_partial_run_that_goes_on_is_said_so() -> None:
    found = said("1", "1", goes_on=True)
    assert found.state is State.GOES_ON
    assert "so far" in found.text

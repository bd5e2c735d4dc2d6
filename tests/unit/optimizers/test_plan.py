"""plan.json says what was chosen, outlives its process, and is refused once it was changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.device import Versions
from analyzer.core.errors import ExitCode, UnreadableFileError
from analyzer.core.graphs import Direction
from analyzer.core.plan import FUSED, Choice, Plan
from optimizers.plan import RENEW, read_plan, write_plan
from tests.reports import a_key

VERSIONS = Versions(graphbound="0.1.0", python="3.11.9", torch="2.13.0+cpu")
PLAN = Plan(
    choices=(Choice(a_key(1), "cpp_wrapper"), Choice(a_key(2, Direction.BACKWARD), "fused")),
    device="AMD EPYC",
    versions=VERSIONS,
    note="10 → 5 ms",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plan.json"


keys = st.builds(a_key, st.integers(0, 2**48 - 1), st.sampled_from(Direction))
plans = st.builds(
    Plan,
    choices=st.lists(st.builds(Choice, keys, st.text()), max_size=4).map(tuple),
    device=st.text(),
    versions=st.just(VERSIONS),
    is_compiled=st.booleans(),
    note=st.none() | st.text(),
)


@given(plan=plans)
def test_a_plan_survives_its_round_trip(tmp_path_factory: pytest.TempPathFactory, plan: Plan) -> None:
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    write_plan(plan, path)
    assert read_plan(path) == plan


def test_the_same_plan_gives_the_same_file_that_a_person_can_read(path: Path) -> None:
    write_plan(PLAN, path)
    text = path.read_text()
    write_plan(PLAN, path)
    assert path.read_text() == text
    assert f'"key": "{a_key(1)}"' in text
    assert len(text.splitlines()) > 10


def test_a_graph_the_plan_does_not_name_takes_the_default() -> None:
    assert PLAN.candidate(a_key(1)) == "cpp_wrapper"
    assert PLAN.candidate(a_key(9)) == FUSED


def rewritten(path: Path, **changes: Any) -> Path:
    write_plan(PLAN, path)
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return path


def test_a_reformatted_plan_is_still_good(path: Path) -> None:
    assert read_plan(rewritten(path)) == PLAN


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"device": "another"}, "was changed since it was written"),
        ({"choices": []}, "was changed since it was written"),
        ({"checksum": ""}, "was changed since it was written"),
        ({"is_compiled": False}, "was changed since it was written"),
        ({"schema": 99}, "plan of schema 99, this is 1"),
        ({"choices": [{"key": "nonsense", "candidate": "fused"}]}, "is not a plan"),
        ({"choices": [{"key": "abc.sideways", "candidate": "fused"}]}, "is not a plan"),
        ({"choices": 3}, "is not a plan"),
    ],
)
def test_a_plan_that_was_changed_or_is_none_is_refused(path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(UnreadableFileError, match=says) as caught:
        read_plan(rewritten(path, **changes))
    assert str(path) in caught.value.message
    assert caught.value.hint == RENEW
    assert caught.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'"text"', b"{}"])
def test_a_damaged_file_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(UnreadableFileError, match="is not a plan"):
        read_plan(path)


def test_a_file_that_is_cut_off_is_refused(path: Path) -> None:
    write_plan(PLAN, path)
    whole = path.read_bytes()
    for length in range(0, len(whole) - 2, 40):
        path.write_bytes(whole[:length])
        with pytest.raises(UnreadableFileError):
            read_plan(path)


def test_a_missing_file_and_a_folder_are_named(path: Path, tmp_path: Path) -> None:
    for wrong in (path, tmp_path):
        with pytest.raises(UnreadableFileError, match="cannot read the plan"):
            read_plan(wrong)


def test_a_later_schema_is_told_from_damage(path: Path) -> None:
    write_plan(replace(PLAN, schema=2), path)
    with pytest.raises(UnreadableFileError, match="schema 2"):
        read_plan(path)

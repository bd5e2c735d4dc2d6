"""plan.json says what was chosen and measured, outlives its process, and is refused once it was changed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.device import Versions
from analyzer.core.errors import ExitCode, UnreadableFileError
from analyzer.core.graphs import Direction
from analyzer.core.plan import FUSED, Choice, Plan, PlanAccuracy, PlanFigures
from optimizers.plan import PLAN_SCHEMA, RENEW, _checksum, read_plan, shown, write_plan
from tests.reports import a_key

VERSIONS = Versions(graphbound="0.1.0", python="3.11.9", torch="2.13.0+cpu")
PLAN = Plan(
    choices=(Choice(a_key(1), "cpp_wrapper"), Choice(a_key(2, Direction.BACKWARD), "fused")),
    device="AMD EPYC",
    versions=VERSIONS,
    note="10 → 5 ms",
    mode="inference",
    model="0123456789ab",
    figures=PlanFigures(None, 10_000_000, 5_000_000, 2.0, 1.9, 2.1, PlanAccuracy("float64", 1e-7, 3e-7)),
    caveats=("weights are baked in",),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plan.json"


keys = st.builds(a_key, st.integers(0, 2**48 - 1), st.sampled_from(Direction))
floats = st.floats(allow_nan=False, allow_infinity=False)
whole = st.integers(0, 2**63 - 1)
figures = st.builds(
    PlanFigures,
    eager_ns=st.none() | whole,
    default_ns=whole,
    plan_ns=whole,
    ratio=floats,
    low=floats,
    high=floats,
    accuracy=st.none() | st.builds(PlanAccuracy, st.text(), floats, floats),
)
plans = st.builds(
    Plan,
    choices=st.lists(st.builds(Choice, keys, st.text()), max_size=4, unique_by=lambda choice: choice.key).map(tuple),
    device=st.text(),
    versions=st.just(VERSIONS),
    is_compiled=st.booleans(),
    note=st.none() | st.text(),
    mode=st.none() | st.text(),
    model=st.none() | st.text(),
    figures=st.none() | figures,
    caveats=st.lists(st.text(), max_size=2).map(tuple),
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
    assert "10 → 5 ms" in text
    assert len(text.splitlines()) > 10


def test_a_plan_that_leaves_the_model_alone_runs_every_graph_as_it_is_whatever_it_names() -> None:
    left = replace(PLAN, is_compiled=False)
    assert {left.candidate(choice.key) for choice in left.choices} == {left.candidate(a_key(9))} == {"eager"}


def test_a_graph_the_plan_does_not_name_takes_the_default() -> None:
    assert PLAN.candidate(a_key(1)) == "cpp_wrapper"
    assert PLAN.candidate(a_key(9)) == FUSED


FIGURES: dict[str, Any] = asdict(PLAN.figures) if PLAN.figures else {}
TWICE = {"key": str(a_key(1)), "candidate": "fused"}


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
        ({"caveats": []}, "was changed since it was written"),
        ({"measured": None}, "was changed since it was written"),
        ({"more": 1}, "was changed since it was written"),
        ({"checksum": ""}, "was changed since it was written"),
        ({"is_compiled": False}, "was changed since it was written"),
        ({"schema": 1}, "was changed since it was written"),
        ({"schema": 99}, "plan of schema 99, this is 2"),
        ({"schema": True}, "is not a plan"),
        ({"choices": [{"key": "nonsense", "candidate": "fused"}]}, "is not a plan"),
        ({"choices": [{"key": "abc.sideways", "candidate": "fused"}]}, "is not a plan"),
        ({"choices": [{"key": "abc.inference"}]}, "is not a plan: it has no 'candidate'"),
        ({"choices": 3}, "is not a plan: a whole number stands where a list is wanted"),
        ({"note": 3}, "is not a plan"),
        ({"is_compiled": 1}, "is not a plan"),
        ({"measured": {"ratio": "2"}}, "is not a plan"),
        ({"model": 1.5}, "a fraction stands where a text is wanted"),
        ({"device": None}, "null stands where a text is wanted"),
        ({"choices": [TWICE, TWICE]}, "names the graph .* twice"),
        ({"schema": 10**4000}, "more than 64 bits"),
        ({"measured": FIGURES | {"plan_ns": 2**63}}, "more than 64 bits"),
        ({"measured": FIGURES | {"ratio": 10**400}}, "more than 64 bits"),
    ],
)
def test_a_plan_that_was_changed_or_is_none_is_refused(path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(UnreadableFileError, match=says) as caught:
        read_plan(rewritten(path, **changes))
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint == RENEW
    assert caught.value.exit_code is ExitCode.USAGE


def test_a_flipped_bit_is_refused_wherever_it_is(path: Path) -> None:
    write_plan(PLAN, path)
    whole = path.read_bytes()
    for place in range(len(whole)):
        for bit in range(8):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
            try:
                read = read_plan(path)
            except UnreadableFileError:
                continue
            # One blank for another between two values, or the e of an exponent for E: nothing that is said has changed.
            assert read == PLAN
            assert whole[place : place + 1] in (b" ", b"\n", b"e")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b"\xff\xfe", b'"text"', b"{}", b"[" * 100_000, b'{"schema": NaN}']
)
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


def test_a_number_that_no_float_holds_is_refused(path: Path) -> None:
    write_plan(PLAN, path)
    path.write_text(path.read_text().replace('"ratio": 2.0', '"ratio": 1e999'))
    with pytest.raises(UnreadableFileError, match="a number that is too large"):
        read_plan(path)


def test_a_path_that_no_file_can_have_is_named_as_one() -> None:
    with pytest.raises(UnreadableFileError, match="cannot read the plan"):
        read_plan("plan\0.json")


@pytest.mark.parametrize("name", ["", "\x1b[31mred", "two\nlines", "a" * 100_000])
def test_a_name_is_shown_short_on_one_line_and_with_nothing_a_terminal_would_obey(name: str) -> None:
    assert 0 < len(shown(name)) <= 80
    assert shown(name).isprintable()
    assert shown("NVIDIA H200") == "NVIDIA H200"


def test_a_missing_file_and_a_folder_are_named(path: Path, tmp_path: Path) -> None:
    for wrong in (path, tmp_path):
        with pytest.raises(UnreadableFileError, match="cannot read the plan"):
            read_plan(wrong)


def test_a_later_schema_is_told_from_damage(path: Path) -> None:
    write_plan(PLAN, path)
    path.write_text(path.read_text().replace(f'"schema": {PLAN_SCHEMA}', f'"schema": {PLAN_SCHEMA + 1}'))
    with pytest.raises(UnreadableFileError, match="schema 3, this is 2"):
        read_plan(path)


# -- the first schema -------------------------------------------------------------------------------------------------


def test_plans_of_the_first_schema_are_still_read(root: Path) -> None:
    plan = read_plan(root / "tests" / "golden" / "mixed_graphs_h200" / "plan.json")
    assert plan.device == "NVIDIA H200"
    assert plan.choices
    assert (plan.model, plan.figures, plan.caveats) == (None, None, ())


def test_a_changed_plan_of_the_first_schema_is_refused(root: Path, path: Path) -> None:
    text = (root / "tests" / "golden" / "mixed_graphs_h200" / "plan.json").read_text()
    path.write_text(text.replace("NVIDIA H200", "NVIDIA H100"))
    with pytest.raises(UnreadableFileError, match="was changed since it was written"):
        read_plan(path)


@given(
    content=st.dictionaries(
        st.text(), st.none() | st.text() | st.booleans() | st.integers(0, 2**63) | st.lists(st.text())
    )
)
def test_its_checksum_is_still_what_msgspec_made_of_it(content: dict[str, Any]) -> None:
    content.pop("checksum", None)
    made = hashlib.sha256(msgspec.json.encode(content | {"checksum": ""})).hexdigest()
    assert _checksum(content | {"checksum": made}, 1) == made


def test_a_plan_that_is_renewed_is_written_in_the_second(root: Path, path: Path) -> None:
    old = read_plan(root / "tests" / "golden" / "mixed_graphs_h200" / "plan.json")
    write_plan(replace(old, mode="inference"), path)
    assert json.loads(path.read_text())["schema"] == PLAN_SCHEMA
    assert read_plan(path) == replace(old, mode="inference")

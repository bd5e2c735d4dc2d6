"""report.json: what it looks like to others, and that it loses nothing."""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzer.core.budget import Budget, BudgetPart, HostKind, HostPart, Part
from analyzer.core.critical_path import CriticalPath, PathKind, PathPart, PathRow
from analyzer.core.errors import UnreadableFileError
from analyzer.core.finding import Finding
from analyzer.core.graphs import CallOrder, Capture, CudaGraphSkip, Direction, Graph, GraphKey, LibraryCall
from analyzer.core.ranks import RankSteps, Temporal
from analyzer.core.report import CandidateReport, GapReport, GraphReport, PlanTrial, Report
from analyzer.core.samples import Samples
from analyzer.core.trial import Accuracy, Comparison
from analyzer.core.verdict import Saving, Verdict
from analyzer.reporting import wire
from analyzer.reporting.json import REPORT_FILE, decode_report, encode_report, read_report, report_at, write_report
from analyzer.version import VERSION
from tests.reports import a_candidate, a_comparison, a_graph, a_report, an_accuracy, an_empty_report


def _json(report: Report) -> Any:
    return json.loads(encode_report(report))


def test_a_report_survives_its_round_trip(tmp_path: Path) -> None:
    for report in (a_report(), an_empty_report()):
        write_report(report, tmp_path / "report.json")
        assert read_report(tmp_path / "report.json") == report
        assert read_report(tmp_path) == report, "a run folder is as good as the file in it"
        assert [p.name for p in tmp_path.iterdir()] == ["report.json"], "nothing unfinished is left behind"


def test_the_public_keys_have_the_shape_that_is_documented() -> None:
    report = _json(a_report())
    assert next(iter(report)) == "schema"
    graph = report["graphs"][0]
    assert graph["key"] == "000000000001.inference"
    assert graph["direction"] == "inference"
    assert graph["where"] == {"file": "/home/ada/gptlite.py", "line": 41, "function": "forward"}
    assert set(graph["verdict"]) >= {"bound", "confidence", "evidence"}
    assert graph["verdict"]["bound"] == "cpu"
    assert graph["budget"]["elapsed_ns"] == sum(part["ns"] for part in graph["budget"]["parts"])
    assert graph["budget"]["parts"][0] == {"name": "starved", "ns": 20_900_000, "is_scaled": False}
    assert set(graph["candidates"][0]) >= {"outcome", "predicted_ns", "measured_ns", "reason"}
    assert graph["candidates"][2]["outcome"] == "refused"
    assert graph["chosen"] == "cuda_graphs"
    assert report["eager_gaps"][0]["after"] == "000000000001.inference"
    assert set(report["findings"][0]) >= {"rule", "file", "line", "ns_per_step", "remedy"}
    assert report["findings"][0]["line"] == 57
    assert report["comparison"]["outcome"] == "FASTER"
    assert set(report["comparison"]["interval"]) == {"low", "high"}
    assert set(report["comparison"]) >= {"before_ns", "after_ns", "ratio"}
    assert 0 < report["linked_share"] < 1
    assert report["partial"] is None
    assert set(report) >= {"headline", "device", "versions"}


def test_the_unknown_is_null_and_not_zero() -> None:
    report = _json(an_empty_report())
    assert report["comparison"] is None
    assert report["linked_share"] is None
    assert report["step_ns"] is None


@pytest.mark.parametrize(
    ("core", "struct", "renamed"),
    [
        (Report, wire.WireReport, {}),
        (GraphReport, wire.WireGraphReport, {}),
        (GapReport, wire.WireGapReport, {}),
        (CandidateReport, wire.WireCandidate, {}),
        (PlanTrial, wire.WirePlanTrial, {}),
        (Comparison, wire.WireComparison, {}),
        (Accuracy, wire.WireAccuracy, {}),
        (Verdict, wire.WireVerdict, {}),
        (Saving, wire.WireSaving, {}),
        (Budget, wire.WireBudget, {}),
        (BudgetPart, wire.WirePart, {"part": "name"}),
        (HostPart, wire.WireHostPart, {"kind": "name"}),
        (Finding, wire.WireFinding, {"where": "file"}),
        (Capture, wire.WireCapture, {}),
        (Graph, wire.WireGraph, {}),
        (CudaGraphSkip, wire.WireSkip, {}),
    ],
)
def test_every_field_of_the_core_has_its_place_in_the_file(core: type, struct: type, renamed: dict[str, str]) -> None:
    fields = {renamed.get(f.name, f.name) for f in dataclasses.fields(core)}
    assert fields <= {f.name for f in msgspec.structs.fields(struct)}


def test_the_same_report_gives_the_same_bytes_however_often_it_is_read() -> None:
    once = encode_report(a_report())
    assert encode_report(decode_report(once, "report.json")) == once == encode_report(a_report())


def test_an_error_that_is_not_finite_comes_back_as_it_was() -> None:
    lost = an_accuracy(error=math.inf, eager_error=math.nan, is_right=False)
    report = a_report(
        graphs=(a_graph(candidates=(a_candidate(accuracy=lost),)),), comparison=a_comparison(accuracy=lost)
    )
    accuracy = decode_report(encode_report(report), "report.json").graphs[0].candidates[0].accuracy
    assert accuracy is not None
    assert accuracy.error == math.inf
    assert math.isnan(accuracy.eager_error)


def test_the_samples_of_a_candidate_are_kept_and_an_older_report_has_none() -> None:
    kept = a_candidate(step_samples=Samples((1, 2)), step_baseline_samples=Samples((3,)))
    report = a_report(graphs=(a_graph(candidates=(kept,)),))
    assert decode_report(encode_report(report), "report.json").graphs[0].candidates == (kept,)
    older = _json(report)
    for name in ("step_samples", "step_baseline_samples"):
        del older["graphs"][0]["candidates"][0][name]
    (read,) = decode_report(json.dumps(older).encode(), "report.json").graphs[0].candidates
    assert (read.step_samples, read.step_baseline_samples) == (None, None)


def test_numbers_that_numpy_computed_are_written_like_others() -> None:
    report = a_report(profiler_slowdown=np.float64(1.25), graphs=(a_graph(busy_ns=np.int64(7)),))
    assert decode_report(encode_report(report), "x") == report


def test_what_a_report_cannot_hold_is_refused_and_not_written_as_text(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="object"):
        write_report(a_report(headline=object()), tmp_path / "report.json")
    assert list(tmp_path.iterdir()) == []


def test_a_file_name_that_is_not_utf8_is_written_readably() -> None:
    report = decode_report(encode_report(a_report(headline="mod\udc80el.py")), "x")
    assert report.headline == "mod\\udc80el.py"


def test_what_a_terminal_might_obey_is_escaped_and_still_the_same_text() -> None:
    report = a_report(headline="a\x9b2J\u202eb\x7f")
    data = encode_report(report)
    assert not set(data.decode()) & set("\x9b\u202e\x7f\x1b")
    assert decode_report(data, "x") == report


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file ends too early, at byte 0"),
        (b'{"schema": 1, "headl', "the file ends too early, at byte 20"),
        (b"[]", "not a report"),
        (b'{"schema": 1}', "not a report: Object missing required field `headline`"),
        (b'{"schema": 999}', "report schema 999 is not known here"),
        (b"\x1f\x8b\x08", "not JSON"),
        (b'{"schema": 1,,}', "byte 13"),
    ],
)
def test_a_file_that_is_no_report_says_what_is_wrong_with_it(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "report.json").write_bytes(content)
    with pytest.raises(UnreadableFileError, match=message) as caught:
        read_report(tmp_path / "report.json")
    assert "report.json" in caught.value.message
    assert caught.value.hint is not None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"schema": 0}, "report schema 0 is not known here, only 1"),
        ({"workload": None}, "Expected `object`, got `null` - at `$.workload`"),
        ({"linked_share": {"of": 1}}, "Expected `float | null`, got `object` - at `$.linked_share`"),
    ],
)
def test_of_what_another_release_wrote_it_says_which_one_and_what_to_do(changes: dict[str, Any], why: str) -> None:
    older = {**_json(a_report()), **changes}
    older["versions"]["graphbound"] = "0.0.7\x1b[2J"
    with pytest.raises(UnreadableFileError) as caught:
        decode_report(json.dumps(older).encode(), "base/report.json")
    said = f"Graphbound 0.0.7\\x1b[2J wrote it, and this one, {VERSION}, does not read it: {why}"
    assert caught.value.message == f"base/report.json: {said}"
    assert "again with this one" in str(caught.value.hint)
    older["versions"]["graphbound"] = VERSION
    with pytest.raises(UnreadableFileError) as caught:
        decode_report(json.dumps(older).encode(), "base/report.json")
    assert "wrote it" not in caught.value.message
    assert why in caught.value.message


def test_every_cut_of_a_report_is_noticed() -> None:
    data = encode_report(a_report()).rstrip()
    for end in range(0, len(data), 997):
        with pytest.raises(UnreadableFileError):
            decode_report(data[:end], "report.json")


def test_a_budget_that_does_not_add_up_is_refused() -> None:
    report = _json(a_report())
    report["graphs"][0]["budget"]["elapsed_ns"] += 1
    with pytest.raises(UnreadableFileError, match="add up"):
        decode_report(json.dumps(report).encode(), "report.json")


def test_a_missing_report_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="no report here") as caught:
        read_report(tmp_path)
    assert "analyze model.py" in str(caught.value.hint)


def test_a_failed_write_leaves_the_old_report(tmp_path: Path) -> None:
    write_report(a_report(), tmp_path / "report.json")
    with pytest.raises(TypeError):
        write_report(a_report(headline=object()), tmp_path / "report.json")
    assert read_report(tmp_path) == a_report()


def _budget(parts: list[BudgetPart], kind: HostKind | None) -> Budget:
    budget = Budget(sum(p.ns for p in parts), tuple(parts))
    starved_ns = budget.ns(Part.STARVED)
    return budget if kind is None else dataclasses.replace(budget, starved=(HostPart(kind, starved_ns),))


_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
_TIMES = st.integers(min_value=0, max_value=2**62)
_PARTS = st.lists(st.builds(BudgetPart, part=st.sampled_from(Part), ns=st.integers(0, 10**12)), max_size=4)
_SPECIAL: dict[object, st.SearchStrategy[Any]] = {
    str: _TEXT,
    int: _TIMES,
    bool: st.booleans(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    type(None): st.none(),
    Budget: st.tuples(_PARTS, st.none() | st.sampled_from(HostKind)).map(lambda drawn: _budget(*drawn)),
    Samples: st.lists(_TIMES, min_size=1, max_size=3).map(lambda ns: Samples(tuple(ns))),
    Temporal: st.lists(st.integers(0, 10**12), min_size=4, max_size=4).map(lambda parts: Temporal(sum(parts), *parts)),
    RankSteps: st.integers(0, 2).flatmap(
        lambda length: st.lists(st.integers(0, 10**12), min_size=length, max_size=length).map(
            lambda column: RankSteps(tuple(column), length, *(tuple(column),) * 5)
        )
    ),
    CriticalPath: st.tuples(st.lists(st.integers(0, 10**12), max_size=3), st.none() | st.just("no launches")).map(
        lambda drawn: CriticalPath(
            elapsed_ns=sum(drawn[0]),
            steps=len(drawn[0]),
            segments=2,
            parts=tuple(PathPart(kind, ns) for kind, ns in zip(PathKind, drawn[0], strict=False)),
            rows=tuple(PathRow("aten::mm", kind, ns, 1) for kind, ns in zip(PathKind, drawn[0], strict=False)),
            missing=drawn[1],
        )
    ),
    GraphKey: st.builds(GraphKey, st.from_regex("[0-9a-f]{12}", fullmatch=True), st.sampled_from(Direction)),
    CallOrder: st.lists(_TEXT | _TEXT.map(LibraryCall), max_size=4).map(CallOrder.of),
}


def _any(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type of the core; `st.from_type` would need strategies registered for every test there is."""
    if hint in _SPECIAL:
        return _SPECIAL[hint]
    if isinstance(hint, types.UnionType):
        return st.one_of(*(_any(member) for member in typing.get_args(hint)))
    if typing.get_origin(hint) is tuple:
        return st.lists(_any(typing.get_args(hint)[0]), max_size=2).map(tuple)
    if issubclass(hint, Enum):
        return st.sampled_from(hint)
    hints = typing.get_type_hints(hint)
    return st.builds(hint, **{field.name: _any(hints[field.name]) for field in dataclasses.fields(hint)})


_ANY_REPORT = _any(Report).map(lambda report: dataclasses.replace(report, schema=1))


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(_ANY_REPORT)
def test_any_report_survives_its_round_trip(report: Report) -> None:
    encoded = encode_report(report)
    assert decode_report(encoded, "report.json") == report
    assert encode_report(decode_report(encoded, "report.json")) == encoded


def test_what_to_type_next_names_the_folder_where_the_report_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(tmp_path)
    stays = a_report(next_command="analyze dashboard here")
    write_report(stays, here / REPORT_FILE)
    assert report_at(here) == report_at(here / REPORT_FILE) == stays, "another way to the same folder"
    write_report(dataclasses.replace(stays, next_command="analyze dashboard gone"), here / REPORT_FILE)
    assert report_at("here").next_command == "analyze dashboard here"
    again = dataclasses.replace(stays, next_command="analyze model.py")
    write_report(again, here / REPORT_FILE)
    assert report_at(here) == again
    write_report(dataclasses.replace(stays, next_command="analyze dashboard gone"), here / "kept.json")
    assert report_at(here / "kept.json").next_command == "analyze dashboard gone", "no run lies there"


@pytest.mark.parametrize("number", [10**400, 2**63, -(2**63) - 1])
def test_a_number_that_no_clock_counts_to_is_refused(number: int) -> None:
    """`show --format html` of a report with a step of 10^400 ns ended with an OverflowError."""
    hostile = _json(a_report())
    hostile["warmup_ns"] = [number]
    with pytest.raises(UnreadableFileError, match="beyond 64 bits"):
        decode_report(json.dumps(hostile).encode(), "report.json")


def test_digits_in_a_text_and_the_largest_numbers_are_read() -> None:
    fine = _json(a_report())
    fine["headline"] = f"graph {10**30}, {2**64}"
    fine["warmup_ns"] = [2**63 - 1]
    assert decode_report(json.dumps(fine).encode(), "report.json").warmup_ns == (2**63 - 1,)

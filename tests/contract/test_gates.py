"""What every gate keeps to."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from analyzer.core.gate import GateLevel, GateStatus, GateUnit
from analyzer.core.policy import Preset
from analyzer.core.report import Report
from analyzer.gate.gates import GATES, gate, level_of
from analyzer.gate.judge import WITHOUT_VALUE, judge
from analyzer.gate.reading import Gate, Subject
from analyzer.rules import RULES
from tests.gates import a_case, a_model_report, a_policy
from tests.reports import an_empty_report

each = pytest.mark.parametrize("one", GATES, ids=[one.id for one in GATES])


def _subject(report: Report, device: str) -> Subject:
    return Subject(replace(report, workload=replace(report.workload, device=device)))


@each
def test_its_id_is_its_own_and_fits_a_toml_key(one: Gate) -> None:
    assert re.fullmatch("[a-z_]+", one.id)
    assert gate(one.id) is one
    assert [other.id for other in GATES].count(one.id) == 1
    assert one.doc
    assert one.margin >= 0


@each
def test_its_rules_exist(one: Gate) -> None:
    assert set(one.rules) <= {rule.id for rule in RULES}


@each
def test_reading_a_run_that_measured_nothing_gives_a_reason_and_no_number(one: Gate) -> None:
    if one.id in WITHOUT_VALUE:
        return
    for kind in ("cuda", "cpu"):
        reading = one.read(_subject(an_empty_report(), kind))
        assert reading.value is None
        assert reading.reason


@each
def test_reading_twice_gives_the_same(one: Gate) -> None:
    subject = _subject(a_model_report(breaks=2), "cuda")
    assert one.read(subject) == one.read(subject)


@each
@pytest.mark.parametrize("level", ["warn", "error"])
def test_asked_for_by_name_it_never_passes_a_run_that_measured_nothing(one: Gate, level: str) -> None:
    policy = a_policy("off", **{one.id: level})
    judged = judge(a_case(an_empty_report(partial=None), policy=policy))
    if one.id in WITHOUT_VALUE:
        return
    (check,) = judged.checks
    assert check.status is GateStatus.BROKEN
    assert check.reason
    assert judged.has_passed == (level == "warn")


@each
def test_off_it_is_not_there(one: Gate) -> None:
    assert not judge(a_case(a_model_report(), policy=a_policy(**{one.id: "off"}))).checks or one.id not in [
        check.gate for check in judge(a_case(a_model_report(), policy=a_policy(**{one.id: "off"}))).checks
    ]


@each
def test_a_message_is_one_line_that_says_something(one: Gate) -> None:
    for case in (a_case(), a_case(stored=a_model_report()), a_case(a_model_report(breaks=3), a_model_report())):
        for check in judge(case).checks:
            assert check.message
            assert "\n" not in check.message


@each
def test_strict_is_never_softer_than_recommended(one: Gate) -> None:
    order = (GateLevel.OFF, GateLevel.WARN, GateLevel.ERROR)
    assert order.index(level_of(one, Preset.STRICT)) >= order.index(level_of(one, Preset.RECOMMENDED))
    assert level_of(one, Preset.OFF) is GateLevel.OFF


def test_a_run_that_ended_early_fails_whatever_it_measured() -> None:
    report = a_model_report(partial="out of memory")
    judged = judge(a_case(report, a_model_report()))
    assert not judged.has_passed
    assert judged.error is not None
    assert "out of memory" in judged.error


def test_a_wrong_result_fails_though_its_error_may_look_small() -> None:
    report = a_model_report()
    accuracy = report.plans[0].accuracy
    assert accuracy is not None
    wrong = replace(accuracy, is_right=False, error=accuracy.allowed / 2)
    judged = judge(a_case(replace(report, plans=(replace(report.plans[0], accuracy=wrong),))))
    assert [check.gate for check in judged.failures] == ["accuracy"]


def test_units_are_those_of_the_renderers() -> None:
    assert {one.unit for one in GATES} == set(GateUnit)

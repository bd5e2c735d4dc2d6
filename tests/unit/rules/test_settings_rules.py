"""anomaly_mode and deterministic_mode: rules that read one setting."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.rules import anomaly_mode, deterministic_mode
from analyzer.rules.rule import MissingData
from tests.rule_facts import an_environment, facts

CASES = [
    (anomaly_mode, {"is_anomaly_mode": True}, "set_detect_anomaly(False)"),
    (deterministic_mode, {"is_deterministic": True}, "use_deterministic_algorithms(False)"),
]


@pytest.mark.parametrize(("rule", "setting", "remedy"), CASES)
def test_the_setting_is_found_and_how_to_undo_it(rule: Any, setting: dict[str, bool], remedy: str) -> None:
    (finding,) = rule.judge(facts(environment=an_environment(**setting)))
    assert remedy in finding.remedy
    assert finding.ns_per_step is None


@pytest.mark.parametrize(("rule", "setting", "remedy"), CASES)
def test_torchs_defaults_are_silent(rule: Any, setting: dict[str, bool], remedy: str) -> None:
    assert rule.judge(facts()) == ()


@pytest.mark.parametrize(("rule", "setting", "remedy"), CASES)
def test_without_settings_it_cannot_tell(rule: Any, setting: dict[str, bool], remedy: str) -> None:
    with pytest.raises(MissingData):
        rule.judge(facts(environment=None))

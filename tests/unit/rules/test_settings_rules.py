"""anomaly_mode and deterministic_mode: rules that read one setting."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.core.ops import ModeUse
from analyzer.rules import anomaly_mode, deterministic_mode
from analyzer.rules.rule import MissingData
from tests.op_logs import an_op_log
from tests.reports import at
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


@pytest.mark.parametrize(("rule", "name"), [(anomaly_mode, "anomaly"), (deterministic_mode, "deterministic")])
def test_a_setting_made_inside_the_step_is_found_at_its_line(rule: Any, name: str) -> None:
    use = ModeUse(name, at("/home/ada/net.py:21"), 40)
    (finding,) = rule.judge(facts(ops=an_op_log(modes=(use,))))
    assert str(finding.where) == "/home/ada/net.py:21"

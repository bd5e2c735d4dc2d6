"""recompile_limit."""

from __future__ import annotations

import pytest

from analyzer.core.graphs import Recompile
from analyzer.rules.recompile_limit import judge
from analyzer.rules.rule import MissingData
from tests.reports import at
from tests.rule_facts import captured, facts


def _last(**changes: object) -> Recompile:
    return Recompile(where=at("net.py:7"), guard="self.n == 7", compile_id="0/8", **changes)


def test_a_frame_that_torch_gave_up_is_named_with_its_last_guard() -> None:
    (finding,) = judge(facts(capture=captured(recompiles=(_last(is_limit=True),))))
    assert "self.n == 7" in finding.message
    assert finding.where == at("net.py:7")
    assert finding.ns_per_step is None


def test_recompiles_below_the_limit_are_silent() -> None:
    assert judge(facts(capture=captured(recompiles=(_last(count=7),)))) == ()


def test_without_a_capture_it_cannot_tell() -> None:
    with pytest.raises(MissingData):
        judge(facts(capture=None))

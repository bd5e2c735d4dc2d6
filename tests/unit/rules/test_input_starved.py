"""input_starved."""

from __future__ import annotations

import pytest

from analyzer.core.activity import InputWait
from analyzer.core.graphs import GapKey
from analyzer.rules.input_starved import judge
from tests.reports import MS, a_key, at
from tests.rule_facts import an_activity, an_environment, facts

SINGLE = "_SingleProcessDataLoaderIter"
MULTI = "_MultiProcessingDataLoaderIter"
FIRST = GapKey(None, a_key(1))


def test_a_step_that_waits_for_its_batch_is_found_with_what_the_device_idles() -> None:
    (finding,) = judge(facts(activity=an_activity(inputs=(InputWait(SINGLE, FIRST, 1.0, 4 * MS, 3 * MS, 3 * MS),))))
    assert finding.ns_per_step == 3 * MS
    assert "takes 4.00 ms a step, 3.00 ms of it with an idle device: 30 % of the step" in finding.message
    assert "num_workers=4, pin_memory=True" in finding.remedy
    assert finding.where == at("/home/ada/net.py:10")


def test_workers_that_cannot_keep_up_are_told_apart_from_none() -> None:
    (finding,) = judge(facts(activity=an_activity(inputs=(InputWait(MULTI, FIRST, 1.0, 4 * MS, 3 * MS, 3 * MS),))))
    assert "prefetch_factor" in finding.remedy


def test_on_a_cpu_there_is_no_idle_device_to_speak_of() -> None:
    waits = (InputWait(SINGLE, FIRST, 1.0, 4 * MS, None, 4 * MS),)
    few = an_environment(affinity_cpus=2)
    (finding,) = judge(facts(activity=an_activity(inputs=waits, is_host=True), environment=few))
    assert "idle" not in finding.message
    assert "num_workers=2)" in finding.remedy, "no more workers than CPUs, and nothing to pin memory for"
    assert finding.ns_per_step == 4 * MS


@pytest.mark.parametrize("cost_ns", [0, MS // 2 - 1])
def test_a_loader_that_keeps_up_or_is_hidden_is_silent(cost_ns: int) -> None:
    waits = (InputWait(SINGLE, FIRST, 1.0, 4 * MS, 0, cost_ns),)
    assert judge(facts(activity=an_activity(inputs=waits))) == ()


def test_without_a_clean_pass_the_cost_is_unknown() -> None:
    waits = (InputWait(SINGLE, FIRST, 1.0, 4 * MS, 3 * MS, 3 * MS),)
    (finding,) = judge(facts(activity=an_activity(inputs=waits, is_scaled=False)))
    assert finding.ns_per_step is None

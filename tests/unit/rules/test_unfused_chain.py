"""unfused_chain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from analyzer.core.activity import PointwiseChain
from analyzer.core.graphs import GapKey
from analyzer.rules.unfused_chain import judge
from tests.reports import MS, a_key, at
from tests.rule_facts import a_break, a_captured_graph, an_activity, captured, facts

BETWEEN = GapKey(a_key(1), a_key(2))


def _chain(**changes: Any) -> PointwiseChain:
    chain = PointwiseChain(BETWEEN, ("aten::mul", "aten::add", "aten::tanh"), 1 << 20, 2.0, 3 * MS, MS)
    return replace(chain, **changes)


def test_a_chain_costs_its_time_less_that_of_its_longest_kernel() -> None:
    capture = captured(a_captured_graph(1, ended_by=a_break()), a_captured_graph(2))
    (finding,) = judge(facts(activity=an_activity(chains=(_chain(),)), capture=capture))
    assert finding.ns_per_step == 2 * MS
    assert finding.count == 2
    assert "6 pointwise operators a step run unfused between two graphs" in finding.message
    assert "mul → add → tanh over 1,048,576 elements" in finding.message
    assert finding.where == at("/home/ada/net.py:15")


def test_the_chains_of_a_region_are_one_finding_that_names_the_dearest() -> None:
    long = _chain(ops=("aten::exp",) * 8, device_ns=8 * MS, count=1.0)
    (finding,) = judge(facts(activity=an_activity(chains=(_chain(), long))))
    assert finding.ns_per_step == 9 * MS
    assert "exp → exp → exp → exp → exp → exp and 2 more" in finding.message


def test_each_region_has_its_own() -> None:
    chains = (_chain(), _chain(region=GapKey(None, a_key(1))))
    assert len(judge(facts(activity=an_activity(chains=chains)))) == 2


def test_a_chain_of_which_little_could_be_saved_is_silent() -> None:
    cheap = _chain(device_ns=MS, longest_ns=MS - MS // 10 + 1)
    assert judge(facts(activity=an_activity(chains=(cheap,)))) == ()


def test_kernel_times_are_not_stretched_and_the_times_of_a_cpu_are() -> None:
    (device,) = judge(facts(activity=an_activity(chains=(_chain(),), is_scaled=False)))
    (host,) = judge(facts(activity=an_activity(chains=(_chain(),), is_scaled=False, is_host=True)))
    (scaled,) = judge(facts(activity=an_activity(chains=(_chain(),), is_host=True)))
    assert [f.ns_per_step for f in (device, host, scaled)] == [2 * MS, None, 2 * MS]

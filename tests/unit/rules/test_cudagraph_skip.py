"""cudagraph_skip."""

from __future__ import annotations

import pytest

from analyzer.core.graphs import CudaGraphSkip
from analyzer.rules.cudagraph_skip import judge
from analyzer.rules.rule import MissingData
from tests.reports import MS, a_budget, a_key, at
from tests.rule_facts import a_region, captured, facts

MUTATED = "skipping cudagraphs due to mutated inputs (1 instances). Found from : File net.py, line 12, in forward"


def _skip(number: int | None = 1, reason: str = MUTATED) -> CudaGraphSkip:
    return CudaGraphSkip(key=None if number is None else a_key(number), where=at("net.py:12"), reason=reason)


def test_a_refusal_costs_the_starved_time_of_its_graph_alone() -> None:
    regions = (a_region(a_key(1), a_budget(starved=3.0, memory=1.0)), a_region(a_key(2), a_budget(starved=9.0)))
    (finding,) = judge(facts(capture=captured(skips=(_skip(1),)), regions=regions))
    assert finding.ns_per_step == 3 * MS
    assert "mutated inputs" in finding.message
    assert "in place" in finding.remedy


@pytest.mark.parametrize("number", [None, 2])
def test_a_refusal_without_a_budget_has_no_known_cost(number: int | None) -> None:
    (finding,) = judge(facts(capture=captured(skips=(_skip(number),))))
    assert finding.ns_per_step is None


def test_the_same_refusal_said_twice_is_one_finding() -> None:
    (finding,) = judge(facts(capture=captured(skips=(_skip(), _skip()))))
    assert finding.count == 2


def test_a_run_without_refusals_is_silent() -> None:
    assert judge(facts()) == ()


def test_without_a_capture_it_cannot_tell() -> None:
    with pytest.raises(MissingData):
        judge(facts(capture=None))


COPY = "cudagraph partition due to DeviceCopy ops"


def test_what_is_left_out_of_a_graph_is_told_by_line_and_claims_nothing_of_what_is_recorded() -> None:
    skips = tuple(CudaGraphSkip(a_key(1), at(place), COPY) for place in ("net.py:12", "net.py:12", "net.py:20"))
    regions = (a_region(a_key(1), a_budget(starved=3.0)),)
    first, second = judge(facts(capture=captured(skips=skips), regions=regions))
    assert (first.where, first.count) == (at("net.py:12"), 2)
    assert (second.where, second.count) == (at("net.py:20"), 1)
    assert "takes this graph apart" in first.message
    assert first.ns_per_step is None
    assert "copy between host and device outside this graph" in first.remedy

"""rank_straggler."""

from __future__ import annotations

import pytest

from analyzer.rules.facts import RankFacts
from analyzer.rules.rank_straggler import judge
from analyzer.rules.rule import MissingData
from tests.reports import MS
from tests.rule_facts import facts


def test_the_rank_that_the_others_wait_for_is_found_though_all_steps_are_as_long() -> None:
    ranks = tuple(RankFacts(i, 208 * MS, 0 if i == 2 else 200 * MS) for i in range(4))
    (finding,) = judge(facts(ranks=ranks))
    assert finding.ns_per_step == 200 * MS
    assert "rank 2 works 200 ms longer a step than the median of the others" in finding.message


def test_of_two_ranks_the_slower_one_is_found() -> None:
    (finding,) = judge(facts(ranks=(RankFacts(0, 100 * MS, 0), RankFacts(1, 100 * MS, 40 * MS))))
    assert finding.ns_per_step == 40 * MS
    assert "rank 0" in finding.message


def test_ranks_that_differ_by_a_few_per_cent_and_one_rank_alone_are_silent() -> None:
    assert judge(facts(ranks=(RankFacts(0, 100 * MS, MS), RankFacts(1, 100 * MS, 5 * MS)))) == ()
    assert judge(facts(ranks=(RankFacts(0, 100 * MS, 0),))) == ()


def test_all_ranks_waiting_as_long_have_no_straggler() -> None:
    assert judge(facts(ranks=tuple(RankFacts(i, 100 * MS, 60 * MS) for i in range(8)))) == ()


def test_a_rank_whose_waits_are_unknown_is_not_taken_for_the_slow_one() -> None:
    with pytest.raises(MissingData, match="waited in collectives"):
        judge(facts(ranks=(RankFacts(0, 100 * MS, None), RankFacts(1, 100 * MS, 40 * MS))))

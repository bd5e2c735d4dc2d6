"""thread_oversubscription."""

from __future__ import annotations

import pytest

from analyzer.rules.facts import Facts
from analyzer.rules.rule import MissingData
from analyzer.rules.thread_oversubscription import judge
from tests.rule_facts import a_workload, an_environment, facts


def _on_cpu(**settings: object) -> Facts:
    return facts(workload=a_workload(device="cpu"), environment=an_environment(**settings))


def test_more_threads_than_the_affinity_mask_has_cpus_are_found() -> None:
    (finding,) = judge(_on_cpu(threads=16, affinity_cpus=4))
    assert finding.remedy == "torch.set_num_threads(4)"


def test_the_quota_counts_where_it_is_smaller() -> None:
    (finding,) = judge(_on_cpu(threads=16, affinity_cpus=16, quota_cpus=2.5))
    assert finding.remedy == "torch.set_num_threads(2)"


def test_less_than_one_cpu_still_needs_one_thread() -> None:
    (finding,) = judge(_on_cpu(threads=2, quota_cpus=0.5))
    assert finding.remedy == "torch.set_num_threads(1)"


def test_as_many_threads_as_cpus_are_silent() -> None:
    assert judge(_on_cpu(threads=16, affinity_cpus=16)) == ()


def test_threads_of_a_gpu_workload_are_no_finding() -> None:
    assert judge(facts(environment=an_environment(threads=64))) == ()


def test_unknown_limits_are_not_taken_for_fine() -> None:
    with pytest.raises(MissingData):
        judge(_on_cpu(affinity_cpus=None))

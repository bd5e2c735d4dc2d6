"""Whether other programs had the cores that were timed."""

from __future__ import annotations

import pytest
import torch

from analyzer.core.timing import Crowd
from collectors.crowd import Reading, busy_ticks, crowd_between, read_crowd

STAT = """cpu  100 0 50 900 7 1 2 3 0 0
cpu0 60 1 30 400 5 1 2 3 9 9
cpu1 40 0 20 500 2 0 0 0 0 0
cpu10 7 7 7 7 7 7 7 7 7 7
intr 12345
"""


def test_time_in_which_a_core_is_not_idle_is_counted_for_the_wanted_cores_alone() -> None:
    assert busy_ticks(STAT, [0]) == 60 + 1 + 30 + 1 + 2 + 3
    assert busy_ticks(STAT, [0, 1]) == 97 + 60
    assert busy_ticks("cpu0 1 2 3\n", [0]) == 6  # an old kernel has fewer fields
    assert busy_ticks("", [0]) == 0


@pytest.mark.parametrize(
    ("others", "cores", "threads", "is_crowded"),
    [(0.05, 2, 2, False), (0.6, 2, 2, True), (0.9, 2, 1, False), (30.0, 64, 32, False), (40.0, 64, 32, True)],
)
def test_it_is_crowded_where_the_threads_had_to_share(
    others: float, cores: int, threads: int, is_crowded: bool
) -> None:
    assert Crowd(others, cores, threads).is_crowded is is_crowded


def test_what_this_process_ran_is_not_others() -> None:
    crowd = crowd_between(Reading(0.0, 10.0, 1.0), Reading(2.0, 12.5, 2.5), "cuda")
    assert crowd is not None
    assert crowd.other_cores == pytest.approx(min(0.5, crowd.cores))
    assert crowd.threads == 1


def test_on_a_cpu_all_of_torchs_threads_want_a_core() -> None:
    crowd = crowd_between(Reading(0.0, 0.0, 0.0), Reading(1.0, 0.0, 0.0), "cpu")
    assert crowd is not None
    assert crowd.threads == min(torch.get_num_threads(), crowd.cores)


def test_what_the_system_does_not_say_is_not_known() -> None:
    assert crowd_between(None, read_crowd(), "cpu") is None
    assert crowd_between(Reading(1.0, 0.0, 0.0), Reading(1.0, 0.0, 0.0), "cpu") is None

"""Ranks in worker processes: each file once, in order; what is lost is its rank."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from analyzer.core.errors import MissingExtraError
from analyzer.core.ranks import LostRank, RankSummary
from analyzer.workers import RankTask, run_here, run_in_processes, run_on_cluster
from collectors.readers.sources import list_sources
from tests.rank_files import DiesOnce, a_rank, tells_its_mask


@pytest.fixture
def tasks(tmp_path: Path) -> list[RankTask]:
    folder = tmp_path / "ranks"
    folder.mkdir()
    for rank in range(5):
        a_rank(50.0 + rank, 4.0 - rank, steps=2).save(folder / f"rank{rank}.json.gz")
    (folder / "rank3.json.gz").write_bytes(b"no trace")
    return [RankTask(source, place) for place, source in enumerate(list_sources(folder).sources)]


def test_an_unreadable_file_costs_its_rank_alone(tasks: list[RankTask]) -> None:
    outcomes = run_here(tasks)
    assert [isinstance(outcome, LostRank) for outcome in outcomes] == [False, False, False, True, False]
    lost = outcomes[3]
    assert isinstance(lost, LostRank)
    assert "rank3" in lost.source
    assert lost.reason


def test_processes_give_what_one_process_gives_in_the_same_order(tasks: list[RankTask]) -> None:
    assert run_in_processes(2, tasks) == run_here(tasks)


def test_a_worker_that_is_killed_costs_the_rank_it_had_and_a_fresh_one_goes_on(
    tasks: list[RankTask], tmp_path: Path
) -> None:
    outcomes = run_in_processes(1, tasks, DiesOnce(tmp_path, (1,)))
    lost = outcomes[1]
    assert isinstance(lost, LostRank)
    assert "signal 9" in lost.reason
    assert [type(outcome) for outcome in outcomes] == [RankSummary, LostRank, RankSummary, LostRank, RankSummary]


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no signal masks here")
def test_ctrl_c_reaches_the_program_and_none_of_its_workers(tasks: list[RankTask]) -> None:
    assert {told.reason for told in run_in_processes(2, tasks, tells_its_mask) if isinstance(told, LostRank)} == {
        "deaf"
    }
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_without_dask_the_line_that_installs_it_is_named(tasks: list[RankTask]) -> None:
    pytest.importorskip("analyzer.workers")
    try:
        import distributed  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtraError) as raised:
            run_on_cluster("tcp://127.0.0.1:1", tasks)
        assert raised.value.hint is not None
        assert "graphbound[cluster]" in raised.value.hint
    else:
        pytest.skip("dask.distributed is installed")

"""Many ranks on a Dask cluster of this machine, with a worker killed midway. Skipped without dask.distributed."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path

import pytest

from analyzer.core.errors import UsageError
from analyzer.core.ranks import RankSummary
from analyzer.derive.ranks import compare_ranks
from analyzer.workers import RankTask, run_here, run_on_cluster
from collectors.readers.sources import Source, list_sources
from tests.rank_files import DiesOnce

distributed = pytest.importorskip("distributed")

TRACES = Path(__file__).parents[3] / "shared" / "traces" / "dlrm_8ranks"
RANKS = 512
MOST_BYTES = 12_000


KEPT = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "user_annotation")
"""Two thirds of the given files are operators, which no summary looks at."""


def write_ranks(folder: Path) -> list[RankTask]:
    """Each given rank many times over, under numbers of their own."""
    given = []
    for source in list_sources(TRACES).sources:
        content = json.loads(gzip.decompress(Path(source.location).read_bytes()))
        content["traceEvents"] = [event for event in content["traceEvents"] if event.get("cat") in KEPT]
        given.append(content)
    tasks = []
    for rank in range(RANKS):
        content = given[rank % len(given)]
        content["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": RANKS}
        path = folder / f"rank-{rank}.json"
        path.write_text(json.dumps(content))
        tasks.append(RankTask(Source(str(path)), rank))
    return tasks


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_512_ranks_survive_the_loss_of_a_worker(tmp_path: Path) -> None:
    if not TRACES.is_dir():
        pytest.skip("the collection of public traces is not here")
    tasks = write_ranks(tmp_path)
    flags = tmp_path / "flags"
    flags.mkdir()
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    )
    with cluster:
        outcomes = run_on_cluster(cluster.scheduler_address, tasks, DiesOnce(flags, (100,)))
    assert (flags / "100").exists()
    found = [one for one in outcomes if isinstance(one, RankSummary)]
    assert [one.rank for one in found] == list(range(RANKS))
    assert max(len(pickle.dumps(one)) for one in found) < MOST_BYTES
    assert found[9] == run_here([tasks[9]])[0]
    together = compare_ranks(found)
    assert together.matched > 0
    assert len(together.waits) == RANKS


def test_an_address_where_nobody_answers_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> object:
        raise OSError("Timed out trying to connect")

    monkeypatch.setattr(distributed, "Client", refuse)
    with pytest.raises(UsageError, match="no Dask scheduler answers"):
        run_on_cluster("tcp://127.0.0.1:9", [RankTask(Source(str(tmp_path / "x.json")), 0)])

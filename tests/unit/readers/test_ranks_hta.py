"""Our breakdowns of ranks beside HolisticTraceAnalysis's, on eight real ranks. Skipped without the extra `ranks`."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from analyzer.core.errors import MissingExtraError
from analyzer.derive.rank_summary import RankName, cut_of, summarize_rank
from analyzer.derive.stream_idle import stream_idle
from collectors.readers.kineto import read_trace
from collectors.readers.ranks_hta import HtaRank, hta_ranks

RANKS = Path(__file__).parents[4] / "shared" / "traces" / "dlrm_8ranks"
HAS_HTA = importlib.util.find_spec("hta") is not None
FILES = {rank: RANKS / f"worker{rank}.json.gz" for rank in range(8)}

needs_hta = pytest.mark.skipif(not HAS_HTA or not RANKS.is_dir(), reason="needs the extra `ranks` and public traces")


@pytest.fixture(scope="module")
def theirs() -> tuple[HtaRank, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas and plotly complain of each other
        return hta_ranks(FILES)


@needs_hta
def test_window_compute_and_idle_time_are_the_same_to_the_nanosecond(theirs: tuple[HtaRank, ...]) -> None:
    for rank in theirs:
        own = summarize_rank(read_trace(FILES[rank.rank]), RankName("x", 0)).temporal
        assert own is not None
        assert (own.elapsed_ns, own.compute_ns, own.idle_ns) == (rank.elapsed_ns, rank.compute_ns, rank.idle_ns)
        # Non-compute time is ours split in two: HTA does not say what of it are collectives.
        assert own.exposed_collective_ns + own.exposed_copy_ns == rank.exposed_ns


@needs_hta
def test_the_overlap_of_communication_is_the_same_but_for_their_rounding(theirs: tuple[HtaRank, ...]) -> None:
    for rank in theirs:
        own = summarize_rank(read_trace(FILES[rank.rank]), RankName("x", 0)).overlap_share
        assert own == pytest.approx(rank.overlap_share, abs=0.00005)


@needs_hta
def test_the_idle_time_of_each_stream_is_the_same_but_for_rows_without_a_launch(theirs: tuple[HtaRank, ...]) -> None:
    """HTA puts the gap before a row that nobody is known to have launched on the host; we leave it open."""
    unknown = 0
    for rank in theirs:
        streams = {s.stream: s for s in stream_idle(cut_of(read_trace(FILES[rank.rank])).attribution)}
        assert set(streams) == {their.stream for their in rank.streams}
        for their in rank.streams:
            own = streams[their.stream]
            assert (own.host_ns + own.unknown_ns, own.queued_ns) == (their.host_ns, their.other_ns)
            unknown += own.unknown_ns
    assert unknown > 0


@pytest.mark.skipif(HAS_HTA, reason="the extra is installed")
def test_without_the_extra_the_line_that_installs_it_is_named() -> None:
    with pytest.raises(MissingExtraError) as raised:
        hta_ranks(FILES)
    assert raised.value.hint is not None
    assert "graphbound[ranks]" in raised.value.hint


def test_importing_the_module_brings_neither_pandas_nor_hta() -> None:
    code = "import collectors.readers.ranks_hta, sys; print(sorted({'hta', 'pandas'} & set(sys.modules)))"
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

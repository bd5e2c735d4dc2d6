"""Our breakdowns of ranks beside HolisticTraceAnalysis's, on eight real ranks. Skipped without the extra `ranks`."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from analyzer.core.critical_path import CriticalPath, PathKind
from analyzer.core.errors import MissingExtraError
from analyzer.derive.attribution import attribute
from analyzer.derive.critical_path import critical_path
from analyzer.derive.rank_summary import RankName, cut_of, summarize_rank
from analyzer.derive.steps import find_steps, with_step_names
from collectors.readers.kineto import read_trace
from collectors.readers.ranks_hta import HtaRank, hta_path, hta_ranks
from tests.stream_idle import stream_idle

TRACES = Path(__file__).parents[4] / "shared" / "traces"
RANKS = TRACES / "dlrm_8ranks"
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


CHAINS = {"h100_qwen_train.json.gz": 1, "mi300_qwen_train.json.gz": 1, "v100_ns_ts.json.gz": 5}
"""Traces whose steps end on the device, and how many steps they hold."""

needs_chains = pytest.mark.skipif(
    not HAS_HTA or not TRACES.is_dir(), reason="needs the extra `ranks` and public traces"
)


def _own_path(file: Path) -> CriticalPath:
    trace = read_trace(file)
    return critical_path(attribute(with_step_names(trace, find_steps(trace)))).path


@needs_chains
@pytest.mark.parametrize("name", CHAINS)
def test_the_critical_path_is_theirs_within_one_per_cent_and_its_kernels_within_a_third(name: str) -> None:
    """HTA gives the longest chain of a graph of calls and kernels, ours is found from the end back. What differs:

    - It begins at its first operator or call, ours with the step (3.2 ms of 484 on the V100, whose kernels and copies
      on the path are 472.223114 ms in both). Rows launched before the recording are none of its nodes (0.1 ms of 49
      on the H100).
    - Time between outermost operators, which is Python's, weighs nothing in it, nor does time in calls that it takes
      for waits, copies of any kind among them: its length is that much shorter than its span. Ours is the host's time
      or the wait's.
    - Only traces with rows of `cuda_sync`, which torch writes when asked to, have edges from a kernel to a host that
      waits for it. Without them its path stays on the host there, and the copy that is waited for, with its launch
      delay, is not on it (20 µs on the H100). `hip…Synchronize` is no wait to it but work of the host (13 ms on the
      MI300), ours is unknown where it ends over 2 ms after all that was recorded.
    - Copies are kernels to it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = hta_path(TRACES / name, 0, CHAINS[name] - 1)
    own = _own_path(TRACES / name)
    device = own.ns(PathKind.COMPUTE) + own.ns(PathKind.COMMUNICATION) + own.ns(PathKind.COPY)
    host = own.ns(PathKind.HOST) + own.ns(PathKind.SYNC) + own.ns(PathKind.UNKNOWN)
    narrow, wide = 0.003 * own.elapsed_ns, 0.01 * own.elapsed_ns
    assert theirs.device_ns > 0.5 * own.elapsed_ns
    assert own.elapsed_ns == pytest.approx(theirs.span_ns, abs=wide)
    assert device == pytest.approx(theirs.device_ns, abs=narrow)
    assert host == pytest.approx(theirs.host_ns + theirs.weightless_ns, abs=wide)
    assert own.ns(PathKind.GAP) == pytest.approx(theirs.gap_ns, abs=narrow)
    assert own.ns(PathKind.LAUNCH) == pytest.approx(theirs.launch_ns, abs=narrow)


@needs_hta
def test_where_work_changes_threads_theirs_is_a_piece_of_ours() -> None:
    """Nothing leads from one thread to another in HTA: of these steps, which run their backward pass on a second one,
    its path is a piece of either (35 to 54 % of the step), and waits of streams for the events
    of others are not in it either, since the traces have no rows of `cuda_sync`.
    """
    for rank in (0, 1, 4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = hta_path(FILES[rank], 0, 0)
        own = _own_path(FILES[rank])
        assert theirs.span_ns < 0.7 * own.elapsed_ns
        assert theirs.device_ns < own.ns(PathKind.COMPUTE) + own.ns(PathKind.COMMUNICATION) + own.ns(PathKind.COPY)

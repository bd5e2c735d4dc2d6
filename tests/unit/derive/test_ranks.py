"""Ranks beside each other: who waits, who is late, whose clock is off."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.core.ranks import ClockSource, LateFor, LostRank, RankSummary, Temporal
from analyzer.core.trace import Trace
from analyzer.core.trace_facts import Distributed
from analyzer.derive.clock import align
from analyzer.derive.collectives import collectives, is_collective
from analyzer.derive.rank_summary import RankName, summarize_rank
from analyzer.derive.ranks import compare_ranks
from analyzer.rank_analysis import TraceSettings, analyze_path
from analyzer.reporting.renderer import Page
from analyzer.reporting.terminal import render
from analyzer.rules.rank_straggler import judge
from analyzer.trace_analysis import AMONG_RANKS, BETWEEN_DEVICES, rank_facts
from collectors.readers.kineto import read_trace
from tests.rank_files import COLLECTIVE, a_rank, traces_of
from tests.rule_facts import facts
from tests.traces import Recording

TRACES = Path(__file__).parents[4] / "shared" / "traces"
US = 1_000


def summaries(traces: tuple[Trace, ...]) -> list[RankSummary]:
    return [summarize_rank(trace, RankName(f"rank{i}", i, i)) for i, trace in enumerate(traces)]


def test_the_slowest_rank_is_late_for_its_kernels_and_the_others_wait_for_it() -> None:
    ranks = compare_ranks(summaries(traces_of(50.0, 50.0, 250.0, 50.0)))
    waits = {wait.rank: wait for wait in ranks.waits}
    # The first of four collectives only marks where the comparison begins.
    assert [waits[rank].waited_ns for rank in range(4)] == [600 * US, 600 * US, 0, 600 * US]
    assert waits[2].late_ns == 600 * US
    assert [waits[rank].late_for for rank in range(4)] == [None, None, LateFor.KERNELS, None]
    assert ranks.imbalance == pytest.approx(250 / 100)


def test_the_rule_finds_the_same_rank_and_says_what_it_is_late_for() -> None:
    ranks = compare_ranks(summaries(traces_of(50.0, 50.0, 250.0, 50.0)))
    (finding,) = judge(facts(ranks=rank_facts(ranks)))
    assert finding.ns_per_step == 150 * US
    assert "rank 2" in finding.message
    assert LateFor.KERNELS.value in finding.message


def test_a_rank_whose_host_launches_late_is_late_for_its_host() -> None:
    late = [a_rank(50.0, 0.0, host_us=300.0), *(a_rank(50.0, 300.0) for _ in range(3))]
    ranks = compare_ranks(summaries(tuple(run.trace() for run in late)))
    assert {wait.rank: wait.late_for for wait in ranks.waits}[0] is LateFor.HOST


def test_ranks_that_are_alike_have_nobody_late() -> None:
    ranks = compare_ranks(summaries(traces_of(50.0, 50.0, 50.0)))
    assert [wait.late_for for wait in ranks.waits] == [None] * 3
    assert judge(facts(ranks=rank_facts(ranks))) == ()


def test_clocks_that_disagree_are_aligned_by_the_ends_of_collectives_and_it_is_said() -> None:
    off = (0, 7_000_000, -3_000_000)
    ranks = compare_ranks(summaries(traces_of(50.0, 50.0, 50.0, offsets_ns=off)))
    found = {offset.rank: offset.offset_ns for offset in ranks.offsets}
    assert ranks.clock is ClockSource.COLLECTIVES
    assert (found[1] - found[0], found[2] - found[0]) == (7_000_000, -3_000_000)
    assert any("clocks of the ranks are 10.0 ms apart" in note for note in ranks.notes)


def test_a_rank_that_recorded_one_step_more_is_matched_all_the_same() -> None:
    whole = [a_rank(50.0, 0.0, steps=8).trace(), a_rank(50.0, 0.0, steps=8).trace()]
    ranks = summaries(tuple(whole))
    cut = replace(ranks[1], marks=ranks[1].marks[1:])
    clocks = align([ranks[0], cut])
    assert len(clocks.matches) == 7
    assert all(left.end_ns == right.end_ns for left, right in (match.marks for match in clocks.matches))


def test_without_collectives_nothing_is_claimed_of_waits() -> None:
    run = Recording()
    with run.step():
        run.launch("gemm", us=5)
    ranks = compare_ranks(summaries((run.trace(), run.trace())))
    assert ranks.waits == ()
    assert all(fact.collective_wait_ns is None for fact in rank_facts(ranks))


def test_of_a_group_without_a_name_that_some_ranks_lack_nothing_is_matched() -> None:
    run = Recording()
    with run.step():
        run.launch("gemm", us=5)
    ranks = summaries((*traces_of(50.0, 50.0), run.trace()))
    found = compare_ranks(ranks)
    assert (found.matched, found.unmatched) == (0, 8)
    assert any("8 collective kernels were not found in every rank" in note for note in found.notes)


def test_lost_ranks_and_ranks_that_are_not_here_are_said() -> None:
    (one, two) = summaries(traces_of(50.0, 50.0))
    found = compare_ranks([replace(one, world_size=16), two], [LostRank("rank9.json", "cut")])
    assert any("1 of 3 ranks were lost" in note for note in found.notes)
    assert any("2 of the 16 ranks" in note for note in found.notes)


def test_two_files_of_one_rank_are_not_both_counted() -> None:
    (one, two) = summaries(traces_of(50.0, 50.0))
    found = compare_ranks([one, replace(two, rank=0)])
    assert len(found.ranks) == 1
    assert any("says that it is rank 0" in note for note in found.notes)


def test_a_rank_is_what_its_file_says_before_what_its_name_hints() -> None:
    (trace,) = traces_of(50.0)
    said = replace(trace, facts=replace(trace.facts, distributed=Distributed(5, 8, "nccl")))
    assert summarize_rank(said, RankName("rank3.json", 0, 3)).rank == 5
    assert summarize_rank(trace, RankName("rank3.json", 0, 3)).rank == 3
    unknown = summarize_rank(trace, RankName("x.json", 7))
    assert (unknown.rank, unknown.is_rank_known) == (7, False)


def test_the_parts_of_a_rank_must_add_up() -> None:
    with pytest.raises(ValueError, match="add up"):
        Temporal(10, 1, 1, 1, 1)


def test_a_collective_beside_a_kernel_is_hidden_and_alone_it_is_exposed() -> None:
    run = Recording()
    with run.step():
        run.launch("gemm", us=100)
        run.launch(COLLECTIVE, us=150, stream=9)
    summary = summarize_rank(run.trace(), RankName("x", 0))
    assert summary.temporal is not None
    (use,) = summary.collectives
    assert summary.overlapped_ns + use.exposed_ns == summary.collective_ns == 150 * US
    assert use.exposed_ns == summary.temporal.exposed_collective_ns > 50 * US


@pytest.mark.parametrize(
    ("kernel", "what"),
    [
        ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_gather"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", "all_reduce"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "reduce_scatter"),
        ("ncclKernel_Broadcast_RING_LL_Sum_int8_t", "broadcast"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", "send_recv"),
        ("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "collective"),
        ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)", "all_reduce"),
    ],
)
def test_a_collective_is_known_by_its_kernel(kernel: str, what: str) -> None:
    run = Recording()
    with run.step():
        run.launch(kernel, us=5)
    assert [call.what for call in collectives(run.trace())] == [what]


@pytest.mark.parametrize("kernel", ["gemm", "void at::native::reduce_kernel<512, 1>", "triton_red_fused_add_0"])
def test_a_kernel_that_computes_is_no_collective(kernel: str) -> None:
    assert not is_collective(kernel)


def test_torchs_own_range_says_which_collective_a_send_and_receive_is() -> None:
    run = Recording()
    with run.step(), run.range("nccl:all_to_all"):
        run.launch("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", us=5)
    assert [call.what for call in collectives(run.trace())] == ["all_to_all"]


def test_a_named_process_group_is_kept_apart() -> None:
    path = TRACES / "a100_nccl_groups.json.gz"
    if not path.exists():
        pytest.skip("the collection of public traces is not here")
    summary = summarize_rank(read_trace(path), RankName("x", 0))
    assert {use.group for use in summary.collectives} == {"0"}
    assert all(use.bytes for use in summary.collectives)


def test_the_eight_public_ranks_share_their_collectives_and_one_report_shows_them() -> None:
    folder = TRACES / "dlrm_8ranks"
    if not folder.is_dir():
        pytest.skip("the collection of public traces is not here")
    report = analyze_path(str(folder), TraceSettings())
    assert report.ranks is not None
    assert [rank.rank for rank in report.ranks.ranks] == list(range(8))
    assert report.ranks.matched == 8
    assert {use.what for use in report.ranks.collectives} == {"all_to_all", "all_reduce"}
    # Eight GPUs of one machine took part in all of it: the ends of what was matched lie microseconds apart.
    assert len({wait.span_ns // 100_000 for wait in report.ranks.waits}) <= 2
    assert "rank_straggler" in {finding.rule for finding in report.findings}


def test_a_folder_with_one_bad_file_gives_the_report_of_the_others(tmp_path: Path) -> None:
    for rank in range(3):
        a_rank(50.0, 0.0).save(tmp_path / f"rank{rank}.json")
    (tmp_path / "rank3.json").write_text("{")
    report = analyze_path(str(tmp_path), TraceSettings())
    assert report.ranks is not None
    assert (len(report.ranks.ranks), len(report.ranks.lost)) == (3, 1)
    assert any("rank3.json" in note for note in report.notes)


def test_after_all_ranks_were_analyzed_nothing_advises_to_analyze_them(tmp_path: Path) -> None:
    for rank in range(3):
        a_rank(50.0, 400.0).save(tmp_path / f"rank{rank}.json")
    alone = analyze_path(str(tmp_path / "rank0.json"), TraceSettings())
    assert BETWEEN_DEVICES in alone.headline
    report = analyze_path(str(tmp_path), TraceSettings())
    page = render(report, Page())
    assert "analyze the folder" not in page
    assert AMONG_RANKS in report.headline
    assert report.next_command.startswith("analyze compare ")
    assert "OTHER" not in report.next_command


def test_no_reason_is_named_that_explains_less_than_half_of_what_a_rank_is_late_by() -> None:
    # The late rank's collectives are 300 µs shorter a step, and its own kernels 1 µs longer.
    late = [a_rank(51.0, 0.0), *(a_rank(50.0, 300.0) for _ in range(3))]
    ranks = compare_ranks(summaries(tuple(run.trace() for run in late)))
    wait = next(wait for wait in ranks.waits if wait.rank == 0)
    assert wait.late_ns == 900 * US
    assert wait.late_for is LateFor.UNKNOWN


def test_a_file_that_names_no_rank_takes_none_of_those_that_do(tmp_path: Path) -> None:
    for rank in range(2):
        a_rank(50.0, 0.0).save(tmp_path / f"rank{rank}.json")
    a_rank(50.0, 0.0).save(tmp_path / "another.json")
    report = analyze_path(str(tmp_path), TraceSettings())
    assert report.ranks is not None
    named = [(one.rank, one.is_rank_known, Path(one.source).name) for one in report.ranks.ranks]
    assert named == [(0, True, "rank0.json"), (1, True, "rank1.json"), (2, False, "another.json")]
    assert not any("says that it is" in note for note in report.ranks.notes)


def test_the_headline_counts_the_ranks_of_the_table(tmp_path: Path) -> None:
    for name in ("rank0.json", "rank1.json", "again/rank1.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        a_rank(50.0, 0.0).save(tmp_path / name)
    report = analyze_path(str(tmp_path), TraceSettings())
    assert report.ranks is not None
    assert f" of {len(report.ranks.ranks)} ranks" in report.headline

"""Nsight Compute's CSV, in the forms that its releases print."""

from __future__ import annotations

import pytest

from benchmarks.verdicts.ncu_csv import number, read_counters

RANGE = '"""<default domain>:verdicts:item:mm_bf16_64x64x64:none:none:none:none"""'

RAW = f"""==PROF== Connected to process 412 (/usr/bin/python3.12)
==PROF== Profiling "nvjet_tst_64x8_64x16_4x1_v_bz_TNT" - 0: 0%....50%....100% - 4 passes
==PROF== Disconnected from process 412
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg","dram__bytes_read.sum","dram__bytes_write.sum","dram__throughput.avg.pct_of_peak_sustained_elapsed","gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed","gpu__time_duration.sum","launch__grid_size","launch__waves_per_multiprocessor","lts__t_bytes.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed"
"","","","","","","","","","","","","Mbyte","Kbyte","%","%","us","","","Mbyte","%"
"0","412","python3.12","127.0.0.1","nvjet_tst_64x8_64x16_4x1_v_bz_TNT","1","7","(384, 1, 1)","(64, 1, 1)","0","9.0",{RANGE},"1,033.50","12.25","61.5","62.1","1,234.56","64","0.48","40.2","35.9"
"1","412","python3.12","127.0.0.1","void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, F>>(T3)","1","7","(32, 16, 1)","(2, 1, 1)","0","9.0",{RANGE},"0.5","n/a","nan","3","4.5","2","0.01","0.1","2"
"""  # noqa: E501  (a table of the tool's own width)

DETAILS = """"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","9","python3","127.0.0.1","triton_poi_fused_add_0","1","7","(128, 1, 1)","(4096, 1, 1)","0","9.0","Command line profiler metrics","gpu__time_duration.sum","nsecond","12,480"
"0","9","python3","127.0.0.1","triton_poi_fused_add_0","1","7","(128, 1, 1)","(4096, 1, 1)","0","9.0","Command line profiler metrics","sm__throughput.avg.pct_of_peak_sustained_elapsed","%","21.5"
"0","9","python3","127.0.0.1","triton_poi_fused_add_0","1","7","(128, 1, 1)","(4096, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","Gbyte","1.5"
"1","9","python3","127.0.0.1","triton_poi_fused_add_0","1","7","(128, 1, 1)","(4096, 1, 1)","0","9.0","Command line profiler metrics","gpu__time_duration.sum","msecond","0.5"
"""  # noqa: E501


def test_the_raw_page_takes_its_units_from_the_second_row() -> None:
    first, second = read_counters(RAW, run="warm0", is_cold=False)
    assert first.ns == pytest.approx(1_234_560)
    assert first.dram_read_bytes == pytest.approx(1_033.5e6)
    assert first.dram_write_bytes == pytest.approx(12_250)
    assert first.dram_bytes == pytest.approx(1_033.5e6 + 12_250)
    assert (first.sm_percent, first.memory_percent, first.dram_percent) == (35.9, 62.1, 61.5)
    assert (first.grid, first.waves, first.order, first.run) == (64, 0.48, 0, "warm0")
    assert second.order == 1


def test_what_ncu_could_not_measure_is_unknown() -> None:
    second = read_counters(RAW, run="r", is_cold=True)[1]
    assert second.dram_write_bytes is None
    assert second.dram_bytes is None
    assert second.dram_percent is None
    assert second.tensor_percent is None
    assert second.is_cold


def test_the_range_names_the_item_in_whichever_column_it_stands() -> None:
    assert [c.item for c in read_counters(RAW, run="r", is_cold=False)] == ["mm_bf16_64x64x64"] * 2


def test_the_details_page_has_a_metric_a_row() -> None:
    first, second = read_counters(DETAILS, run="r", is_cold=False)
    assert (first.ns, first.sm_percent, first.dram_read_bytes, first.item) == (12_480, 21.5, 1.5e9, None)
    assert (second.ns, second.sm_percent) == (500_000, None)


def test_a_row_cut_by_an_early_end_is_left_out() -> None:
    cut = RAW[: RAW.rindex('"62.1"')] if '"62.1"' in RAW else RAW
    assert read_counters(cut, run="r", is_cold=False) == ()
    whole_first = "\n".join(RAW.splitlines()[:6]) + '\n"1","412","pyth'
    assert len(read_counters(whole_first, run="r", is_cold=False)) == 1


@pytest.mark.parametrize("text", ["", "==ERROR== The user does not have permission (ERR_NVGPUCTRPERM)\n", "hello"])
def test_output_without_a_table_holds_nothing(text: str) -> None:
    assert read_counters(text, run="r", is_cold=False) == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,234,567.5", 1_234_567.5), ("0", 0.0), ("n/a", None), ("", None), ("nan", None), ("inf", None)],
)
def test_numbers_have_separators_and_gaps(text: str, value: float | None) -> None:
    assert number(text) == value

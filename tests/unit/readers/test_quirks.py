"""What real files do to parsers, one test a way, with the smallest input that shows it. Sources are issue numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.step_marks import StepDialect, step_dialect
from analyzer.core.trace import EventKind, Trace
from analyzer.core.trace_facts import Vendor
from analyzer.derive.attribution import NOT_RECORDED, attribute
from analyzer.derive.honesty import honesty
from analyzer.derive.links import launches
from analyzer.derive.nesting import NOBODY
from collectors.readers.kineto import read_trace

KERNEL = b'{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1}'


def _read(tmp_path: Path, text: bytes | str | object) -> Trace:
    path = tmp_path / "trace.json"
    if isinstance(text, str):
        text = text.encode("utf-8", "surrogatepass")
    path.write_bytes(text if isinstance(text, bytes) else json.dumps(text).encode())
    return read_trace(path)


def _row(**changes: Any) -> dict[str, Any]:
    row = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "args": {"stream": 7}}
    return {k: v for k, v in (row | changes).items() if v is not None}


def _launch(correlation: int, ts: float = 1, name: str = "cudaLaunchKernel", **more: Any) -> dict[str, Any]:
    return _row(cat="cuda_runtime", name=name, pid=1, tid=1, ts=ts, args={"correlation": correlation}, **more)


def _kernel(correlation: int | None, ts: float = 5, **changes: Any) -> dict[str, Any]:
    args = {"stream": 7, "device": 0} | ({"correlation": correlation} if correlation is not None else {})
    return _row(ts=ts, args=args, **changes)


def _step(number: int, ts: float, dur: float = 10) -> dict[str, Any]:
    return _row(cat="user_annotation", name=f"ProfilerStep#{number}", pid=1, tid=1, ts=ts, dur=dur, args={})


def _linked(trace: Trace) -> list[int | None]:
    rows = trace.rows(EventKind.KERNEL)
    return [None if call == NOBODY else call for call in launches(trace, rows).tolist()]


def _mended(trace: Trace) -> dict[str, int]:
    return {count.what: count.rows for count in trace.facts.mended}


def _left_out(trace: Trace) -> dict[str, int]:
    return {count.what: count.rows for count in trace.facts.left_out}


# JSON text


def test_01_a_windows_path_keeps_its_backslashes(tmp_path: Path) -> None:
    row = KERNEL.replace(b'"k"', rb'"C:\Users\me\q.py(3): f"')
    trace = _read(tmp_path, b"[" + row + b"," + KERNEL + b"]")
    assert set(trace.names) == {r"C:\Users\me\q.py(3): f", "k"}
    assert _mended(trace) == {"names held backslashes that are no escape, which were kept": 1}


def test_02_a_bare_quote_in_a_name_is_kept(tmp_path: Path) -> None:
    trace = _read(tmp_path, b"[" + KERNEL.replace(b'"k"', b'"f("a", "b")"') + b"," + KERNEL + b"]")
    assert set(trace.names) == {'f("a", "b")', "k"}
    assert _mended(trace) == {"names held quotes that were not escaped": 1}


@pytest.mark.parametrize("character", [b"\n", b"\r", b"\t", b"\x01", b"\x1f"])
def test_02_03_a_raw_control_character_in_a_name_becomes_a_space(tmp_path: Path, character: bytes) -> None:
    trace = _read(tmp_path, b"[" + KERNEL.replace(b'"k"', b'"a' + character + b'b"') + b"," + KERNEL + b"]")
    assert set(trace.names) == {"a b", "k"}
    assert _mended(trace) == {"names held raw control characters, which became spaces": 1}


def test_04_bytes_that_are_not_utf8_are_replaced_and_named(tmp_path: Path) -> None:
    trace = _read(tmp_path, b"[" + KERNEL + b"," + KERNEL.replace(b'"k"', b'"k\xff"') + b"]")
    assert set(trace.names) == {"k", "k\ufffd"}
    (count,) = trace.facts.mended
    assert (count.rows, count.first_byte) == (1, len(KERNEL) + 2)


def test_05_the_old_export_has_text_pids_and_a_key_without_its_quote(tmp_path: Path) -> None:
    row = b'{"name": "relu", "ph": "X", "ts": 10.5, "dur": 2.0, tid": 0, "pid": "CPU functions", "args": {}}'
    trace = _read(tmp_path, b"[" + row + b"," + row.replace(b"relu", b"add").replace(b"10.5", b"12.5") + b"]")
    assert trace.names == ("add", "relu")
    assert _mended(trace) == {"rows had a key without its opening quote": 2}


def test_06_an_integer_beyond_64_bits_is_unknown_and_the_row_stays(tmp_path: Path) -> None:
    rows = [_kernel(2**64), _row(args={"correlation": 10**400}), _row(tid=2**70, args={})]
    trace = _read(tmp_path, rows)
    assert len(trace) == 3
    assert not trace.has_correlation.any()
    assert sum(_mended(trace).values()) == 2


def test_07_a_cut_file_gives_what_comes_before_and_names_the_byte(tmp_path: Path) -> None:
    text = b'{"traceEvents": [' + KERNEL + b"," + KERNEL + b"," + KERNEL[:20]
    trace = _read(tmp_path, text)
    assert len(trace) == 2
    assert trace.facts.damage is not None
    assert trace.facts.damage.reason == f"cut: it stops at byte {len(text)}"


def test_07_a_file_that_starts_again_in_the_middle_is_read_once(tmp_path: Path) -> None:
    begin = b'{"schemaVersion": 1, "traceEvents": [' + KERNEL + b"," + KERNEL + b","
    trace = _read(tmp_path, begin + KERNEL[:30] + begin + KERNEL + b"]}")
    assert len(trace) == 2
    assert trace.facts.damage is not None
    assert "a second trace begins at byte" in trace.facts.damage.reason


def test_08_a_fraction_with_its_own_sign_is_what_both_parts_say(tmp_path: Path) -> None:
    rows = [KERNEL.replace(b'"ts":1', b'"ts":0.-660'), KERNEL.replace(b'"ts":1', b'"ts":-1.-660'), KERNEL]
    trace = _read(tmp_path, b"[" + b",".join(rows) + b"]")
    assert (trace.start_ns + trace.base_ns).tolist() == [-1660, -660, 1000]


def test_09_the_last_event_may_be_empty(tmp_path: Path) -> None:
    trace = _read(tmp_path, b'{"traceEvents": [' + KERNEL + b",{}]}")
    assert len(trace) == 1
    assert _left_out(trace) == {"rows without a phase": 1}
    assert trace.facts.damage is None


def test_10_metadata_after_the_events_counts(tmp_path: Path) -> None:
    file = {
        "traceEvents": [_row(ts=1.5)],
        "baseTimeNanoseconds": 1_700_000_000_000_000_000,
        "distributedInfo": {
            "backend": "nccl",
            "rank": 3,
            "world_size": 8,
            "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 3]}],
        },
        "record_shapes": 1,
    }
    trace = _read(tmp_path, file)
    assert trace.base_ns == 1_700_000_000_000_001_500
    assert trace.facts.distributed is not None
    assert (trace.facts.distributed.rank, trace.facts.distributed.world_size) == (3, 8)
    assert trace.facts.distributed.groups[0].ranks == (0, 3)
    assert trace.facts.recorded_shapes is True
    assert trace.facts.recorded_stacks is None


def test_11_a_time_in_quotes_is_a_time(tmp_path: Path) -> None:
    trace = _read(tmp_path, [_row(ts="1712195495505583.123", dur="2.5")])
    assert trace.base_ns == 1_712_195_495_505_583_123
    assert trace.duration_ns.tolist() == [2500]


# Time


def test_12_stamps_that_no_double_holds_keep_their_nanoseconds(tmp_path: Path) -> None:
    text = [KERNEL.replace(b'"ts":1', b'"ts":1712195495505583.%03d' % ns) for ns in (123, 124, 125)]
    assert _read(tmp_path, b"[" + b",".join(text) + b"]").start_ns.tolist() == [0, 1, 2]


def test_13_a_negative_duration_is_none_and_counted(tmp_path: Path) -> None:
    trace = _read(tmp_path, [_row(dur=-0.001)])
    assert trace.duration_ns.tolist() == [0]
    assert _mended(trace) == {"negative durations were read as 0": 1}


def test_14_kernels_that_were_never_timed_do_not_stretch_the_span(tmp_path: Path) -> None:
    rows = [_row(ts=0, dur=0), _row(ts=1_700_000_000_000_000), _row(ts=1_700_000_000_000_005)]
    trace = _read(tmp_path, rows)
    assert int(trace.end_ns.max()) == 6000
    assert _left_out(trace) == {"rows of time 0 and no duration, which were never timed,": 1}


def test_14_a_time_of_0_in_a_trace_that_begins_there_stays(tmp_path: Path) -> None:
    assert len(_read(tmp_path, [_row(ts=0, dur=0), _row(ts=4)])) == 2


def test_15_first_steps_without_their_kernels_are_said(tmp_path: Path) -> None:
    rows = [_step(0, 0), _step(1, 20), _launch(1, ts=2), _launch(2, ts=22), _kernel(2, ts=25)]
    trace = _read(tmp_path, rows)
    found = honesty(trace).steps
    assert found is not None
    assert (found.steps, found.without_device_rows) == (2, 1)
    assert any("1 of 2 steps has no device rows" in s for s in honesty(trace).sentences)


@pytest.mark.parametrize("overlap", [0.0, 0.03])
def test_16_kernels_of_a_queue_that_touch_or_overlap_stay_as_they_are(tmp_path: Path, overlap: float) -> None:
    trace = _read(tmp_path, [_kernel(1, ts=5, dur=2), _kernel(2, ts=7 - overlap, dur=2)])
    assert trace.duration_ns.tolist() == [2000, 2000]
    assert honesty(trace).overruns == 0


def test_17_a_kernel_that_lasts_past_the_next_ones_is_flagged(tmp_path: Path) -> None:
    trace = _read(tmp_path, [_kernel(i, ts=5 + i, dur=1_600_000 if i == 0 else 1) for i in range(4)])
    assert honesty(trace).overruns == 1


def test_18_dependent_launches_that_overlap_their_neighbour_are_no_overrun(tmp_path: Path) -> None:
    trace = _read(tmp_path, [_kernel(i, ts=5 + i, dur=1.5) for i in range(4)])
    assert trace.rows(EventKind.KERNEL).size == 4
    assert honesty(trace).overruns == 0


def test_19_a_wait_for_a_stream_is_the_hosts_and_no_device_row(tmp_path: Path) -> None:
    wait = _row(cat="cuda_runtime", name="cudaStreamSynchronize", pid=1, tid=1, dur=50, args={"correlation": 9})
    trace = _read(tmp_path, [wait, _kernel(1)])
    assert trace.rows(EventKind.SYNC).size == 1
    assert trace.rows(EventKind.KERNEL).size == 1
    other = _read(tmp_path, [_row(cat="cuda_sync", name="Stream Sync", dur=50), _kernel(1)])
    assert other.rows(EventKind.KERNEL).size == 1


def test_20_21_rows_that_cross_instead_of_nesting_are_read_and_attributed(tmp_path: Path) -> None:
    op = _row(cat="cpu_op", name="aten::mm", pid=1, tid=1, ts=1, dur=3, args={})
    rows = [_step(0, 0), op, _launch(1, ts=2, dur=4), _kernel(1, ts=1.9)]
    found = attribute(_read(tmp_path, rows))
    assert found.attributed.unlinked_kernels == 0


def test_22_rounding_overlaps_of_nanoseconds_are_kept(tmp_path: Path) -> None:
    trace = _read(tmp_path, [_kernel(1, ts=5, dur=1.003), _kernel(2, ts=6, dur=1)])
    assert (trace.end_ns[:1] - trace.start_ns[1:]).tolist() == [3]


# Links


@pytest.mark.parametrize("nobody", [0, -1])
def test_23_a_correlation_that_stands_for_none_links_nothing(tmp_path: Path, nobody: int) -> None:
    trace = _read(tmp_path, [_launch(nobody), _launch(nobody, ts=2), _kernel(nobody), _kernel(nobody, ts=7)])
    assert _linked(trace) == [None, None]


def test_24_all_kernels_of_a_replay_are_rows_and_link_to_their_launch(tmp_path: Path) -> None:
    rows = [_launch(4, name="cudaGraphLaunch"), *(_kernel(4, ts=5 + i) for i in range(3))]
    assert _linked(_read(tmp_path, rows)) == [0, 0, 0]


def test_25_a_hip_graph_kernel_without_a_node_id_is_a_kernel(tmp_path: Path) -> None:
    trace = _read(tmp_path, [_kernel(None), _row(args={"graph node id": 12, "graph id": 3}, ts=9)])
    details = [trace.detail(i) for i in range(2)]
    assert [d.graph_node if d else None for d in details] == [None, 12]
    assert [d.graph if d else None for d in details] == [None, 3]


def test_26_arrows_with_one_end_change_no_link(tmp_path: Path) -> None:
    arrow = {"ph": "s", "id": 3, "pid": 1, "tid": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"}
    trace = _read(tmp_path, [arrow, _launch(3), _kernel(3)])
    assert _linked(trace) == [0]
    assert _left_out(trace) == {"flow arrows (links come from correlation ids)": 1}


def test_27_kernels_of_one_correlation_and_a_launch_without_any_are_all_counted(tmp_path: Path) -> None:
    stream = 2**40 + 7
    rows = [_launch(3), _launch(4, ts=2), *(_row(ts=5 + i, args={"correlation": 3, "stream": stream}) for i in (0, 1))]
    trace = _read(tmp_path, rows)
    assert _linked(trace) == [0, 0]
    assert set(trace.stream[trace.has_stream].tolist()) == {stream}


def test_28_external_ids_are_a_column_of_their_own(tmp_path: Path) -> None:
    op = _row(cat="cpu_op", name="aten::mm", pid=1, tid=1, ts=0, args={"External id": 5, "Record function id": 0})
    trace = _read(tmp_path, [op, _launch(5, ts=2), _kernel(6), _row(ts=9, args={"external id": 5})])
    assert trace.external_id is not None
    assert trace.has_external_id is not None
    assert trace.external_id[trace.has_external_id].tolist() == [5, 5]
    assert _linked(trace) == [None, None]


def test_29_hip_names_and_copies_written_as_kernels_are_known(tmp_path: Path) -> None:
    trace = _read(tmp_path, [_launch(3, name="hipLaunchKernel"), _row(name="CopyHostToDevice")])
    assert sorted(trace.kind.tolist()) == [EventKind.LAUNCH, EventKind.COPY]
    assert trace.facts.vendor is Vendor.ROCM


def test_30_an_xpu_kernel_without_stream_or_grid_is_a_kernel(tmp_path: Path) -> None:
    launch = _row(cat="xpu_runtime", name="urEnqueueKernelLaunch", pid=1, tid=1, args={"correlation": 3})
    kernel = _row(cat="kernel", name="gemm_kernel", tid="x", ts=5, args={"correlation": 3, "device": 0})
    trace = _read(tmp_path, [launch, kernel])
    assert _linked(trace) == [0]
    assert not trace.has_stream[trace.rows(EventKind.KERNEL)].any()
    assert trace.detail(1) is None
    assert trace.facts.vendor is Vendor.XPU


def test_30_launches_without_kernels_are_said(tmp_path: Path) -> None:
    launch = _row(cat="xpu_runtime", name="urEnqueueKernelLaunch", pid=1, tid=1, args={"correlation": 3})
    assert honesty(_read(tmp_path, [launch])).launches_without_rows == 1


# Content


def test_31_without_distributed_info_or_memsets_nothing_is_made_up(tmp_path: Path) -> None:
    trace = _read(tmp_path, [_kernel(1)])
    assert trace.facts.distributed is None
    assert not trace.rows(EventKind.MEMSET).size


def test_32_children_of_no_length_or_out_of_order_are_read_in_order(tmp_path: Path) -> None:
    parent, child = (_row(cat="cpu_op", name=n, pid=1, tid=1, ts=1, dur=d, args={}) for n, d in (("p", 4), ("c", 0)))
    trace = _read(tmp_path, [child, parent])
    assert [trace.name(i) for i in range(2)] == ["p", "c"]


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("ProfilerStep#12", StepDialect.TORCH),
        ("ProfilerStep*", None),
        ("step[DECODE bs=16]", StepDialect.SGLANG),
        ("execute_8192_context_9(sq8155sk8430)_generation_0(0)", StepDialect.VLLM),
        ("execute_context_1(888_788544)_generation_0(0)", StepDialect.VLLM),
        ("execute_diffusion_1_256x256", StepDialect.DIFFUSERS),
        ("Optimizer.step#SGD.step", None),
        ("execute", None),
    ],
)
def test_33_each_programs_step_markers_are_known(name: str, dialect: StepDialect | None) -> None:
    assert step_dialect(name) is dialect


def test_34_replays_without_rows_are_said_and_not_idle(tmp_path: Path) -> None:
    rows = [_launch(i, ts=i * 10, name="hipGraphLaunch") for i in range(1, 33)]
    rows += [_kernel(i, ts=i * 10 + 5) for i in (3, 4)]
    found = honesty(_read(tmp_path, rows))
    assert found.replays is not None
    assert (found.replays.launches, found.replays.without_rows, found.replays.partial) == (32, 30, None)
    assert "30 of 32 graph replays have no device rows" in found.sentences


def test_34_a_replay_shorter_than_another_of_its_graph_is_counted(tmp_path: Path) -> None:
    rows = [_launch(1, name="cudaGraphLaunch"), _launch(2, ts=20, name="cudaGraphLaunch")]
    rows += [_row(ts=5 + i, args={"correlation": 1, "graph id": 9}) for i in range(3)]
    rows += [_row(ts=25, args={"correlation": 2, "graph id": 9})]
    found = honesty(_read(tmp_path, rows))
    assert found.replays is not None
    assert found.replays.partial == 1


def test_35_launches_and_no_kernels_is_a_recording_without_cupti(tmp_path: Path) -> None:
    trace = _read(tmp_path, [_step(0, 0), _launch(1, ts=2)])
    assert NOT_RECORDED in attribute(trace).notes
    assert "1 launches and no device row: the device's work was not recorded" in honesty(trace).sentences


@pytest.mark.parametrize("properties", [None, [], [{"id": 0, "name": ""}], 3, [3, None, {"id": 0}]])
def test_36_devices_that_are_missing_or_nameless_are_unknown(tmp_path: Path, properties: object) -> None:
    trace = _read(tmp_path, {"traceEvents": [_kernel(1)], "deviceProperties": properties})
    assert trace.device_name is None
    assert all(d.name is None for d in trace.facts.devices)


def test_36_a_phantom_device_does_not_give_the_trace_its_name(tmp_path: Path) -> None:
    properties = [{"id": 0, "name": "Real", "numSms": 132}, {"id": 1, "name": "Phantom"}]
    assert _read(tmp_path, {"traceEvents": [_kernel(1)], "deviceProperties": properties}).device_name == "Real"


def test_37_the_words_of_2021_are_known(tmp_path: Path) -> None:
    rows = [
        _row(cat="Operator", name="aten::mm", pid=5, tid="4093687616", args={"Input dims": [[2, 3]]}),
        _row(cat="Kernel", pid=0, tid="stream 7", ts=5, args={"stream": 7, "correlation": 3}),
        _row(cat="Runtime", name="cudaLaunchKernel", pid=5, tid="4093687616", ts=2, args={"correlation": 3}),
    ]
    trace = _read(tmp_path, rows)
    assert trace.kind.tolist() == [EventKind.CPU_OP, EventKind.LAUNCH, EventKind.KERNEL]
    assert trace.thread[:2].tolist() == [4093687616, 4093687616]
    detail = trace.detail(0)
    assert detail is not None
    assert detail.shapes == ((2, 3),)


@pytest.mark.parametrize("grid", [None, [0, 0, 0]])
def test_38_amds_text_streams_and_missing_grids_are_read(tmp_path: Path, grid: list[int] | None) -> None:
    args = {"stream": "3", "device": "1"} | ({"grid": grid} if grid else {})
    trace = _read(tmp_path, [_row(args=args)])
    assert (trace.stream.tolist(), trace.device.tolist()) == ([3], [1])
    detail = trace.detail(0)
    assert detail is None or detail.grid is None


def test_39_metadata_rows_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}] * 20
    trace = _read(tmp_path, [*rows, _row()])
    assert len(trace) == 1
    assert _left_out(trace) == {"rows of metadata": 20}


def test_40_a_name_of_thousands_of_characters_stays_whole(tmp_path: Path) -> None:
    name = "void at::native::" + "vectorized<" * 2000
    assert _read(tmp_path, [_row(name=name)]).names == (name,)

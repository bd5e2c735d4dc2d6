"""Every trace that others published reads, with all its kernels. Skipped where the collection is absent."""

from __future__ import annotations

import pytest

from analyzer.core.trace import EventKind
from analyzer.derive.attribution import attribute
from tests.public_traces import public_trace

KERNELS = {
    "h100_qwen_train.json.gz": 1465,
    "mi300_qwen_train.json.gz": 1516,
    "b300_qwen3_graph_decode.json.gz": 713,
    "mi300_qwen3_graph_decode.json.gz": 802,
    "b200_compiled_nccl.json.gz": 768,
    "mi210_gpu_only.json.gz": 562,
    "mi300_sglang_decode.json.gz": 555,
    "vllm_piecewise_graphs.json.gz": 413,
    "mi300_sd35.json.gz": 8042,
    "a100_compiled_graphs_nccl_rank0of16.json.gz": 6080,
    "diff_control_a100.json.gz": 8568,
    "diff_test_v100.json.gz": 9876,
    "v100_ns_ts.json.gz": 4350,
    "a100_nccl_groups.json.gz": 2700,
    "cpu_only_rank34.json.gz": 0,
    "mtia_inference.json.gz": 0,
    "v100_resnet_2021_array.json.gz": 9538,
    "v100_resnet_2021_memory.json.gz": 8868,
    "dlrm_8ranks/worker0.json.gz": 245,
    "dlrm_8ranks/worker1.json.gz": 310,
    "dlrm_8ranks/worker2.json.gz": 246,
    "dlrm_8ranks/worker3.json.gz": 315,
    "dlrm_8ranks/worker4.json.gz": 251,
    "dlrm_8ranks/worker5.json.gz": 245,
    "dlrm_8ranks/worker6.json.gz": 246,
    "dlrm_8ranks/worker7.json.gz": 246,
}
"""As counted by the collection's own README."""


@pytest.mark.parametrize("name", KERNELS)
def test_a_public_trace_reads_with_all_its_kernels_each_attributed_once(name: str) -> None:
    trace = public_trace(name)
    assert trace.rows(EventKind.KERNEL).size == KERNELS[name]
    found = attribute(trace).attributed
    assert found.linked_ns + found.gap_ns + found.unlinked_ns == found.kernel_ns


def test_kernels_whose_launch_is_missing_are_counted() -> None:
    assert attribute(public_trace("h100_qwen_train.json.gz")).attributed.unlinked_kernels == 509

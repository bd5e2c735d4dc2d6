"""What the host does in a row, by its name: a line of the table each."""

from __future__ import annotations

import pytest

from analyzer.core.budget import HostKind
from analyzer.core.trace import EventKind
from analyzer.derive.host_rows import KINDS, UNSEEN, WAITS, code_of, host_codes
from tests.traces import Recording

OP, RUNTIME, LAUNCH = EventKind.CPU_OP, EventKind.RUNTIME, EventKind.LAUNCH


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("TorchDynamo Cache Lookup", OP, HostKind.GUARDS),
        ("Pregraph bytecode", OP, HostKind.BYTECODE),
        ("Torch-Compiled Region: 0/0", OP, HostKind.BYTECODE),
        ("AOTDispatcher Runtime Wrapper Prologue", OP, HostKind.PROLOGUE),
        ("## Call CompiledFxGraph fveygjt ##", EventKind.RANGE, HostKind.WRAPPER),
        ("graphbound::aaaaaaaaaaaa.inference", EventKind.RANGE, HostKind.WRAPPER),
        ("CompiledFunctionBackward", OP, HostKind.WRAPPER),
        ("triton_poi_fused_add_0", OP, HostKind.WRAPPER),
        ("graph_0_cpp_fused_relu_1", OP, HostKind.WRAPPER),
        ("aten::empty_strided", OP, HostKind.ALLOCATOR),
        ("cudaMalloc", RUNTIME, HostKind.ALLOCATOR),
        ("hipFreeAsync", RUNTIME, HostKind.ALLOCATOR),
        ("cuMemMap", RUNTIME, HostKind.ALLOCATOR),
        ("aten::mm", OP, HostKind.OPERATORS),
        ("autograd::engine::evaluate_function: MmBackward0", OP, HostKind.OPERATORS),
        ("cuLaunchKernelEx", LAUNCH, HostKind.LAUNCH),
        ("cudaGraphLaunch", LAUNCH, HostKind.LAUNCH),
        ("cudaMemcpyAsync", LAUNCH, HostKind.LAUNCH),
    ],
)
def test_a_row_is_of_its_kind(name: str, kind: EventKind, expected: HostKind) -> None:
    assert KINDS[code_of(name, kind)] is expected


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaStreamIsCapturing", RUNTIME),
        ("cudaEventRecord", RUNTIME),
        ("Optimizer.step#SGD.step", EventKind.RANGE),
        ("graphbound::prepare", EventKind.RANGE),
        ("ProfilerStep#0", EventKind.RANGE),
        ("TorchDynamo Cache Lookup", EventKind.KERNEL),
        ("forward", EventKind.PYTHON),
    ],
)
def test_other_rows_leave_the_time_to_what_is_around_them(name: str, kind: EventKind) -> None:
    assert code_of(name, kind) == UNSEEN


def test_the_last_kind_is_what_no_row_covers() -> None:
    assert KINDS[-1] is HostKind.PYTHON
    assert {KINDS.index(kind) for kind in HostKind} == set(range(WAITS))


def test_codes_stand_beside_the_rows_of_a_trace() -> None:
    run = Recording()
    with run.step(), run.op("aten::mm"):
        run.launch("gemm", us=5)
    run.synchronize()
    trace = run.trace()
    found = {trace.name(row): code for row, code in enumerate(host_codes(trace).tolist())}
    assert found == {
        "ProfilerStep#0": UNSEEN,
        "aten::mm": KINDS.index(HostKind.OPERATORS),
        "cudaLaunchKernel": KINDS.index(HostKind.LAUNCH),
        "gemm": UNSEEN,
        "cudaDeviceSynchronize": WAITS,
    }

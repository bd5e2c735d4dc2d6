"""Each line of the table knows the rows it is for."""

from __future__ import annotations

import pytest

from analyzer.core.trace import EventKind
from collectors.readers.dialects import kind_of


@pytest.mark.parametrize(
    ("category", "name", "kind"),
    [
        ("kernel", "void gemm<float>(int)", EventKind.KERNEL),
        ("Kernel", "volta_sgemm_128x64_nn", EventKind.KERNEL),
        ("kernel", "CopyHostToDevice", EventKind.COPY),
        ("kernel", "CatArrayBatchedCopy", EventKind.KERNEL),
        ("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", EventKind.COPY),
        ("Memcpy", "Memcpy HtoD", EventKind.COPY),
        ("gpu_memset", "Memset (Device)", EventKind.MEMSET),
        ("Memset", "Memset (Device)", EventKind.MEMSET),
        ("cuda_runtime", "cudaLaunchKernel", EventKind.LAUNCH),
        ("cuda_runtime", "cudaLaunchKernelExC", EventKind.LAUNCH),
        ("cuda_runtime", "cudaLaunchKernelExC_v11060", EventKind.LAUNCH),
        ("cuda_runtime", "cudaLaunchCooperativeKernel", EventKind.LAUNCH),
        ("cuda_runtime", "cudaLaunchHostFunc", EventKind.RUNTIME),
        ("cuda_driver", "cuLaunchKernel", EventKind.LAUNCH),
        ("cuda_driver", "cuLaunchKernelEx", EventKind.LAUNCH),
        ("cuda_runtime", "cudaGraphLaunch", EventKind.LAUNCH),
        ("cuda_runtime", "cudaGraphInstantiate", EventKind.RUNTIME),
        ("cuda_driver", "cuGraphLaunch", EventKind.LAUNCH),
        ("cuda_runtime", "cudaMemcpyAsync", EventKind.LAUNCH),
        ("cuda_driver", "cuMemsetD32Async", EventKind.LAUNCH),
        ("Runtime", "cudaMemsetAsync", EventKind.LAUNCH),
        ("cuda_runtime", "hipLaunchKernel", EventKind.LAUNCH),
        ("hip_runtime", "hipExtModuleLaunchKernel", EventKind.LAUNCH),
        ("cuda_runtime", "hipModuleLaunchKernel", EventKind.LAUNCH),
        ("cuda_runtime", "hipGraphLaunch", EventKind.LAUNCH),
        ("cuda_runtime", "hipMemcpyWithStream", EventKind.LAUNCH),
        ("xpu_runtime", "urEnqueueKernelLaunch", EventKind.LAUNCH),
        ("cuda_runtime", "cudaDeviceSynchronize", EventKind.SYNC),
        ("cuda_runtime", "cudaStreamSynchronize", EventKind.SYNC),
        ("cuda_runtime", "hipEventSynchronize", EventKind.SYNC),
        ("cuda_driver", "cuCtxSynchronize", EventKind.SYNC),
        ("cuda_runtime", "cudaStreamWaitEvent", EventKind.RUNTIME),
        ("cuda_runtime", "INVALID", EventKind.RUNTIME),
        ("cpu_op", "aten::mm", EventKind.CPU_OP),
        ("Operator", "aten::mm", EventKind.CPU_OP),
        ("Operator", "ProfilerStep#3", EventKind.RANGE),
        ("user_annotation", "ProfilerStep#3", EventKind.RANGE),
        ("user_annotation", "graphbound::3fa9c1d2e4b5.inference", EventKind.RANGE),
        ("gpu_user_annotation", "ProfilerStep#3", EventKind.DEVICE_RANGE),
        ("python_function", "model.py(3): forward", EventKind.PYTHON),
        ("overhead", "Activity Buffer Request", EventKind.OTHER),
        ("", "kernel", EventKind.OTHER),
        ("mykernel", "gemm", EventKind.OTHER),
    ],
)
def test_a_row_has_the_kind_of_the_first_line_that_knows_it(category: str, name: str, kind: EventKind) -> None:
    assert kind_of(category, name) is kind

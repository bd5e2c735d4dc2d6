"""Reads torch's global settings and the CPUs of this process. Changes none of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import torch

from analyzer.core.environment import Environment
from collectors import torch_compat
from collectors.device_precision import float32_matmul_precision

_QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")
"""Control groups v2: `QUOTA PERIOD` in microseconds, or `max PERIOD`."""

_QUOTA_V1: Final = (
    Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
    Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
)


_HALF_INSTRUCTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "bfloat16": ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16"),
    "float16": ("avx512_fp16", "amx_fp16", "fp16_arith"),
}
"""Instructions that multiply matrices of a half type, by the names of `torch.cpu.get_capabilities` (x86, then Arm)."""


def read_environment() -> Environment:
    """The settings of this process now. The gradient mode is told by a step alone (`collectors.left_gradients`)."""
    return Environment(
        is_grad_enabled=None,
        is_anomaly_mode=torch.is_anomaly_enabled(),
        is_deterministic=torch.are_deterministic_algorithms_enabled(),
        allows_tf32=torch.backends.cuda.matmul.fp32_precision == "tf32",
        matmul_precision=float32_matmul_precision(),
        is_cudnn_benchmark=torch.backends.cudnn.benchmark,
        threads=torch.get_num_threads(),
        interop_threads=torch.get_num_interop_threads(),
        affinity_cpus=_affinity_cpus(),
        quota_cpus=_quota_cpus(),
        cpu_half_dtypes=_cpu_half_dtypes(),
        is_compile_disabled=torch_compat.is_compile_disabled(),
    )


def _affinity_cpus() -> int | None:
    # Linux only; os.cpu_count() would also count the CPUs that this process may not use.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _quota_cpus() -> float | None:
    """The CPUs that the control group grants; None where it sets no limit."""
    try:
        return parse_quota(_QUOTA.read_text())
    except OSError:
        pass
    try:
        return parse_quota(" ".join(path.read_text().strip() for path in _QUOTA_V1))
    except OSError:
        return None


def parse_quota(text: str) -> float | None:
    """CPUs out of `QUOTA PERIOD`; None for `max`, for -1 (no limit, in version 1) and for anything else."""
    fields = text.split()
    try:
        quota, period = (int(field) for field in fields)
    except ValueError:
        return None
    return quota / period if quota > 0 and period > 0 else None


def _cpu_half_dtypes() -> tuple[str, ...] | None:
    """The half types for which this CPU has instructions; None where torch does not tell."""
    try:
        found = torch.cpu.get_capabilities()
    except (AttributeError, RuntimeError):
        return None
    if not found:
        return None
    return tuple(dtype for dtype, names in _HALF_INSTRUCTIONS.items() if any(found.get(name) for name in names))

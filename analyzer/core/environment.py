"""What surrounds the workload: torch's global settings, the threads, and what is installed here."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.core.device import Device, Versions


@dataclass(frozen=True, slots=True)
class Environment:
    """Torch's global settings where the workload ran. None is unknown.

    `is_grad_enabled` is the setting inside a step. `matmul_precision` is torch's float32 setting (`highest`, `high`,
    `medium`); `allows_tf32` what cuBLAS does with it. `affinity_cpus` are the CPUs this process may run on,
    `quota_cpus` what its control group grants, in CPUs.
    """

    is_grad_enabled: bool | None
    is_anomaly_mode: bool
    is_deterministic: bool
    allows_tf32: bool
    matmul_precision: str | None
    is_cudnn_benchmark: bool
    threads: int
    interop_threads: int
    affinity_cpus: int | None
    quota_cpus: float | None

    @property
    def usable_cpus(self) -> float | None:
        """The CPUs this process can keep busy; None where neither limit is known."""
        known = [limit for limit in (self.affinity_cpus, self.quota_cpus) if limit is not None]
        return min(known) if known else None


@dataclass(frozen=True, slots=True)
class Compiler:
    """The C++ compiler that Inductor takes; `version` is the first line it prints of itself."""

    command: str
    version: str | None


@dataclass(frozen=True, slots=True)
class Installation:
    """What `analyze` needs, as found in a process that imported torch. None is what is not there.

    `cuda_problem` says why there is no CUDA device, None where there is one. `sees_kernels` is whether the profiler
    recorded a kernel that ran; None where there was none to record.
    """

    versions: Versions
    is_supported: bool
    oldest_torch: str
    compiler: Compiler | None
    cuda_problem: str | None
    sees_kernels: bool | None
    devices: tuple[Device, ...]
    is_cached: bool
    environment: Environment

"""What surrounds the workload: torch's global settings, the threads, and what is installed here."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.core.device import Device, Versions
from analyzer.core.graphs import SourceLine


@dataclass(frozen=True, slots=True)
class Environment:
    """Torch's global settings where the workload ran. None is unknown.

    `is_grad_enabled` is whether the user's own inference step runs its operators with gradients on where nothing around
    it turns them off, `grad_line` then its line that runs the first; of a step of ours both are None.
    `matmul_precision` is torch's float32 setting (`highest`, `high`, `medium`); `allows_tf32` what cuBLAS does with it.
    `affinity_cpus` are the CPUs this process may run on, `quota_cpus` what its control group grants, in CPUs.
    `cpu_half_dtypes` are the half types (`bfloat16`, `float16`) for which the CPU has instructions that multiply
    matrices. `is_compile_disabled` is whether torch.compile is switched off, in the environment or by the program.
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
    cpu_half_dtypes: tuple[str, ...] | None = None
    grad_line: SourceLine | None = None
    is_compile_disabled: bool | None = None

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
class CounterRights:
    """Who may read a GPU's hardware counters. `ncu` is Nsight Compute's command; `is_admin_only` whether the driver
    keeps them to administrators; `is_admin` whether this process is one. None is unknown, or not there.
    """

    ncu: str | None
    is_admin_only: bool | None
    is_admin: bool | None

    @property
    def is_granted(self) -> bool | None:
        """Whether counters may be read here; None where the driver does not say."""
        if self.is_admin_only is None:
            return None
        return True if not self.is_admin_only else self.is_admin


@dataclass(frozen=True, slots=True)
class Installation:
    """What `analyze` needs, as found in a process that imported torch. None is what is not there.

    `cuda_problem` says why there is no CUDA device, None where there is one. `sees_kernels` is whether the profiler
    recorded a kernel that ran; None where there was none to record. `missing_libraries` are the optional packages
    that are not there, by the name they are imported under.
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
    counters: CounterRights | None = None
    missing_libraries: tuple[str, ...] = ()

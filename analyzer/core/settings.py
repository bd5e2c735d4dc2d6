"""What the user asked for, as one frozen value that travels to the child process."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

COMPILE_TIMEOUT_S: Final = 120.0
"""Two minutes a candidate: MobileNetV2 under max-autotune alone took five on an H200."""


class Mode(StrEnum):
    INFERENCE = "inference"
    TRAINING = "training"


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """How to find and build the workload: enough for another process to build the same one.

    `target` is a path to a Python file or `timm:NAME`, `torchvision:NAME`, `hf:CONFIG_OR_FOLDER`; `device` None means
    CUDA where there is one. `batch`, `dtype` and `shape` apply to the named models only.
    """

    target: str
    entry: str | None = None
    mode: Mode = Mode.INFERENCE
    device: str | None = None
    batch: int | None = None
    dtype: str | None = None
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class RunSettings:
    """One `analyze model.py`. `out` None means `runs/<name>-<time>/`. `candidates` empty means all."""

    workload: WorkloadSpec
    out: str | None = None
    optimize: bool = True
    compile_timeout_s: float = COMPILE_TIMEOUT_S
    candidates: tuple[str, ...] = ()
    isolate: bool = True

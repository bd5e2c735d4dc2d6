"""What the user asked for, as one frozen value that travels to the child process."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

COMPILE_TIMEOUT_S: Final = 120.0
"""Two minutes a candidate: MobileNetV2 under max-autotune alone took five on an H200."""


MEANING_CHANGES: Final = ("tf32", "bf16", "channels_last", "fused_attention", "int8", "fp8")
"""What `--allow` takes: changes that may alter a model's results, and are never tried unasked."""


class Mode(StrEnum):
    INFERENCE = "inference"
    TRAINING = "training"


class Objective(StrEnum):
    """What the plan is to be best at, among what is not slower than torch's default beyond noise."""

    LATENCY = "latency"
    """The fastest step."""
    MEMORY = "memory"
    """The least peak memory."""
    COMPILE = "compile"
    """The fewest seconds of compiling."""


class Export(StrEnum):
    """What `analyze model.py --export` writes beside the report."""

    AOTI = "aoti"
    """An AOTInductor package, `model.pt2`."""


@dataclass(frozen=True, slots=True)
class DimRange:
    """The sizes, both ends among them, that a dimension of an input takes: `input` is its place or its name."""

    input: int | str
    dim: int
    low: int
    high: int

    def __str__(self) -> str:
        dim = f".{self.dim}" if self.dim or isinstance(self.input, str) else ""
        return f"{self.input}{dim}:{self.low}-{self.high}"


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """How to find and build the workload: enough for another process to build the same one.

    `target` is a path to a Python file or `timm:NAME`, `torchvision:NAME`, `hf:CONFIG_OR_FOLDER`; `device` None means
    CUDA where there is one. `batch`, `dtype` and `shape` apply to the named models only. `ranges` are dimensions of the
    inputs that change from call to call: sets of inputs are made with sizes in them.
    """

    target: str
    entry: str | None = None
    mode: Mode = Mode.INFERENCE
    device: str | None = None
    batch: int | None = None
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    ranges: tuple[DimRange, ...] = ()


@dataclass(frozen=True, slots=True)
class RunSettings:
    """One `analyze model.py`. `out` None means `runs/<name>-<time>/`. `candidates` empty means all.

    `budget_s` bounds the wall time of the search, None: in proportion to what the default took to compile.
    `memory_limit_bytes` is the most a candidate's peak may be, None: what the device has. `backends` are further
    `torch.compile` backends to try, by name. `allow` are the changes of meaning that may be tried (`tf32`, `bf16`).
    `plan` is the path of a plan to verify in place of a search; with `holds_plan` it stays what is measured, however
    it does, where a run would else fall back on what is better. `export` writes the model as a package as well.
    """

    workload: WorkloadSpec
    out: str | None = None
    optimize: bool = True
    compile_timeout_s: float = COMPILE_TIMEOUT_S
    candidates: tuple[str, ...] = ()
    isolate: bool = True
    budget_s: float | None = None
    objective: Objective = Objective.LATENCY
    memory_limit_bytes: int | None = None
    backends: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    plan: str | None = None
    holds_plan: bool = False
    export: Export | None = None

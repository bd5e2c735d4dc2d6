"""`analyze doctor`: what this machine can measure and compile, what is missing for the rest, and what to do about it.

Imports no torch: a child process does, and its failure is an answer too.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

import msgspec

from analyzer.core import quantities
from analyzer.core.device import VECTOR, Device, Peak
from analyzer.core.environment import Installation
from analyzer.progress import Progress
from analyzer.reporting.plain_text import plain

WIDTH: Final = 80

CHILD_TIMEOUT_S: Final = 180.0
"""Importing torch, measuring a GPU and compiling a small model take under 40 s on a slow host."""

_CHILD: Final = "collectors.installation"
_INDENT: Final = " " * 11
_LABEL: Final = 26
"""Columns of a row's name: the longest is `float32 without products`."""

_NEXT: Final = "analyze demo"
"""The last line of every output is the next useful command."""

_NO_TORCH: Final = "torch is not installed in this Python"
_INSTALL_TORCH: Final = "pip install torch  (for CUDA: the line that https://pytorch.org/get-started gives)"

_RIGHTS: Final = (
    "an administrator sets NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module, and a container needs "
    "--cap-add=SYS_ADMIN"
)

_LIBRARIES: Final = (
    ("transformers", "transformers", "hf: models", "pip install transformers"),
    ("timm", "timm", "timm: models", "pip install timm"),
    ("torchvision", "torchvision", "torchvision: models", "pip install torchvision"),
    ("hta", "HolisticTraceAnalysis", "traces of several ranks", 'pip install "graphbound[ranks]"'),
)
"""Name of the import, name shown, what needs it, what to do."""


class Outcome(Enum):
    """How one check ended; the value is the word shown."""

    OK = "ok"
    WARNING = "warning"
    MISSING = "missing"
    OPTIONAL = "optional"
    """Missing, and only some commands need it."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked for: what was found, what follows from it, and what to do. None: nothing to do."""

    outcome: Outcome
    text: str
    remedy: str | None = None


def run_doctor(progress: Progress, *, renew: bool = False) -> str:
    """Plain text of at most 80 columns. Measures this machine, about ten seconds with a GPU, unless it is known and
    not to be renewed.
    """
    if importlib.util.find_spec("torch") is None:
        return _checks_text((Check(Outcome.MISSING, _NO_TORCH, _INSTALL_TORCH),))
    progress.stage("measuring this machine")
    found = _examine_in_child((sys.executable, "-P", "-m", _CHILD, *(("--renew",) if renew else ())))
    if isinstance(found, Check):
        return _checks_text((found,))
    return render(found)


def render(found: Installation) -> str:
    """The page for one installation."""
    devices = [_device_text(device) for device in found.devices]
    return "\n".join((_versions_text(found), *devices, _checks_text(diagnose(found)), f"{_NEXT}\n"))


def diagnose(found: Installation) -> tuple[Check, ...]:
    """Every check, in the order in which a first run would meet its subject."""
    checks = (
        _torch_check(found),
        _compiler_check(found),
        _cuda_check(found),
        _triton_check(found),
        _profiler_check(found),
        _counters_check(found),
        _threads_check(found),
        *_library_checks(found),
        *(_complete_check(device) for device in found.devices),
    )
    return tuple(check for check in checks if check is not None)


def _examine_in_child(command: Sequence[str]) -> Installation | Check:
    """What the child printed, or the check that says why it printed nothing."""
    root = str(Path(__file__).resolve().parent.parent)
    paths = os.pathsep.join(path for path in (root, os.environ.get("PYTHONPATH", "")) if path)
    try:
        child = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=CHILD_TIMEOUT_S,
            env={**os.environ, "PYTHONPATH": paths},
            check=False,
        )
    except subprocess.TimeoutExpired:
        text = f"measuring this machine took longer than {CHILD_TIMEOUT_S:.0f} s and was given up"
        return Check(Outcome.WARNING, text, "run it again when the machine is idle")
    except OSError as problem:
        return Check(Outcome.MISSING, f"Python could not be started again: {problem}", "check the installation")
    if child.returncode != 0:
        return _failed_child(child)
    try:
        # Libraries may print before us; ours is the last line.
        return msgspec.json.decode(child.stdout.strip().rpartition("\n")[2], type=Installation)
    except msgspec.MsgspecError as problem:
        return Check(Outcome.WARNING, f"the measuring process answered something unexpected: {problem}", None)


def _failed_child(child: subprocess.CompletedProcess[str]) -> Check:
    lines = child.stderr.strip().splitlines()
    last = plain(lines[-1]) if lines else "it said nothing"
    how = f"signal {-child.returncode}" if child.returncode < 0 else f"exit code {child.returncode}"
    remedy = f'see it whole with: python -c "import torch"; python -m {_CHILD}'
    return Check(Outcome.MISSING, f"torch, or measuring with it, failed ({how}): {last}", remedy)


def _torch_check(found: Installation) -> Check:
    version, oldest = plain(found.versions.torch), found.oldest_torch
    if found.is_supported:
        return Check(Outcome.OK, f"torch {version} is supported ({oldest} and newer are)")
    return Check(
        Outcome.MISSING, f"torch {version} is too old: {oldest} and newer work", f"pip install 'torch>={oldest}'"
    )


def _compiler_check(found: Installation) -> Check:
    compiler = found.compiler
    if compiler is not None:
        version = f": {plain(compiler.version)}" if compiler.version else ""
        return Check(Outcome.OK, f"C++ compiler {plain(compiler.command)}{version}")
    return Check(
        Outcome.MISSING,
        "no C++ compiler: Inductor cannot compile for a CPU, nor try the C++ wrapper on a GPU",
        "install g++ (apt-get install g++), or name a compiler in the environment variable CXX",
    )


def _cuda_check(found: Installation) -> Check:
    if found.cuda_problem is None:
        driver = found.versions.driver
        return Check(
            Outcome.OK, f"CUDA {plain(found.versions.cuda or quantities.UNKNOWN)}, driver {driver or 'unknown'}"
        )
    return Check(
        Outcome.MISSING,
        f"no CUDA device: {plain(found.cuda_problem)}",
        "models run with --device cpu; recorded GPU traces and reports can be read. For a GPU: a CUDA build of "
        "torch (https://pytorch.org/get-started) and a driver that nvidia-smi shows",
    )


def _triton_check(found: Installation) -> Check | None:
    if found.cuda_problem is not None:
        return None
    if found.versions.triton is not None:
        return Check(Outcome.OK, f"triton {plain(found.versions.triton)}")
    return Check(Outcome.MISSING, "no triton: Inductor cannot compile for this GPU", 'pip install "graphbound[gpu]"')


def _profiler_check(found: Installation) -> Check | None:
    if found.sees_kernels is None:
        return None
    if found.sees_kernels:
        return Check(Outcome.OK, "the profiler records kernels")
    return Check(
        Outcome.MISSING,
        "the profiler records no kernel: verdicts of GPU graphs will be undecided",
        f"end other profilers of this GPU (nsys, ncu, DCGM); where the driver restricts profiling, {_RIGHTS}",
    )


def _counters_check(found: Installation) -> Check | None:
    """Counters say what a kernel was bound by; nothing in a run needs them."""
    rights = found.counters
    if rights is None:
        return None
    if rights.is_granted is False:
        return Check(Outcome.OPTIONAL, "the driver keeps the GPU's hardware counters to administrators", _RIGHTS)
    if rights.ncu is None:
        text = "no ncu (Nsight Compute): kernels cannot be checked against hardware counters"
        return Check(Outcome.OPTIONAL, text, "install Nsight Compute (it comes with the CUDA toolkit)")
    if rights.is_granted is None:
        text = f"{plain(rights.ncu)} is here; whether this process may read counters, the driver does not say"
        return Check(Outcome.OK, text)
    return Check(Outcome.OK, f"hardware counters can be read with {plain(rights.ncu)}")


def _library_checks(found: Installation) -> tuple[Check, ...]:
    return tuple(
        Check(Outcome.OPTIONAL, f"{title} is not installed: it is needed for {use}", remedy)
        for name, title, use, remedy in _LIBRARIES
        if name in found.missing_libraries
    )


def _threads_check(found: Installation) -> Check | None:
    threads, usable = found.environment.threads, found.environment.usable_cpus
    if usable is None:
        return None
    cpus = quantities.count(usable)
    if threads <= usable:
        return Check(Outcome.OK, f"torch uses {threads} threads, {cpus} CPUs are granted")
    fewer = max(int(usable), 1)
    return Check(
        Outcome.WARNING,
        f"torch uses {threads} threads, but only {cpus} CPUs are granted: CPU times will be noisy",
        f"OMP_NUM_THREADS={fewer}",
    )


def _complete_check(device: Device) -> Check | None:
    """What measuring did not give."""
    missing = device.unmeasured
    if not missing:
        return None
    text = f"not measured on {plain(device.name)}: {', '.join(missing)}"
    remedy = "mend what is missing above, end other users of the device, and run: analyze doctor --renew"
    return Check(Outcome.WARNING, text, remedy)


def _versions_text(found: Installation) -> str:
    versions = found.versions
    rows = (
        ("graphbound", versions.graphbound),
        ("python", versions.python),
        ("torch", versions.torch),
        ("triton", versions.triton or "none"),
        ("cuda", versions.cuda or "none"),
        ("driver", versions.driver or "none"),
        ("platform", versions.platform or quantities.UNKNOWN),
    )
    return "Versions\n" + "".join(_row(name, plain(value)) for name, value in rows)


def _device_text(device: Device) -> str:
    threads = f", {device.threads} threads" if device.threads is not None else ""
    title = f"{plain(device.name)} ({device.kind}{threads}), {device.source.value}"
    rows = [*(_peak_row(peak) for peak in device.peaks), *_memory_rows(device), *_cost_rows(device)]
    notes = "".join(_wrapped(f"note: {plain(note)}", first="  ", rest=" " * 8) + "\n" for note in device.notes)
    return f"{_wrapped(title)}\n" + "".join(_row(name, value) for name, value in rows) + notes


def _peak_row(peak: Peak) -> tuple[str, str]:
    if peak.dtype == VECTOR:
        return "float32 without products", quantities.rate(peak.flops_per_s, "FLOP")
    unit = "OP" if peak.dtype.startswith("int") else "FLOP"
    return f"{peak.dtype} products", quantities.rate(peak.flops_per_s, unit)


def _memory_rows(device: Device) -> list[tuple[str, str]]:
    is_gpu = device.kind == "cuda"
    rows = [
        ("memory, copying", quantities.rate(device.memory_bytes_per_s, "B")),
        ("memory, reading", quantities.rate(device.read_bytes_per_s, "B")),
        ("memory", quantities.byte_count(device.memory_bytes)),
        ("L2 cache" if is_gpu else "last-level cache", quantities.byte_count(device.l2_bytes)),
    ]
    return [*rows, ("L2 cache, reading", quantities.rate(device.l2_bytes_per_s, "B"))] if is_gpu else rows


def _cost_rows(device: Device) -> list[tuple[str, str]]:
    rows = [("an op without work", quantities.duration(device.empty_op_ns))]
    if device.kind == "cuda":
        rows += [
            ("one launch, host", quantities.duration(device.launch_ns)),
            ("smallest kernel", quantities.duration(device.empty_kernel_ns)),
            ("gap between launches", quantities.duration(device.launch_gap_ns)),
            ("gap in a CUDA graph", quantities.duration(device.kernel_gap_ns)),
            ("one graph replay", quantities.duration(device.replay_ns)),
            ("inside its call, late", quantities.duration(device.replay_host_ns)),
            ("and for each input", quantities.duration(device.replay_input_ns)),
        ]
    return rows


def _row(name: str, value: str) -> str:
    return _wrapped(value, first=f"  {name:<{_LABEL}}", rest=" " * (_LABEL + 2)) + "\n"


def _checks_text(checks: Sequence[Check]) -> str:
    return "Checks\n" + "".join(_check_text(check) for check in checks)


def _check_text(check: Check) -> str:
    text = _wrapped(check.text, first=f"  {check.outcome.value:<9}", rest=_INDENT) + "\n"
    return (
        text
        if check.remedy is None
        else text + _wrapped(check.remedy, first=f"{_INDENT}→ ", rest=f"{_INDENT}  ") + "\n"
    )


def _wrapped(text: str, *, first: str = "", rest: str = "") -> str:
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)

"""What is installed here and what this device does: `python -m collectors.installation` prints it as JSON."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable
from typing import Final

import msgspec
import torch
import torch._inductor.config

from analyzer.core.device import Device
from analyzer.core.environment import Compiler, Installation
from collectors import torch_compat
from collectors.device import is_cached, measure_device
from collectors.device_launch import profile_calls
from collectors.environment import read_environment
from collectors.versions import versions

_COMPILER_S: Final = 20.0
"""A compiler that has not printed its version by then hangs."""


def examine(*, renew: bool = False) -> Installation:
    """Everything `analyze doctor` shows. Measures the devices, about ten seconds with a GPU, unless they are known."""
    kinds = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
    was_cached = not renew and all(is_cached(kind) for kind in kinds)
    return Installation(
        versions=versions(),
        is_supported=torch_compat.is_supported(),
        oldest_torch=".".join(str(number) for number in torch_compat.OLDEST_TORCH),
        compiler=find_compiler(_candidates()),
        cuda_problem=None if "cuda" in kinds else _cuda_problem(),
        sees_kernels=_sees_kernels() if "cuda" in kinds else None,
        devices=_measured(kinds, renew=renew),
        is_cached=was_cached,
        environment=read_environment(),
    )


def find_compiler(commands: Iterable[str | None]) -> Compiler | None:
    """The first of `commands` that runs, as Inductor looks for it; None where none does.

    None among the commands stands for a compiler that Inductor would install with conda: it is passed over.
    """
    for command in commands:
        if command is None:
            continue
        try:
            shown = subprocess.run(
                [command, "--version"],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_COMPILER_S,
                check=True,
            )
        except (OSError, ValueError, subprocess.SubprocessError):
            continue
        lines = shown.stdout.strip().splitlines()
        return Compiler(command, lines[0].strip() if lines else None)
    return None


def _candidates() -> tuple[str | None, ...]:
    # A documented option, set from the environment variable CXX; (None, "g++") without it.
    chosen = torch._inductor.config.cpp.cxx
    return tuple(chosen) if isinstance(chosen, list | tuple) else (chosen,)


def _cuda_problem() -> str:
    if not torch.backends.cuda.is_built():
        return "this build of torch has no CUDA in it"
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as problem:
        # torch raises an AssertionError when it was built without CUDA.
        return str(problem).strip().splitlines()[0] or type(problem).__name__
    return "torch finds no CUDA device"


def _sees_kernels() -> bool:
    ones = torch.ones(32, device="cuda")
    return profile_calls(lambda: torch.add(ones, ones)) is not None


def _measured(kinds: tuple[str, ...], *, renew: bool) -> tuple[Device, ...]:
    return tuple(measure_device(kind, renew=renew) for kind in kinds)


def main() -> None:
    parser = argparse.ArgumentParser(description="Print what is installed here, as JSON.")
    parser.add_argument("--renew", action="store_true", help="measure again what is known already")
    found = examine(renew=parser.parse_args().renew)
    sys.stdout.buffer.write(msgspec.json.encode(found) + b"\n")


if __name__ == "__main__":
    main()

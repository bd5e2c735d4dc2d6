"""What is installed here and what this device does: `python -m collectors.installation` prints it as JSON."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from typing import Final

import msgspec
import torch

from analyzer.core.device import Device
from analyzer.core.environment import Installation
from collectors import torch_compat
from collectors.compiler import find_compiler, inductor_compilers
from collectors.device import is_cached, measure_device
from collectors.device_counters import counter_rights
from collectors.device_launch import profile_calls
from collectors.environment import read_environment
from collectors.versions import versions

OPTIONAL_LIBRARIES: Final = ("transformers", "timm", "torchvision", "hta")
"""What some commands need and most do not, by import name."""


def examine(*, renew: bool = False) -> Installation:
    """Everything `analyze doctor` shows. Measures the devices, about ten seconds with a GPU, unless they are known."""
    kinds = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
    was_cached = not renew and all(is_cached(kind) for kind in kinds)
    return Installation(
        versions=versions(),
        is_supported=torch_compat.is_supported(),
        oldest_torch=".".join(str(number) for number in torch_compat.OLDEST_TORCH),
        compiler=find_compiler(inductor_compilers()),
        cuda_problem=None if "cuda" in kinds else _cuda_problem(),
        sees_kernels=_sees_kernels() if "cuda" in kinds else None,
        devices=_measured(kinds, renew=renew),
        is_cached=was_cached,
        environment=read_environment(),
        counters=counter_rights() if "cuda" in kinds and torch.version.cuda is not None else None,
        missing_libraries=tuple(name for name in OPTIONAL_LIBRARIES if importlib.util.find_spec(name) is None),
    )


def _cuda_problem() -> str:
    if not torch.backends.cuda.is_built():  # type: ignore[no-untyped-call]
        return "this build of torch has no CUDA in it"
    try:
        torch.cuda.init()  # type: ignore[no-untyped-call]
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

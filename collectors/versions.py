"""Which versions this process runs, and which compilers torch knows in it. Installs nothing."""

from __future__ import annotations

import ctypes
import platform
import re
from pathlib import Path
from typing import Final

import torch

from analyzer.core.device import Versions
from analyzer.version import installed_version

_NVML: Final = "libnvidia-ml.so.1"
_NVML_VERSION_BYTES: Final = 80
"""NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE of nvml.h."""

_DRIVER_FILE: Final = Path("/proc/driver/nvidia/version")
_DRIVER_LINE: Final = re.compile(r"NVRM version:.*?\s(?P<version>\d+\.\d+(?:\.\d+)?)\s")


def versions() -> Versions:
    """The versions of this process. None is what is not there, or does not say its version."""
    return Versions(
        graphbound=installed_version(),
        python=platform.python_version(),
        torch=str(torch.__version__),
        triton=_triton(),
        cuda=torch.version.cuda or torch.version.hip,
        driver=_driver(),
        platform=platform.platform(),
    )


def known_backends() -> tuple[str, ...]:
    """Every name that `torch.compile(backend=...)` takes here: torch's, installed packages', the user's file's own."""
    return tuple(torch.compiler.list_backends(exclude_tags=None))


def _triton() -> str | None:
    try:
        # Optional: a CPU build of torch does not bring it.
        import triton
    except ImportError:
        return None
    version = getattr(triton, "__version__", None)
    return None if version is None else str(version)


def _driver() -> str | None:
    """The NVIDIA driver's version: from NVML, else from the kernel module; None without either."""
    version = _nvml_driver()
    if version is not None:
        return version
    try:
        found = _DRIVER_LINE.search(_DRIVER_FILE.read_text(errors="replace"))
    except OSError:
        return None
    return found["version"] if found else None


def _nvml_driver() -> str | None:
    try:
        nvml = ctypes.CDLL(_NVML)
    except OSError:
        return None
    if nvml.nvmlInit_v2() != 0:
        return None
    try:
        text = ctypes.create_string_buffer(_NVML_VERSION_BYTES)
        status = nvml.nvmlSystemGetDriverVersion(text, ctypes.c_uint(_NVML_VERSION_BYTES))
        return text.value.decode(errors="replace") if status == 0 else None
    finally:
        nvml.nvmlShutdown()

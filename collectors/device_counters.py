"""Whether this process may read the hardware counters of an NVIDIA GPU, and with what. Reads none of them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

from analyzer.core.environment import CounterRights

_NCU: Final = "ncu"
_NCU_PLACES: Final = (Path("/usr/local/cuda/bin/ncu"), Path("/opt/cuda/bin/ncu"))
"""Where CUDA's installers put it without adding it to the PATH."""

_DRIVER: Final = Path("/proc/driver/nvidia/params")
_ADMIN_ONLY: Final = re.compile(r"^RmProfilingAdminOnly:\s*(?P<value>\d+)\s*$", re.M)
"""What the driver says of its option NVreg_RestrictProfilingToAdminUsers (NVIDIA, ERR_NVGPUCTRPERM)."""

_STATUS: Final = Path("/proc/self/status")
_CAPABILITIES: Final = re.compile(r"^CapEff:\s*(?P<bits>[0-9a-fA-F]+)\s*$", re.M)
_SYS_ADMIN: Final = 1 << 21
"""CAP_SYS_ADMIN of linux/capability.h: what the driver takes for an administrator."""


def counter_rights(driver: Path = _DRIVER, status: Path = _STATUS) -> CounterRights:
    """What the driver and the kernel say. None is what they do not say."""
    restricted = _found(driver, _ADMIN_ONLY)
    capabilities = _found(status, _CAPABILITIES)
    return CounterRights(
        ncu=shutil.which(_NCU) or next((str(place) for place in _NCU_PLACES if place.is_file()), None),
        is_admin_only=None if restricted is None else restricted != "0",
        is_admin=None if capabilities is None else bool(int(capabilities, 16) & _SYS_ADMIN),
    )


def _found(path: Path, pattern: re.Pattern[str]) -> str | None:
    try:
        match = pattern.search(path.read_text(errors="replace"))
    except OSError:
        return None
    return match[1] if match else None

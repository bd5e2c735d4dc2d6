"""What is worth keeping between the jobs of a runner, and under which name: compiled kernels and a device's peaks."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from collectors.cpu_name import cpu_name

QUERY: Final = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
QUERY_LIMIT_S: Final = 30.0
"""Without its persistence daemon, the driver of an idle GPU takes seconds to answer."""

KEY_LIMIT: Final = 400
"""Characters of the part that names the machine; GitHub takes 512 of a key (actions/toolkit, packages/cache)."""

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._]+")


def cache_outputs(environment: Mapping[str, str], devices: Sequence[str]) -> dict[str, str]:
    """The outputs of the step: `key`, `restore` (its beginning, for the newest of this kind), `paths`, and `inductor`,
    the folder that torch is to compile into.

    A cache of GitHub's is never written over, so that each commit has its own key.
    """
    root = Path(environment.get("RUNNER_TEMP") or Path.home() / ".cache")
    inductor = Path(environment.get("TORCHINDUCTOR_CACHE_DIR") or root / "graphbound-inductor")
    begin = f"graphbound-{_safe('-'.join(_machine(environment, devices)))[:KEY_LIMIT]}-"
    return {
        "key": begin + (environment.get("GITHUB_SHA") or "local"),
        "restore": begin,
        "inductor": str(inductor),
        "paths": "\n".join((str(inductor), str(_device_folder(environment)))),
    }


def gpu_names() -> tuple[str, ...]:
    """Each kind of GPU here once; empty without one, or where the driver does not answer."""
    try:
        done = subprocess.run(
            QUERY, capture_output=True, text=True, errors="replace", timeout=QUERY_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = done.stdout.splitlines() if done.returncode == 0 else []
    return tuple(dict.fromkeys(name.strip() for name in found if name.strip()))


def _machine(environment: Mapping[str, str], devices: Sequence[str]) -> tuple[str, ...]:
    """What a compiled kernel depends on: torch, Python, the system, the processor, the GPUs."""
    system = environment.get("RUNNER_OS") or platform.system()
    python = ".".join(platform.python_version_tuple()[:2])
    return f"torch{_torch()}", f"py{python}", system, cpu_name(), *devices


def _torch() -> str:
    """Its release, read without importing it."""
    try:
        return version("torch")
    except PackageNotFoundError:
        return "none"


def _device_folder(environment: Mapping[str, str]) -> Path:
    """Where peaks are kept, as collectors.device_cache has it, which imports torch."""
    given = environment.get("XDG_CACHE_HOME", "")
    return (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "graphbound"


def _safe(text: str) -> str:
    return _UNSAFE.sub("_", text.replace("-", "."))

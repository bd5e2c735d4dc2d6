"""What the processor is called. Imports the standard library alone, so that production can ask."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import Final

_MODEL_NAME: Final = re.compile(r"^model name\s*:\s*(?P<name>.+?)\s*$", re.M)


def cpu_name() -> str:
    """The model of the processor; its architecture where the system does not tell the model."""
    try:
        found = _MODEL_NAME.search(Path("/proc/cpuinfo").read_text(errors="replace"))
    except OSError:
        found = None
    return found["name"] if found else platform.processor() or platform.machine() or "cpu"

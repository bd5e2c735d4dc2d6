"""What one use of the action is called among those of its job: two of one name would write over each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from analyzer.core.errors import UsageError

TAKEN: Final = "graphbound-names"
"""In the runner's own folder, which is emptied before each job: a line for every use so far."""


def own_name(name: str, environment: Mapping[str, str]) -> str:
    """`name`, with a number from the second use of it in a job on. Raises UsageError where the folder takes no file."""
    folder = environment.get("RUNNER_TEMP")
    if not folder:
        return name
    file = Path(folder) / TAKEN
    line = " ".join(name.split())
    try:
        taken = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        with file.open("a", encoding="utf-8") as lines:
            lines.write(f"{line}\n")
    except OSError as error:
        raise UsageError(f"cannot write into the runner's folder: {error.strerror or error}") from error
    before = taken.count(line)
    return f"{name} {before + 1}".strip() if before else name

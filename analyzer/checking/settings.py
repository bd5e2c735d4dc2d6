"""What `analyze check` was asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from analyzer.core.settings import Mode

_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
"""A whole name of a commit, by SHA-1 or SHA-256."""

SHOWN_DIGITS: Final = 12
"""Of a commit: every message names it. git itself shows 7 to 12 of them, by the size of the repository."""


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """`targets` empty means the models of the policy. `baseline` is a run folder or a file, `against` a git reference.

    `runs` False: each model is compiled and called, and nothing is timed or recorded. `init` writes the policy and the
    baseline from what is found. `device` None means CUDA where there is one. `out` is where a folder of each model's
    run is kept, None: nowhere.
    """

    targets: tuple[str, ...] = ()
    baseline: str | None = None
    budget_file: str | None = None
    against: str | None = None
    init: bool = False
    runs: bool = True
    mode: Mode = Mode.INFERENCE
    device: str | None = None
    entry: str | None = None
    out: str | None = None
    command: str = "analyze check"

    @property
    def against_shown(self) -> str | None:
        """What messages call the git reference: a whole commit, as a job of CI gives it, by its first digits."""
        if self.against is None or _COMMIT.fullmatch(self.against) is None:
            return self.against
        return self.against[:SHOWN_DIGITS]

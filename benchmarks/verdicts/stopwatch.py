"""The wall-time budget of a recording, and its lines of progress."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass(slots=True)
class Stopwatch:
    """Seconds since it was made; `is_over` once `budget_s` is spent. `label` begins every line it says."""

    budget_s: float
    label: str
    _start_s: float = field(default_factory=time.monotonic)

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._start_s

    @property
    def left_s(self) -> float:
        return max(0.0, self.budget_s - self.elapsed_s)

    @property
    def is_over(self) -> bool:
        return self.left_s <= 0.0

    def say(self, text: str) -> None:
        print(f"[{self.elapsed_s:6.1f} s] {self.label}: {text}", flush=True)

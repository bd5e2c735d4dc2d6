"""What `analyze check` was asked for."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.core.settings import Mode


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

"""What a project lets pass: a level and a limit for each gate, as written in pyproject.toml or a file of its own."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from analyzer.core.gate import GateLevel

BASELINE_FILE: Final = "graphbound.baseline.json"
"""Where values and samples are stored unless the policy names another file, beside the policy."""


class Preset(StrEnum):
    RECOMMENDED = "recommended"
    """Counts that repeat exactly fail; what depends on the compiler's release or on a clock warns."""
    STRICT = "strict"
    """Everything fails, findings that appeared included."""
    OFF = "off"
    """Only what is named."""


@dataclass(frozen=True, slots=True)
class GateSetting:
    """One gate as it was asked for. `is_asked` where the policy names it, so that what cannot be judged is no detail.

    `most` is the largest value that passes and `least` the smallest, in the gate's unit (ns, bytes); `margin` is what a
    value may lie beyond the stored one, as a share of it. None: not given.
    """

    level: GateLevel
    most: float | None = None
    least: float | None = None
    margin: float | None = None
    is_asked: bool = False


@dataclass(frozen=True, slots=True)
class NamedSetting:
    gate: str
    setting: GateSetting


@dataclass(frozen=True, slots=True)
class ModelPolicy:
    """What one model has of its own. `plan` is the path of the plan that it is to run with."""

    name: str
    gates: tuple[NamedSetting, ...] = ()
    plan: str | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """`source` is the file it was read from, None for the preset alone. `folder` is what its paths start from."""

    preset: Preset = Preset.RECOMMENDED
    gates: tuple[NamedSetting, ...] = ()
    models: tuple[str, ...] = ()
    own: tuple[ModelPolicy, ...] = ()
    baseline: str = BASELINE_FILE
    source: str | None = None
    folder: str = "."

    def named(self, gate: str, model: str) -> GateSetting | None:
        """What is written for this gate of this model, the model's own first; None: only the preset speaks of it."""
        own = next((one.gates for one in self.own if one.name == model), ())
        return next((named.setting for named in (*own, *self.gates) if named.gate == gate), None)

    def plan(self, model: str) -> str | None:
        return next((one.plan for one in self.own if one.name == model), None)

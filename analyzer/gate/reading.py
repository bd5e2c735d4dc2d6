"""What a gate reads of a report: a number, or why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from analyzer.core.gate import GateLevel, GateUnit
from analyzer.core.graphs import SourceLine
from analyzer.core.plan import Plan
from analyzer.core.report import Report


class Needs(IntEnum):
    """How much of a run a gate needs; each includes what stands before it."""

    GRAPHS = 0
    """Compiled and called once: no step is timed, no trace recorded."""
    STEPS = 1
    """A recorded step."""
    CLOCK = 2
    """Times, which differ from machine to machine."""


class Sources(Protocol):
    """The user's files. `path` is relative to the root of the repository where the file lies under it."""

    def path(self, file: str) -> str: ...
    def text(self, where: SourceLine) -> str: ...
    def is_own(self, file: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Subject:
    """What is judged: a report, and the plan that the model is to run with, None where there is none."""

    report: Report
    plan: Plan | None = None

    @property
    def kind(self) -> str:
        """Of the device: `cpu` or `cuda`."""
        return self.report.workload.device


@dataclass(frozen=True, slots=True)
class Reading:
    """`value` None: not known, and `reason` says why. `is_inapplicable` where there can be none on this device or
    without what was not asked for, so that nothing is wrong.
    """

    value: float | None = None
    reason: str | None = None
    is_inapplicable: bool = False


def unknown(reason: str) -> Reading:
    return Reading(reason=reason)


def inapplicable(reason: str) -> Reading:
    return Reading(reason=reason, is_inapplicable=True)


@dataclass(frozen=True, slots=True)
class Gate:
    """`id` is what it is called in a policy, `one` and `many` what it counts in a sentence. `rules` are the findings
    that explain it. `margin` is the share by which a value may pass the stored one, unless the policy or the baseline
    says otherwise. `is_more_better` where falling is the loss. `revision` rises where what is counted changes: a stored
    value of the same model may then be another.
    """

    id: str
    one: str
    many: str
    unit: GateUnit
    needs: Needs
    recommended: GateLevel
    read: Callable[[Subject], Reading]
    rules: tuple[str, ...] = ()
    margin: float = 0.0
    is_more_better: bool = False
    doc: str = ""
    revision: int = 1

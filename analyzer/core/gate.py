"""What `analyze check` found: every gate of every model, what it was held against, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from analyzer.core.errors import ExitCode
from analyzer.core.finding import Confidence
from analyzer.core.graphs import SourceLine
from analyzer.core.report import Report


class GateLevel(StrEnum):
    """What a gate does when its limit is passed."""

    OFF = "off"
    WARN = "warn"
    ERROR = "error"


class GateStatus(StrEnum):
    """How one gate ended; the value is how it is said."""

    PASSED = "passed"
    IMPROVED = "improved"
    """Better than what was stored, by more than its margin: there is a new file to accept."""
    WARNED = "warned"
    """Past its limit, and the gate only warns."""
    FAILED = "failed"
    """Past its limit."""
    BROKEN = "could not run"
    """What it judges is not known; `reason` says why. It fails as an error does, and warns where it only warns."""
    SILENCED = "silenced"
    """Past its limit only for what a `# graphbound: ignore[…]` takes out."""
    NOT_COMPARED = "not compared"
    """Nothing to hold it against: no baseline yet, another machine, no plan; `reason` says which."""


class GateUnit(StrEnum):
    """What the numbers of a gate count."""

    COUNT = "count"
    NS = "ns"
    BYTES = "bytes"
    SHARE = "share"
    """Between 0 and 1."""
    ERROR_SIZE = "relative error"


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One gate of one model. `gate` is its id (`graph_breaks`), `rule` the finding that explains it, None without one.

    `measured` is what the run has, `baseline` what was stored or what the base ran at, `limit` the most that is let
    pass (the least, of plan coverage); None is unknown or not there. `message` is one sentence with the numbers, to be
    shown as it is. `where` is the line that changed the number, None where none can be named; `places` are all such
    lines, `where` first. `ns_per_step` is what that costs, and `remedy` what to do, None where not known. `reason` is
    why it was not compared or could not run, None where it did. `cause` is what the finding at `where` says, None where
    no finding explains the number; `confidence` is that finding's. `seen` is the share (0.12: 12 %) from which on a
    slow-down would have been found in 95 of 100 such comparisons, as far as the samples tell of their noise; None where
    one was found or no samples were compared.
    """

    gate: str
    level: GateLevel
    status: GateStatus
    unit: GateUnit
    message: str
    measured: float | None = None
    baseline: float | None = None
    limit: float | None = None
    rule: str | None = None
    where: SourceLine | None = None
    places: tuple[SourceLine, ...] = ()
    ns_per_step: int | None = None
    remedy: str | None = None
    reason: str | None = None
    cause: str | None = None
    confidence: Confidence | None = None
    seen: float | None = None

    @property
    def is_failure(self) -> bool:
        """Whether it alone makes the command exit 1."""
        match self.status:
            case GateStatus.FAILED:
                return True
            case GateStatus.BROKEN:
                return self.level is GateLevel.ERROR
            case _:
                return False

    @property
    def is_warning(self) -> bool:
        is_broken = self.status is GateStatus.BROKEN and self.level is GateLevel.WARN
        return is_broken or self.status is GateStatus.WARNED


@dataclass(frozen=True, slots=True)
class SilencedFinding:
    """A finding taken out by the comment on its line."""

    rule: str
    where: SourceLine


@dataclass(frozen=True, slots=True)
class ModelGate:
    """All gates of one model. `report` None: there is none, and `error` says why, which fails the command. `error_at`
    is the user's line that it is about, or the first one of the model's file; None where neither is known.

    `checks` are the worst first. `silenced` are in `report.findings` still. `folder` is the run folder, None where it
    was a temporary one.
    """

    name: str
    report: Report | None
    checks: tuple[GateCheck, ...]
    silenced: tuple[SilencedFinding, ...] = ()
    error: str | None = None
    notes: tuple[str, ...] = ()
    folder: str | None = None
    error_at: SourceLine | None = None
    error_code: int = int(ExitCode.GATE_FAILED)
    """What the command ends with for `error`: 3 where the user's program failed, 4 where we did."""

    @property
    def failures(self) -> tuple[GateCheck, ...]:
        return tuple(check for check in self.checks if check.is_failure)

    @property
    def warnings(self) -> tuple[GateCheck, ...]:
        return tuple(check for check in self.checks if check.is_warning)

    @property
    def has_passed(self) -> bool:
        return self.error is None and not self.failures


@dataclass(frozen=True, slots=True)
class GateResult:
    """`headline` is the first line of whatever shows it. `against` names what it was held against (`main`, a file),
    None where there was nothing. `accept` is the text of the new baseline file, None where it would be the same, and
    `accept_file` where it belongs. `command` runs the same check again.
    """

    headline: str
    models: tuple[ModelGate, ...]
    against: str | None = None
    accept: str | None = None
    accept_file: str | None = None
    notes: tuple[str, ...] = ()
    command: str = "analyze check"

    @property
    def has_passed(self) -> bool:
        return all(model.has_passed for model in self.models)

    @property
    def exit_code(self) -> int:
        """What could not be run goes before what failed: 4, then 3, then 1."""
        codes = [model.error_code for model in self.models if model.error is not None]
        if codes:
            return max(codes)
        return ExitCode.OK if self.has_passed else ExitCode.GATE_FAILED

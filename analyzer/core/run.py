"""What a session tells its owner while the user's model runs, and what it hands back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from analyzer.core.errors import ExitCode, GraphboundError, UserProgramError
from analyzer.core.graphs import Capture, GraphKey
from analyzer.core.report import Report
from analyzer.core.samples import Samples
from analyzer.core.timing import Crowd, SetTiming, Timing
from analyzer.core.trial import Accuracy, TrialOutcome


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens in a session and that its owner should know at once. `key` and `candidate` are None for
    a stage; `is_over` when the thing named has ended.
    """

    doing: str
    key: GraphKey | None = None
    candidate: str | None = None
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Skip:
    """A candidate for a graph that must not be tried again in this run, and what it did."""

    digest: str
    candidate: str
    outcome: TrialOutcome
    reason: str


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run the whole model, measured in turn with the others. `peak_bytes` and `pool_bytes` as in a Trial."""

    name: str
    outcome: TrialOutcome
    reason: str | None
    step_ns: Samples | None
    accuracy: Accuracy | None
    peak_bytes: int | None = None
    pool_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """The model as it is, torch.compile default and the plan, measured in turn; and the plan's own clean pass,
    None where the plan leaves the model alone. `crowd` is what other programs took meanwhile, None where not known.
    """

    eager: Way
    default: Way
    planned: Way
    capture: Capture | None
    timing: Timing | None
    default_timing: Timing | None = None
    crowd: Crowd | None = None
    sets: tuple[SetTiming, ...] = ()


class PoisonedDeviceError(GraphboundError):
    """The device's context is broken for good; only a fresh process can go on."""


class LostChildError(UserProgramError):
    """The child process, and with it the user's program, died or hung. `event` is what it last said it was doing."""

    def __init__(
        self, message: str, *, hint: str | None = None, event: Event | None = None, hung: bool = False
    ) -> None:
        super().__init__(message, hint=hint)
        self.event = event
        self.hung = hung


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a run. `exit_code` is not OK when it ended early; `report.partial` then says why, and `ended_by` is
    the signal, where it was one.
    """

    report: Report
    exit_code: ExitCode | int
    folder: Path
    ended_by: KeyboardInterrupt | None = None

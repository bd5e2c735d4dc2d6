"""Candidates and what measuring them gave."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from analyzer.core.graphs import CudaGraphSkip, GraphKey
from analyzer.core.samples import Interval, Samples


class TrialOutcome(Enum):
    """How the trial of a candidate, or of a whole plan, ended."""

    MEASURED = "measured"
    REFUSED = "refused"
    """torch, or the candidate's own conditions, would not have it: the reason says which."""
    FAILED = "failed"
    """Compiling or running it raised."""
    WRONG_RESULT = "wrong result"
    TIMED_OUT = "timed out"
    CRASHED = "crashed"
    """It took its process down."""
    OUT_OF_MEMORY = "out of memory"
    UNTRIED = "untried"


class AccuracyReference(Enum):
    FLOAT64 = "float64"
    FLOAT32 = "float32"
    EAGER = "eager"
    """No higher-precision run was possible: compared with eager itself, to the tolerance of the dtype."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How far the outputs are from the reference, as the worst relative root-mean-square error of any tensor.

    `is_random` when two eager runs with different seeds already differ: the check is then one of distribution.
    `worst` names the tensor (`output[0]`, `grad:layer.weight`).
    """

    reference: AccuracyReference
    error: float
    eager_error: float
    allowed: float
    is_right: bool
    is_random: bool = False
    worst: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class RegionTime:
    """One graph and direction in a trial: its time in a step, and under the default taken in turn; None: not called."""

    key: GraphKey
    ns: int
    against_ns: int | None


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate for one graph, or one whole plan, measured. Step samples are of the whole step with only this
    changed; `against` are the samples of the baseline taken in turn with them. `compile_ns` is what compiling what was
    tried took, both directions together, None where that is not known. `regions` are all graphs of the step.

    `peak_bytes` is the most that was allocated on the device in its own steps, the model included and the pools of CUDA
    graphs apart; `pool_bytes` what its own such pools hold, in which a replay works without allocating. Together they
    are what it needs. None is unknown, as on a CPU.
    """

    outcome: TrialOutcome
    reason: str | None = None
    step_ns: Samples | None = None
    against: Samples | None = None
    region_ns: int | None = None
    region_against_ns: int | None = None
    accuracy: Accuracy | None = None
    compile_ns: int | None = None
    peak_bytes: int | None = None
    pool_bytes: int | None = None
    regions: tuple[RegionTime, ...] = ()
    python_fallbacks: tuple[str, ...] = ()
    """The operators (`mylib::scale`) that the C++ wrapper of what was tried runs in Python."""
    cautions: tuple[str, ...] = ()
    """Of a package that was made: what whoever loads it must know of what is in it, a sentence each."""
    is_partitioned: bool = False
    """Whether torch made several programs of a graph of what was tried, to leave out what no CUDA graph can hold."""
    skips: tuple[CudaGraphSkip, ...] = ()
    """What torch said of the CUDA graphs of what was tried: graphs left without one, and what it left out of one."""


class Change(Enum):
    FASTER = "FASTER"
    SLOWER = "SLOWER"
    SAME = "SAME"
    NOISY = "NOISY"
    WRONG_RESULT = "WRONG_RESULT"


@dataclass(frozen=True, slots=True)
class Comparison:
    """`before_ns` and `after_ns` are medians; `ratio` is how many times faster, pair by pair (`median_ratio`), which on
    a host of two speeds is not quite theirs. `interval` is its 95 % interval.
    """

    outcome: Change
    before_ns: int
    after_ns: int
    ratio: float
    interval: Interval
    accuracy: Accuracy | None = None

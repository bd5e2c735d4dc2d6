"""What a model was, stored to hold the next run against: exact values, what explains them, and times by machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from analyzer.core.samples import Samples

BASELINE_SCHEMA: Final = 1

HOST_DRIFT: Final = 1.15
"""Two machines of one name whose measured costs differ by more are not one class: hosts of one kind of H200 machine
were seen to differ by 2 × (design, the ledger), and one machine's own cost of a launch repeats to a few per cent."""


@dataclass(frozen=True, slots=True)
class StoredValue:
    """`margin` is what the next value may lie beyond it, as a share; 0 is exact. `revision` is the one of its gate that
    counted it (`gate.reading.Gate`): 1 where the file does not say.
    """

    gate: str
    value: float
    margin: float = 0.0
    revision: int = 1


@dataclass(frozen=True, slots=True, order=True)
class StoredPlace:
    """A finding without its line number, so that code which moved is the same finding. `file` is as `ModelBaseline`
    has it, relative to the root; `text` is the line of source, or torch's reason where it cannot be read.
    """

    rule: str
    file: str
    function: str
    text: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class MachineClass:
    """What makes times comparable. `launch_ns` and `empty_op_ns` tell apart hosts of one name; None is unknown."""

    kind: str
    device: str
    threads: int | None
    system: str
    launch_ns: float | None = None
    empty_op_ns: float | None = None

    def difference(self, other: MachineClass) -> str | None:
        """Why times of the two cannot be compared, None where they can."""
        for what, mine, theirs in (
            ("device", f"{self.device} ({self.kind})", f"{other.device} ({other.kind})"),
            ("number of threads", str(self.threads), str(other.threads)),
            ("system", self.system, other.system),
        ):
            if mine != theirs:
                return f"another {what}: {mine} here, {theirs} there"
        for what, here, there in (
            ("launch", self.launch_ns, other.launch_ns),
            ("operation without work", self.empty_op_ns, other.empty_op_ns),
        ):
            if here is not None and there is not None and max(here, there) > HOST_DRIFT * min(here, there):
                return f"a host of another speed: a {what} costs {here:.0f} ns here, {there:.0f} ns there"
        return None


@dataclass(frozen=True, slots=True)
class WayTimes:
    """Steps of one way to run the model (`default`, `plan`), a turn each: turns lie apart in time, steps do not."""

    way: str
    turns: tuple[Samples, ...]


@dataclass(frozen=True, slots=True)
class MachineTimes:
    """Times of one machine class under one torch. None is unknown."""

    machine: MachineClass
    torch: str
    ways: tuple[WayTimes, ...] = ()
    starved_share: float | None = None
    peak_bytes: int | None = None
    compile_ns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelBaseline:
    """One model on one kind of device: the kernels of a CPU are no measure for those of a GPU.

    `unjudged` are the rules that could not judge then: a finding of theirs may be older than it looks.
    """

    model: str
    kind: str
    torch: str
    values: tuple[StoredValue, ...] = ()
    places: tuple[StoredPlace, ...] = ()
    times: tuple[MachineTimes, ...] = ()
    unjudged: tuple[str, ...] = ()

    def value(self, gate: str) -> StoredValue | None:
        return next((stored for stored in self.values if stored.gate == gate), None)


@dataclass(frozen=True, slots=True)
class Baseline:
    """`source` names it to people: a file, a run folder, a git reference."""

    models: tuple[ModelBaseline, ...] = ()
    source: str = ""
    schema: int = BASELINE_SCHEMA

    def of(self, model: str, kind: str) -> ModelBaseline | None:
        return next((one for one in self.models if (one.model, one.kind) == (model, kind)), None)

    def having(self, new: ModelBaseline) -> Baseline:
        """With this model's entry in place of the one it had; the order is that of the names."""
        others = [one for one in self.models if (one.model, one.kind) != (new.model, new.kind)]
        return replace(self, models=tuple(sorted([*others, new], key=lambda one: (one.model, one.kind))))

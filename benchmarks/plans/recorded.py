"""What was measured of one model: facts only, so that what is made of them can be made again without a GPU."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from analyzer.core.errors import UnreadableFileError
from analyzer.derive.ledger import Entry

SCHEMA: Final = 1


class Outcome(StrEnum):
    MEASURED = "measured"
    FAILED = "failed"
    TOO_LONG = "too long"
    """It did not compile within the patience there is."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run the model. `ns` are steps taken in turn with the others, empty where not measured. `compile_s` is
    its first step, compiled beside others in an empty cache; None where that is not known.
    """

    name: str
    outcome: Outcome
    ns: tuple[int, ...] = ()
    reason: str | None = None
    compile_s: float | None = None


@dataclass(frozen=True, slots=True)
class StageSeconds:
    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the plan has for one graph, in one direction."""

    key: str
    candidate: str


@dataclass(frozen=True, slots=True)
class Search:
    """One `analyze` in an empty cache. `cold_s` is a process that compiles the default and warms up, in an empty cache
    too: both are wall time from start to end. `exit_code` None: it had to be stopped. `chosen` is empty where the plan
    leaves the model alone, or there is none.
    """

    wall_s: float
    cold_s: float | None
    exit_code: int | None
    stages: tuple[StageSeconds, ...] = ()
    chosen: tuple[Chosen, ...] = ()
    ledger: tuple[Entry, ...] = ()
    partial: str | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """`other_cores` is what other programs kept busy while the steps were taken; None where not known."""

    case: str
    device: str
    machine: str
    torch: str
    date: str
    is_gpu: bool
    graphs: int
    search: Search
    ways: tuple[Way, ...]
    other_cores: float | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    measurements: tuple[Measurement, ...] = ()
    schema: int = SCHEMA

    def with_one(self, new: Measurement) -> Recording:
        """In place of what was known of the same model on the same device."""
        others = [m for m in self.measurements if (m.case, m.device) != (new.case, new.device)]
        return Recording((*others, new))


def read(path: Path) -> Recording:
    """Empty where there is no file. Raises UnreadableFileError for a file that is no recording of this schema."""
    if not path.exists():
        return Recording()
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Recording)
    except msgspec.MsgspecError as error:
        raise UnreadableFileError(f"{path}: not a recording of plans: {error}", hint="record it again") from error
    if found.schema != SCHEMA:
        raise UnreadableFileError(f"{path} has schema {found.schema}, this reads {SCHEMA}", hint="record it again")
    return found


def write(recording: Recording, path: Path) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(msgspec.json.format(msgspec.json.encode(recording), indent=1) + b"\n")
    os.replace(partial, path)

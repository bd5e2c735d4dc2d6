"""Cases whose header expects something else than torch and the machine of today show, each with its measurement.

A correction rests on a measurement that our own verdict has no part in: times of the case itself with one thing
changed. What we merely miss is no correction.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from analyzer.core.verdict import Bound

FILE: Final = Path(__file__).with_name("measured_cases.json")


@dataclass(frozen=True, slots=True)
class MeasuredCase:
    """`classes` are the classes that count as right on `device` in place of the header's, empty where those stand.
    `absent` are tags of the header whose cause does not show here. `measured` are the figures, `how` what was timed.
    """

    case: str
    device: str
    measured: str
    how: str
    date: str
    torch: str
    classes: tuple[Bound, ...] = ()
    absent: tuple[str, ...] = ()


def read_measured(path: Path = FILE) -> tuple[MeasuredCase, ...]:
    """The corrections on record. Raises what msgspec raises for a file of another form."""
    return msgspec.json.decode(path.read_bytes(), type=tuple[MeasuredCase, ...])


def correction(case: str, device: str, measured: tuple[MeasuredCase, ...]) -> MeasuredCase | None:
    """The measurement on record for a case on a device, None where its header stands."""
    return next((m for m in measured if m.case == case and m.device == device), None)

"""plan.json: written by a run, read by production. Imports the standard library alone, and no torch."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from analyzer.core.device import Versions
from analyzer.core.errors import UnreadableFileError
from analyzer.core.graphs import GraphKey
from analyzer.core.plan import Choice, Plan, PlanAccuracy, PlanFigures

PLAN_SCHEMA: Final = 2
"""2 says of which model and mode a plan is, and what was measured, in numbers. 1 is still read."""

RENEW: Final = "make a new one with: analyze model.py"

_READABLE: Final = (1, PLAN_SCHEMA)
_SHOWN: Final = 80
"""Characters of a name from a plan in a message: twice the longest name of a device or of a combination."""

_LARGEST: Final = 2**63 - 1
"""292 years in ns. Python reads whole numbers of thousands of digits, which no float and no clock can hold."""

_KINDS: Final[Mapping[type, str]] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a fraction",
    type(None): "null",
}
"""What JSON has, in the words of a message."""

_CHECKSUM: Final = "checksum"

_T = TypeVar("_T")


def write_plan(plan: Plan, path: Path) -> None:
    """Write `plan` as JSON that a person can read; the checksum tells an edited or damaged file from a whole one."""
    content = _wire(plan)
    whole = content | {_CHECKSUM: _checksum(content)}
    path.write_text(json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def read_plan(path: str | Path) -> Plan:
    """The plan in this file. Raises UnreadableFileError when it is not one, is damaged, or is of another schema."""
    try:
        raw = Path(path).read_bytes()
    except (OSError, ValueError) as error:  # a path with a zero in it is a ValueError
        reason = error.strerror if isinstance(error, OSError) else error
        raise UnreadableFileError(f"cannot read the plan {path}: {reason}", hint=RENEW) from error
    try:
        # Not the bytes themselves: json guesses UTF-16 from them.
        wire = _an_object(json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant))
        if (schema := _whole_number(_field(wire, "schema"))) in _READABLE:
            plan = _plan(wire, schema)
            is_whole = _text(_field(wire, _CHECKSUM)) == _checksum(wire, schema)
    except (ValueError, TypeError, RecursionError) as error:
        # A decoding error of json, and of UTF-8, is a ValueError.
        raise UnreadableFileError(f"{path} is not a plan: {error}", hint=RENEW) from error
    if schema not in _READABLE:
        raise UnreadableFileError(f"{path} is a plan of schema {schema}, this is {PLAN_SCHEMA}", hint=RENEW)
    if not is_whole:
        raise UnreadableFileError(f"{path} was changed since it was written: its checksum differs", hint=RENEW)
    return plan


def release_of(version: str) -> tuple[int, int]:
    """Major and minor of a version of torch, as `2.13.0+cpu` has them; (0, 0) where it is no version."""
    major, _, rest = version.partition("+")[0].partition(".")
    minor = rest.partition(".")[0]
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else (0, 0)


def shown(name: str) -> str:
    """A name from a plan as a message may hold it: short, and without what a terminal would obey."""
    plain = name if name and name.isprintable() else repr(name)
    return plain if len(plain) <= _SHOWN else f"{plain[: _SHOWN - 1]}…"


def _wire(plan: Plan) -> dict[str, Any]:
    return {
        "schema": PLAN_SCHEMA,
        "device": plan.device,
        "versions": asdict(plan.versions),
        "mode": plan.mode,
        "model": plan.model,
        "is_compiled": plan.is_compiled,
        "note": plan.note,
        "measured": None if plan.figures is None else asdict(plan.figures),
        "caveats": list(plan.caveats),
        "choices": [{"key": str(choice.key), "candidate": choice.candidate} for choice in plan.choices],
    }


def _checksum(wire: Mapping[str, Any], schema: int = PLAN_SCHEMA) -> str:
    """Of everything in `wire` but its own checksum, however the file is laid out."""
    content = {name: value for name, value in wire.items() if name != _CHECKSUM}
    if schema == 1:
        content |= {_CHECKSUM: ""}  # it was hashed with its place left empty, in the order of the file
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False, sort_keys=schema != 1)
    return hashlib.sha256(text.encode()).hexdigest()


def _plan(wire: Mapping[str, Any], schema: int) -> Plan:
    plan = Plan(
        choices=_choices(_a_list(_field(wire, "choices"))),
        device=_text(_field(wire, "device")),
        versions=_versions(_an_object(_field(wire, "versions"))),
        is_compiled=_truth(_field(wire, "is_compiled")),
        note=_maybe(_text, _field(wire, "note")),
    )
    if schema == 1:
        return plan
    return replace(
        plan,
        mode=_maybe(_text, _field(wire, "mode")),
        model=_maybe(_text, _field(wire, "model")),
        figures=_maybe(_figures, _field(wire, "measured")),
        caveats=tuple(_text(caveat) for caveat in _a_list(_field(wire, "caveats"))),
    )


def _choices(wires: list[Any]) -> tuple[Choice, ...]:
    found: dict[GraphKey, Choice] = {}
    for wire in wires:
        choice = _choice(_an_object(wire))
        if choice.key in found:
            raise ValueError(f"it names the graph {shown(str(choice.key))} twice")
        found[choice.key] = choice
    return tuple(found.values())


def _choice(wire: Mapping[str, Any]) -> Choice:
    return Choice(GraphKey.parse(_text(_field(wire, "key"))), _text(_field(wire, "candidate")))


def _versions(wire: Mapping[str, Any]) -> Versions:
    return Versions(
        graphbound=_text(_field(wire, "graphbound")),
        python=_text(_field(wire, "python")),
        torch=_text(_field(wire, "torch")),
        triton=_maybe(_text, wire.get("triton")),
        cuda=_maybe(_text, wire.get("cuda")),
        driver=_maybe(_text, wire.get("driver")),
        platform=_maybe(_text, wire.get("platform")),
    )


def _figures(value: object) -> PlanFigures:
    wire = _an_object(value)
    return PlanFigures(
        eager_ns=_maybe(_whole_number, _field(wire, "eager_ns")),
        default_ns=_whole_number(_field(wire, "default_ns")),
        plan_ns=_whole_number(_field(wire, "plan_ns")),
        ratio=_number(_field(wire, "ratio")),
        low=_number(_field(wire, "low")),
        high=_number(_field(wire, "high")),
        accuracy=_maybe(_accuracy, _field(wire, "accuracy")),
    )


def _accuracy(value: object) -> PlanAccuracy:
    wire = _an_object(value)
    return PlanAccuracy(
        reference=_text(_field(wire, "reference")),
        error=_number(_field(wire, "error")),
        allowed=_number(_field(wire, "allowed")),
    )


# What a JSON value must be. Each raises TypeError or ValueError where it is something else.


def _field(wire: Mapping[str, Any], name: str) -> Any:
    if name not in wire:
        raise ValueError(f"it has no {name!r}")
    return wire[name]


def _maybe(read: Callable[[Any], _T], value: object) -> _T | None:
    return None if value is None else read(value)


def _an_object(value: object) -> dict[str, Any]:
    return _of_type(value, dict)


def _a_list(value: object) -> list[Any]:
    return _of_type(value, list)


def _text(value: object) -> str:
    return _of_type(value, str)


def _truth(value: object) -> bool:
    return _of_type(value, bool)


def _whole_number(value: object) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{_kind_of(value)} stands where {_KINDS[int]} is wanted")
    number = _of_type(value, int)
    if abs(number) > _LARGEST:
        raise ValueError("it holds a whole number of more than 64 bits")
    return number


def _number(value: object) -> float:
    number = value if isinstance(value, float) else float(_whole_number(value))
    if not math.isfinite(number):
        raise ValueError("it holds a number that is too large")
    return number


def _of_type(value: object, kind: type[_T]) -> _T:
    if not isinstance(value, kind):
        raise TypeError(f"{_kind_of(value)} stands where {_KINDS[kind]} is wanted")
    return value


def _kind_of(value: object) -> str:
    return _KINDS[type(value)]


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")

"""plan.json: written by a run, read by production. Imports no torch."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import msgspec

from analyzer.core.device import Versions
from analyzer.core.errors import UnreadableFileError
from analyzer.core.graphs import GraphKey
from analyzer.core.plan import PLAN_SCHEMA, Choice, Plan

RENEW: Final = "make a new one with: analyze model.py"


class _ChoiceWire(msgspec.Struct, frozen=True):
    key: str
    candidate: str


class _PlanWire(msgspec.Struct, frozen=True):
    schema: int
    device: str
    versions: Versions
    is_compiled: bool
    note: str | None
    choices: tuple[_ChoiceWire, ...]
    checksum: str


def write_plan(plan: Plan, path: Path) -> None:
    """Write `plan` as JSON that a person can read; the checksum tells an edited file from a damaged one."""
    content = _wire(plan, checksum="")
    whole = msgspec.structs.replace(content, checksum=_checksum(content))
    path.write_bytes(msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n")


def read_plan(path: Path) -> Plan:
    """The plan in this file. Raises UnreadableFileError when it is not one, is damaged, or is of another schema."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UnreadableFileError(f"cannot read the plan {path}: {error.strerror}", hint=RENEW) from error
    try:
        wire = msgspec.json.decode(raw, type=_PlanWire)
        keys = tuple(GraphKey.parse(choice.key) for choice in wire.choices)
    except (msgspec.DecodeError, ValueError) as error:
        raise UnreadableFileError(f"{path} is not a plan: {error}", hint=RENEW) from error
    if wire.schema != PLAN_SCHEMA:
        raise UnreadableFileError(f"{path} is a plan of schema {wire.schema}, this is {PLAN_SCHEMA}", hint=RENEW)
    if wire.checksum != _checksum(msgspec.structs.replace(wire, checksum="")):
        raise UnreadableFileError(f"{path} was changed since it was written: its checksum differs", hint=RENEW)
    return Plan(
        choices=tuple(Choice(key, choice.candidate) for key, choice in zip(keys, wire.choices, strict=True)),
        device=wire.device,
        versions=wire.versions,
        is_compiled=wire.is_compiled,
        note=wire.note,
        schema=wire.schema,
    )


def _wire(plan: Plan, *, checksum: str) -> _PlanWire:
    return _PlanWire(
        schema=plan.schema,
        device=plan.device,
        versions=plan.versions,
        is_compiled=plan.is_compiled,
        note=plan.note,
        choices=tuple(_ChoiceWire(str(choice.key), choice.candidate) for choice in plan.choices),
        checksum=checksum,
    )


def _checksum(wire: _PlanWire) -> str:
    return hashlib.sha256(msgspec.json.encode(wire)).hexdigest()

"""graphbound.baseline.json: checked in, read in a diff, the same bytes for the same values."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec

from analyzer.core.baseline import BASELINE_SCHEMA, Baseline
from analyzer.core.errors import UnreadableFileError

RENEW: Final = "take back what was checked in (`git checkout`), or name the right file with --baseline"
"""Not to remove it: it may be another file, whose name was mistyped."""


class _SchemaOnly(msgspec.Struct):
    schema: int


def encode_baseline(baseline: Baseline) -> str:
    """One value a line, so that a changed number is a changed line. The name of its source is not written."""
    wire = msgspec.to_builtins(baseline)
    del wire["source"]
    ordered = {"schema": wire.pop("schema"), **wire}
    return msgspec.json.format(msgspec.json.encode(_short_numbers(ordered)), indent=1).decode() + "\n"


def decode_baseline(data: bytes, name: str) -> Baseline:
    """Raises UnreadableFileError, which says what to do."""
    try:
        schema = msgspec.json.decode(data, type=_SchemaOnly).schema
        if schema != BASELINE_SCHEMA:
            raise UnreadableFileError(
                f"{name}: baseline schema {schema} is not known here, only {BASELINE_SCHEMA}",
                hint="a newer Graphbound wrote it: update this one" if schema > BASELINE_SCHEMA else RENEW,
            )
        baseline = msgspec.json.decode(data, type=Baseline)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise UnreadableFileError(f"{name}: not a baseline: {error}", hint=RENEW) from error
    return replace(baseline, source=name)


def _short_numbers(value: object) -> object:
    """3 and not 3.0, so that a count reads as one."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _short_numbers(member) for name, member in value.items()}
    return [_short_numbers(member) for member in value] if isinstance(value, list | tuple) else value

"""graphbound.baseline.json: checked in, read in a diff, the same bytes for the same values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

import msgspec

from analyzer.core.baseline import BASELINE_SCHEMA, Baseline, ModelBaseline
from analyzer.core.errors import UnreadableFileError
from analyzer.core.spelling import did_you_mean
from analyzer.gate.gates import GATES

RENEW: Final = "take back what was checked in (`git checkout`), or name the right file with --baseline"
"""Not to remove it: it may be another file, whose name was mistyped."""

UNMERGED: Final = (
    "a merge left its marks: `git checkout --ours` or `--theirs` takes one side, --init then accepts what is"
)

_CONFLICT: Final = b"<<<<<<< "

_MOST_NS: Final = 2**63 - 1
"""A time as numpy holds it."""

_MOST_MARGIN: Final = 10.0
"""As of a margin in the policy."""

_GATE_IDS: Final = tuple(gate.id for gate in GATES)


class _SchemaOnly(msgspec.Struct):
    schema: int


def encode_baseline(baseline: Baseline) -> str:
    """One value a line, so that a changed number is a changed line. The name of its source is not written, nor a first
    revision.
    """
    wire = msgspec.to_builtins(baseline)
    del wire["source"]
    for stored in (value for model in wire["models"] for value in model["values"]):
        if stored["revision"] == 1:
            del stored["revision"]
    ordered = {"schema": wire.pop("schema"), **wire}
    return msgspec.json.format(msgspec.json.encode(_short_numbers(ordered)), indent=1).decode() + "\n"


def decode_baseline(data: bytes, name: str) -> Baseline:
    """Raises UnreadableFileError, which says what to do: of a file that is none, and of values that no run can have."""
    renew = UNMERGED if _CONFLICT in data else RENEW
    try:
        schema = msgspec.json.decode(data, type=_SchemaOnly).schema
        if schema != BASELINE_SCHEMA:
            raise UnreadableFileError(
                f"{name}: baseline schema {schema} is not known here, only {BASELINE_SCHEMA}",
                hint="a newer Graphbound wrote it: update this one" if schema > BASELINE_SCHEMA else RENEW,
            )
        baseline = msgspec.json.decode(data, type=Baseline)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise UnreadableFileError(f"{name}: not a baseline: {error}", hint=renew) from error
    impossible = next(_impossible(baseline), None)
    if impossible is not None:
        raise UnreadableFileError(f"{name}: {impossible}", hint=RENEW)
    return replace(baseline, source=name)


def _impossible(baseline: Baseline) -> Iterator[str]:
    """What no check has written, as a slip of the hand or a merge leaves it: a verdict would be held against it."""
    twice = _twice(f"{one.model} on {one.kind}" for one in baseline.models)
    if twice is not None:
        yield f"{twice} is in it twice"
    for one in baseline.models:
        yield from (f"{one.model}: {what}" for what in _impossible_of(one))


def _impossible_of(one: ModelBaseline) -> Iterator[str]:
    twice = _twice(stored.gate for stored in one.values)
    if twice is not None:
        yield f"{twice} has two values"
    for stored in one.values:
        if stored.gate not in _GATE_IDS:
            meant = did_you_mean(stored.gate, _GATE_IDS) or "its value would hold nothing"
            yield f"there is no gate {stored.gate!r}: {meant}"
        if stored.value < 0:
            yield f"{stored.gate} is {stored.value:g}, and there is no less than none of it"
        if not 0 <= stored.margin < _MOST_MARGIN:
            yield f"the margin of {stored.gate} is {stored.margin:g}: a margin is a share like 0.05"
    yield from (f"{place.count} of {place.rule} at one place" for place in one.places if place.count < 0)
    for times in one.times:
        turns = [turn for way in times.ways for turn in way.turns]
        if any(not 0 < ns <= _MOST_NS for turn in turns for ns in turn.ns):
            yield "a step took no time, or more than there is"


def _twice(names: Iterable[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _short_numbers(value: object) -> object:
    """3 and not 3.0, so that a count reads as one."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _short_numbers(member) for name, member in value.items()}
    return [_short_numbers(member) for member in value] if isinstance(value, list | tuple) else value

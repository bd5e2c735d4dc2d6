"""What rows say of themselves, decoded in the form that rows of their kinds have: a column a field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from operator import attrgetter
from types import GenericAlias
from typing import Any, Final, TypeGuard, cast

import msgspec
from msgspec import Raw
from msgspec.structs import astuple

from analyzer.core.trace import DEVICE_KINDS, EventKind
from collectors.readers.details import KERNEL_FIELDS, OP_FIELDS, RARE_FIELDS, SEPARATOR, WAIT_FIELDS, DetailText
from collectors.readers.events import ABSENT, DETAIL_FIELDS, Args, Scalar

_LINKS: Final = ("external_id", "correlation", "old_external_id")
_PLACES: Final = ("device", "stream")
_AT_ONCE: Final = 256
"""Rows whose arguments are decoded together: few enough to stay near to the processor until all is taken from them."""
_EVERY: Final = attrgetter(*DETAIL_FIELDS)
_FULL: Final = msgspec.json.Decoder(list[Args])

Arguments = Sequence[Raw | Args]
"""All of them JSON text still, or all decoded."""


@dataclass(frozen=True, slots=True)
class Form:
    """What is asked of rows of these kinds: `fields` of `Args` in the order in which Kineto writes them, and which of
    them are their details.

    `Args` itself has 26 fields, of which a row has but a few: an object holds the absence of each other one, and each
    key that nobody asks for is held against them all. A form takes two thirds of the time.
    """

    kinds: tuple[EventKind, ...]
    fields: tuple[str, ...]
    details: tuple[str, ...] = ()
    rare: tuple[str, ...] = ()
    of_args: Callable[[Args], tuple[Any, ...]] = field(init=False)
    decoder: msgspec.json.Decoder[list[Any]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "of_args", attrgetter(*self.fields))
        known = {f.name: f for f in msgspec.structs.fields(Args)}
        struct = msgspec.defstruct(
            "Arguments",
            [
                (name, known[name].type, msgspec.field(default=known[name].default, name=known[name].encode_name))
                for name in self.fields
            ],
            gc=False,
        )
        object.__setattr__(self, "decoder", msgspec.json.Decoder(GenericAlias(list, (struct,))))


OPS: Final = Form((EventKind.CPU_OP,), (*_LINKS, *OP_FIELDS, *RARE_FIELDS, *_PLACES), OP_FIELDS, RARE_FIELDS)
DEVICE: Final = Form(
    (*DEVICE_KINDS, EventKind.DEVICE_RANGE),
    (*_PLACES, *_LINKS, *KERNEL_FIELDS, *RARE_FIELDS),
    KERNEL_FIELDS,
    RARE_FIELDS,
)
WAITS: Final = Form((EventKind.WAIT,), (*_LINKS, *_PLACES, *WAIT_FIELDS), WAIT_FIELDS)
OTHERS: Final = Form((), (*_LINKS, *_PLACES))
FORMS: Final = (OPS, DEVICE, WAITS, OTHERS)


def form_number(kinds: frozenset[EventKind]) -> int:
    """The place in FORMS of the form that rows have which are of one of these kinds, by their name."""
    return next((i for i, form in enumerate(FORMS) if not kinds.isdisjoint(form.kinds)), FORMS.index(OTHERS))


@dataclass(frozen=True, slots=True)
class Told:
    """What rows of one form say, a list a field. `details` is empty where the form has none."""

    correlation: list[Scalar] = field(default_factory=list)
    external_id: list[Scalar] = field(default_factory=list)
    old_external_id: list[Scalar] = field(default_factory=list)
    device: list[Scalar] = field(default_factory=list)
    stream: list[Scalar] = field(default_factory=list)
    details: list[DetailText] = field(default_factory=list)


def told(form: Form, arguments: Arguments) -> Told:
    """What these rows say, from their JSON or, of rows that were decoded one by one, from what that gave.

    Raises one of FAILURES where a row's JSON is no object, or a field in it is of another type.
    """
    found = Told()
    for begin in range(0, len(arguments), _AT_ONCE):
        some = arguments[begin : begin + _AT_ONCE]
        column = dict(zip(form.fields, zip(*_rows(form, some), strict=True), strict=True))
        for name in (*_LINKS, *_PLACES):
            getattr(found, name).extend(column[name])
        if form.details:
            found.details.extend(_details(form, column, some))
    return found


def check(arguments: Arguments) -> None:
    """Raises what `told` would, of rows that are left out whatever they say."""
    if arguments:
        _in_full(arguments)


def _rows(form: Form, some: Arguments) -> Iterable[tuple[Any, ...]]:
    if _are_decoded(some):
        return map(form.of_args, some)
    return map(astuple, form.decoder.decode(_listed(some)))


def _are_decoded(some: Arguments) -> TypeGuard[Sequence[Args]]:
    return isinstance(some[0], Args)


def _listed(texts: Arguments) -> bytes:
    # Raw lends its bytes, whatever mypy is told of it.
    return b"".join((b"[", b",".join(cast(Sequence[bytes], texts)), b"]"))


def _details(form: Form, column: dict[str, tuple[Any, ...]], some: Arguments) -> Iterable[DetailText]:
    """What tells each row's detail from another's. To join its fields takes a third of the time of making a key of
    each: a Raw has no hash of its own.
    """
    common = map(SEPARATOR.join, zip(*(column[name] for name in form.details), strict=True))
    if all(column[name].count(ABSENT) == len(some) for name in form.rare):
        return common
    texts = list(common)
    rare = [any(map(len, row)) for row in zip(*(column[name] for name in form.rare), strict=True)]
    for row, args in zip(compress(range(len(some)), rare), _in_full(list(compress(some, rare))), strict=True):
        texts[row] = SEPARATOR.join(_EVERY(args))
    return texts


def _in_full(some: Arguments) -> Sequence[Args]:
    return some if _are_decoded(some) else _FULL.decode(_listed(some))

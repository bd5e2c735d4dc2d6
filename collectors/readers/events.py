"""The fields of a Chrome trace event that are read, and what may stand in them."""

from __future__ import annotations

from functools import reduce
from operator import or_
from types import GenericAlias
from typing import ClassVar, Final

import msgspec
from msgspec import Raw, field

ABSENT: Final = Raw()

Scalar = int | float | str | None
"""Files disagree on which of these a number is, and mix them: 129 of 150 public ones do in `pid` and `tid`."""


NO_ARGS: Final = Raw(b"{}")

NO_LINK: Final = 0
"""Stands for "none" in files, too."""


class Args(msgspec.Struct, gc=False):
    """What a row says of itself. `DETAIL_FIELDS` stay JSON text until wanted: most rows repeat each other's."""

    correlation: Scalar = NO_LINK
    device: Scalar = None
    stream: Scalar = None
    external_id: Scalar = field(default=NO_LINK, name="External id")
    # 2021's spelling.
    old_external_id: Scalar = field(default=NO_LINK, name="external id")
    dims: Raw = field(default=ABSENT, name="Input Dims")
    strides: Raw = field(default=ABSENT, name="Input Strides")
    dtypes: Raw = field(default=ABSENT, name="Input type")
    values: Raw = field(default=ABSENT, name="Concrete Inputs")
    grid: Raw = ABSENT
    block: Raw = ABSENT
    size: Raw = field(default=ABSENT, name="bytes")
    # Few rows have any of these.
    # 2021's spelling.
    old_dims: Raw = field(default=ABSENT, name="Input dims")
    kernel_file: Raw = ABSENT
    kernel_hash: Raw = ABSENT
    graph_node: Raw = field(default=ABSENT, name="graph node id")
    graph: Raw = field(default=ABSENT, name="graph id")
    collective: Raw = field(default=ABSENT, name="Collective name")
    collective_dtype: Raw = field(default=ABSENT, name="dtype")
    elements_in: Raw = field(default=ABSENT, name="In msg nelems")
    elements_out: Raw = field(default=ABSENT, name="Out msg nelems")
    group: Raw = field(default=ABSENT, name="Process Group Name")
    group_size: Raw = field(default=ABSENT, name="Group size")
    group_ranks: Raw = field(default=ABSENT, name="Process Group Ranks")
    own_rank: Raw = field(default=ABSENT, name="Rank")
    # Of waits alone.
    awaited_stream: Raw = field(default=ABSENT, name="wait_on_stream")
    awaited_record: Raw = field(default=ABSENT, name="wait_on_cuda_event_record_corr_id")


DETAIL_FIELDS: Final = tuple(f for f in Args.__struct_fields__ if isinstance(getattr(Args(), f), Raw))


class Bar(msgspec.Struct, gc=False, tag_field="ph", tag="X"):
    """An event with a begin and a length, of phase X. `ts` stays text: 74 of 150 public files have stamps that a double
    cannot hold; and `args`, until it is known what to ask of them.
    """

    ph: ClassVar[str] = "X"
    cat: str = ""
    name: str = ""
    pid: Scalar = None
    tid: Scalar = None
    ts: Raw = ABSENT
    dur: Scalar = None
    args: Raw = NO_ARGS


class Event(msgspec.Struct, gc=False):
    """The same of any phase, decoded whole, in the same order with the phase behind it."""

    cat: str = ""
    name: str = ""
    pid: Scalar = None
    tid: Scalar = None
    ts: Raw = ABSENT
    dur: Scalar = None
    args: Args | None = None
    ph: str = ""


class _AnyEvent(msgspec.Struct, gc=False):
    """An event of which only the words have to be words."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: Raw = ABSENT
    tid: Raw = ABSENT
    ts: Raw = ABSENT
    dur: Raw = ABSENT
    args: dict[str, Raw] | None = None


class _PhaseAlone(msgspec.Struct, gc=False):
    ph: str = ""


FAILURES: Final = (msgspec.DecodeError, RecursionError)
"""What decoding raises: JSON nested thousands deep is a recursion, not malformed."""

SKIPPED_PHASES: Final = ("M", "s", "f", "t", "i", "I", "C", "b", "e", "n", "B", "E", "N", "O", "D")
"""Of what is counted and not read, three rows of ten (Trace Event Format). Others are read by their phase, one by one.
"""
_SKIPPED: Final = tuple(
    msgspec.defstruct(f"_Phase{phase}", (), tag_field="ph", tag=phase, namespace={"ph": phase}, gc=False)
    for phase in SKIPPED_PHASES
)

_BARS: Final = msgspec.json.Decoder(GenericAlias(list, (reduce(or_, _SKIPPED, Bar),)))
_LIST: Final = msgspec.json.Decoder(list[Event])
_RAW_LIST: Final = msgspec.json.Decoder(list[Raw])
_ONE: Final = msgspec.json.Decoder(Event)
_ANY: Final = msgspec.json.Decoder(_AnyEvent)
_PHASE_ALONE: Final = msgspec.json.Decoder(_PhaseAlone)
_SCALAR: Final = msgspec.json.Decoder(Scalar)
_DETAIL_ARGS: Final = {f.encode_name: f.name for f in msgspec.structs.fields(Args) if f.name in DETAIL_FIELDS}
_SCALAR_NAMES: Final = {f.encode_name: f.name for f in msgspec.structs.fields(Args) if f.name not in DETAIL_FIELDS}


def decode_bars(text: bytes) -> list[Bar]:
    """The events of a JSON array, those that take time among others. Raises one of FAILURES where it is not JSON, and
    of them ValidationError where it has a phase that is not known, or a row that is not as it should be.
    """
    bars: list[Bar] = _BARS.decode(text)
    return bars


def decode_list(text: bytes) -> tuple[list[Event], int]:
    """The events of a JSON array, whatever they are, and how many of its values are none. Raises one of FAILURES where
    it is not JSON.
    """
    try:
        # For chunks with a phase that is not known.
        return _LIST.decode(text), 0
    except msgspec.ValidationError:
        rows = _RAW_LIST.decode(text)
    # For chunks in which some row has a field of another type: 1 µs a row more than decoding all at once.
    events = [event for row in rows if (event := decode_one(bytes(row))) is not None]
    return events, len(rows) - len(events)


def decode_one(text: bytes) -> Event | None:
    """One event; None for JSON that is none. A field with a value of the wrong type is read as absent.

    Raises one of FAILURES where the text is not JSON.
    """
    try:
        return _ONE.decode(text)
    except msgspec.ValidationError:
        pass
    try:
        event = _ANY.decode(text)
    except msgspec.ValidationError:
        return _skipped(text)
    return Event(
        ph=event.ph,
        cat=event.cat,
        name=event.name,
        pid=_scalar(event.pid),
        tid=_scalar(event.tid),
        ts=event.ts,
        dur=_scalar(event.dur),
        args=_args(event.args) if event.args is not None else None,
    )


def _skipped(text: bytes) -> Event | None:
    """An event that nothing but its phase is asked of, whatever else it holds: as `_BARS` has it."""
    try:
        phase = _PHASE_ALONE.decode(text).ph
    except msgspec.ValidationError:
        return None
    return Event(ph=phase) if phase in SKIPPED_PHASES else None


def _args(values: dict[str, Raw]) -> Args:
    args = Args()
    for name, text in values.items():
        if name in _SCALAR_NAMES:
            setattr(args, _SCALAR_NAMES[name], _scalar(text))
        elif name in _DETAIL_ARGS:
            setattr(args, _DETAIL_ARGS[name], text)
    return args


def _scalar(text: Raw) -> Scalar:
    if not bytes(text):
        return None
    try:
        return _SCALAR.decode(text)
    except msgspec.ValidationError:
        # A number beyond every type is kept as its text, which says so where it is wanted.
        word = bytes(text)
        return word.decode("ascii", "replace") if word[:1] in b"-0123456789" else None

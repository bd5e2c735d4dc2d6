"""Our verdict on each kernel against the device's counters, and our bytes against those that DRAM moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, assert_never

from analyzer.core.budget import Part
from analyzer.core.device import Device
from benchmarks.verdicts.counter_tables import (
    by_family,
    by_half,
    by_set,
    byte_errors,
    class_reliability,
    confusion,
    count_errors,
    disagreements,
    wrong_bytes,
)
from benchmarks.verdicts.first_look import FOURTH, first_look_table
from benchmarks.verdicts.held_kernels import (
    NEAR_PERCENT,
    Held,
    agreed,
    agreed_with_either,
    hold,
    is_near,
    kernels_of_items,
    share_touched_within,
    share_within,
)
from benchmarks.verdicts.recorded import CounterRecording, ItemSet, TracedItem
from benchmarks.verdicts.result import Check, Section

LEAST_NS: Final = 5_000
ASKED_AGREEMENT: Final = 0.95
ASKED_BYTES_SHARE: Final = 0.75

IN_SAMPLE: Final = (
    "Instructions an element of ATen's kernels, the rates that measured peaks reach and how products read again were "
    "taken from counters of an H200 with torch 2.11: on that recording agreement says how well they describe these "
    "kernels, and only another one how well they hold for others."
)
NO_LONGER_OUT_OF_SAMPLE: Final = (
    "No kernel of this set had been looked at when it was recorded: agreement by time was then 75.0 % (79.2 % and "
    "71.1 % in the halves), 84.9 % where we judged, and of the large kernels' bytes 64.8 % were within 15 % (78.9 % "
    "less the writes that stay in the L2). Formulas have been added since for the operators that were unknown, so that "
    "the set is held out no more. Which formulas were missing was seen on all of it; the constants in them are of half "
    "0, of the first set or of no measurement, and half 1 says how well they hold for others. Only a third recording "
    "judges both."
)
FAMILIES_KNOWN_SINCE: Final = (
    "`topk` of rows that several blocks share, `index_add_`, nearest interpolation of channels-last images, sums that "
    "convert their input first, rows gathered by more than one block each, and tanh, log1p, expm1, normalisations and "
    "other reductions of several results in Inductor's Triton kernels; then products and convolutions whose tile their "
    "kernel's name tells (what they ask of shared memory and of the first cache, and of channels and sequences that "
    "fill no tile), lists of over thirty tensors, sorts in a block, `unfold`, `flip`, `softplus`, casts to fp8, and "
    "what each thread of a reduction, of a batch norm and of a softmax in registers spends beside its elements; and, "
    "since the fourth set was seen, TF32 of operands that are turned in shared memory first, masks of FlashAttention-2 "
    "and which side of a tile is the rows of its instructions, and what small kernels write, which the L2 keeps; and "
    "issue slots and shared memory of products outside the matrix units (their constants are of the first two sets), "
    "shared memory wherever it is busier than the arithmetic that it feeds, cuDNN's convolutions of single channels, "
    "its padding of channels and its changes of layout, and pointwise Triton kernels that read across what they write"
)
OUT_OF_SAMPLE: Final = (
    "This set was chosen after the formulas and their constants, and no kernel of it had been looked at when it was "
    "recorded. At the first look agreement was 69.5 % of the time (73.2 % where we judged, 79.0 % where the "
    "throughputs are over 5 points apart as well), where the two sets that the formulas know have over 91 %, and bytes "
    "of 50.7 % of the large kernels were within 15 % (75.7 % less the writes that stay in the L2): of a kernel that we "
    "had not seen the class is right about seven times in ten. Formulas have been added since for what it showed to "
    f"have none, or a wrong one, and this set no longer judges these families: {FAMILIES_KNOWN_SINCE}. Their formulas "
    "are estimates from the kernels' sources: none is fitted to these counters but the line through three filters of "
    "single channels, of which this set has two, and what a tile takes that changes its layout, and they were written "
    "with them, and those of the other two sets, in view. With the first of them agreement was 72.2 %. Of all other "
    "kernels it says how well the formulas hold for those that nobody knew; how well those of these families do, only "
    "a fourth set can."
)
MENDED_FOR_THE_FOURTH: Final = (
    "FlashAttention-2's backward pass and that of a layer norm, each kernel of which now has the tensors that it "
    "moves; recurrent layers of cuDNN, whose products are of the kernels alone that multiply; TF32 of operands that do "
    "not lie along the inner dimension, which are turned in shared memory first; convolutions of single channels of "
    "another filter than 3 × 3; `topk` of short rows; `triu` and `tril`; `mish`, `elu`, `log_sigmoid` and the gradient "
    "of `gelu`; sorts of so few keys that most of the device has no block; and what had no formula then: the sums "
    "between the passes of `topk`, `col2im`, pools of volumes, gradients of a maximum pool, mirrored padding, binary "
    "searches, an embedding's gradient, rows found by an index, maxima scattered, `masked_select` and numbers that are "
    "stacked last; and with them products outside the matrix units, and shared memory that is busier than what it feeds"
)
FIRST_LOOK_AT_THE_FOURTH: Final = (
    "This set was written down, of operators and shapes in none of the other sets, while formulas were still being "
    "mended for what the third had shown, and nobody had looked at its counters when it was judged for the first time: "
    "the table `Held out, and seen` keeps those figures. Of a kernel that we had not seen the class is right for seven "
    "tenths of the time, again, and for a tenth nothing is claimed. What was an error by a kernel's own source has "
    "been mended since, so that the set no longer judges these: "
    f"{MENDED_FOR_THE_FOURTH}. No constant was fitted to its counters but that of single channels under a filter of "
    "5 × 5, and that of a tile that changes its layout to three of its kernels among thirteen, but they were in view."
)
HELD_OUT_FIFTH: Final = (
    "This set was written down, of operators, shapes and types in none of the other sets, after everything that those "
    "had shown was mended, and no kernel of it had been looked at: no formula or constant was written with its "
    "counters in view. Of a kernel that nobody prepared for, its figures say what to expect."
)
FIRST_LOOK_AT_CONFIDENCE: Final = (
    "At the first look at it, of the kernels of the third set that were said to be under the arithmetic roof with a "
    "confidence of 0.9 or more 74 % were right (96 % with either), and of those under the memory roof 82 % (89 %): too "
    "sure. The errors that confidence rests on are wider since, as the three sets show them together "
    "(analyzer/derive/doubt.py): of traffic 30 % and not 15 %, 75 % for kernels of up to 10 µs, of counted "
    "instructions 60 % and not 50 %; and a kernel on a GPU that is far from both roofs, or waits, may be of another "
    "class more often. No class is another for it. The set judges classes still, but for the families that its section "
    "names, and confidence no more."
)
TIED: Final = 1 / 1.15
"""Of shared memory's time, from which on the arithmetic's is nearly the same: `doubt.ARITHMETIC_ERROR` apart."""
TOGETHER: Final = "Counters, all recordings together"


@dataclass(frozen=True, slots=True)
class JudgedRecording:
    """A recording with its kernels beside their counters. `traced` is how many kernels the profiler saw."""

    recording: CounterRecording
    held: tuple[Held, ...]
    traced: int

    @property
    def device(self) -> Device:
        return self.recording.machine.device

    @property
    def of_issue(self) -> list[Held]:
        """The kernels long enough to count."""
        return [h for h in self.held if h.ours.ns >= LEAST_NS]

    @property
    def large(self) -> list[Held]:
        return [h for h in self.held if _is_large(h, self.device)]


def judge(recording: CounterRecording, traces: Path) -> JudgedRecording:
    """`traces` is the zip of traces. Raises UnreadableFileError."""
    device = recording.machine.device
    kernels = kernels_of_items(recording.traced.items, recording.traced.batches, traces, device)
    held = tuple(hold(recording.traced.items, kernels, recording.counters))
    return JudgedRecording(recording, held, sum(map(len, kernels.values())))


def counter_section(judged: JudgedRecording) -> Section:
    """The section on one recording."""
    recording, device = judged.recording, judged.device
    of_issue, large = judged.of_issue, judged.large
    checks = (*_agreement_checks(of_issue), *_byte_checks(large))
    return Section(
        title=_title(recording.items),
        where=f"{device.name}, torch {recording.machine.versions.torch}, {recording.machine.date}, "
        f"{recording.ncu or 'no ncu'}",
        checks=checks,
        tables=(
            *((first_look_table(FOURTH, checks, of_issue),) if recording.items is ItemSet.FOURTH else ()),
            confusion(of_issue),
            by_family(of_issue),
            by_half(of_issue, large),
            class_reliability(of_issue),
            count_errors(of_issue),
            byte_errors(large),
            disagreements(of_issue, device),
            wrong_bytes(large),
        ),
        notes=(
            f"{judged.traced} kernels of {sum(i.step is not None for i in recording.traced.items)} items under "
            f"torch.profiler, {len(recording.counters)} launches under ncu, {len(judged.held)} matched by item, name "
            "and order",
            *_written_note(large),
            *_failed(recording.traced.items),
            *_uncounted(recording),
            _sample_note(recording.items),
            *recording.notes,
        ),
    )


def together_section(judged: Sequence[JudgedRecording]) -> Section:
    """The figures over several recordings at once, and each beside the others."""
    of_issue = [h for one in judged for h in one.of_issue]
    large = [h for one in judged for h in one.large]
    rows = tuple((_title(one.recording.items), one.of_issue, one.large) for one in judged)
    where = "; ".join(dict.fromkeys(f"{one.device.name}, {one.recording.machine.date}" for one in judged))
    return Section(
        title=TOGETHER,
        where=where,
        checks=(*_agreement_checks(of_issue), *_byte_checks(large)),
        tables=(by_set((*rows, (TOGETHER, of_issue, large))), confusion(of_issue), class_reliability(of_issue)),
        notes=(
            *dict.fromkeys(_sample_note(one.recording.items) for one in judged),
            *(FIRST_LOOK_AT_CONFIDENCE for one in judged if one.recording.items is ItemSet.THIRD),
            *_fed_note(of_issue),
        ),
    )


def _title(items: ItemSet) -> str:
    match items:
        case ItemSet.FIRST:
            return "Counters"
        case ItemSet.HELD_OUT:
            return "Counters, held-out set"
        case ItemSet.THIRD:
            return "Counters, third set"
        case ItemSet.FOURTH:
            return "Counters, fourth set"
        case ItemSet.FIFTH:
            return "Counters, fifth set"
        case _:
            assert_never(items)


def _sample_note(items: ItemSet) -> str:
    match items:
        case ItemSet.FIRST:
            return IN_SAMPLE
        case ItemSet.HELD_OUT:
            return NO_LONGER_OUT_OF_SAMPLE
        case ItemSet.THIRD:
            return OUT_OF_SAMPLE
        case ItemSet.FOURTH:
            return FIRST_LOOK_AT_THE_FOURTH
        case ItemSet.FIFTH:
            return HELD_OUT_FIFTH
        case _:
            assert_never(items)


def _agreement_checks(held: Sequence[Held]) -> tuple[Check, ...]:
    known = [h for h in held if h.is_known]
    clear = [h for h in known if not is_near(h)]
    return (
        Check(
            "agreement by time, kernels ≥ 5 µs, unknown counted against us", ASKED_AGREEMENT, agreed(held), len(held)
        ),
        Check("agreement by time where we judged", ASKED_AGREEMENT, agreed(known), len(known)),
        Check(
            f"agreement by time where we judged and the throughputs are over {NEAR_PERCENT:g} points apart",
            ASKED_AGREEMENT,
            agreed(clear),
            len(clear),
        ),
        Check(
            f"not what is asked: the first figure, with either part right where the throughputs, or the higher and the "
            f"edge of latency, are under {NEAR_PERCENT:g} points apart",
            ASKED_AGREEMENT,
            agreed_with_either(held),
            len(held),
        ),
    )


def _is_large(held: Held, device: Device) -> bool:
    """Whether it moved more than the cache holds, by our count or by DRAM's: neither alone may choose the sample."""
    moved = held.counters.dram_bytes
    return moved is not None and device.l2_bytes is not None and max(moved, held.ours.bytes or 0.0) > device.l2_bytes


def _byte_checks(large: Sequence[Held]) -> tuple[Check, ...]:
    known = [h for h in large if h.ours.bytes is not None]
    what = "the bytes that we expect memory to move within 15 % of DRAM's, kernels larger than the L2"
    return (
        Check(f"{what}, unknown counted against us", ASKED_BYTES_SHARE, share_within(large), len(large)),
        Check(f"{what}, where we know them", ASKED_BYTES_SHARE, share_within(known), len(known)),
        Check(
            "not what is asked: all that a kernel touches within 15 % of DRAM's, the writes with it that the L2 still "
            "holds when a kernel alone ends",
            ASKED_BYTES_SHARE,
            share_touched_within(large),
            len(large),
        ),
    )


def _written_note(large: Sequence[Held]) -> tuple[str, ...]:
    """How much of what we count as written DRAM had written when the kernel ended: after a flush, and in a chain."""
    said = []
    for is_cold, where in ((True, "alone, after a flush"), (False, "after the kernels before it")):
        own = [h for h in large if h.counters.is_cold is is_cold and h.ours.written > 0]
        ours = sum(h.ours.written for h in own)
        if ours:
            moved = sum(h.counters.dram_write_bytes or 0.0 for h in own)
            said.append(f"{moved / ours:.0%} where a kernel ran {where} ({len(own)} kernels)")
    if not said:
        return ()
    return (
        f"of the bytes that we count as written DRAM had written, when the kernel ended, {' and '.join(said)}: the "
        "rest lies in the L2 and is written while later kernels run. A budget counts it; what we expect memory to move "
        "while a kernel runs alone does not",
    )


def _fed_note(held: Sequence[Held]) -> tuple[str, ...]:
    """What of MEMORY is shared memory that feeds arithmetic of nearly the same time."""
    fed = [h for h in held if h.ours.part is Part.MEMORY and h.ours.counts_to is Part.COMPUTE]
    fed = [h for h in fed if (h.ours.compute_share or 0.0) > TIED * (h.ours.memory_share or 0.0)]
    if not fed:
        return ()
    mean = sum(h.ours.confidence or 0.0 for h in fed) / len(fed)
    return (
        f"{len(fed)} products keep shared memory, which counters count to memory, busier than the arithmetic that it "
        f"feeds, by {1 / TIED - 1:.0%} at most. The counters agree with {sum(h.agrees for h in fed)} of them, whose "
        f"confidence is {mean:.2f} in the mean. A budget counts them to compute: they take half the time with half the "
        "arithmetic, with which shared memory has half to read (`mm_8192_half_k` of the interventions)",
    )


def _failed(items: Sequence[TracedItem]) -> tuple[str, ...]:
    return tuple(f"{i.name} did not run: {i.error}" for i in items if i.error is not None)


def _uncounted(recording: CounterRecording) -> tuple[str, ...]:
    """Items that ran under the profiler and whose kernels the hardware did not count; nothing where none was named."""
    counted = {c.item for c in recording.counters if c.item is not None}
    left = [i.name for i in recording.traced.items if i.step is not None and i.name not in counted]
    if not counted or not left:
        return ()
    return (f"not counted ({len(left)}): {', '.join(left)}",)

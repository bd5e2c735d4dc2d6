"""The host waits for the device inside the step.

What it finds
    Places at which the host waits until the device is done: reading a value
    (.item(), float(x), if x:), copying to the host (.cpu(), .tolist()), results
    whose size depends on the data (nonzero, x[mask]), and explicit waits; cheap
    ones too where capture stops for the value, since one change is rid of both.
    Also long waits that cost nothing, so that nobody hunts them.

Why it costs
    While it waits, the host launches nothing. When it goes on, the device has
    run dry, and the host has lost what it was ahead.

How it is measured
    Waits and launches come from the profiled pass. The step is played again
    without the waits: the device's work keeps its order and its length, and
    only the time in which the device had run dry shrinks, brought to the pass
    without the profiler. A wait for work that bounds the step anyway saves
    nothing then, however long it is. The wait that ends each step is no part
    of it. Unknown where another thread launched during the wait, where
    the device did nothing in it that was recorded, without the
    clean pass, or where too many kernels have no launch row.

What to do
    Keep the value on the device: torch.where in place of if, the tensor itself
    in place of .item(), a mask of fixed size in place of nonzero. Read results
    after the step, or a step later.

When it is wrong
    The profiler slows the host, so that waits look shorter than they are: the
    cost is rather too small. A value that the host needs to go on has to be
    waited for somewhere.
"""

from __future__ import annotations

import re
from typing import Final

from analyzer.core import quantities
from analyzer.core.activity import Activity, CopyDirection, HostWait
from analyzer.core.finding import Finding
from analyzer.core.graphs import GapKey
from analyzer.rules.evidence import ended_by
from analyzer.rules.facts import Facts
from analyzer.rules.places import NOTED_SHARE, PlacedWait, activity_of, claimed_ns, placed_waits, share_of_step
from analyzer.rules.remedies import Table, remedy
from analyzer.rules.rule import Rule

_ID: Final = "host_sync"

LONG_SHARE: Final = 0.1
"""Of a step. A choice: a wait of a tenth of the step is what a reader of the timeline sees first, harmless or not."""

_REMEDIES: Final[Table] = (
    (
        re.compile(r"^aten::is_nonzero\b"),
        "a branch on a tensor: replace `if c: x = f(x)` by `x = torch.where(c, f(x), x)`, or decide outside the step",
    ),
    (
        re.compile(r"(?:^|>)aten::(?:equal|allclose)\b"),
        "comparing tensors returns a Python value: leave the check out of the step, or keep (a == b).all() as a tensor",
    ),
    (
        re.compile(r"(?:^|>)aten::(?:index|index_put_?|_index_put_impl_|nonzero|masked_select|argwhere)\b"),
        "a result whose size depends on the data: use torch.where(mask, x, other) or a mask of fixed size "
        "(torch.nonzero_static(x, size=n) where the size is known)",
    ),
    (
        re.compile(r"(?:^|>)aten::repeat_interleave\b"),
        "pass its length: torch.repeat_interleave(x, repeats, output_size=n)",
    ),
    (
        re.compile(r"(?:^|>)aten::_?unique\w*\b"),
        "the size of unique depends on the data: do it outside the step, or with tensors of fixed size",
    ),
    (
        re.compile(r"(?:^|>)aten::(?:item|_local_scalar_dense)\b"),
        "replace x.item() (also float(x), int(x), f'{x}') by the tensor x itself, and read it after the step",
    ),
    (
        re.compile(r"(?:^|>)aten::(?:to|_to_copy|copy_)\b"),
        "copy to the host after the step, or into pinned memory: out.copy_(x, non_blocking=True), read a step later",
    ),
    (
        re.compile(r"^(?:cuda|hip)DeviceSynchronize|^cuCtxSynchronize"),
        "take torch.cuda.synchronize() out of the step",
    ),
    (re.compile(r"^(?:ur|pi)QueueFinish|^zeCommandQueueSynchronize"), "take torch.xpu.synchronize() out of the step"),
    (re.compile(r"^synchronize(?:Stream)?$"), "take torch.mtia.synchronize() out of the step"),
)
_OTHERWISE: Final = "take what waits out of the step"
_CUDA_CALL: Final = re.compile(r"(?:cuda|hip|cu)[A-Z]\w*")
"""AMD's are `torch.cuda` too; no other maker's are."""
_NAMED: Final = f"{_OTHERWISE}; torch.cuda.set_sync_debug_mode('warn') names its line"
_NOTHING: Final = "nothing is to be gained here: shorten the work that it waits for"

_READS_DATA: Final = re.compile(
    r"(?i)\bdata[- ]dependent\b|\bTensor\.(?:item|tolist|numpy)\b|\bdynamic shape operator\b"
)
"""Torch's reasons (2.11 to 2.14, torch/_dynamo/graph_break_registry.json) for stopping where a value is read."""

_LATER: Final = "record later steps: a call loads code at its first use, or the device's rows are missing"


def judge(facts: Facts) -> tuple[Finding, ...]:
    activity = activity_of(facts)
    # Waits for copies to the device are blocking_copy's.
    waits = [wait for wait in activity.waits if wait.direction is not CopyDirection.TO_DEVICE]
    return tuple(
        Finding(
            rule=_ID,
            message=_message(activity, placed, stops),
            where=placed.where,
            ns_per_step=claimed_ns(activity, placed.whole.cost_ns),
            remedy=_NOTHING if is_harmless(activity, placed.whole) and not stops else _remedy(activity, placed.whole),
            count=max(1, round(placed.whole.count)),
        )
        for placed in placed_waits(facts, waits)
        if (stops := _stops_capture(facts, placed))
        or is_costly(activity, placed.whole)
        or share_of_step(activity, placed.whole.waited_ns) >= LONG_SHARE
    )


def is_costly(activity: Activity, wait: HostWait) -> bool:
    """Whether being rid of it would be noticed."""
    return wait.cost_ns is not None and share_of_step(activity, wait.cost_ns) >= NOTED_SHARE


def is_harmless(activity: Activity, wait: HostWait) -> bool:
    """Whether it is known to wait only for work that bounds the step anyway. Never where too little is linked."""
    return activity.is_linked and wait.cost_ns is not None and not is_costly(activity, wait)


def _stops_capture(facts: Facts, placed: PlacedWait) -> bool:
    """Whether capture stops for the value that is waited for, so that the gaps it leaves would be noticed."""
    gaps = [gap for gap in placed.regions if isinstance(gap, GapKey)]
    stops = {gap: ended_by(facts.capture, gap.after) for gap in gaps}
    left = [gap for gap, stop in stops.items() if stop is not None and _READS_DATA.search(stop.reason)]
    whole_ns = sum(fact.elapsed_ns for gap, fact in facts.gaps if gap in left)
    return facts.step_ns is not None and whole_ns > 0 and whole_ns >= NOTED_SHARE * facts.step_ns


def _message(activity: Activity, placed: PlacedWait, stops: bool) -> str:
    wait = placed.whole
    what = wait.ops[0] if wait.ops else wait.call
    times = f"waits {quantities.duration(wait.waited_ns)} a step in {what}, {placed.text}"
    if is_harmless(activity, wait):
        if stops:
            return f"the host {times}: the wait itself costs little, but capture stops for its value (graph_break)"
        return f"the host {times}, but only for work that bounds the step anyway: the wait itself costs next to nothing"
    idle = f", then the device idles {quantities.duration(wait.idle_ns)}" if wait.idle_ns else ""
    also = "; capture stops for its value too (graph_break)" if stops else ""
    return f"the host {times}{idle}{also}{_doubt(activity, wait)}"


def _doubt(activity: Activity, wait: HostWait) -> str:
    if not activity.is_linked:
        return "; what it costs is not known, as too many kernels have no launch row"
    if wait.is_for_nothing:
        return "; what it costs is not known, as the device did nothing meanwhile that was recorded"
    if wait.cost_ns is None:
        return "; what it costs is not known, as another thread launched meanwhile"
    return "" if activity.is_scaled else f"; with the profiler's load it costs {quantities.duration(wait.cost_ns)}"


def _remedy(activity: Activity, wait: HostWait) -> str:
    if wait.is_for_nothing and activity.is_linked:
        return _LATER
    otherwise = _NAMED if _CUDA_CALL.fullmatch(wait.call) else _OTHERWISE
    return remedy(">".join(wait.ops) if wait.ops else wait.call, _REMEDIES, otherwise)


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)

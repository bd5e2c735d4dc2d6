"""The host waits for its own copies to the device.

What it finds
    Copies from the host to the device that hold the host until they are done:
    from ordinary (pageable) memory, or without non_blocking=True.

Why it costs
    The driver first waits for what is queued, then moves the data through a
    buffer of its own. The host launches nothing meanwhile, and the device runs
    dry.

How it is measured
    The copy and the wait behind it are seen in the profiled pass. The step is
    played again without the wait, the copy itself still in it (explain
    host_sync tells more). Unknown without the pass without the profiler.

What to do
    x.pin_memory() once, then x.to(device, non_blocking=True); a DataLoader
    does it with pin_memory=True. A constant that is made on the host in every
    step belongs into a buffer of the module, or is made on the device:
    torch.full((), value, device=x.device).

When it is wrong
    Pinning memory in every step costs more than the copy that it speeds up.
    What was copied at the last moment, and is needed at once, still has to
    arrive.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.activity import Activity, CopyDirection, CopyGroup, HostMemory, HostWait
from analyzer.core.finding import Finding
from analyzer.rules.facts import Facts
from analyzer.rules.host_sync import LONG_SHARE, is_costly
from analyzer.rules.places import PlacedWait, activity_of, claimed_ns, placed_waits, share_of_step
from analyzer.rules.rule import Rule

_ID: Final = "blocking_copy"
_INPUTS: Final = "x = x.pin_memory() once, or DataLoader(pin_memory=True), then x.to(device, non_blocking=True)"
_CONSTANTS: Final = (
    "make it once: self.register_buffer('c', torch.tensor(...)), "
    "or on the device: torch.full((), value, device=x.device)"
)

CONSTANT_BYTES: Final = 4096
"""A copy. A choice: what is no larger than a page is rather a constant than an input."""


def judge(facts: Facts) -> tuple[Finding, ...]:
    activity = activity_of(facts)
    waits = [wait for wait in activity.waits if wait.direction is CopyDirection.TO_DEVICE]
    return tuple(
        _finding(activity, placed) for placed in placed_waits(facts, waits) if _is_noted(activity, placed.whole)
    )


def _is_noted(activity: Activity, wait: HostWait) -> bool:
    """Costly, or long where the cost is not known. A harmless one is left alone: inputs have to be copied."""
    is_unknown = wait.cost_ns is None or not activity.is_linked
    return is_costly(activity, wait) or (is_unknown and share_of_step(activity, wait.waited_ns) >= LONG_SHARE)


def _finding(activity: Activity, placed: PlacedWait) -> Finding:
    wait = placed.whole
    copies = [copy for copy in activity.copies if _is_of(copy, placed)]
    size = _bytes_each(copies)
    pageable = " from pageable memory" if any(c.host_memory is HostMemory.PAGEABLE for c in copies) else ""
    each = f" of {quantities.byte_count(size)}" if size is not None else ""
    message = (
        f"copies to the device{pageable}{each} hold the host {quantities.duration(wait.waited_ns)} a step, "
        f"{placed.text}"
    )
    if not activity.is_scaled and wait.cost_ns is not None:
        message += f"; with the profiler's load they cost {quantities.duration(wait.cost_ns)}"
    return Finding(
        rule=_ID,
        message=message,
        where=placed.where,
        ns_per_step=claimed_ns(activity, wait.cost_ns),
        remedy=_CONSTANTS if size is not None and size <= CONSTANT_BYTES else _INPUTS,
        count=max(1, round(wait.count)),
    )


def _is_of(copy: CopyGroup, placed: PlacedWait) -> bool:
    same = copy.direction is placed.whole.direction and copy.ops == placed.whole.ops
    return same and copy.region in placed.regions and copy.holds_host


def _bytes_each(copies: list[CopyGroup]) -> float | None:
    sizes = [copy.bytes for copy in copies if copy.bytes is not None]
    count = sum(copy.count for copy in copies)
    return sum(sizes) / count if sizes and len(sizes) == len(copies) and count else None


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)

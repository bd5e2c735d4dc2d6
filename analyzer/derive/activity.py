"""What a profiled step did beside computing, from its trace: the facts that the rules about the host judge by."""

from __future__ import annotations

from typing import Final

from analyzer.core.activity import Activity
from analyzer.core.device import Device
from analyzer.core.timing import Timing
from analyzer.derive import activity_calls, activity_kernels, activity_waits
from analyzer.derive.activity_saving import replay
from analyzer.derive.activity_scene import Scene, scene
from analyzer.derive.attribution import CUT_OFF, NOT_RECORDED, Attribution, lacks_device_rows
from analyzer.derive.honesty import lost_because

LINKED_SHARE: Final = 0.9
"""Of the device's time. A choice: below it too much work has no launch that could be moved. Our recordings have all of
it; two public ones that began in the middle of queued work have 0.7."""

NO_STEP: Final = "no step is marked in the trace: record with a ProfilerStep#N range around each step"
NOT_READ: Final = "the device's rows are in words that are not known here: of its work nothing can be said"


def activity(attribution: Attribution, timing: Timing | None = None, device: Device | None = None) -> Activity:
    """The activity of the average recorded step of a profiled pass.

    `timing` is the clean pass of the same configuration: without it the host's times stay as profiled and say so.
    `device` lends the duration of an empty kernel; without it no kernel is called small. Never raises.
    """
    found = scene(attribution, timing)
    missing = _missing(found)
    if missing is not None:
        return Activity(0, found.step_ns, timing is not None, attribution.is_host, missing=missing)
    all_holds = activity_waits.holds(found)
    again = replay(found, all_holds)
    small_ns = activity_kernels.small_kernel_ns(device)
    entries, entry_cost_ns = activity_calls.entries(found, again)
    allocations, allocation_cost_ns = activity_calls.allocations(found, all_holds, again)
    return Activity(
        steps=found.steps,
        step_ns=found.step_ns,
        is_scaled=timing is not None,
        is_host=attribution.is_host,
        is_linked=_is_linked(attribution),
        small_kernel_ns=small_ns,
        waits=activity_waits.host_waits(found, all_holds, again),
        copies=activity_waits.copy_groups(found, all_holds),
        allocations=allocations,
        kernels=activity_kernels.kernel_sizes(found, small_ns),
        chains=activity_kernels.chains(found),
        entries=entries,
        replays=activity_calls.graph_replays(found, again),
        inputs=activity_calls.inputs(found, again),
        entry_cost_ns=entry_cost_ns,
        allocation_cost_ns=allocation_cost_ns,
    )


def _is_linked(attribution: Attribution) -> bool:
    """By the launch rows: a kernel of no region, launched between steps, has one as well."""
    work = attribution.work
    whole = int(work.own_ns.sum())
    return not whole or int(work.own_ns[work.has_launch].sum()) >= LINKED_SHARE * whole


def _missing(found: Scene) -> str | None:
    if found.trace.facts.lacks_rows:
        return CUT_OFF
    if not found.steps:
        return NO_STEP
    if found.trace.facts.unread_device_rows and not len(found.attribution.work):
        return NOT_READ
    if lacks_device_rows(found.trace, found.attribution.work):
        return NOT_RECORDED
    return lost_because(found.trace)

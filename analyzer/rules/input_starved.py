"""The step waits for its next batch.

What it finds
    Steps of which a part is spent in a torch DataLoader, until the next batch
    is there.

Why it costs
    While the batch is prepared, or waited for, nothing is launched: the device
    has finished the last step and has no work. No option of a compiler helps.

How it is measured
    torch marks each request for a batch in the trace (enumerate(DataLoader)).
    The step is played again without that time, brought to the pass without the
    profiler: what is left of it once the device's queue has run dry is the
    cost. Unknown without the clean pass.

What to do
    Prepare batches beside the step: num_workers above 0, pin_memory=True,
    persistent_workers=True. With workers that cannot keep up: more of them,
    cheaper transforms, or transforms on the device.

When it is wrong
    A loader of another library leaves no mark, and is not seen. The first
    batches of a new iterator wait for workers to start, which recurs only with
    each epoch.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.activity import Activity, InputWait
from analyzer.core.finding import Finding
from analyzer.rules.facts import Facts
from analyzer.rules.places import activity_of, claimed_ns, region_place, share_of_step
from analyzer.rules.rule import Rule

_ID: Final = "input_starved"
_SINGLE: Final = "_SingleProcessDataLoaderIter"
_SLOW_WORKERS: Final = (
    "the workers cannot keep up: raise num_workers and prefetch_factor, or move transforms to the device"
)

MOST_WORKERS: Final = 4
"""A choice: what is said first; where there are fewer CPUs, one each."""

STARVED_SHARE: Final = 0.05
"""Of a step. A choice: a loader that keeps up hands over its batch in well under a hundredth of one."""


def judge(facts: Facts) -> tuple[Finding, ...]:
    activity = activity_of(facts)
    return tuple(
        Finding(
            rule=_ID,
            message=_message(activity, found),
            where=region_place(facts.capture, found.region),
            ns_per_step=claimed_ns(activity, found.cost_ns),
            remedy=_workers(facts, activity) if found.loader == _SINGLE else _SLOW_WORKERS,
            count=max(1, round(found.count)),
        )
        for found in activity.inputs
        if share_of_step(activity, found.cost_ns) >= STARVED_SHARE
    )


def _workers(facts: Facts, activity: Activity) -> str:
    """What takes the loader out of this process. Pinned memory is for copies to a device."""
    usable = facts.environment.usable_cpus if facts.environment is not None else None
    number = MOST_WORKERS if usable is None else max(1, min(MOST_WORKERS, int(usable)))
    pinned = "" if activity.is_host else ", pin_memory=True"
    return f"the loader works in this process: DataLoader(..., num_workers={number}{pinned})"


def _message(activity: Activity, found: InputWait) -> str:
    share = quantities.share(share_of_step(activity, found.cost_ns))
    idle = f", {quantities.duration(found.idle_ns)} of it with an idle device" if found.idle_ns is not None else ""
    return (
        f"the next batch ({found.loader}) takes {quantities.duration(found.host_ns)} a step{idle}: {share} of the step"
    )


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)
